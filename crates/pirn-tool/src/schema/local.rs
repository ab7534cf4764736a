//! Makes a schema self-contained: every reference leads to a place inside it, or accepts nothing.

use std::collections::BTreeMap;

use serde_json::{Map, Value, json};

use super::escaped;

/// Keywords whose value is data, in which `$ref` and the like mean nothing.
const DATA_KEYWORDS: [&str; 5] = ["const", "enum", "default", "examples", "example"];
/// Keywords whose members are schemas by a free name.
const NAMED_SCHEMAS: [&str; 6] = [
    "properties",
    "patternProperties",
    "$defs",
    "definitions",
    "dependentSchemas",
    "dependencies",
];
/// With one resource, a dynamic reference leads where a plain one does.
const REFERENCES: [&str; 3] = ["$ref", "$dynamicRef", "$recursiveRef"];

/// Follows a reference inside `root`: `#` or `#/…`. Returns the decoded pointer and what it points to.
pub(crate) fn resolve_local<'a>(root: &'a Value, reference: &str) -> Option<(String, &'a Value)> {
    let pointer = percent_decode(reference.strip_prefix('#')?)?;
    let target = root.pointer(&pointer)?;
    Some((pointer, target))
}

/// A copy of `schema` without identifiers and anchors, in which every reference is a `$ref` to `#` or `#/…`.
pub(super) fn localised(schema: &Value) -> Value {
    Localiser::new(schema, "", LostReference::AcceptsNothing)
        .run()
        .schema
}

/// The same for a place inside another schema: see [`standalone_schema`](super::standalone_schema).
pub(super) fn transplanted(schema: &Value, place: &str) -> StandaloneSchema {
    Localiser::new(schema, place, LostReference::AcceptsAnything).run()
}

/// A schema that needs nothing outside itself.
#[derive(Debug, Clone, PartialEq)]
pub struct StandaloneSchema {
    /// The schema. Every reference is a `$ref` to `#` or `#/…`.
    pub schema: Value,
    /// References that led nowhere, or out of the schema, and were taken out; each once, in the order found.
    pub lost_references: Vec<String>,
}

/// What a reference means that leads nowhere.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum LostReference {
    AcceptsNothing,
    AcceptsAnything,
}

/// Finds `$id`s and anchors, by the text with which they are referred to, with the pointer to their place.
fn collect_names(schema: &Value, place: &str, names: &mut BTreeMap<String, String>) {
    match schema {
        Value::Object(members) => {
            for (keyword, value) in members {
                let name = match (keyword.as_str(), value) {
                    ("$id" | "id", Value::String(id)) => Some(id.trim_end_matches('#').to_owned()),
                    ("$anchor" | "$dynamicAnchor", Value::String(anchor)) => {
                        Some(format!("#{anchor}"))
                    }
                    _ => None,
                };
                if let Some(name) = name {
                    names.entry(name).or_insert_with(|| place.to_owned());
                } else if !DATA_KEYWORDS.contains(&keyword.as_str()) {
                    let below = format!("{place}/{}", escaped(keyword));
                    match value {
                        Value::Object(named) if NAMED_SCHEMAS.contains(&keyword.as_str()) => {
                            for (name, member) in named {
                                collect_names(member, &format!("{below}/{}", escaped(name)), names);
                            }
                        }
                        _ => collect_names(value, &below, names),
                    }
                }
            }
        }
        Value::Array(items) => {
            for (index, item) in items.iter().enumerate() {
                collect_names(item, &format!("{place}/{index}"), names);
            }
        }
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {}
    }
}

struct Localiser<'a> {
    root: &'a Value,
    /// Where the schema will stand, as a JSON pointer.
    place: &'a str,
    /// What `$id`s and anchors stand for.
    names: BTreeMap<String, String>,
    lost: LostReference,
    lost_references: Vec<String>,
}

impl<'a> Localiser<'a> {
    fn new(root: &'a Value, place: &'a str, lost: LostReference) -> Self {
        let mut names = BTreeMap::new();
        collect_names(root, "", &mut names);
        Self {
            root,
            place,
            names,
            lost,
            lost_references: Vec::new(),
        }
    }

    fn run(mut self) -> StandaloneSchema {
        let mut schema = self.root.clone();
        self.localise(&mut schema);
        if self.place.is_empty()
            && let Value::Object(members) = &mut schema
            && let Some(draft) = self.root.get("$schema").and_then(Value::as_str)
            && draft.contains("json-schema.org/")
        {
            members.insert("$schema".into(), draft.into());
        }
        StandaloneSchema {
            schema,
            lost_references: self.lost_references,
        }
    }

    fn localise(&mut self, schema: &mut Value) {
        match schema {
            Value::Object(members) => {
                members.retain(|keyword, value| {
                    !(matches!(
                        keyword.as_str(),
                        "$id"
                            | "id"
                            | "$anchor"
                            | "$dynamicAnchor"
                            | "$recursiveAnchor"
                            | "$schema"
                    ) && (value.is_string() || value.is_boolean()))
                });
                let reference = REFERENCES
                    .into_iter()
                    .find_map(|keyword| members.get(keyword)?.as_str())
                    .map(ToOwned::to_owned);
                if let Some(reference) = reference {
                    let local = local_reference(&reference, self.root, &self.names);
                    if local.is_none() && self.lost == LostReference::AcceptsNothing {
                        *schema = json!({"not": {}});
                        return;
                    }
                    self.replace_reference(members, reference, local);
                }
                for (keyword, value) in members.iter_mut() {
                    if DATA_KEYWORDS.contains(&keyword.as_str()) {
                        continue;
                    }
                    match value {
                        Value::Object(named) if NAMED_SCHEMAS.contains(&keyword.as_str()) => {
                            for (_, member) in named.iter_mut() {
                                self.localise(member);
                            }
                        }
                        _ => self.localise(value),
                    }
                }
            }
            Value::Array(items) => {
                for item in items {
                    self.localise(item);
                }
            }
            Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {}
        }
    }

    fn replace_reference(
        &mut self,
        members: &mut Map<String, Value>,
        reference: String,
        local: Option<String>,
    ) {
        members.shift_remove("$dynamicRef");
        members.shift_remove("$recursiveRef");
        if let Some(pointer) = local {
            let rerooted = format!("#{}{pointer}", percent_encode(self.place));
            members.insert("$ref".into(), rerooted.into());
            return;
        }
        members.shift_remove("$ref");
        if !self.lost_references.contains(&reference) {
            self.lost_references.push(reference);
        }
    }
}

/// The same reference as a percent-encoded pointer without its `#`, or `None` where it leads to no schema.
fn local_reference(
    reference: &str,
    root: &Value,
    names: &BTreeMap<String, String>,
) -> Option<String> {
    let place = if let Some((place, _)) = resolve_local(root, reference) {
        place
    } else if let Some(place) = names.get(reference.trim_end_matches('#')) {
        place.clone()
    } else {
        let (document, fragment) = reference.split_once('#')?;
        let owner = names.get(document)?;
        match names.get(&format!("#{fragment}")) {
            Some(anchor) => anchor.clone(),
            None => format!("{owner}{}", percent_decode(fragment)?),
        }
    };
    let target = root.pointer(&place)?;
    (target.is_object() || target.is_boolean()).then(|| percent_encode(&place))
}

/// Escapes what may not stand in a fragment.
fn percent_encode(text: &str) -> String {
    let mut encoded = String::with_capacity(text.len());
    for character in text.chars() {
        if character.is_ascii_alphanumeric() || "/~-._$!*+,;=:@?".contains(character) {
            encoded.push(character);
        } else {
            for byte in character.encode_utf8(&mut [0; 4]).bytes() {
                encoded.push('%');
                for digit in [byte >> 4, byte & 0xF] {
                    encoded.extend(char::from_digit(digit.into(), 16));
                }
            }
        }
    }
    encoded
}

/// Decodes `%XX` escapes; `None` where one is malformed or the result is not UTF-8.
fn percent_decode(text: &str) -> Option<String> {
    let mut bytes = Vec::with_capacity(text.len());
    let mut rest = text.bytes();
    while let Some(byte) = rest.next() {
        if byte == b'%' {
            let high = char::from(rest.next()?).to_digit(16)?;
            let low = char::from(rest.next()?).to_digit(16)?;
            bytes.push(u8::try_from(high * 16 + low).ok()?);
        } else {
            bytes.push(byte);
        }
    }
    String::from_utf8(bytes).ok()
}
