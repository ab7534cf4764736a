//! The JSON Schema of `mcp.json`, made from the table of keys.

use pirn_settings::table::keys_schema;
use serde_json::{Map, Value, json};

use super::keys::FILE_KEYS;

/// The JSON Schema of `mcp.json`, for editors and for `docs/mcp.schema.json`.
pub fn config_schema() -> Value {
    let mut schema = Map::new();
    schema.insert(
        "$schema".to_owned(),
        json!("https://json-schema.org/draft/2020-12/schema"),
    );
    schema.insert("title".to_owned(), json!("mcp.json of Pirn"));
    schema.extend(keys_schema(FILE_KEYS));
    Value::Object(schema)
}

#[cfg(test)]
mod tests;
