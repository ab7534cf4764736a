//! Schemas of strangers for other uses than arguments: to be shown, and to check results.

use serde_json::Value;

use super::local::{self, StandaloneSchema};
use super::{SCHEMA_VALUES_MAX, Validator, budget, message};
use crate::depth::count_values;

/// A JSON Schema of a stranger, compiled for checking values without changing them. Nothing outside the schema is ever
/// resolved, and the work is bounded.
#[derive(Debug)]
pub struct SchemaCheck {
    validator: Validator,
}

impl SchemaCheck {
    /// Compiles `schema`. Malformed keywords are left out; a schema that cannot be compiled at all accepts everything.
    pub fn new(schema: &Value) -> Self {
        Self {
            validator: Validator::new(schema),
        }
    }

    /// Whether the schema could be compiled.
    pub fn is_usable(&self) -> bool {
        self.validator.compiled.is_some()
    }

    /// What is wrong with `value`: one line for each of the first places. Empty where it fits, and where checking it would
    /// cost too much.
    ///
    /// ```
    /// let check = pirn_tool::SchemaCheck::new(&serde_json::json!({"required": ["id"]}));
    /// assert!(check.complaints(&serde_json::json!({"id": 1})).is_empty());
    /// assert_eq!(check.complaints(&serde_json::json!({})).len(), 1);
    /// ```
    pub fn complaints(&self, value: &Value) -> Vec<String> {
        let Some(compiled) = &self.validator.compiled else {
            return Vec::new();
        };
        let affordable = count_values(value).is_some()
            && (!self.validator.can_multiply
                || budget::is_affordable(&self.validator.schema, value));
        if !affordable || compiled.is_valid(value) {
            return Vec::new();
        }
        message::lines(compiled.iter_errors(value), &self.validator.schema)
    }
}

/// Makes a schema self-contained, to stand at `place` (a JSON pointer, empty for the root) inside another one: identifiers and
/// anchors are taken out, references to them and local references become `$ref`s to `#` and the place, and references that
/// lead elsewhere, as to the network, are taken out and listed. `None` where the schema is too large or too deep to be used.
///
/// ```
/// let schema = serde_json::json!({"items": {"$ref": "#/$defs/a"}, "$defs": {"a": {"$ref": "https://a.example/b"}}});
/// let standalone = pirn_tool::standalone_schema(&schema, "/properties/x").unwrap();
/// assert_eq!(standalone.schema["items"]["$ref"], "#/properties/x/$defs/a");
/// assert_eq!(standalone.lost_references, ["https://a.example/b"]);
/// ```
pub fn standalone_schema(schema: &Value, place: &str) -> Option<StandaloneSchema> {
    count_values(schema)
        .filter(|count| *count <= SCHEMA_VALUES_MAX)
        .map(|_| local::transplanted(schema, place))
}
