//! Nested JSON from strangers, without recursion: a value that is nested too deep must not reach code that recurses.

use serde_json::Value;

/// Levels of nesting accepted in arguments and schemas: what `serde_json` itself accepts when it reads text. Code that walks
/// values recursively (comparing, printing, validating, dropping) stays far from the end of any stack.
pub(crate) const JSON_DEPTH_MAX: usize = 128;

/// Counts the values inside `value`, itself included; `None` when it is nested deeper than [`JSON_DEPTH_MAX`].
pub(crate) fn count_values(value: &Value) -> Option<usize> {
    let mut count = 1;
    let mut open: Vec<(&Value, usize)> = Vec::new();
    if is_container(value) {
        open.push((value, 1));
    }
    while let Some((container, depth)) = open.pop() {
        if depth > JSON_DEPTH_MAX {
            return None;
        }
        let mut visit = |child| {
            count += 1;
            if is_container(child) {
                open.push((child, depth + 1));
            }
        };
        match container {
            Value::Array(items) => items.iter().for_each(&mut visit),
            Value::Object(members) => members.values().for_each(&mut visit),
            Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {}
        }
    }
    Some(count)
}

fn is_container(value: &Value) -> bool {
    value.is_array() || value.is_object()
}

/// Drops a value of any depth; the ordinary drop recurses.
pub(crate) fn dismantle(value: Value) {
    let mut open = vec![value];
    while let Some(value) = open.pop() {
        match value {
            Value::Array(items) => open.extend(items),
            Value::Object(members) => open.extend(members.into_iter().map(|(_, member)| member)),
            Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {}
        }
    }
}
