//! What a call resolves to, in one line.

use serde_json::{Map, Value};

use super::literal::{json_text, property_order, string_text};
use super::{reference, schema_to_type};

/// References followed one after the other; more means that they go in a circle.
const CHAIN_MAX: usize = 32;

type Schema = Map<String, Value>;

/// Describes the values of an output schema: as words, as the fields of an object or of its variants, or as a type; and where
/// none of that fits on a line, by how to see the type.
pub(crate) fn summarise(schema: &Value, tool_name: &str) -> String {
    let type_text = schema_to_type(schema, None);
    if type_text == "string" {
        return "a string".to_owned();
    }
    if let Some(fields) = object_fields(schema) {
        return format!("`{fields}`");
    }
    if type_text.contains('\n') {
        return format!(
            "a value; `await describeTool({})` shows its type",
            string_text(tool_name)
        );
    }
    format!("`{type_text}`")
}

/// The fields of an object schema, with the fields of its objects; or those of every variant of a union of objects.
fn object_fields(root: &Value) -> Option<String> {
    let schema = dereference(root, root)?;
    if let Some(properties) = object_properties(schema) {
        return Some(fields(root, schema, properties, Nesting::Shown));
    }
    let variants = schema
        .get("anyOf")
        .or_else(|| schema.get("oneOf"))?
        .as_array()?;
    let texts: Option<Vec<String>> = variants
        .iter()
        .map(|variant| {
            let variant = dereference(root, variant)?;
            Some(fields(
                root,
                variant,
                object_properties(variant)?,
                Nesting::Hidden,
            ))
        })
        .collect();
    texts
        .filter(|texts| !texts.is_empty())
        .map(|texts| texts.join(" | "))
}

/// Whether the fields of objects in fields are listed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Nesting {
    Shown,
    Hidden,
}

fn fields(root: &Value, schema: &Schema, properties: &Schema, nesting: Nesting) -> String {
    let required = schema.get("required").and_then(Value::as_array);
    let texts: Vec<String> = property_order(properties)
        .into_iter()
        .map(|(name, property)| {
            let is_required = required.is_some_and(|names| names.iter().any(|known| known == name));
            let mark = if is_required { "" } else { "?" };
            field_type(root, property, nesting).map_or_else(
                || format!("{name}{mark}"),
                |text| format!("{name}{mark}: {text}"),
            )
        })
        .collect();
    format!("{{ {} }}", texts.join(", "))
}

/// What is worth saying about a field: a constant's value, and the fields of an object.
fn field_type(root: &Value, property: &Value, nesting: Nesting) -> Option<String> {
    let property = dereference(root, property)?;
    if let Some(constant) = property.get("const") {
        return Some(json_text(constant));
    }
    match nesting {
        Nesting::Hidden => None,
        Nesting::Shown => object_properties(property)
            .map(|properties| fields(root, property, properties, Nesting::Hidden)),
    }
}

fn object_properties(schema: &Schema) -> Option<&Schema> {
    let is_object = schema.get("type").and_then(Value::as_str) == Some("object");
    schema.get("properties")?.as_object().filter(|_| is_object)
}

/// The schema itself, or what its local references lead to.
fn dereference<'a>(root: &'a Value, schema: &'a Value) -> Option<&'a Schema> {
    let mut schema = schema;
    for _ in 0..CHAIN_MAX {
        let members = schema.as_object()?;
        match members.get("$ref").and_then(Value::as_str) {
            Some(target) => schema = reference::resolve(root, target)?,
            None => return Some(members),
        }
    }
    None
}
