//! Schemas of tools that are wrong, odd or hostile. Where a schema cannot be used, its tool takes anything or is left out; the
//! others stay.

use pirn_testkit::{Script, Speaks};
use serde_json::{Value, json};

use crate::row::{Call, Kind, PIPE_AND_HTTP, Row, Saw, Tools, legacy};

/// A row with a tool `odd` of this input schema, which is called with these arguments.
fn schema(name: &'static str, schema: Value) -> Row {
    let entry = json!({"name": "odd", "inputSchema": schema});
    Row::new(name, PIPE_AND_HTTP, legacy().raw_tool(entry))
}

fn kept(name: &'static str, input: Value, arguments: Value) -> Row {
    schema(name, input)
        .tools(Tools::Exactly(vec!["ok", "odd"]))
        .call(Call::text("odd", "called odd").with(arguments))
}

/// A row with a tool `odd` of this output schema.
fn output(name: &'static str, schema: Value) -> Row {
    let entry = json!({"name": "odd", "inputSchema": {"type": "object"}, "outputSchema": schema});
    Row::new(name, PIPE_AND_HTTP, legacy().raw_tool(entry))
        .tools(Tools::Exactly(vec!["ok", "odd"]))
        .call(Call::text("odd", "called odd"))
}

pub(super) fn rows() -> Vec<Row> {
    [shapes(), references(), keywords(), outputs()].concat()
}

fn shapes() -> Vec<Row> {
    vec![
        Row::new(
            "schema_is_missing",
            PIPE_AND_HTTP,
            legacy().raw_tool(json!({"name": "odd"})),
        )
        .tools(Tools::Exactly(vec!["ok", "odd"]))
        .call(Call::text("odd", "called odd")),
        kept("schema_is_null", Value::Null, json!({})),
        kept("schema_is_true", json!(true), json!({})),
        schema("schema_is_false", json!(false)).call(Call::ends("odd")),
        schema("schema_is_a_string", json!("object")).call(Call::ends("odd")),
        schema("schema_is_a_list", json!([])).call(Call::ends("odd")),
        kept("schema_is_empty", json!({}), json!({"any": 1})),
        kept(
            "schema_without_a_type",
            json!({"properties": {"a": {"type": "string"}}}),
            json!({"a": "x"}),
        ),
        kept(
            "schema_type_is_a_list",
            json!({"type": ["object"], "properties": {}}),
            json!({}),
        ),
        schema("schema_type_is_string", json!({"type": "string"})).call(Call::ends("odd")),
        kept(
            "schema_properties_are_null",
            json!({"type": "object", "properties": null}),
            json!({}),
        ),
        kept(
            "schema_properties_are_a_list",
            json!({"type": "object", "properties": []}),
            json!({}),
        ),
        kept(
            "schema_required_is_null",
            json!({"type": "object", "properties": {}, "required": null}),
            json!({}),
        ),
        kept(
            "schema_required_inside_the_property",
            json!({"type": "object", "properties": {"a": {"type": "string", "required": true}}}),
            json!({"a": "x"}),
        ),
        kept(
            "schema_with_a_type_that_does_not_exist",
            json!({"type": "object", "properties": {"a": {"type": "file"}}}),
            json!({"a": "x"}),
        ),
        kept(
            "schema_of_draft_7",
            json!({"$schema": "http://json-schema.org/draft-07/schema#", "type": "object", "properties": {}, "additionalProperties": false}),
            json!({}),
        ),
        kept(
            "schema_of_an_unknown_dialect",
            json!({"$schema": "https://example.invalid/dialect", "type": "object", "properties": {}}),
            json!({}),
        ),
    ]
}

fn references() -> Vec<Row> {
    vec![
        kept(
            "reference",
            json!({
                "type": "object",
                "properties": {"a": {"$ref": "#/$defs/Word"}},
                "$defs": {"Word": {"type": "string"}},
            }),
            json!({"a": "x"}),
        ),
        kept(
            "reference_to_definitions_of_draft_7",
            json!({
                "type": "object",
                "properties": {"a": {"$ref": "#/definitions/Word"}},
                "definitions": {"Word": {"type": "string"}},
            }),
            json!({"a": "x"}),
        ),
        kept(
            "reference_cycle",
            json!({
                "type": "object",
                "properties": {"tree": {"$ref": "#/$defs/Tree"}},
                "$defs": {"Tree": {"type": "object", "properties": {"left": {"$ref": "#/$defs/Tree"}}}},
            }),
            json!({"tree": {"left": {"left": {}}}}),
        ),
        schema(
            "reference_to_itself",
            json!({"type": "object", "properties": {"a": {"$ref": "#/properties/a"}}}),
        )
        .call(Call::ends("odd").with(json!({"a": 1}))),
        schema(
            "references_in_a_ring",
            json!({
                "type": "object",
                "properties": {"a": {"$ref": "#/$defs/B"}},
                "$defs": {"B": {"$ref": "#/$defs/C"}, "C": {"$ref": "#/$defs/B"}},
            }),
        )
        .call(Call::ends("odd").with(json!({"a": 1}))),
        kept(
            "reference_to_the_root",
            json!({"type": "object", "properties": {"child": {"$ref": "#"}}}),
            json!({"child": {"child": {}}}),
        ),
        schema(
            "reference_to_nothing",
            json!({"type": "object", "properties": {"a": {"$ref": "#/$defs/Missing"}}}),
        )
        .call(Call::ends("odd").with(json!({"a": 1}))),
        Row::new(
            "reference_into_the_network",
            crate::row::JSON,
            legacy().raw_tool(json!({
                "name": "odd",
                "inputSchema": {"type": "object", "properties": {"a": {"$ref": "http://127.0.0.1:1/schema.json"}}},
            })),
        )
        .tools(Tools::With(vec!["ok"]))
        .call(Call::ends("odd").with(json!({"a": 1})))
        .saw(Saw::Times("GET /schema.json", 0, 0)),
        schema(
            "reference_into_a_file",
            json!({"type": "object", "properties": {"a": {"$ref": "file:///etc/passwd"}}}),
        )
        .call(Call::ends("odd").with(json!({"a": 1}))),
        schema("reference_is_a_number", json!({"type": "object", "properties": {"a": {"$ref": 7}}}))
            .call(Call::ends("odd").with(json!({"a": 1}))),
        schema(
            "references_that_explode",
            json!({
                "type": "object",
                "properties": {"a": {"$ref": "#/$defs/l0"}},
                "$defs": (0..24).map(|level| {
                    let next = json!({"$ref": format!("#/$defs/l{}", level + 1)});
                    (format!("l{level}"), json!({"anyOf": [next, next]}))
                }).chain([("l24".to_owned(), json!({"type": "string"}))]).collect::<serde_json::Map<_, _>>(),
            }),
        )
        .call(Call::ends("odd").with(json!({"a": 1}))),
    ]
}

fn keywords() -> Vec<Row> {
    let object = |property: &str| json!({"type": "object", "properties": {property: {"type": "string"}}, "required": [property]});
    let choice = |keyword: &str| json!({"type": "object", keyword: [object("a"), object("b")]});
    vec![
        kept("any_of_at_the_top", choice("anyOf"), json!({"b": "x"})),
        kept("one_of_at_the_top", choice("oneOf"), json!({"b": "x"})),
        kept("all_of_at_the_top", choice("allOf"), json!({"a": "x", "b": "x"})),
        kept("any_of_without_a_type", json!({"anyOf": [object("a"), object("b")]}), json!({"a": "x"})),
        kept(
            "pattern_that_is_no_regular_expression",
            json!({"type": "object", "properties": {"a": {"type": "string", "pattern": "(["}}}),
            json!({"a": "x"}),
        ),
        schema(
            "pattern_that_backtracks",
            json!({"type": "object", "properties": {"a": {"type": "string", "pattern": "^(a+)+$"}}}),
        )
        .call(Call::ends("odd").with(json!({"a": "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa!"}))),
        kept(
            "pattern_with_a_look_ahead",
            json!({"type": "object", "properties": {"a": {"type": "string", "pattern": "^(?!b).*$"}}}),
            json!({"a": "x"}),
        ),
        kept(
            "enumeration_of_ten_thousand",
            json!({"type": "object", "properties": {"a": {"enum": (0..10_000).collect::<Vec<_>>()}}}),
            json!({"a": 7}),
        ),
        schema(
            "schema_two_hundred_levels_deep",
            (0..200).fold(json!({"type": "string"}), |inner, _| {
                json!({"type": "object", "properties": {"a": inner}})
            }),
        )
        // JSON nested deeper than 128 levels is refused as a whole, by whatever it is sent.
        .fails(Kind::Protocol, &["recursion limit"]),
        kept(
            "properties_named_like_prototypes",
            json!({"type": "object", "properties": {"__proto__": {"type": "string"}, "constructor": {}}}),
            json!({"constructor": 1}),
        ),
    ]
}

fn outputs() -> Vec<Row> {
    let broken = json!({"type": "object", "properties": {"a": {"type": "no-such-type"}}});
    vec![
        output("output_schema_is_null", Value::Null),
        output("output_schema_is_true", json!(true)),
        output("output_schema_is_a_string", json!("object")),
        output("output_schema_is_broken", broken),
        output(
            "output_schema_of_a_list",
            json!({"type": "array", "items": {"type": "string"}}),
        ),
        output(
            "output_schema_with_references",
            json!({
                "type": "object",
                "properties": {"a": {"$ref": "#/$defs/A"}},
                "$defs": {"A": {"type": "object", "properties": {"next": {"$ref": "#/$defs/A"}}}},
            }),
        ),
        Row::new(
            "output_schema_of_the_modern_protocol",
            PIPE_AND_HTTP,
            Script::new(Speaks::Modern).raw_tool(json!({
                "name": "odd",
                "inputSchema": {"type": "object"},
                "outputSchema": {"type": "string"},
            })),
        )
        .tools(Tools::Exactly(vec!["ok", "odd"]))
        .call(Call::text("odd", "called odd")),
    ]
}
