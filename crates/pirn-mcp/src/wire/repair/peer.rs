//! What a server asks and tells by itself.

use rmcp::model::PrimitiveSchemaDefinition;
use serde::Deserialize as _;
use serde_json::{Map, Value, json};

use super::{Kind, Repairs, drop_odd, drop_unless, force_string, set};
use crate::wire::requests::integer;

/// Names the request for changes that a notification belongs to.
const SUBSCRIPTION: &str = "io.modelcontextprotocol/subscriptionId";

/// How urgent a log message can be.
const LOG_LEVELS: [&str; 8] = [
    "debug",
    "info",
    "notice",
    "warning",
    "error",
    "critical",
    "alert",
    "emergency",
];

pub(in crate::wire) fn request(
    method: &str,
    message: &mut Map<String, Value>,
    repairs: &mut Repairs,
) {
    let is_elicitation = method == "elicitation/create";
    if let Some(params) = params(message, repairs)
        && is_elicitation
    {
        elicitation(params, repairs);
    }
}

/// What a server asks for before it answers: the same requests, inside of a result.
pub(in crate::wire) fn input_required(result: &mut Value, repairs: &mut Repairs) {
    let Some(Value::Object(requests)) = result.get_mut("inputRequests") else {
        return;
    };
    for message in requests.values_mut() {
        if let Value::Object(message) = message
            && message.get("method").and_then(Value::as_str) == Some("elicitation/create")
        {
            request("elicitation/create", message, repairs);
        }
    }
}

pub(in crate::wire) fn notification(
    method: &str,
    message: &mut Map<String, Value>,
    repairs: &mut Repairs,
) {
    let Some(params) = params(message, repairs) else {
        return;
    };
    if let Some(Value::Object(meta)) = params.get_mut("_meta") {
        force_own_id(meta, SUBSCRIPTION, repairs);
    }
    match method {
        "notifications/progress" => progress(params, repairs),
        "notifications/message" => log_message(params, repairs),
        "notifications/cancelled" => {
            drop_unless(params, "reason", Kind::String, repairs);
        }
        _ => {}
    }
}

/// The parameters, where they are an object; anything else is left out.
fn params<'a>(
    message: &'a mut Map<String, Value>,
    repairs: &mut Repairs,
) -> Option<&'a mut Map<String, Value>> {
    drop_unless(message, "params", Kind::Object, repairs);
    let params = message.get_mut("params")?.as_object_mut()?;
    drop_unless(params, "_meta", Kind::Object, repairs);
    Some(params)
}

/// Ours are numbers, and what belongs to them is found by the number, but servers echo them as strings and fractions.
fn force_own_id(map: &mut Map<String, Value>, name: &str, repairs: &mut Repairs) {
    let number: Option<i64> = match map.get(name) {
        Some(Value::String(text)) => text.trim().parse().ok(),
        Some(Value::Number(number)) if !number.is_i64() => integer(number),
        Some(_) | None => None,
    };
    if let Some(number) = number {
        set(map, name, number, repairs);
    }
}

fn progress(params: &mut Map<String, Value>, repairs: &mut Repairs) {
    force_own_id(params, "progressToken", repairs);
    for name in ["progress", "total"] {
        if let Some(Value::String(text)) = params.get(name)
            && let Ok(number) = text.trim().parse::<f64>()
        {
            set(params, name, number, repairs);
        }
    }
    if !params.get("progress").is_some_and(Value::is_number) {
        set(params, "progress", 0, repairs);
    }
    drop_unless(params, "total", Kind::Number, repairs);
    if params.contains_key("message") {
        force_string(params, "message", "", repairs);
    }
}

fn log_message(params: &mut Map<String, Value>, repairs: &mut Repairs) {
    let level = params.get("level").and_then(Value::as_str);
    if !level.is_some_and(|level| LOG_LEVELS.contains(&level)) {
        let level = level.map(str::to_ascii_lowercase);
        let level = match level.as_deref() {
            Some("trace") => "debug",
            Some("warn") => "warning",
            Some("fatal") => "critical",
            Some(level) => LOG_LEVELS
                .into_iter()
                .find(|known| *known == level)
                .unwrap_or("info"),
            None => "info",
        };
        set(params, "level", level, repairs);
    }
    drop_unless(params, "logger", Kind::String, repairs);
    if !params.contains_key("data") {
        let data = params.get("message").cloned().unwrap_or_default();
        set(params, "data", data, repairs);
    }
}

/// A question to the user. What a form cannot show is left for the typed form to refuse, which answers the server.
fn elicitation(params: &mut Map<String, Value>, repairs: &mut Repairs) {
    force_string(params, "message", "", repairs);
    drop_unless(params, "mode", Kind::String, repairs);
    if params.get("mode").and_then(Value::as_str) == Some("url") {
        drop_unless(params, "elicitationId", Kind::String, repairs);
        return;
    }
    let Some(Value::Object(schema)) = params.get_mut("requestedSchema") else {
        set(
            params,
            "requestedSchema",
            json!({"type": "object", "properties": {}}),
            repairs,
        );
        return;
    };
    if schema.get("type").and_then(Value::as_str) != Some("object") {
        set(schema, "type", "object", repairs);
    }
    drop_odd(
        schema,
        &[
            ("title", Kind::String),
            ("description", Kind::String),
            ("required", Kind::Array),
        ],
        repairs,
    );
    let Some(Value::Object(properties)) = schema.get_mut("properties") else {
        set(schema, "properties", Map::new(), repairs);
        return;
    };
    for property in properties.values_mut() {
        if PrimitiveSchemaDefinition::deserialize(&*property).is_err()
            && let Value::Object(property) = property
        {
            // What a form can do without.
            for name in ["format", "default"] {
                property.shift_remove(name);
            }
            repairs.change();
        }
    }
}
