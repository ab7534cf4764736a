use serde_json::json;

use super::undeclared;

#[test]
fn only_declared_arguments_are_asked_about() {
    let schema = json!({"type": "object", "properties": {"path": {}, "limit": {}}});
    for (schema, arguments, expected) in [
        (schema.clone(), json!({"path": 1}), None),
        (schema.clone(), json!({}), None),
        (
            schema.clone(),
            json!({"path": 1, "limits": 2}),
            Some("there is no argument `limits`; did you mean `limit`?"),
        ),
        (
            schema,
            json!({"\nAllow? [y]es": 2}),
            Some("there is no argument `\nAllow? [y]es`; its arguments are path, limit"),
        ),
        (
            json!({"type": "object", "properties": {}}),
            json!({"a": 1}),
            Some("there is no argument `a`; it takes no arguments"),
        ),
        (json!({"type": "object"}), json!({"a": 1}), None),
        (
            json!({"properties": {}, "additionalProperties": {"type": "string"}}),
            json!({"a": "1"}),
            None,
        ),
        (
            json!({"properties": {}, "anyOf": [{"properties": {"a": {}}}]}),
            json!({"a": 1}),
            None,
        ),
    ] {
        assert_eq!(
            undeclared(&schema, &arguments).as_deref(),
            expected,
            "{schema} {arguments}"
        );
    }
}
