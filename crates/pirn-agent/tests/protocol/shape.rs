//! Shapes of JSON values, as tables have them.

use serde_json::{Map, Value, json};

/// What a value looks like.
#[derive(Debug, Clone, Copy)]
pub(super) enum Shape {
    Any,
    Text,
    Flag,
    /// A number from 0 up, without a fraction.
    Count,
    Integer,
    Number,
    Choice(&'static [&'static str]),
    List(&'static Shape),
    /// One of this shape, or null.
    Maybe(&'static Shape),
    Object(&'static [Member]),
    /// One of several, told apart by the reader.
    Either(&'static [Shape]),
    /// A shape that has a name of its own in the schemas.
    Named(&'static str),
}

/// A member of an object.
#[derive(Debug, Clone, Copy)]
pub(super) struct Member {
    pub(super) name: &'static str,
    pub(super) shape: Shape,
    pub(super) is_required: bool,
    pub(super) help: &'static str,
}

/// A member that is always there.
pub(super) const fn always(name: &'static str, shape: Shape, help: &'static str) -> Member {
    Member {
        name,
        shape,
        is_required: true,
        help,
    }
}

/// A member that may be missing.
pub(super) const fn sometimes(name: &'static str, shape: Shape, help: &'static str) -> Member {
    Member {
        name,
        shape,
        is_required: false,
        help,
    }
}

impl Shape {
    /// The shape as a JSON Schema.
    pub(super) fn schema(self) -> Value {
        match self {
            Self::Any => json!({}),
            Self::Text => json!({"type": "string"}),
            Self::Flag => json!({"type": "boolean"}),
            Self::Count => json!({"type": "integer", "minimum": 0}),
            Self::Integer => json!({"type": "integer"}),
            Self::Number => json!({"type": "number"}),
            Self::Choice(words) => json!({"enum": words}),
            Self::List(of) => json!({"type": "array", "items": of.schema()}),
            Self::Maybe(of) => json!({"anyOf": [of.schema(), {"type": "null"}]}),
            Self::Object(members) => Value::Object(object(members)),
            Self::Either(shapes) => {
                let schemas: Vec<Value> = shapes.iter().map(|shape| shape.schema()).collect();
                json!({"anyOf": schemas})
            }
            Self::Named(name) => json!({"$ref": format!("#/$defs/{name}")}),
        }
    }

    /// The shape in words.
    pub(super) fn words(self) -> String {
        match self {
            Self::Any => "anything".to_owned(),
            Self::Text => "text".to_owned(),
            Self::Flag => "true or false".to_owned(),
            Self::Count | Self::Integer => "whole number".to_owned(),
            Self::Number => "number".to_owned(),
            Self::Choice(words) => {
                let words: Vec<String> = words.iter().map(|word| format!("`{word}`")).collect();
                words.join(", ")
            }
            Self::List(of) => format!("list of {}", of.words()),
            Self::Maybe(of) => format!("{} or null", of.words()),
            Self::Object(members) => {
                let names: Vec<String> = members
                    .iter()
                    .map(|member| format!("`{}`", member.name))
                    .collect();
                format!("object with {}", names.join(", "))
            }
            Self::Either(shapes) => {
                let words: Vec<String> = shapes.iter().map(|shape| shape.words()).collect();
                words.join(" or ")
            }
            Self::Named(name) => name.to_owned(),
        }
    }
}

/// An object with these members; readers ignore others.
pub(super) fn object(members: &[Member]) -> Map<String, Value> {
    let properties: Map<String, Value> = members
        .iter()
        .map(|member| {
            let mut schema = member.shape.schema();
            if !member.help.is_empty() {
                schema["description"] = json!(member.help);
            }
            (member.name.to_owned(), schema)
        })
        .collect();
    let required: Vec<&str> = members
        .iter()
        .filter(|member| member.is_required)
        .map(|member| member.name)
        .collect();
    let mut object = Map::new();
    object.insert("type".to_owned(), json!("object"));
    object.insert("properties".to_owned(), Value::Object(properties));
    if !required.is_empty() {
        object.insert("required".to_owned(), json!(required));
    }
    object
}
