use pirn_tool::Exposure;
use serde_json::json;

use super::*;

fn profile(name: &str) -> ServerProfile {
    ServerProfile {
        name: name.to_owned(),
        description: Some("Documents of the team".to_owned()),
        instructions: Some("Search first.".to_owned()),
        exposure: McpExposure::Codemode,
        tool_exposures: ToolExposures::default(),
        effects: EffectRules::default(),
        reach: ServerReach::Machine,
    }
}

fn defined(tools: &Value) -> (Vec<DefinedTool>, Vec<String>) {
    tool_specs(&profile("dev-docs"), tools.as_array().unwrap())
}

fn one(tool: Value) -> (ToolSpec, Vec<String>) {
    let (mut defined, warnings) = defined(&Value::Array(vec![tool]));
    assert_eq!(defined.len(), 1, "{warnings:?}");
    (defined.remove(0).spec, warnings)
}

#[test]
fn a_tool_is_described_whole() {
    let (spec, warnings) = one(json!({
        "name": "read-page",
        "title": "Read a page",
        "description": "Reads one page.\nMore about it.",
        "inputSchema": {
            "$schema": "http://json-schema.org/draft-07/schema#",
            "type": "object",
            "properties": {"id": {"type": "integer"}},
            "required": ["id"],
        },
        "annotations": {"title": "Read", "readOnlyHint": true, "idempotentHint": "yes", "openWorldHint": false},
        "icons": [],
    }));
    assert_eq!(warnings, [""; 0]);
    assert_eq!(spec.name, "mcp__dev_docs__read_page");
    assert_eq!(spec.description, "Reads one page.\nMore about it.");
    assert_eq!(
        spec.namespace.as_deref(),
        Some(&Namespace {
            name: "mcp__dev_docs".to_owned(),
            aliases: vec!["dev-docs".to_owned()],
            description: Some("Documents of the team".to_owned()),
            instructions: Some("Search first.".to_owned()),
        })
    );
    assert_eq!(
        spec.input_schema,
        json!({
            "$schema": "http://json-schema.org/draft-07/schema#",
            "type": "object",
            "properties": {"id": {"type": "integer"}},
            "required": ["id"],
        })
    );
    assert_eq!(
        spec.annotations,
        Annotations {
            read_only_hint: Some(true),
            open_world_hint: Some(false),
            ..Annotations::default()
        }
    );
    assert_eq!(spec.effects, ANYTHING);
    assert_eq!(spec.containment, Containment::Free);
    assert_eq!(spec.exposure, Exposure::Deferred);
    assert_eq!(
        spec.output_schema,
        Some(json!({
            "type": "object",
            "properties": {
                "content": {
                    "type": "array",
                    "items": {
                        "type": "object",
                        "properties": {
                            "type": {"type": "string"},
                            "text": {"type": "string"},
                            "data": {"type": "string"},
                            "mimeType": {"type": "string"},
                            "uri": {"type": "string"},
                            "resource": {"type": "object"},
                        },
                        "required": ["type"],
                    },
                },
                "structuredContent": {},
                "isError": {"type": "boolean"},
            },
            "required": ["content"],
        }))
    );
}

#[test]
fn descriptions_fall_back_to_titles() {
    let cases = [
        (json!({"description": "Does it"}), "Does it"),
        (json!({"title": "Title"}), "Title"),
        (json!({"description": " \n", "title": "Title"}), "Title"),
        (
            json!({"description": null, "annotations": {"title": "Hint"}}),
            "Hint",
        ),
        (json!({"description": 7}), ""),
        (json!({}), ""),
    ];
    for (mut tool, expected) in cases {
        tool["name"] = "a".into();
        assert_eq!(one(tool.clone()).0.description, expected, "{tool}");
    }
}

#[test]
fn names_that_would_clash_all_get_a_hash() {
    let long = "x".repeat(100);
    let names = |tools: &[&str]| -> Vec<String> {
        let tools: Vec<Value> = tools.iter().map(|name| json!({"name": name})).collect();
        let (defined, warnings) = defined(&Value::Array(tools));
        assert_eq!(warnings, [""; 0]);
        defined.into_iter().map(|tool| tool.spec.name).collect()
    };
    let one_way = names(&["a.b", "plain", "a-b", &long]);
    assert_eq!(
        one_way,
        [
            "mcp__dev_docs__a_b_739017f1",
            "mcp__dev_docs__plain",
            "mcp__dev_docs__a_b_c991e17b",
            "mcp__dev_docs__xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx_93a8ed52",
        ]
    );
    let other_way = names(&[&long, "a-b", "plain", "a.b"]);
    assert_eq!(
        one_way.iter().rev().collect::<Vec<_>>(),
        other_way.iter().collect::<Vec<_>>()
    );
    assert!(one_way.iter().all(|name| name.len() <= 64));
}

#[test]
fn servers_cannot_take_each_others_names() {
    let names = |server: &str, tool: &str| {
        let (defined, _) = tool_specs(&profile(server), &[json!({"name": tool})]);
        defined[0].spec.name.clone()
    };
    for (left, right) in [
        (("a", "b__c"), ("a__b", "c")),
        (("a", "_b"), ("a_", "b")),
        (("a", "_b"), ("a-", "b")),
        (("a_", "_b"), ("a__", "b")),
    ] {
        assert_ne!(
            names(left.0, left.1),
            names(right.0, right.1),
            "{left:?} {right:?}"
        );
    }
    assert_eq!(names("a", "b__c"), "mcp__a__b__c");
}

#[test]
fn unusable_tools_cost_no_others() {
    let (defined, warnings) = defined(&json!([
        {"name": "a", "description": "first"},
        {"description": "nameless"},
        {"name": 7},
        "no object",
        {"name": "a", "description": "second"},
        {"name": "b", "inputSchema": "no schema"},
        {"name": "c", "inputSchema": {"type": "string"}},
        {"name": "d", "outputSchema": []},
    ]));
    let found: Vec<(&str, &str)> = defined
        .iter()
        .map(|tool| (tool.tool_name.as_str(), tool.spec.description.as_str()))
        .collect();
    assert_eq!(found, [("a", "first"), ("b", ""), ("c", ""), ("d", "")]);
    assert_eq!(
        warnings,
        [
            "a tool without a name is left out",
            "a tool without a name is left out",
            "a tool without a name is left out",
            "the tool \"a\" is listed more than once; the first one is used",
            "tool \"b\": its input schema is not an object; any arguments are accepted",
            "tool \"c\": its input schema has the type \"string\"; \"object\" is assumed",
            "tool \"d\": its output schema is not an object and is ignored",
        ]
    );
}

#[test]
fn input_schemas_become_object_schemas() {
    let any = json!({"type": "object", "properties": {}, "additionalProperties": true});
    let cases = [
        (json!(null), any.clone()),
        (json!(true), any.clone()),
        (json!({}), any.clone()),
        (json!({"type": null, "properties": null}), any.clone()),
        (json!({"type": ["object", "null"]}), any.clone()),
        (json!({"type": "object", "properties": []}), any),
        // Unions stay.
        (
            json!({"anyOf": [{"required": ["a"]}, {"required": ["b"]}]}),
            json!({"anyOf": [{"required": ["a"]}, {"required": ["b"]}], "type": "object", "properties": {}, "additionalProperties": true}),
        ),
        // Local references stay, also in a circle; anchors and identifiers are resolved.
        (
            json!({
                "$id": "https://schemas.example/tree",
                "type": "object",
                "properties": {"tree": {"$ref": "#/$defs/node"}, "other": {"$ref": "#n"}, "all": {"$ref": "https://schemas.example/tree"}},
                "$defs": {"node": {"$anchor": "n", "type": "object", "properties": {"next": {"$ref": "#/$defs/node"}}}},
            }),
            json!({
                "type": "object",
                "properties": {"tree": {"$ref": "#/$defs/node"}, "other": {"$ref": "#/$defs/node"}, "all": {"$ref": "#"}},
                "$defs": {"node": {"type": "object", "properties": {"next": {"$ref": "#/$defs/node"}}}},
            }),
        ),
    ];
    for (schema, expected) in cases {
        let (spec, warnings) = one(json!({"name": "a", "inputSchema": schema}));
        assert_eq!(spec.input_schema, expected);
        assert_eq!(warnings, [""; 0], "{schema}");
    }
}

#[test]
fn nothing_is_fetched_for_a_schema() {
    let (spec, warnings) = one(json!({
        "name": "a",
        "inputSchema": {
            "type": "object",
            "properties": {
                "far": {"$ref": "https://schemas.example/a.json", "description": "kept"},
                "gone": {"$ref": "#/$defs/missing"},
                "$ref": {"type": "string"},
            },
            "default": {"$ref": "https://data.example"},
        },
    }));
    assert_eq!(
        spec.input_schema,
        json!({
            "type": "object",
            "properties": {"far": {"description": "kept"}, "gone": {}, "$ref": {"type": "string"}},
            "default": {"$ref": "https://data.example"},
        })
    );
    assert_eq!(
        warnings,
        [
            "tool \"a\": its input schema refers to \"https://schemas.example/a.json\", \"#/$defs/missing\", outside itself; \
             nothing is fetched, and anything is accepted there"
        ]
    );
}

#[test]
fn a_schema_beyond_all_bounds_accepts_anything() {
    let deep = (0..200).fold(json!({}), |inner, _| json!({"items": inner}));
    let (spec, warnings) = one(json!({"name": "a", "inputSchema": deep, "outputSchema": deep}));
    assert_eq!(
        spec.input_schema,
        json!({"type": "object", "properties": {}, "additionalProperties": true})
    );
    assert_eq!(
        warnings,
        [
            "tool \"a\": its input schema is too large or nested too deeply; anything is accepted",
            "tool \"a\": its output schema is too large or nested too deeply; anything is accepted",
        ]
    );
}

#[test]
fn output_schemas_are_turned_to_their_place() {
    let (spec, warnings) = one(json!({
        "name": "a",
        "outputSchema": {
            "$schema": "https://json-schema.org/draft/2020-12/schema",
            "$id": "urn:x",
            "type": "object",
            "properties": {
                "self": {"$ref": "#"},
                "time": {"$ref": "#/$defs/a~1b%20c"},
                "anchored": {"$ref": "urn:x#it"},
                "far": {"$ref": "file:///etc/passwd"},
            },
            "$defs": {"a/b c": {"type": "string"}, "it": {"$anchor": "it"}},
        },
    }));
    assert_eq!(
        spec.output_schema.unwrap()["properties"]["structuredContent"],
        json!({
            "type": "object",
            "properties": {
                "self": {"$ref": "#/properties/structuredContent"},
                "time": {"$ref": "#/properties/structuredContent/$defs/a~1b%20c"},
                "anchored": {"$ref": "#/properties/structuredContent/$defs/it"},
                "far": {},
            },
            "$defs": {"a/b c": {"type": "string"}, "it": {}},
        })
    );
    assert_eq!(warnings.len(), 1);
    assert!(
        warnings[0].contains("\"file:///etc/passwd\""),
        "{warnings:?}"
    );
}

const ANYTHING: Effects = Effects::READ
    .union(Effects::WRITE)
    .union(Effects::PROCESS)
    .union(Effects::NETWORK);

#[test]
fn what_a_server_says_loosens_nothing_unless_the_user_believes_it() {
    use AnnotationTrust::{Believed, Stricter};
    use ServerReach::{Machine, Network, Sandbox};
    let read_only = json!({"readOnlyHint": true, "openWorldHint": false});
    let network = Effects::READ | Effects::NETWORK;
    let cases = [
        (read_only.clone(), Stricter, Machine, ANYTHING),
        (read_only.clone(), Stricter, Sandbox, ANYTHING),
        (json!({"readOnlyHint": true}), Stricter, Network, ANYTHING),
        (json!({}), Believed, Machine, ANYTHING),
        (
            json!({"readOnlyHint": false, "openWorldHint": false}),
            Believed,
            Machine,
            ANYTHING,
        ),
        (json!({"readOnlyHint": "true"}), Believed, Machine, ANYTHING),
        (
            json!({"destructiveHint": false}),
            Believed,
            Network,
            ANYTHING,
        ),
        (json!({"readOnlyHint": true}), Believed, Machine, network),
        (read_only.clone(), Believed, Machine, Effects::READ),
        (read_only, Believed, Network, network),
    ];
    for (annotations, trust, reach, expected) in cases {
        let server = ServerProfile {
            reach,
            effects: EffectRules {
                tools: Vec::new(),
                annotations: trust,
            },
            ..profile("a")
        };
        let tool = json!({"name": "t", "annotations": annotations});
        assert_eq!(
            tool_specs(&server, &[tool]).0[0].spec.effects,
            expected,
            "{annotations} {trust:?} {reach:?}"
        );
    }
}

#[test]
fn the_users_word_about_a_tool_wins() {
    let rule = |name: &str, effects| (name.to_owned(), effects);
    let server = ServerProfile {
        effects: EffectRules {
            tools: vec![
                rule("get_*", Effects::READ),
                rule("get_all", Effects::NETWORK),
            ],
            annotations: AnnotationTrust::Believed,
        },
        ..profile("a")
    };
    for (name, expected) in [
        ("get_one", Effects::READ),
        ("get_all", Effects::NETWORK),
        ("other", ANYTHING),
    ] {
        let (defined, _) = tool_specs(&server, &[json!({"name": name})]);
        assert_eq!(defined[0].spec.effects, expected, "{name}");
    }
}

#[test]
fn exposures_by_name_then_by_pattern_in_order() {
    let server = ServerProfile {
        exposure: McpExposure::Deferred,
        tool_exposures: ToolExposures(vec![
            ("get_*".to_owned(), McpExposure::Direct),
            ("*_secret".to_owned(), McpExposure::Hidden),
            ("get_name".to_owned(), McpExposure::Codemode),
        ]),
        ..profile("a")
    };
    let cases = [
        ("get_name", Exposure::Deferred),
        ("get_secret", Exposure::Direct),
        ("set_secret", Exposure::Hidden),
        ("other", Exposure::Deferred),
    ];
    for (name, expected) in cases {
        let (defined, _) = tool_specs(&server, &[json!({"name": name})]);
        assert_eq!(defined[0].spec.exposure, expected, "{name}");
    }
}
