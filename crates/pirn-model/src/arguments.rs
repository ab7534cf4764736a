//! Arguments of calls out of what models write.

use serde_json::{Map, Value};

/// Reads the arguments of a call. Models send an object as they should, the text of one inside a string, nothing, or something
/// that is no JSON; that is kept as the string that it is, so that the tool's check can say what was wrong.
pub(crate) fn parse_arguments(text: &str) -> Value {
    let text = text.trim();
    match serde_json::from_str::<Value>(text) {
        Ok(Value::Null) => Value::Object(Map::new()),
        Ok(Value::String(inner)) => match serde_json::from_str::<Value>(&inner) {
            Ok(object @ Value::Object(_)) => object,
            Ok(_) | Err(_) => Value::String(inner),
        },
        Ok(value) => value,
        Err(_) => match first_object(text) {
            Some(object) => object,
            None => Value::String(text.to_owned()),
        },
    }
}

/// Some servers send the whole object twice, or something after it.
fn first_object(text: &str) -> Option<Value> {
    let mut values = serde_json::Deserializer::from_str(text).into_iter::<Value>();
    let first = values.next()?.ok()?;
    let is_repeated = values.next()?.ok()? == first && values.next().is_none();
    (first.is_object() && is_repeated).then_some(first)
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn arguments_of_every_shape_are_read() {
        for (text, expected) in [
            (r#"{"a":1}"#, json!({"a": 1})),
            (" {} ", json!({})),
            ("null", json!({})),
            (r#""{\"a\":1}""#, json!({"a": 1})),
            (r#""plain""#, json!("plain")),
            (r#"{"a":1}{"a":1}"#, json!({"a": 1})),
            (r#"{"a":1}{"a":2}"#, json!(r#"{"a":1}{"a":2}"#)),
            (r#"{"a":1"#, json!(r#"{"a":1"#)),
            ("[1]", json!([1])),
        ] {
            assert_eq!(parse_arguments(text), expected, "{text}");
        }
    }
}
