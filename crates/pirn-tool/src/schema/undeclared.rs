//! Arguments that a schema does not declare.

use serde_json::Value;

use super::closest;

/// Keywords beside `properties` by which a schema can declare members.
const DECLARING: [&str; 8] = [
    "$ref",
    "allOf",
    "anyOf",
    "oneOf",
    "if",
    "dependentSchemas",
    "patternProperties",
    "additionalProperties",
];

/// What to say about arguments whose names the schema does not declare; `None` where there are none, or where the schema says
/// itself what else there may be. A person who is asked about a call judges it by what the tool declares: a member that it ignores
/// could say anything.
pub fn undeclared(schema: &Value, arguments: &Value) -> Option<String> {
    let declared = schema.get("properties")?.as_object()?;
    if DECLARING
        .iter()
        .any(|keyword| schema.get(keyword).is_some())
    {
        return None;
    }
    let mut names = arguments
        .as_object()?
        .keys()
        .filter(|name| !declared.contains_key(*name));
    let name = names.next()?;
    let close = closest(name, declared.keys().map(String::as_str));
    let advice = match close {
        Some(close) => format!("did you mean `{close}`?"),
        None if declared.is_empty() => "it takes no arguments".to_owned(),
        None => format!(
            "its arguments are {}",
            declared.keys().cloned().collect::<Vec<_>>().join(", ")
        ),
    };
    Some(format!("there is no argument `{name}`; {advice}"))
}

#[cfg(test)]
mod tests;
