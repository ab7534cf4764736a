use std::path::Path;

use super::*;
use crate::config::Scope;
use crate::config::document::parse_document;
use crate::config::keys::{HTTP, SERVER_KEYS};

/// The schema as it is shipped.
fn shipped() -> String {
    let mut text = serde_json::to_string_pretty(&config_schema()).unwrap();
    text.push('\n');
    text
}

#[test]
fn the_shipped_schema_is_current() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/mcp.schema.json");
    if std::env::var_os("UPDATE").is_some() {
        std::fs::write(&path, shipped()).unwrap();
    }
    let on_disk = std::fs::read_to_string(&path).unwrap_or_default();
    assert_eq!(
        on_disk,
        shipped(),
        "docs/mcp.schema.json is stale: run the test with UPDATE=1"
    );
}

#[test]
fn schema_and_parser_agree() {
    let schema = config_schema();
    let validator = jsonschema::validator_for(&schema).unwrap();
    for (text, valid) in [
        (r#"{"$schema": "x", "mcpServers": {}}"#, true),
        (
            r#"{"mcpServers": {"a": {"command": "x", "args": ["y"], "env": {"A": "1"}, "timeout": 5, "exposure": "direct"}}}"#,
            true,
        ),
        (
            r#"{"mcpServers": {"a": {"url": "https://x", "oauth": {"callbackPort": 1, "clientRegistration": "dcr"}}}}"#,
            true,
        ),
        (
            r#"{"mcpServers": {"a": {"command": "x", "unknown": 1}}}"#,
            true,
        ),
        (
            r#"{"mcpServers": {"a": {"command": "x", "sandbox": true}, "b": {"command": "x", "sandbox": {"network": "off"}}}}"#,
            true,
        ),
        (
            r#"{"mcpServers": {"a": {"command": "x", "sandbox": "on"}}}"#,
            false,
        ),
        (
            r#"{"mcpServers": {"a": {"command": "x", "sandbox": {"network": "maybe"}}}}"#,
            false,
        ),
        (r#"{"mcpServers": {"a b": {"command": "x"}}}"#, false),
        (r#"{"mcpServers": {"a": {"command": 1}}}"#, false),
        (
            r#"{"mcpServers": {"a": {"command": "x", "timeout": 0}}}"#,
            false,
        ),
        (
            r#"{"mcpServers": {"a": {"command": "x", "args": [1]}}}"#,
            false,
        ),
        (
            r#"{"mcpServers": {"a": {"command": "x", "start": "now"}}}"#,
            false,
        ),
        (
            r#"{"mcpServers": {"a": {"command": "x", "toolExposure": {"t": "no"}}}}"#,
            false,
        ),
        (
            r#"{"mcpServers": {"a": {"url": "https://x", "oauth": {"callbackPort": 0}}}}"#,
            false,
        ),
    ] {
        let value = serde_json::from_str(text).unwrap();
        let document = parse_document(Scope::User, Path::new("F"), text);
        assert_eq!(validator.is_valid(&value), valid, "schema: {text}");
        assert_eq!(document.problems.is_empty(), valid, "parser: {text}");
    }
}

/// Every key of the table is read by the parser: a wrong value of it is noticed.
#[test]
fn every_key_is_read() {
    for key in SERVER_KEYS {
        let own = if key.only_with == HTTP {
            "\"url\": \"https://x\""
        } else {
            "\"command\": \"x\""
        };
        let text = match key.name {
            "command" | "url" => format!("{{\"mcpServers\": {{\"a\": {{\"{}\": 1}}}}}}", key.name),
            name => {
                // No key takes a list of lists.
                format!("{{\"mcpServers\": {{\"a\": {{{own}, \"{name}\": [[]]}}}}}}")
            }
        };
        let document = parse_document(Scope::User, Path::new("F"), &text);
        assert!(!document.problems.is_empty(), "{}", key.name);
    }
}
