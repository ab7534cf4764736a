//! JSON text as `JSON.stringify` writes it.

use serde_json::{Map, Number, Value};

/// Integers beyond this are not exact in JavaScript (2^53).
const EXACT_INTEGER_MAX: u64 = 1 << 53;
/// The largest property name that JavaScript orders as an array index (2^32 - 2).
const INDEX_MAX: u32 = u32::MAX - 1;

/// Writes a value as `JSON.stringify` does, with members in the order JavaScript keeps them.
pub(super) fn json_text(value: &Value) -> String {
    let mut text = String::new();
    write(value, &mut text);
    text
}

/// Writes a number as `String(number)` does in JavaScript.
pub(super) fn number_text(number: &Number) -> String {
    if let Some(integer) = number.as_i64()
        && integer.unsigned_abs() <= EXACT_INTEGER_MAX
    {
        return integer.to_string();
    }
    float_text(number.as_f64().unwrap_or_default())
}

/// Writes a string as `JSON.stringify` does.
pub(super) fn string_text(text: &str) -> String {
    Value::from(text).to_string()
}

/// Members in the order JavaScript keeps them: array indexes by number, then the others as written.
pub(super) fn property_order(members: &Map<String, Value>) -> Vec<(&String, &Value)> {
    let mut ordered: Vec<_> = members.iter().collect();
    ordered.sort_by_key(|(name, _)| array_index(name).map_or(u64::MAX, u64::from));
    ordered
}

fn write(value: &Value, text: &mut String) {
    match value {
        Value::Null | Value::Bool(_) | Value::String(_) => text.push_str(&value.to_string()),
        Value::Number(number) => text.push_str(&number_text(number)),
        Value::Array(items) => {
            text.push('[');
            for (index, item) in items.iter().enumerate() {
                if index > 0 {
                    text.push(',');
                }
                write(item, text);
            }
            text.push(']');
        }
        Value::Object(members) => {
            text.push('{');
            for (index, (name, member)) in property_order(members).into_iter().enumerate() {
                if index > 0 {
                    text.push(',');
                }
                text.push_str(&string_text(name));
                text.push(':');
                write(member, text);
            }
            text.push('}');
        }
    }
}

fn array_index(name: &str) -> Option<u32> {
    let index: u32 = name.parse().ok()?;
    (index <= INDEX_MAX && index.to_string() == name).then_some(index)
}

/// ECMAScript `Number::toString`: the shortest digits, plain from 1e-6 up to 1e21.
fn float_text(number: f64) -> String {
    if number == 0.0 {
        return "0".to_owned();
    }
    let scientific = format!("{:e}", number.abs());
    let (mantissa, exponent) = scientific.split_once('e').unwrap_or((&scientific, "0"));
    let digits = mantissa.replace('.', "");
    let exponent: i32 = exponent.parse().unwrap_or_default();
    let sign = if number < 0.0 { "-" } else { "" };
    let count = i32::try_from(digits.len()).unwrap_or(i32::MAX);
    let zeros = |count: i32| "0".repeat(usize::try_from(count).unwrap_or_default());
    if (0..21).contains(&exponent) {
        let whole = exponent + 1;
        if count <= whole {
            return format!("{sign}{digits}{}", zeros(whole - count));
        }
        let (before, after) = digits.split_at(usize::try_from(whole).unwrap_or_default());
        return format!("{sign}{before}.{after}");
    }
    if (-6..0).contains(&exponent) {
        return format!("{sign}0.{}{digits}", zeros(-exponent - 1));
    }
    let exponent_sign = if exponent < 0 { '-' } else { '+' };
    format!("{sign}{mantissa}e{exponent_sign}{}", exponent.abs())
}
