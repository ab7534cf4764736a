//! Repairs what models often get slightly wrong: numbers and booleans as strings, a lone value where a list is wanted, null
//! for an optional member. Only places that the schema rejects are touched.

use jsonschema::error::{TypeKind, ValidationErrorKind};
use jsonschema::{JsonType, ValidationError, Validator};
use serde_json::{Number, Value};

use super::unescaped;

/// Rounds of repair: a lone value becomes a list, then its item a number, then one more for a union around them.
const ROUNDS_MAX: usize = 3;
/// Places repaired in one round; more would not be slips.
const PLACES_MAX: usize = 256;

/// A copy of `arguments` with every repair made that the errors suggest. It need not be valid.
pub(super) fn coerced(compiled: &Validator, arguments: &Value) -> Value {
    let mut value = arguments.clone();
    for _ in 0..ROUNDS_MAX {
        let repairs: Vec<Repair> = compiled
            .iter_errors(&value)
            .filter_map(|error| repair(&error))
            .take(PLACES_MAX)
            .collect();
        if repairs.is_empty() {
            break;
        }
        for repair in repairs {
            apply(&mut value, repair);
        }
    }
    restore_required_nulls(compiled, arguments, &mut value);
    value
}

struct Repair {
    pointer: String,
    /// `None` takes the member out.
    replacement: Option<Value>,
}

fn repair(error: &ValidationError<'_>) -> Option<Repair> {
    let at = |replacement| Repair {
        pointer: error.instance_path().as_str().to_owned(),
        replacement,
    };
    match error.kind() {
        ValidationErrorKind::Type { kind } => {
            let types: Vec<JsonType> = match kind {
                TypeKind::Single(kind) => vec![*kind],
                TypeKind::Multiple(kinds) => kinds.iter().collect(),
            };
            match error.instance().as_ref() {
                Value::Null => Some(at(None)),
                value => types
                    .into_iter()
                    .find_map(|kind| converted(value, kind))
                    .map(|value| at(Some(value))),
            }
        }
        // A branch of a union whose every complaint can be repaired is the one that was meant.
        ValidationErrorKind::AnyOf { context } | ValidationErrorKind::OneOfNotValid { context } => {
            let here = error.instance_path().as_str();
            let repairs = |branch: &Vec<ValidationError<'static>>| match branch.as_slice() {
                [only] if only.instance_path().as_str() == here => repair(only),
                _ => None,
            };
            if error.instance().is_null() {
                Some(at(None))
            } else {
                context.iter().find_map(repairs)
            }
        }
        _ => None,
    }
}

/// The same value as another type, where nothing is lost.
fn converted(value: &Value, wanted: JsonType) -> Option<Value> {
    match (wanted, value) {
        (JsonType::Number | JsonType::Integer, Value::String(text)) => {
            serde_json::from_str::<Number>(text.trim())
                .ok()
                .map(Value::Number)
        }
        (JsonType::Boolean, Value::String(text)) => match text.as_str() {
            "true" => Some(Value::Bool(true)),
            "false" => Some(Value::Bool(false)),
            _ => None,
        },
        (JsonType::String, Value::Number(number)) => Some(Value::String(number.to_string())),
        (JsonType::Array, value) => Some(Value::Array(vec![value.clone()])),
        _ => None,
    }
}

fn apply(value: &mut Value, repair: Repair) {
    match repair.replacement {
        Some(replacement) => {
            if let Some(place) = value.pointer_mut(&repair.pointer) {
                *place = replacement;
            }
        }
        None => {
            if let Some((parent, name)) = repair.pointer.rsplit_once('/')
                && let Some(Value::Object(members)) = value.pointer_mut(parent)
            {
                members.shift_remove(&unescaped(name));
            }
        }
    }
}

/// Puts back the nulls of members that turned out to be required, so that the complaint is about the null.
fn restore_required_nulls(compiled: &Validator, arguments: &Value, value: &mut Value) {
    let missing: Vec<(String, String)> = compiled
        .iter_errors(value)
        .filter_map(|error| match error.kind() {
            ValidationErrorKind::Required {
                property: Value::String(name),
            } => Some((error.instance_path().as_str().to_owned(), name.clone())),
            _ => None,
        })
        .filter(|(parent, name)| {
            arguments
                .pointer(parent)
                .and_then(|object| object.get(name))
                .is_some_and(Value::is_null)
        })
        .collect();
    for (parent, name) in missing {
        if let Some(Value::Object(members)) = value.pointer_mut(&parent) {
            members.insert(name, Value::Null);
        }
    }
}
