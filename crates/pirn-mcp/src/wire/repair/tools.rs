//! The list of tools, and what a tool returned.

use serde_json::{Map, Value, json};

use super::lists::{icons, page};
use super::{Kind, Repairs, content, drop_odd, drop_unless, set};

/// The result of `tools/list`.
pub(in crate::wire) fn list(result: &mut Value, repairs: &mut Repairs) {
    let Some(tools) = page(result, "tools", repairs) else {
        return;
    };
    let mut number = 0;
    tools.retain_mut(|tool| {
        number += 1;
        let is_kept = repair_tool(tool, repairs);
        if !is_kept {
            repairs.warn(format!(
                "tool number {number} of the list has no name and was left out"
            ));
        }
        is_kept
    });
}

/// Repairs one tool. False: it cannot be called, because it has no name.
fn repair_tool(tool: &mut Value, repairs: &mut Repairs) -> bool {
    const OPTIONAL: &[(&str, Kind)] = &[
        ("title", Kind::String),
        ("description", Kind::String),
        ("outputSchema", Kind::Object),
        ("annotations", Kind::Object),
        ("_meta", Kind::Object),
    ];
    const HINTS: &[(&str, Kind)] = &[
        ("title", Kind::String),
        ("readOnlyHint", Kind::Bool),
        ("destructiveHint", Kind::Bool),
        ("idempotentHint", Kind::Bool),
        ("openWorldHint", Kind::Bool),
    ];
    let Value::Object(tool) = tool else {
        return false;
    };
    if !matches!(tool.get("name"), Some(Value::String(name)) if !name.is_empty()) {
        return false;
    }
    let oddity = input_schema(tool);
    let mut dropped = drop_odd(tool, OPTIONAL, repairs);
    if let Some(Value::Object(annotations)) = tool.get_mut("annotations") {
        dropped.extend(drop_odd(annotations, HINTS, repairs));
    }
    if icons(tool, repairs) {
        dropped.push("icons");
    }
    let name = tool.get("name").and_then(Value::as_str).unwrap_or_default();
    if let Some(oddity) = oddity {
        repairs.warn(format!("tool \"{name}\": {oddity}"));
    }
    if !dropped.is_empty() {
        let dropped = dropped.join(", ");
        repairs.warn(format!(
            "tool \"{name}\": left out what does not fit the protocol: {dropped}"
        ));
    }
    true
}

/// Makes sure that the input's schema is an object's. Returns what was wrong with it.
fn input_schema(tool: &mut Map<String, Value>) -> Option<&'static str> {
    let (schema, oddity) = match tool.get_mut("inputSchema") {
        Some(Value::Object(schema)) => {
            if schema.get("type").is_some_and(|kind| !kind.is_null()) {
                return None;
            }
            schema.insert("type".to_owned(), "object".into());
            return Some("its inputSchema has no type; an object is assumed");
        }
        Some(Value::Bool(false)) => (
            json!({"type": "object", "properties": {}, "additionalProperties": false}),
            "its inputSchema is false; no arguments are assumed",
        ),
        Some(Value::Bool(true)) => (
            json!({"type": "object"}),
            "its inputSchema is true; any arguments are assumed",
        ),
        Some(Value::Null) | None => (
            json!({"type": "object"}),
            "it has no inputSchema; any arguments are assumed",
        ),
        Some(Value::Number(_) | Value::String(_) | Value::Array(_)) => (
            json!({"type": "object"}),
            "its inputSchema is not a schema; any arguments are assumed",
        ),
    };
    tool.insert("inputSchema".to_owned(), schema);
    Some(oddity)
}

/// The result of `tools/call`.
pub(in crate::wire) fn call(result: &mut Value, repairs: &mut Repairs) {
    if !result.is_object() {
        let content = result.take();
        *result = json!({"content": content});
        repairs.change();
    }
    let Value::Object(map) = result else {
        return;
    };
    content::repair_list(map, "content", repairs);
    match map.get("isError") {
        None | Some(Value::Bool(_)) => {}
        Some(Value::String(text)) => {
            let is_error = text.eq_ignore_ascii_case("true");
            set(map, "isError", is_error, repairs);
        }
        Some(Value::Number(number)) => {
            let is_error = number.as_f64() != Some(0.0);
            set(map, "isError", is_error, repairs);
        }
        Some(Value::Null | Value::Array(_) | Value::Object(_)) => {
            map.shift_remove("isError");
            repairs.change();
        }
    }
    drop_unless(map, "_meta", Kind::Object, repairs);
    drop_unless(map, "resultType", Kind::String, repairs);
}
