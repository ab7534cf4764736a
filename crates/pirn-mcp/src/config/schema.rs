//! The JSON Schema of `mcp.json`, made from the table of keys.

use serde_json::{Map, Value, json};

use super::keys::{FILE_KEYS, Key, SERVER_KEYS, Servers, Shape};

/// The JSON Schema of `mcp.json`, for editors and for `docs/mcp.schema.json`.
pub fn config_schema() -> Value {
    let mut schema = Map::new();
    schema.insert(
        "$schema".to_owned(),
        json!("https://json-schema.org/draft/2020-12/schema"),
    );
    schema.insert("title".to_owned(), json!("mcp.json of Pirn"));
    schema.extend(object(FILE_KEYS));
    Value::Object(schema)
}

/// An object with these keys, open for others: unknown ones are kept and ignored.
fn object(keys: &'static [Key]) -> Map<String, Value> {
    let properties: Map<String, Value> = keys
        .iter()
        .map(|key| (key.name.to_owned(), property(key)))
        .collect();
    let mut object = Map::new();
    object.insert("type".to_owned(), json!("object"));
    object.insert("properties".to_owned(), Value::Object(properties));
    object
}

fn property(key: &'static Key) -> Value {
    let mut schema = shape(key);
    let servers = match key.servers {
        Servers::All => "",
        Servers::Stdio => " Only with command.",
        Servers::Http => " Only with url.",
    };
    schema.insert(
        "description".to_owned(),
        json!([key.help, servers].concat()),
    );
    if let Some(default) = key.default.and_then(|text| serde_json::from_str(text).ok()) {
        schema.insert("default".to_owned(), default);
    }
    Value::Object(schema)
}

fn shape(key: &'static Key) -> Map<String, Value> {
    let schema = match key.shape {
        Shape::Text => json!({ "type": "string" }),
        Shape::Texts => json!({ "type": "array", "items": { "type": "string" } }),
        Shape::TextMap => {
            json!({ "type": "object", "additionalProperties": { "type": "string" } })
        }
        Shape::Flag => json!({ "type": "boolean" }),
        Shape::Seconds => json!({ "type": "number", "exclusiveMinimum": 0, "maximum": 604_800 }),
        Shape::Port => json!({ "type": "integer", "minimum": 1, "maximum": 65535 }),
        Shape::Choice(words) => json!({ "enum": words }),
        Shape::ChoiceMap(words) => {
            json!({ "type": "object", "additionalProperties": { "enum": words } })
        }
        Shape::ChoicesMap(words) => json!({
            "type": "object",
            "additionalProperties": { "type": "array", "items": { "enum": words } },
        }),
        Shape::Servers => json!({
            "type": "object",
            "propertyNames": { "pattern": "^[A-Za-z0-9_-]+$" },
            "additionalProperties": object(SERVER_KEYS),
        }),
        Shape::Object(keys) => return object(keys),
        Shape::FlagOrObject(keys) => json!({ "anyOf": [{ "type": "boolean" }, object(keys)] }),
    };
    match schema {
        Value::Object(schema) => schema,
        // Every arm is an object.
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) | Value::Array(_) => {
            Map::new()
        }
    }
}

#[cfg(test)]
mod tests;
