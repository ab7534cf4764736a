//! Measures what a check would cost, for schemas whose references can multiply the work: two references to the same recursive
//! schema at one place double it with every level of the arguments.

use serde_json::{Map, Value};

use super::local::resolve_local;
use crate::depth::count_values;

/// Steps a check may take on top of [`STEPS_PER_VALUE`]: about a millisecond.
const STEPS_BASE: usize = 10_000;
/// Steps a check may take for each value of the arguments; real schemas need fewer than ten.
const STEPS_PER_VALUE: usize = 64;

/// Keywords that apply a schema, or a list of them, to the same value.
const IN_PLACE: [&str; 7] = ["allOf", "anyOf", "oneOf", "not", "if", "then", "else"];
/// Keywords that apply named schemas to the same value.
const IN_PLACE_NAMED: [&str; 2] = ["dependentSchemas", "dependencies"];
/// Keywords that apply a schema, or a list of them, to every child.
const TO_CHILDREN: [&str; 8] = [
    "items",
    "prefixItems",
    "additionalItems",
    "contains",
    "unevaluatedItems",
    "additionalProperties",
    "propertyNames",
    "unevaluatedProperties",
];

/// Whether checking can take more steps than the schema has places times the arguments have values.
pub(super) fn can_multiply(schema: &Value) -> bool {
    match schema {
        Value::Object(members) => {
            ["$ref", "unevaluatedProperties", "unevaluatedItems"]
                .iter()
                .any(|keyword| members.contains_key(*keyword))
                || members.values().any(can_multiply)
        }
        Value::Array(items) => items.iter().any(can_multiply),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => false,
    }
}

/// Whether the steps of checking `arguments` stay within the budget. Counts generously: as if every branch were taken.
pub(super) fn is_affordable(schema: &Value, arguments: &Value) -> bool {
    let Some(values) = count_values(arguments) else {
        return false;
    };
    let mut steps_left = STEPS_BASE + STEPS_PER_VALUE * values;
    let mut open = vec![(schema, arguments)];
    while let Some((place, value)) = open.pop() {
        let Value::Object(members) = place else {
            continue;
        };
        if steps_left < open.len() || steps_left == 0 {
            return false;
        }
        steps_left -= 1;
        push_in_place(&mut open, schema, members, value);
        push_children(&mut open, members, value);
    }
    true
}

fn push_in_place<'a>(
    open: &mut Vec<(&'a Value, &'a Value)>,
    root: &'a Value,
    members: &'a Map<String, Value>,
    value: &'a Value,
) {
    let before = open.len();
    if let Some(Value::String(reference)) = members.get("$ref")
        && let Some((_, target)) = resolve_local(root, reference)
    {
        open.push((target, value));
    }
    for keyword in IN_PLACE {
        match members.get(keyword) {
            Some(Value::Array(branches)) => {
                open.extend(branches.iter().map(|branch| (branch, value)));
            }
            Some(branch) => open.push((branch, value)),
            None => {}
        }
    }
    for keyword in IN_PLACE_NAMED {
        if let Some(Value::Object(named)) = members.get(keyword) {
            open.extend(named.values().map(|branch| (branch, value)));
        }
    }
    // To know what was evaluated, the branches are evaluated a second time.
    if members.contains_key("unevaluatedProperties") || members.contains_key("unevaluatedItems") {
        open.extend_from_within(before..);
    }
}

fn push_children<'a>(
    open: &mut Vec<(&'a Value, &'a Value)>,
    members: &'a Map<String, Value>,
    value: &'a Value,
) {
    let children: Vec<&Value> = match value {
        Value::Array(items) => items.iter().collect(),
        Value::Object(named) => {
            if let Some(Value::Object(properties)) = members.get("properties") {
                let pairs = named
                    .iter()
                    .filter_map(|(name, child)| Some((properties.get(name)?, child)));
                open.extend(pairs);
            }
            if let Some(Value::Object(patterns)) = members.get("patternProperties") {
                open.extend(
                    patterns
                        .values()
                        .flat_map(|place| named.values().map(move |child| (place, child))),
                );
            }
            named.values().collect()
        }
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => return,
    };
    for keyword in TO_CHILDREN {
        match members.get(keyword) {
            Some(Value::Array(places)) => open.extend(places.iter().zip(children.iter().copied())),
            Some(place @ Value::Object(_)) => {
                open.extend(children.iter().map(|child| (place, *child)));
            }
            Some(_) | None => {}
        }
    }
}
