//! Validation: what is accepted, what is repaired, and what is said.

use pirn_tool::{CallOutcome, FailureKind, ToolSpec};
use serde_json::{Value, json};

use crate::support::{call, echo_of, pipeline};

pub(crate) async fn checked(schema: Value, arguments: Value) -> CallOutcome {
    let pipeline = pipeline([echo_of(ToolSpec::new("tool", "").input_schema(schema))]);
    call(&pipeline, "tool", arguments).await
}

/// The arguments as the tool gets them.
async fn accepted(schema: Value, arguments: Value) -> Value {
    let outcome = checked(schema.clone(), arguments.clone()).await;
    let text = outcome.result.joined_text();
    assert_eq!(outcome.failure, None, "{schema} {arguments}: {text}");
    serde_json::from_str(&text).unwrap()
}

/// The lines of complaint.
pub(crate) async fn complaints(schema: Value, arguments: Value) -> Vec<String> {
    let outcome = checked(schema.clone(), arguments.clone()).await;
    let text = outcome.result.joined_text();
    assert_eq!(
        outcome.failure,
        Some(FailureKind::InvalidArguments),
        "{schema} {arguments}: {text}"
    );
    let (complaints, _) = text.split_once("\n\nReceived arguments:\n").unwrap();
    let lines = complaints
        .strip_prefix("Validation failed for tool \"tool\":\n")
        .unwrap()
        .lines();
    lines
        .map(|line| line.strip_prefix("  - ").unwrap().to_owned())
        .collect()
}

#[tokio::test]
async fn the_message_names_places_and_shows_what_was_received() {
    let schema = json!({"properties": {"a": {"type": "number"}, "b": {"items": {"type": "string"}}}, "required": ["c"]});
    let outcome = checked(schema, json!({"a": "one", "b": ["x", {}]})).await;
    let expected = "Validation failed for tool \"tool\":\n  \
        - c: is required, but missing\n  \
        - a: expected number, got string \"one\"\n  \
        - b.1: expected string, got object {}\n\n\
        Received arguments:\n{\n  \"a\": \"one\",\n  \"b\": [\n    \"x\",\n    {}\n  ]\n}";
    let mut lines: Vec<_> = outcome
        .result
        .joined_text()
        .lines()
        .map(str::to_owned)
        .collect();
    let mut expected: Vec<_> = expected.lines().map(str::to_owned).collect();
    // The order of the complaints is the validator's.
    lines[1..4].sort();
    expected[1..4].sort();
    assert_eq!(lines, expected);
}

#[derive(serde::Deserialize)]
struct Complaint {
    schema: Value,
    arguments: Value,
    lines: Vec<String>,
}

#[tokio::test]
async fn complaints_say_what_would_be_right() {
    let cases: Vec<Complaint> =
        serde_json::from_str(include_str!("cases/complaints.json")).unwrap();
    for case in cases {
        let lines = complaints(case.schema, case.arguments.clone()).await;
        assert_eq!(lines, case.lines, "{}", case.arguments);
    }
}

#[tokio::test]
async fn slips_are_repaired_where_nothing_is_lost() {
    let property = |schema: Value| json!({"properties": {"a": schema}});
    let cases = [
        (json!({"type": "number"}), json!("5.5"), json!(5.5)),
        (json!({"type": "integer"}), json!(" -7 "), json!(-7)),
        (json!({"type": "boolean"}), json!("true"), json!(true)),
        (json!({"type": "string"}), json!(12), json!("12")),
        (
            json!({"type": "array", "items": {"type": "string"}}),
            json!("x"),
            json!(["x"]),
        ),
        (
            json!({"type": "array", "items": {"type": "number"}}),
            json!("3"),
            json!([3]),
        ),
        (
            json!({"type": "array", "items": {"type": "object"}}),
            json!({"x": 1}),
            json!([{"x": 1}]),
        ),
        (
            json!({"items": {"properties": {"n": {"type": "number"}}}}),
            json!([{"n": "1"}, {"n": 2}]),
            json!([{"n": 1}, {"n": 2}]),
        ),
        (
            json!({"anyOf": [{"type": "number"}, {"type": "null"}]}),
            json!("4"),
            json!(4),
        ),
        (json!({"type": ["number", "null"]}), json!("4"), json!(4)),
        (
            json!({"type": ["number", "string"]}),
            json!("4"),
            json!("4"),
        ),
        (json!({"$ref": "#/$defs/n"}), json!("4"), json!(4)),
    ];
    for (schema, given, expected) in cases {
        let mut schema = property(schema);
        schema["$defs"] = json!({"n": {"type": "number"}});
        assert_eq!(
            accepted(schema, json!({ "a": given })).await,
            json!({ "a": expected }),
            "{given}"
        );
    }
}

#[tokio::test]
async fn null_counts_as_absent_only_where_that_is_allowed() {
    let schema = json!({
        "properties": {"opt": {"type": "string"}, "nullable": {"type": ["string", "null"]}, "any": {}, "union": {"anyOf": [{"type": "string"}]}},
    });
    let given = json!({"opt": null, "nullable": null, "any": null, "union": null, "extra": null});
    assert_eq!(
        accepted(schema, given).await,
        json!({"nullable": null, "any": null, "extra": null})
    );
    let required = json!({"properties": {"a": {"type": "string"}}, "required": ["a"]});
    assert_eq!(
        complaints(required, json!({"a": null})).await,
        ["a: expected string, got null"]
    );
    assert_eq!(
        accepted(json!({"type": "object"}), Value::Null).await,
        json!({})
    );
}

#[tokio::test]
async fn what_cannot_be_repaired_stays_wrong() {
    let property = |schema: Value| json!({"properties": {"a": schema}});
    let cases = [
        (
            json!({"type": "number"}),
            json!("five"),
            "a: expected number, got string \"five\"",
        ),
        (
            json!({"type": "number"}),
            json!("0x10"),
            "a: expected number, got string \"0x10\"",
        ),
        (
            json!({"type": "integer"}),
            json!(1.5),
            "a: expected integer, got number 1.5",
        ),
        (
            json!({"type": "boolean"}),
            json!("yes"),
            "a: expected boolean, got string \"yes\"",
        ),
        (
            json!({"type": "object"}),
            json!("{}"),
            "a: expected object, got string \"{}\"",
        ),
        (
            json!({"type": "array", "items": {"type": "number"}}),
            json!("x"),
            "a.0: expected number, got string \"x\"",
        ),
    ];
    for (schema, given, expected) in cases {
        assert_eq!(
            complaints(property(schema), json!({ "a": given })).await,
            [expected]
        );
    }
}

#[tokio::test]
async fn references_lead_inside_the_schema_or_accept_nothing() {
    let resolving = [
        json!({"$defs": {"n": {"type": "number"}}, "properties": {"a": {"$ref": "#/$defs/n"}}}),
        json!({"$defs": {"x y/z~": {"type": "number"}}, "properties": {"a": {"$ref": "#/$defs/x%20y~1z~0"}}}),
        json!({"$defs": {"x y": {"type": "number"}}, "properties": {"a": {"$ref": "#/$defs/x y"}}}),
        json!({"$defs": {"n": {"$anchor": "num", "type": "number"}}, "properties": {"a": {"$ref": "#num"}}}),
        json!({"$defs": {"n": {"$dynamicAnchor": "num", "type": "number"}}, "properties": {"a": {"$dynamicRef": "#num"}}}),
        json!({"$defs": {"n": {"$id": "https://example.org/n", "type": "number"}}, "properties": {"a": {"$ref": "https://example.org/n"}}}),
        json!({"$id": "https://example.org/s", "$defs": {"n": {"type": "number"}}, "properties": {"a": {"$ref": "https://example.org/s#/$defs/n"}}}),
        json!({"$schema": "http://json-schema.org/draft-07/schema#", "definitions": {"n": {"type": "number"}}, "properties": {"a": {"$ref": "#/definitions/n"}}}),
        json!({"$schema": "https://example.org/unknown", "properties": {"a": {"type": "number"}}}),
        json!({"properties": {"a": {"oneOf": [{"type": "number"}]}, "b": {"$ref": "#/properties/a/oneOf/0"}}}),
    ];
    for schema in resolving {
        let lines = complaints(schema.clone(), json!({"a": []})).await;
        assert_eq!(lines, ["a: expected number, got array []"], "{schema}");
        accepted(schema, json!({"a": 1})).await;
    }
    let dangling = [
        "#/$defs/none",
        "#/%ZZ",
        "#none",
        "https://example.org/remote.json",
        "file:///etc/passwd",
        "other.json#/x",
        "#/title",
        "",
    ];
    for reference in dangling {
        let schema = json!({"title": "text", "properties": {"a": {"$ref": reference}, "b": {"type": "number"}}});
        assert_eq!(
            complaints(schema.clone(), json!({"a": 1})).await,
            ["a: number 1 is not allowed here"],
            "{reference}"
        );
        assert_eq!(
            accepted(schema, json!({"b": 1})).await,
            json!({"b": 1}),
            "{reference}"
        );
    }
}

#[tokio::test]
async fn names_that_look_like_keywords_are_names() {
    let schema = json!({"properties": {"$ref": {"type": "string"}, "$id": {"type": "string"}, "const": {"const": {"$ref": "#/none"}}}});
    accepted(
        schema.clone(),
        json!({"$ref": "x", "$id": "y", "const": {"$ref": "#/none"}}),
    )
    .await;
    assert_eq!(
        complaints(schema, json!({"$ref": []})).await,
        ["$ref: expected string, got array []"]
    );
}

#[tokio::test]
async fn malformed_keywords_are_left_out() {
    let cases = [
        json!({"properties": {"a": {"type": "strng"}, "b": {"type": "number"}}}),
        json!({"properties": {"a": {"required": true}, "b": {"type": "number"}}}),
        json!({"properties": {"a": {"pattern": "(("}, "b": {"type": "number"}}}),
        json!({"properties": {"a": {"pattern": "(?=lookahead)"}, "b": {"type": "number"}}}),
        json!({"patternProperties": {"(?!x)/~y": {"type": "null"}}, "additionalProperties": false, "properties": {"b": {"type": "number"}}}),
        json!({"properties": {"a": {"minimum": "1", "enum": 3, "anyOf": []}, "b": {"type": "number"}}}),
    ];
    for schema in cases {
        accepted(schema.clone(), json!({"a": "x"})).await;
        assert_eq!(
            complaints(schema, json!({"b": []})).await,
            ["b: expected number, got array []"]
        );
    }
    for unusable in [json!(null), json!("object"), json!([])] {
        accepted(unusable, json!({"a": 1})).await;
    }
}

#[tokio::test]
async fn formats_are_not_enforced() {
    accepted(
        json!({"properties": {"a": {"format": "email"}}}),
        json!({"a": "no address"}),
    )
    .await;
}

#[tokio::test]
async fn huge_values_make_short_messages() {
    let schema = json!({
        "properties": {"a": {"type": "number"}, "b": {"enum": ["x".repeat(10_000), "y"]}, "c": {"type": "string", "maxLength": 3}},
        "additionalProperties": false,
    });
    let mut arguments =
        json!({"a": "x".repeat(1_000_000), "b": vec![0; 100_000], "c": "é".repeat(100_000)});
    for number in 0..1_000 {
        arguments[format!("{number}{}", "k".repeat(1_000))] = json!(1);
    }
    let text = checked(schema, arguments).await.result.joined_text();
    assert!(
        text.chars().count() < 10_000,
        "{} characters",
        text.chars().count()
    );
    assert!(text.contains("  - (and more)\n"));
}

#[tokio::test]
async fn the_shown_arguments_end_the_message_and_are_cut() {
    let text = checked(json!({"required": ["x"]}), json!({"a": "b".repeat(5_000)}))
        .await
        .result
        .joined_text();
    let (_, received) = text.split_once("Received arguments:\n").unwrap();
    assert_eq!(received.chars().count(), 4_001);
    assert!(received.ends_with("b…"));
}

#[tokio::test]
async fn a_tool_registered_again_is_checked_against_its_new_schema() {
    let spec = |kind: &str| {
        ToolSpec::new("tool", "").input_schema(json!({"properties": {"a": {"type": kind}}}))
    };
    let pipeline = pipeline([echo_of(spec("array"))]);
    assert_eq!(
        call(&pipeline, "tool", json!({"a": [1]})).await.failure,
        None
    );
    pipeline.registry().register(echo_of(spec("object")));
    assert_eq!(
        call(&pipeline, "tool", json!({"a": [1]})).await.failure,
        Some(FailureKind::InvalidArguments)
    );
}
