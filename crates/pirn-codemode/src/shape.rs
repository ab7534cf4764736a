//! What a script may rely on about a tool's result, as far as its schema says.

use pirn_tool::ToolSpec;
use pirn_vm::ToolShape;
use serde_json::Value;

/// The shape of a tool's result. Tools of servers give whatever their server gives, so nothing is said of those.
pub(crate) fn shape_of(spec: &ToolSpec) -> ToolShape {
    let schema = match &spec.output_schema {
        Some(schema) if spec.namespace.is_none() => schema,
        Some(_) | None => return ToolShape::default(),
    };
    match schema.get("type").and_then(Value::as_str) {
        Some("object") => ToolShape {
            result: members(schema),
            element: None,
        },
        Some("array") => ToolShape {
            result: None,
            element: schema.get("items").and_then(|items| {
                match items.get("type").and_then(Value::as_str) {
                    Some("object") => members(items),
                    Some("string") => Some(Vec::new()),
                    Some(_) | None => None,
                }
            }),
        },
        Some(_) | None => ToolShape::default(),
    }
}

/// The members that an object may have; `None` where the schema lets others in, or names none.
fn members(schema: &Value) -> Option<Vec<String>> {
    let is_open = schema
        .get("additionalProperties")
        .is_some_and(|others| *others != Value::Bool(false));
    let properties = schema.get("properties")?.as_object()?;
    (!is_open && !properties.is_empty()).then(|| properties.keys().cloned().collect())
}
