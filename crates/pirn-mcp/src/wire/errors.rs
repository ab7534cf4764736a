//! Errors, those of servers and those in their place.

use std::borrow::Cow;

use rmcp::model::{ErrorCode, ErrorData};
use serde_json::{Map, Value, json};

use super::repair::Repairs;

/// Marks an error that no server sent.
const OWN: &str = "pirn/wire";

/// An error in a server's place.
pub(super) fn own(message: String) -> ErrorData {
    ErrorData::internal_error(message, Some(json!({ OWN: true })))
}

/// Whether an error is one of those.
pub(super) fn is_own(error: &ErrorData) -> bool {
    error
        .data
        .as_ref()
        .is_some_and(|data| data.get(OWN).is_some())
}

/// Whether an `error` beside a result is one: some write null, false or something empty where there is none.
pub(super) fn is_error(error: &Value) -> bool {
    match error {
        Value::Null | Value::Bool(false) => false,
        Value::Bool(true) => true,
        Value::Number(number) => number.as_f64() != Some(0.0),
        Value::String(text) => !text.is_empty(),
        Value::Array(items) => !items.is_empty(),
        Value::Object(members) => !members.is_empty(),
    }
}

/// A server's error, whatever it looks like.
pub(super) fn of_server(error: Value, repairs: &mut Repairs) -> ErrorData {
    match error {
        Value::Object(members) => of_members(members, repairs),
        Value::String(message) => {
            repairs.change();
            ErrorData::internal_error(message, None)
        }
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::Array(_) => {
            repairs.change();
            let message = format!("the server answered with the error {error}");
            ErrorData::internal_error(message, None)
        }
    }
}

fn of_members(mut members: Map<String, Value>, repairs: &mut Repairs) -> ErrorData {
    let data = members.shift_remove("data");
    let (code, word) = code(members.get("code"));
    let message = match members.get_mut("message").map(Value::take) {
        Some(Value::String(message)) => message,
        Some(Value::Null) | None => {
            repairs.change();
            unnamed(&members, data.as_ref())
        }
        Some(other) => {
            repairs.change();
            other.to_string()
        }
    };
    if !members.get("code").is_some_and(Value::is_i64) {
        repairs.change();
    }
    let message = match word {
        Some(word) => format!("{message} ({word})"),
        None => message,
    };
    ErrorData::new(
        code,
        Cow::Owned(message),
        data.filter(|data| !data.is_null()),
    )
}

/// The code, and the server's own word for it where it is no number.
fn code(code: Option<&Value>) -> (ErrorCode, Option<String>) {
    let number = match code {
        Some(Value::Number(number)) => super::requests::integer(number),
        Some(Value::String(text)) => text.trim().parse().ok(),
        Some(Value::Null | Value::Bool(_) | Value::Array(_) | Value::Object(_)) | None => None,
    };
    if let Some(number) = number.and_then(|number: i64| i32::try_from(number).ok()) {
        return (ErrorCode(number), None);
    }
    let word = match code {
        Some(Value::String(text)) if !text.is_empty() => Some(text.clone()),
        Some(Value::Number(number)) => Some(number.to_string()),
        Some(_) | None => None,
    };
    (ErrorCode::INTERNAL_ERROR, word)
}

/// What an error without a message says.
fn unnamed(members: &Map<String, Value>, data: Option<&Value>) -> String {
    let said = match data {
        Some(Value::String(text)) => Some(text.clone()),
        Some(Value::Null) | None => None,
        Some(data) => Some(data.to_string()),
    };
    if let Some(said) = said {
        return said;
    }
    let rest: Map<String, Value> = members
        .iter()
        .filter(|(name, value)| *name != "code" && !value.is_null())
        .map(|(name, value)| (name.clone(), value.clone()))
        .collect();
    if rest.is_empty() {
        "the server answered with an error without a message".to_owned()
    } else {
        Value::Object(rest).to_string()
    }
}
