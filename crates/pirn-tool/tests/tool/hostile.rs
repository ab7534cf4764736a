//! Schemas and arguments from strangers: no depth, circle, size or pattern overflows the stack or takes long.

use std::mem::ManuallyDrop;
use std::time::{Duration, Instant};

use pirn_tool::{CallOutcome, FailureKind, ToolSpec};
use serde_json::{Map, Value, json};

use crate::schema::{checked, complaints};
use crate::support::{call, echo_of, pipeline};

/// How long a check may take in an unoptimised build on a busy machine; without a bound the cases take minutes to ages.
const BOUNDED: Duration = Duration::from_secs(20);

/// Checks in bounded time, whatever comes of it.
async fn check_in_time(what: &str, schema: Value, arguments: Value) -> CallOutcome {
    let started_at = Instant::now();
    let outcome = checked(schema, arguments).await;
    let elapsed = started_at.elapsed();
    assert!(elapsed < BOUNDED, "{what} took {elapsed:?}");
    outcome
}

fn chain(levels: usize, link: impl Fn(Value) -> Value) -> Value {
    (0..levels).fold(json!({"type": "string"}), |inner, _| link(inner))
}

#[tokio::test]
async fn a_very_deep_schema_is_not_used() {
    // Built without the macro, which copies what it is given, level by level.
    let schema = (0..10_000).fold(Value::Bool(true), |inner, _| {
        Value::Object(Map::from_iter([("not".to_owned(), inner)]))
    });
    // Kept for good: dropping such a value is what would overflow here.
    let pipeline = ManuallyDrop::new(pipeline([echo_of(
        ToolSpec::new("tool", "").input_schema(schema),
    )]));
    let outcome = call(&pipeline, "tool", json!({"a": 1})).await;
    assert_eq!(outcome.failure, None);
}

#[tokio::test]
async fn a_deep_schema_and_deep_arguments_are_checked() {
    let schema = chain(60, |inner| json!({"properties": {"a": inner}}));
    let arguments = (0..60).fold(json!([]), |inner, _| json!({"a": inner}));
    assert_eq!(
        check_in_time("deep", schema, arguments).await.failure,
        Some(FailureKind::InvalidArguments)
    );
    let recursive = json!({"type": "object", "properties": {"a": {"$ref": "#"}}});
    let arguments = (0..127).fold(json!(1), |inner, _| json!({"a": inner}));
    let outcome = check_in_time("recursive", recursive, arguments).await;
    assert_eq!(outcome.failure, Some(FailureKind::InvalidArguments));
}

#[tokio::test]
async fn references_in_circles_end() {
    let circles = [
        json!({"$ref": "#"}),
        json!({"allOf": [{"$ref": "#"}]}),
        json!({"not": {"$ref": "#"}}),
        json!({"anyOf": [{"$ref": "#"}, {"$ref": "#"}]}),
        json!({"$ref": "#/$defs/a", "$defs": {"a": {"$ref": "#/$defs/b"}, "b": {"$ref": "#/$defs/a"}}}),
        json!({"$dynamicAnchor": "n", "allOf": [{"$dynamicRef": "#n"}]}),
        json!({"properties": {"a": {"$ref": "#/properties/a"}}}),
    ];
    for schema in circles {
        check_in_time(&schema.to_string(), schema, json!({"a": {"a": 1}})).await;
    }
}

#[tokio::test]
async fn references_that_multiply_are_not_followed_to_the_end() {
    let mut definitions = Map::new();
    definitions.insert("n0".into(), json!({"type": "string"}));
    for level in 1..60 {
        let below = json!({"$ref": format!("#/$defs/n{}", level - 1)});
        definitions.insert(format!("n{level}"), json!({"anyOf": [below, below]}));
    }
    let doubling = json!({"$ref": "#/$defs/n59", "$defs": definitions});
    check_in_time("doubling in place", doubling, json!({"a": 1})).await;

    let per_level =
        json!({"properties": {"a": {"anyOf": [{"$ref": "#"}, {"$ref": "#"}]}}, "required": ["a"]});
    let arguments = (0..100).fold(json!(1), |inner, _| json!({"a": inner}));
    check_in_time("doubling at every level", per_level, arguments.clone()).await;

    let both = json!({"properties": {"a": {"$ref": "#"}}, "patternProperties": {"a": {"$ref": "#"}}, "required": ["a"]});
    check_in_time("two keywords for one member", both, arguments).await;

    let unevaluated = chain(
        50,
        |inner| json!({"allOf": [inner], "unevaluatedProperties": false}),
    );
    check_in_time("unevaluated", unevaluated, json!({"a": 1})).await;
}

#[tokio::test]
async fn ordinary_recursion_over_many_values_is_checked() {
    let tree = json!({
        "$ref": "#/$defs/node",
        "$defs": {"node": {
            "type": "object",
            "properties": {"name": {"type": "string"}, "children": {"type": "array", "items": {"$ref": "#/$defs/node"}}},
            "additionalProperties": false,
        }},
    });
    let mut arguments =
        json!({"name": "root", "children": vec![json!({"name": "leaf", "children": []}); 5_000]});
    assert_eq!(checked(tree.clone(), arguments.clone()).await.failure, None);
    arguments["children"][4_999]["name"] = json!([]);
    assert_eq!(
        complaints(tree, arguments).await,
        ["children.4999.name: expected string, got array []"]
    );
}

#[tokio::test]
async fn patterns_take_linear_time_and_little_memory() {
    let text = "a".repeat(20_000) + "c";
    for pattern in [
        "^(a+)+$",
        "^(a|a)*b$",
        "^(?=(a+)+b)(a+)+$",
        "^(a+)+\\1$",
        "(?!x)(a|a)*(a|a)*(a|a)*b",
        "((a{100}){100}){100}",
        "(.*)(.*)(.*)(.*)(.*)(.*)(.*)[^a]$",
    ] {
        let schema = json!({"properties": {"a": {"pattern": pattern}}});
        check_in_time(pattern, schema, json!({"a": text})).await;
        let schema = json!({"patternProperties": {pattern: {"type": "string"}}});
        check_in_time(pattern, schema, json!({ &text: 1 })).await;
    }
    let nested = format!("{}a{}", "(".repeat(5_000), ")".repeat(5_000));
    check_in_time(
        "nested groups",
        json!({"properties": {"a": {"pattern": nested}}}),
        json!({"a": "a"}),
    )
    .await;
}

#[tokio::test]
async fn a_schema_beyond_all_measure_is_not_used() {
    let properties: Map<String, Value> = (0..200_000)
        .map(|number| (number.to_string(), Value::Bool(false)))
        .collect();
    assert_eq!(
        check_in_time("wide", json!({ "properties": properties }), json!({"0": 1}))
            .await
            .failure,
        None
    );
}
