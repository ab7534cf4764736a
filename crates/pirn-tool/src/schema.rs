//! Checks arguments against a tool's input schema at run time, with messages a model can act on.
//!
//! Schemas and arguments both come from strangers. What keeps the check bounded: nothing outside the schema is ever
//! resolved, patterns run on an engine of linear time, nesting is limited, and a schema whose references could multiply the
//! work is measured against the arguments first. Where a schema cannot be used, arguments pass: the tool still checks them.

use jsonschema::PatternOptions;
use serde_json::{Map, Value};

use crate::depth::count_values;

mod budget;
mod check;
mod coerce;
mod local;
mod message;
mod suggest;
mod undeclared;

pub use check::{SchemaCheck, standalone_schema};
pub use local::StandaloneSchema;
pub(crate) use local::resolve_local;
pub use suggest::closest;
pub use undeclared::undeclared;

/// Values in a schema that is compiled; the largest real ones have a few thousand.
const SCHEMA_VALUES_MAX: usize = 100_000;
/// Bytes a compiled pattern may take, which also bounds the time of a match. `[\w.-]{1,256}` takes a tenth of it.
const PATTERN_BYTES_MAX: usize = 256 * 1024;
/// Malformed places taken out of a schema before it is given up.
const REPAIRS_MAX: usize = 32;

/// A compiled input schema.
#[derive(Debug)]
pub(crate) struct Validator {
    /// The schema as it was compiled: every reference is `#` or `#/…` and leads to a schema.
    schema: Value,
    compiled: Option<jsonschema::Validator>,
    /// Whether the work can grow faster than schema times arguments.
    can_multiply: bool,
}

impl Validator {
    /// Compiles `schema`. References that point nowhere or outside the schema reject only values at their own place; a
    /// malformed keyword is left out; a schema that cannot be compiled at all accepts everything.
    pub(crate) fn new(schema: &Value) -> Self {
        let unusable = Self {
            schema: Value::Bool(true),
            compiled: None,
            can_multiply: false,
        };
        if count_values(schema).is_none_or(|count| count > SCHEMA_VALUES_MAX) {
            return unusable;
        }
        let mut schema = local::localised(schema);
        for _ in 0..REPAIRS_MAX {
            match compile(&schema) {
                Ok(compiled) => {
                    let can_multiply = budget::can_multiply(&schema);
                    return Self {
                        schema,
                        compiled: Some(compiled),
                        can_multiply,
                    };
                }
                Err(place) => {
                    if !remove_at(&mut schema, &place) {
                        break;
                    }
                }
            }
        }
        unusable
    }

    /// Returns the arguments, coerced where a lossless reading exists, or a message that names each place that is wrong.
    pub(crate) fn check(&self, tool_name: &str, arguments: Value) -> Result<Value, String> {
        let arguments = match arguments {
            Value::Null => Value::Object(Map::new()),
            other => other,
        };
        let Some(compiled) = &self.compiled else {
            return Ok(arguments);
        };
        if self.can_multiply && !budget::is_affordable(&self.schema, &arguments) {
            return Ok(arguments);
        }
        if compiled.is_valid(&arguments) {
            return Ok(arguments);
        }
        let coerced = coerce::coerced(compiled, &arguments);
        if compiled.is_valid(&coerced) {
            return Ok(coerced);
        }
        Err(message::failure(
            tool_name,
            compiled.iter_errors(&coerced),
            &self.schema,
            &arguments,
        ))
    }
}

/// Compiles, or names the place in the schema that is malformed.
fn compile(schema: &Value) -> Result<jsonschema::Validator, String> {
    jsonschema::options()
        .offline()
        .should_validate_formats(false)
        .with_pattern_options(PatternOptions::regex().size_limit(PATTERN_BYTES_MAX))
        .build(schema)
        .map_err(|error| error.instance_path().as_str().to_owned())
}

/// Takes one place out of a schema; false when there is nothing to take out.
fn remove_at(schema: &mut Value, pointer: &str) -> bool {
    let Some((parent_pointer, segment)) = pointer.rsplit_once('/') else {
        return false;
    };
    let Some(parent) = schema.pointer_mut(parent_pointer) else {
        return false;
    };
    let key = unescaped(segment);
    let removed = match parent {
        Value::Object(members) => members.shift_remove(&key).is_some(),
        Value::Array(items) => match key.parse::<usize>() {
            Ok(index) if index < items.len() => {
                items.remove(index);
                true
            }
            _ => false,
        },
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => false,
    };
    // Names that the lost pattern would have matched must not count as unknown now.
    if let Some(owner) = parent_pointer.strip_suffix("/patternProperties")
        && let Some(Value::Object(members)) = schema.pointer_mut(owner)
    {
        members.shift_remove("additionalProperties");
        members.shift_remove("unevaluatedProperties");
    }
    removed
}

/// One segment of a JSON pointer as the name it stands for.
fn unescaped(segment: &str) -> String {
    segment.replace("~1", "/").replace("~0", "~")
}

/// A name as a segment of a JSON pointer.
fn escaped(name: &str) -> String {
    name.replace('~', "~0").replace('/', "~1")
}
