//! Brings values into the form of the recordings: long strings shortened.

use serde_json::{Map, Value, json};

/// Longer strings, in UTF-16 units, are recorded as length, head and tail.
const LONG_STRING: usize = 1_000;
const EXCERPT: usize = 40;

/// A result with every long string shortened.
pub(crate) fn encode(value: Value) -> Value {
    match value {
        Value::String(text) => encode_text(text),
        Value::Array(items) => items.into_iter().map(encode).collect(),
        Value::Object(members) => members
            .into_iter()
            .map(|(name, member)| (name, encode(member)))
            .collect::<Map<_, _>>()
            .into(),
        Value::Null | Value::Bool(_) | Value::Number(_) => value,
    }
}

fn encode_text(text: String) -> Value {
    let units: Vec<u16> = text.encode_utf16().collect();
    if units.len() <= LONG_STRING {
        return Value::String(text);
    }
    let (head, tail) = (&units[..EXCERPT], &units[units.len() - EXCERPT..]);
    json!({"$long": units.len(), "head": encode_units(head), "tail": encode_units(tail)})
}

/// A string, or its code units where it is cut inside a character.
fn encode_units(units: &[u16]) -> Value {
    String::from_utf16(units).map_or_else(|_| json!({ "$utf16": units }), Value::String)
}

/// A string given as code units.
pub(crate) fn encode_units_or_text(units: &[u16]) -> Value {
    String::from_utf16(units).map_or_else(|_| json!({ "$utf16": units }), encode_text)
}
