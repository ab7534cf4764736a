//! What of a tool is searched.

use std::collections::BTreeSet;

use serde_json::Value;

use crate::schema::resolve_local;
use crate::tool::ToolSpec;

/// Subschemas read of one tool, and how deep they may lie: schemas come from strangers, and one that references itself in
/// many places must not take long.
const SUBSCHEMAS_MAX: usize = 2_000;
const DEPTH_MAX: usize = 64;

/// The description, then the descriptions and property names of the input schema.
pub(super) fn text(spec: &ToolSpec) -> String {
    let mut reader = Reader {
        root: &spec.input_schema,
        text: spec.description.clone(),
        references_read: BTreeSet::new(),
        subschemas_left: SUBSCHEMAS_MAX,
    };
    reader.read(&spec.input_schema, DEPTH_MAX);
    reader.text
}

/// The name, description and instructions of the tool's namespace.
pub(super) fn namespace_text(spec: &ToolSpec) -> String {
    let Some(namespace) = &spec.namespace else {
        return String::new();
    };
    let mut text = namespace.name.clone();
    for part in [&namespace.description, &namespace.instructions]
        .into_iter()
        .flatten()
    {
        text.push(' ');
        text.push_str(part);
    }
    text
}

struct Reader<'a> {
    root: &'a Value,
    text: String,
    /// Each target is read once, which also ends cycles.
    references_read: BTreeSet<String>,
    subschemas_left: usize,
}

impl<'a> Reader<'a> {
    fn push(&mut self, text: &str) {
        self.text.push(' ');
        self.text.push_str(text);
    }

    fn read(&mut self, schema: &'a Value, depth_left: usize) {
        let Value::Object(members) = schema else {
            return;
        };
        if depth_left == 0 || self.subschemas_left == 0 {
            return;
        }
        self.subschemas_left -= 1;
        let below = depth_left - 1;
        if let Some(Value::String(reference)) = members.get("$ref")
            && let Some((pointer, target)) = resolve_local(self.root, reference)
            && !pointer.is_empty()
            && self.references_read.insert(pointer)
        {
            self.read(target, below);
        }
        if let Some(Value::String(description)) = members.get("description") {
            self.push(description);
        }
        if let Some(Value::Object(properties)) = members.get("properties") {
            for (name, property) in properties {
                self.push(name);
                self.read(property, below);
            }
        }
        if let Some(items) = members.get("items") {
            self.read(items, below);
        }
        for branches in ["anyOf", "oneOf", "allOf"] {
            if let Some(Value::Array(branches)) = members.get(branches) {
                for branch in branches {
                    self.read(branch, below);
                }
            }
        }
    }
}
