//! Hashes of what was shown, so that an answer can be bound to it.

use std::fmt::Write as _;

use serde_json::Value;
use sha2::{Digest as _, Sha256};

/// The SHA-256 of a JSON value in hexadecimal digits. Two values have the same hash if they are equal; the order of an object's
/// members does not count.
pub fn value_hash(value: &Value) -> String {
    let mut hasher = Sha256::new();
    feed(&mut hasher, value);
    digits(hasher)
}

/// The SHA-256 of several texts. Each is preceded by its length, so that no two lists read the same.
pub(crate) fn texts_hash<'a>(texts: impl IntoIterator<Item = &'a str>) -> String {
    let mut hasher = Sha256::new();
    for text in texts {
        feed_text(&mut hasher, text);
    }
    digits(hasher)
}

/// Each kind of value starts with a letter of its own and a length, so that no two values feed the same bytes. Values come from
/// the pipeline, which has bounded their depth.
fn feed(hasher: &mut Sha256, value: &Value) {
    match value {
        Value::Null => hasher.update(b"z"),
        Value::Bool(false) => hasher.update(b"f"),
        Value::Bool(true) => hasher.update(b"t"),
        Value::Number(number) => {
            hasher.update(b"n");
            feed_text(hasher, &number.to_string());
        }
        Value::String(text) => {
            hasher.update(b"s");
            feed_text(hasher, text);
        }
        Value::Array(items) => {
            hasher.update(b"a");
            hasher.update((items.len() as u64).to_le_bytes());
            for item in items {
                feed(hasher, item);
            }
        }
        Value::Object(members) => {
            hasher.update(b"o");
            hasher.update((members.len() as u64).to_le_bytes());
            let mut members: Vec<_> = members.iter().collect();
            members.sort_unstable_by_key(|(name, _)| name.as_str());
            for (name, member) in members {
                feed_text(hasher, name);
                feed(hasher, member);
            }
        }
    }
}

fn feed_text(hasher: &mut Sha256, text: &str) {
    hasher.update((text.len() as u64).to_le_bytes());
    hasher.update(text.as_bytes());
}

fn digits(hasher: Sha256) -> String {
    hasher
        .finalize()
        .iter()
        .fold(String::with_capacity(64), |mut text, byte| {
            // Writing to a string cannot fail.
            let _infallible = write!(text, "{byte:02x}");
            text
        })
}
