//! Constraints of a property that a type cannot express, as tags for its comment.

use serde_json::{Map, Number, Value};

use super::literal::{json_text, number_text};
use crate::javascript::utf16_len;

/// Longer tags (patterns, mostly) tell a model less than they cost.
const TAG_CHARS_MAX: usize = 80;

type Schema = Map<String, Value>;

/// How the values of a keyword are shown when a property and its only branch both set it.
#[derive(Debug, Clone, Copy)]
enum Keyword {
    /// A lower bound: the larger one counts.
    AtLeast(&'static str),
    /// An upper bound: the smaller one counts.
    AtMost(&'static str),
    /// Both are shown, equal ones once.
    Each(&'static str),
}

/// In the order they are shown.
const KEYWORDS: [Keyword; 11] = [
    Keyword::AtLeast("minimum"),
    Keyword::AtLeast("exclusiveMinimum"),
    Keyword::AtMost("maximum"),
    Keyword::AtMost("exclusiveMaximum"),
    Keyword::Each("multipleOf"),
    Keyword::AtLeast("minLength"),
    Keyword::AtMost("maxLength"),
    Keyword::Each("pattern"),
    Keyword::Each("format"),
    Keyword::AtLeast("minItems"),
    Keyword::AtMost("maxItems"),
];

/// The tags of a property, such as `@minimum 1`. The constraints of its only alternative beside `null` count as its own.
pub(super) fn of(property: &Schema) -> Vec<String> {
    let sources: Vec<&Schema> = [Some(property), only_branch(property)]
        .into_iter()
        .flatten()
        .collect();
    let mut tags = Vec::new();
    if sources.iter().any(|source| is_integer(source)) {
        tags.push("@integer".to_owned());
    }
    for keyword in KEYWORDS {
        match keyword {
            Keyword::AtLeast(name) => tags.extend(bound(&sources, name, |new, old| new > old)),
            Keyword::AtMost(name) => tags.extend(bound(&sources, name, |new, old| new < old)),
            Keyword::Each(name) => tags.extend(each(&sources, name)),
        }
    }
    if sources
        .iter()
        .any(|source| source.get("uniqueItems") == Some(&Value::Bool(true)))
    {
        tags.push("@uniqueItems".to_owned());
    }
    if let Some(default) = property.get("default").filter(|default| !default.is_null()) {
        tags.push(format!("@default {}", json_text(default)));
    }
    if property.get("deprecated") == Some(&Value::Bool(true)) {
        tags.push("@deprecated".to_owned());
    }
    tags.retain(|tag| utf16_len(tag) <= TAG_CHARS_MAX);
    tags.iter()
        .map(|tag| escape_line_terminators(tag))
        .collect()
}

/// The one alternative that is not `{"type": "null"}`.
fn only_branch(property: &Schema) -> Option<&Schema> {
    let branches = ["anyOf", "oneOf"]
        .into_iter()
        .find_map(|keyword| property.get(keyword)?.as_array())?;
    let mut others = branches
        .iter()
        .filter(|branch| branch.get("type").and_then(Value::as_str) != Some("null"));
    let only = others.next()?;
    if others.next().is_some() {
        None
    } else {
        only.as_object()
    }
}

fn is_integer(schema: &Schema) -> bool {
    match schema.get("type") {
        Some(Value::String(name)) => name == "integer",
        Some(Value::Array(names)) => names.iter().any(|name| name == "integer"),
        Some(Value::Null | Value::Bool(_) | Value::Number(_) | Value::Object(_)) | None => false,
    }
}

/// The tightest bound among the sources.
fn bound(sources: &[&Schema], name: &str, is_tighter: fn(f64, f64) -> bool) -> Option<String> {
    let mut tightest: Option<&Number> = None;
    for number in sources
        .iter()
        .filter_map(|source| bound_value(source, name))
    {
        let replaces = tightest.is_none_or(|tightest| {
            is_tighter(
                number.as_f64().unwrap_or_default(),
                tightest.as_f64().unwrap_or_default(),
            )
        });
        if replaces {
            tightest = Some(number);
        }
    }
    tightest.map(|number| format!("@{name} {}", number_text(number)))
}

/// A numeric bound. Draft 4 wrote an exclusive bound as the plain one with a boolean beside it.
fn bound_value<'a>(schema: &'a Schema, name: &str) -> Option<&'a Number> {
    let pair = match name {
        "minimum" | "exclusiveMinimum" => Some(("minimum", "exclusiveMinimum")),
        "maximum" | "exclusiveMaximum" => Some(("maximum", "exclusiveMaximum")),
        _ => None,
    };
    let source = match pair {
        Some((plain, exclusive)) if schema.get(exclusive) == Some(&Value::Bool(true)) => {
            if name == plain {
                return None;
            }
            plain
        }
        Some(_) | None => name,
    };
    schema.get(source)?.as_number()
}

fn each(sources: &[&Schema], name: &str) -> Vec<String> {
    let mut values: Vec<&Value> = Vec::new();
    for value in sources.iter().filter_map(|source| source.get(name)) {
        if matches!(value, Value::String(_) | Value::Number(_)) && !values.contains(&value) {
            values.push(value);
        }
    }
    let text = |value: &Value| {
        value
            .as_str()
            .map_or_else(|| json_text(value), ToOwned::to_owned)
    };
    values
        .into_iter()
        .map(|value| format!("@{name} {}", text(value)))
        .collect()
}

/// A comment must not end early.
fn escape_line_terminators(tag: &str) -> String {
    tag.replace('\n', "\\u000a")
        .replace('\r', "\\u000d")
        .replace('\u{2028}', "\\u2028")
        .replace('\u{2029}', "\\u2029")
}
