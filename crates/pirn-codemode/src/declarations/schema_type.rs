//! JSON Schema to TypeScript type.

use serde_json::{Map, Value};

use super::literal::{json_text, string_text};
use super::{reference, tags};
use crate::javascript::{lines, trim};

/// The type of everything that cannot be expressed.
pub(super) const UNKNOWN: &str = "unknown";
const NEVER: &str = "never";

/// References followed per schema; recursive definitions grow exponentially otherwise.
const EXPANSIONS_MAX: usize = 32;
/// Subschemas rendered per schema. Nested lists of types multiply, so a small schema could ask for endless work.
const SUBSCHEMAS_MAX: usize = 50_000;
/// Depth of nesting, so that the stack holds. Far beyond what a reader could follow.
const DEPTH_MAX: usize = 256;

/// Whether constraints are written as comments.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum TagMode {
    Shown,
    Hidden,
}

/// Renders one schema document.
#[derive(Debug)]
pub(super) struct Renderer<'a> {
    root: &'a Value,
    tags: TagMode,
    expansions: usize,
    subschemas: usize,
    depth: usize,
    /// References that are being followed, to notice recursion.
    following: Vec<&'a str>,
}

impl<'a> Renderer<'a> {
    pub(super) fn new(root: &'a Value, tags: TagMode) -> Self {
        Self {
            root,
            tags,
            expansions: 0,
            subschemas: 0,
            depth: 0,
            following: Vec::new(),
        }
    }

    /// Renders a schema of the document.
    pub(super) fn render(&mut self, schema: &'a Value) -> String {
        match schema {
            Value::Bool(false) => NEVER.to_owned(),
            Value::Object(members) => self.render_bounded(members),
            Value::Bool(true)
            | Value::Null
            | Value::Number(_)
            | Value::String(_)
            | Value::Array(_) => UNKNOWN.to_owned(),
        }
    }

    fn render_bounded(&mut self, schema: &'a Map<String, Value>) -> String {
        if self.depth >= DEPTH_MAX || self.subschemas >= SUBSCHEMAS_MAX {
            return UNKNOWN.to_owned();
        }
        self.depth += 1;
        self.subschemas += 1;
        let text = self.render_object_schema(schema);
        self.depth -= 1;
        text
    }

    fn render_object_schema(&mut self, schema: &'a Map<String, Value>) -> String {
        if let Some(Value::String(target)) = schema.get("$ref") {
            return self.follow(target);
        }
        if let Some(constant) = schema.get("const") {
            return json_text(constant);
        }
        if let Some(Value::Array(values)) = schema.get("enum") {
            return union(values.iter().map(json_text));
        }
        for keyword in ["anyOf", "oneOf"] {
            if let Some(Value::Array(branches)) = schema.get(keyword) {
                return union(branches.iter().map(|branch| self.render(branch)));
            }
        }
        if let Some(Value::Array(parts)) = schema.get("allOf") {
            return self.intersection(parts);
        }
        if let Some(type_value) = schema.get("type") {
            return self.of_type(schema, type_value);
        }
        let has = |keywords: &[&str]| keywords.iter().any(|keyword| schema.contains_key(*keyword));
        if has(&["properties", "required", "additionalProperties"]) {
            return self.object(schema);
        }
        if has(&["items", "prefixItems"]) {
            return self.array(schema);
        }
        UNKNOWN.to_owned()
    }

    fn follow(&mut self, target: &'a str) -> String {
        if self.expansions >= EXPANSIONS_MAX || self.following.contains(&target) {
            return UNKNOWN.to_owned();
        }
        let Some(schema) = reference::resolve(self.root, target) else {
            return UNKNOWN.to_owned();
        };
        self.expansions += 1;
        self.following.push(target);
        let text = self.render(schema);
        self.following.pop();
        text
    }

    fn intersection(&mut self, parts: &'a [Value]) -> String {
        let texts: Vec<String> = parts
            .iter()
            .map(|part| self.render(part))
            .filter(|text| text != UNKNOWN)
            .map(|text| {
                if text.contains(" | ") {
                    format!("({text})")
                } else {
                    text
                }
            })
            .collect();
        if texts.is_empty() {
            UNKNOWN.to_owned()
        } else {
            texts.join(" & ")
        }
    }

    fn of_type(&mut self, schema: &'a Map<String, Value>, type_value: &'a Value) -> String {
        if self.subschemas >= SUBSCHEMAS_MAX {
            return UNKNOWN.to_owned();
        }
        self.subschemas += 1;
        match type_value {
            Value::Array(types) => union(
                types
                    .iter()
                    .map(|type_value| self.of_type(schema, type_value)),
            ),
            Value::String(name) => match name.as_str() {
                "string" => "string".to_owned(),
                "number" | "integer" => "number".to_owned(),
                "boolean" => "boolean".to_owned(),
                "null" => "null".to_owned(),
                "object" => self.object(schema),
                "array" => self.array(schema),
                _ => UNKNOWN.to_owned(),
            },
            Value::Null | Value::Bool(_) | Value::Number(_) | Value::Object(_) => {
                UNKNOWN.to_owned()
            }
        }
    }

    fn array(&mut self, schema: &'a Map<String, Value>) -> String {
        let items = schema.get("items");
        if let Some(item) = items.filter(|items| !items.is_array()) {
            return format!("Array<{}>", self.render(item));
        }
        let tuple = schema
            .get("prefixItems")
            .filter(|items| items.is_array())
            .or(items);
        match tuple.and_then(Value::as_array) {
            Some(places) if !places.is_empty() => {
                let places: Vec<String> = places.iter().map(|place| self.render(place)).collect();
                format!("[{}]", places.join(", "))
            }
            Some(_) | None => "unknown[]".to_owned(),
        }
    }

    fn object(&mut self, schema: &'a Map<String, Value>) -> String {
        let mut properties: Vec<(&String, &Value)> = schema
            .get("properties")
            .and_then(Value::as_object)
            .into_iter()
            .flatten()
            .collect();
        properties.sort_by(|(left, _), (right, _)| left.encode_utf16().cmp(right.encode_utf16()));
        let required = schema.get("required").and_then(Value::as_array);
        let members: Vec<Member> = properties
            .iter()
            .map(|(name, property)| Member {
                comments: comments(property, self.tags),
                is_required: required.is_some_and(|names| names.iter().any(|known| known == *name)),
                name: property_name(name),
                type_text: self.render(property),
            })
            .collect();
        let index_type = match schema.get("additionalProperties") {
            None => members.is_empty().then(|| UNKNOWN.to_owned()),
            Some(Value::Bool(false)) => None,
            Some(additional) => Some(self.render(additional)),
        };
        layout(&members, index_type)
    }
}

/// One property as it will be written.
#[derive(Debug)]
struct Member {
    comments: Vec<String>,
    name: String,
    is_required: bool,
    type_text: String,
}

impl Member {
    fn text(&self) -> String {
        format!(
            "{}{}: {};",
            self.name,
            if self.is_required { "" } else { "?" },
            self.type_text
        )
    }
}

/// Lays members out on one line, or one per line where a comment needs that.
fn layout(members: &[Member], index_type: Option<String>) -> String {
    let index_member = index_type.map(|text| format!("[key: string]: {text};"));
    if members.is_empty() && index_member.is_none() {
        return "{}".to_owned();
    }
    if members.iter().all(|member| member.comments.is_empty()) {
        let texts: Vec<String> = members
            .iter()
            .map(Member::text)
            .chain(index_member)
            .collect();
        return format!("{{ {} }}", texts.join(" "));
    }
    let mut text = "{\n".to_owned();
    for member in members {
        for comment in &member.comments {
            text.push_str("  // ");
            text.push_str(comment);
            text.push('\n');
        }
        text.push_str("  ");
        text.push_str(&member.text().replace('\n', "\n  "));
        text.push('\n');
    }
    // Recorded: further lines of the index signature's type stay where they are.
    if let Some(index_member) = index_member {
        text.push_str("  ");
        text.push_str(&index_member);
        text.push('\n');
    }
    text.push('}');
    text
}

/// The comment lines of a property: its description, then its constraints.
fn comments(property: &Value, tag_mode: TagMode) -> Vec<String> {
    let Value::Object(property) = property else {
        return Vec::new();
    };
    let description = property
        .get("description")
        .and_then(Value::as_str)
        .unwrap_or_default();
    let mut comments: Vec<String> = lines(description)
        .map(trim)
        .filter(|line| !line.is_empty())
        .map(ToOwned::to_owned)
        .collect();
    if tag_mode == TagMode::Shown {
        let tags = tags::of(property);
        if !tags.is_empty() {
            comments.push(tags.join(" "));
        }
    }
    comments
}

fn property_name(name: &str) -> String {
    let is_identifier = !name.is_empty() && pirn_tool::to_identifier(name) == name;
    if is_identifier {
        name.to_owned()
    } else {
        string_text(name)
    }
}

/// Joins the alternatives, each once. One that says nothing makes the union say nothing.
fn union(alternatives: impl Iterator<Item = String>) -> String {
    let mut distinct: Vec<String> = Vec::new();
    for alternative in alternatives {
        if !distinct.contains(&alternative) {
            distinct.push(alternative);
        }
    }
    if distinct.iter().any(|alternative| alternative == UNKNOWN) {
        return UNKNOWN.to_owned();
    }
    if distinct.is_empty() {
        NEVER.to_owned()
    } else {
        distinct.join(" | ")
    }
}
