//! The schemas of a server's tools, made fit for use: self-contained, and always of objects.

use pirn_tool::{SchemaCheck, standalone_schema};
use serde_json::{Map, Value, json};

use super::text::{cut_end, quoted};

/// Where the schema of structured content stands in an output schema.
const STRUCTURED_PLACE: &str = "/properties/structuredContent";
/// Lost references named in one warning.
const REFERENCES_NAMED_MAX: usize = 3;
/// Bytes of a lost reference in a warning.
const REFERENCE_BYTES_MAX: usize = 200;

/// The schema of a tool's arguments. A union or a reference at the top stays: scripts see and are checked by it as it is. A
/// model provider that refuses those for declared tools has to wrap them.
pub(super) fn input_schema(schema: Option<&Value>, warn: &mut dyn FnMut(String)) -> Value {
    let mut schema = match schema {
        // A list of tools with a bad schema is worth more than none; the server checks arguments itself.
        None | Some(Value::Null | Value::Bool(_)) => Map::new(),
        Some(given) => match standalone(given, "", "input", warn) {
            Some(Value::Object(members)) => members,
            Some(_) => {
                warn("its input schema is not an object; any arguments are accepted".to_owned());
                Map::new()
            }
            None => Map::new(),
        },
    };
    make_object(&mut schema, warn);
    let schema = Value::Object(schema);
    if SchemaCheck::new(&schema).is_usable() {
        return schema;
    }
    warn("its input schema cannot be used; any arguments are accepted".to_owned());
    anything()
}

/// Arguments are always an object, whatever the server wrote.
fn make_object(schema: &mut Map<String, Value>, warn: &mut dyn FnMut(String)) {
    match schema.get("type") {
        Some(Value::String(name)) if name == "object" => {}
        None | Some(Value::Null) => {
            schema.insert("type".into(), "object".into());
        }
        Some(Value::Array(names)) if names.iter().any(|name| name == "object") => {
            schema.insert("type".into(), "object".into());
        }
        Some(other) => {
            warn(format!(
                "its input schema has the type {}; \"object\" is assumed",
                cut_end(&other.to_string(), REFERENCE_BYTES_MAX)
            ));
            schema.insert("type".into(), "object".into());
        }
    }
    if !schema.get("properties").is_some_and(Value::is_object) {
        schema.insert("properties".into(), json!({}));
        // Models' services want properties, yet a schema without them takes any arguments.
        schema
            .entry("additionalProperties")
            .or_insert(Value::Bool(true));
    }
}

fn anything() -> Value {
    json!({"type": "object", "properties": {}, "additionalProperties": true})
}

/// The schema of what a script gets of a tool: the whole result, with the server's schema for its structured part. References
/// of that schema are turned to its new place. Open for more members everywhere.
pub(super) fn output_schema(schema: Option<&Value>, warn: &mut dyn FnMut(String)) -> Value {
    let structured = match schema {
        None | Some(Value::Null | Value::Bool(_)) => json!({}),
        Some(given @ Value::Object(_)) => {
            standalone(given, STRUCTURED_PLACE, "output", warn).unwrap_or_else(|| json!({}))
        }
        Some(Value::Number(_) | Value::String(_) | Value::Array(_)) => {
            warn("its output schema is not an object and is ignored".to_owned());
            json!({})
        }
    };
    json!({
        "type": "object",
        "properties": {
            "content": {
                "type": "array",
                "items": {
                    "type": "object",
                    "properties": {
                        "type": {"type": "string"},
                        "text": {"type": "string"},
                        "data": {"type": "string"},
                        "mimeType": {"type": "string"},
                        "uri": {"type": "string"},
                        "resource": {"type": "object"},
                    },
                    "required": ["type"],
                },
            },
            "structuredContent": structured,
            "isError": {"type": "boolean"},
        },
        "required": ["content"],
    })
}

fn standalone(
    schema: &Value,
    place: &str,
    which: &str,
    warn: &mut dyn FnMut(String),
) -> Option<Value> {
    let Some(standalone) = standalone_schema(schema, place) else {
        warn(format!(
            "its {which} schema is too large or nested too deeply; anything is accepted"
        ));
        return None;
    };
    let lost = &standalone.lost_references;
    if !lost.is_empty() {
        let named: Vec<String> = lost
            .iter()
            .take(REFERENCES_NAMED_MAX)
            .map(|reference| quoted(&cut_end(reference, REFERENCE_BYTES_MAX)))
            .collect();
        let more = if lost.len() > REFERENCES_NAMED_MAX {
            " and more"
        } else {
            ""
        };
        warn(format!(
            "its {which} schema refers to {}{more}, outside itself; nothing is fetched, and anything is accepted there",
            named.join(", ")
        ));
    }
    Some(standalone.schema)
}
