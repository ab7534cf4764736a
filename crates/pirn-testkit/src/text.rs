//! What placeholders in a script's texts stand for.

use std::sync::atomic::{AtomicUsize, Ordering};

use serde_json::Value;

use crate::log::{Log, Seen};

/// What the placeholders stand for.
#[derive(Debug, Default)]
pub(crate) struct Names {
    /// The fake's own origin; empty without HTTP.
    pub(crate) origin: String,
    /// The origin of the second listener.
    pub(crate) neighbour: String,
    /// How many texts were counted.
    pub(crate) count: AtomicUsize,
}

/// Fills the placeholders in, for an answer to `seen`.
pub(crate) fn fill(text: &[u8], seen: &Seen, names: &Names, log: &Log) -> Vec<u8> {
    let mut filled = Vec::with_capacity(text.len());
    let mut rest = text;
    // Texts may be large, so they are copied piece by piece.
    while let Some(position) = rest.iter().position(|byte| *byte == b'$') {
        let (before, from) = rest.split_at(position);
        filled.extend_from_slice(before);
        if let Some((count, after)) = letters(from) {
            filled.resize(filled.len() + count, b'x');
            rest = after;
            continue;
        }
        let known = PLACEHOLDERS
            .iter()
            .find_map(|(name, value)| Some((from.strip_prefix(name.as_bytes())?, value)));
        let Some((mut after, value)) = known else {
            filled.push(b'$');
            rest = from.get(1..).unwrap_or_default();
            continue;
        };
        // JSON values stand for the string around them.
        if before.last() == Some(&b'"')
            && let Some(unquoted) = after.strip_prefix(b"\"")
        {
            filled.pop();
            after = unquoted;
        }
        filled.extend_from_slice(value(seen, names, log).as_bytes());
        rest = after;
    }
    filled.extend_from_slice(rest);
    filled
}

/// The number in `$X(number)`, and what follows.
fn letters(text: &[u8]) -> Option<(usize, &[u8])> {
    let number = text.strip_prefix(b"$X(")?;
    let end = number.iter().position(|byte| *byte == b')')?;
    let (digits, after) = number.split_at(end);
    let count = std::str::from_utf8(digits).ok()?.parse().ok()?;
    Some((count, after.get(1..)?))
}

type Placeholder = fn(&Seen, &Names, &Log) -> String;

/// No name begins with another one that comes before it.
const PLACEHOLDERS: &[(&str, Placeholder)] = &[
    ("$ID", |seen, _, _| id(seen).to_string()),
    ("$STRING_ID", |seen, _, _| match id(seen) {
        Value::String(id) => Value::from(id).to_string(),
        id => Value::from(id.to_string()).to_string(),
    }),
    ("$CALL_ID", |_, _, log| {
        let all = log.all();
        let call = all.iter().rfind(|seen| seen.tool().is_some());
        call.map_or(Value::Null, id).to_string()
    }),
    ("$TOKEN", |seen, _, _| {
        let token = seen.message.pointer("/params/_meta/progressToken");
        token.unwrap_or(&Value::Null).to_string()
    }),
    ("$COUNT", |_, names, _| {
        names.count.fetch_add(1, Ordering::Relaxed).to_string()
    }),
    ("$ORIGIN", |_, names, _| names.origin.clone()),
    ("$NEIGHBOUR", |_, names, _| names.neighbour.clone()),
];

fn id(seen: &Seen) -> Value {
    seen.message.get("id").cloned().unwrap_or(Value::Null)
}

#[cfg(test)]
mod tests;
