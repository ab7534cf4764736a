//! Finding out which of the two protocols a server speaks.

use std::time::Duration;

use pirn_testkit::{Act, On, Script, Seen, Speaks};
use serde_json::{Value, json};

use crate::row::{
    ALL, Call, Connect, JSON, Kind, PIPE_AND_HTTP, Row, STDIO, STREAMABLE, Saw, Tools, legacy,
    modern,
};

const DISCOVER: On = On::Method("server/discover");

fn both() -> Script {
    Script::new(Speaks::Both)
}

pub(super) fn rows() -> Vec<Row> {
    [protocols(), discoveries(), modern_answers(), modern_http()].concat()
}

fn protocols() -> Vec<Row> {
    // The probe has a limit of its own within the start's.
    let silent = |row: Row| {
        row.limits(
            Duration::from_secs(8),
            Duration::from_secs(8),
            Duration::from_secs(9),
        )
    };
    vec![
        Row::new("legacy", ALL, legacy())
            .saw(Saw::Times("initialize", 1, 2))
            .saw(Saw::Times("notifications/initialized", 1, 1))
            .saw(Saw::That("a legacy version in initialize", |seen| {
                version(seen).is_some_and(|version| version == "2025-11-25")
            })),
        Row::new(
            "modern",
            &[
                crate::row::Over::Stdio,
                crate::row::Over::Json,
                crate::row::Over::Events,
            ],
            modern(),
        )
        .saw(Saw::Times("initialize", 0, 0))
        .saw(Saw::That("the version in every call", |seen| {
            seen.iter()
                .filter(|seen| seen.method == "tools/call")
                .all(|seen| {
                    seen.message
                        .pointer("/params/_meta/io.modelcontextprotocol~1protocolVersion")
                        .is_some_and(|version| version == "2026-07-28")
                })
        })),
        Row::new(
            "both",
            &[
                crate::row::Over::Stdio,
                crate::row::Over::Json,
                crate::row::Over::Events,
            ],
            both(),
        )
        .saw(Saw::Times("initialize", 0, 0)),
        silent(Row::new(
            "silent_on_discover",
            PIPE_AND_HTTP,
            legacy().on(DISCOVER, [Act::Never]),
        )),
        Row::new(
            "dies_on_discover",
            STDIO,
            legacy().on(DISCOVER, [Act::Exit(1)]),
        ),
        Row::new("cuts_on_discover", JSON, legacy().on(DISCOVER, [Act::Cut])),
        Row::new(
            "dies_on_discover_with_a_panic",
            STDIO,
            legacy().on(
                DISCOVER,
                [Act::Complain("thread 'main' panicked"), Act::Exit(101)],
            ),
        ),
        Row::new(
            "locked_to_the_protocol_of_the_first_message",
            PIPE_AND_HTTP,
            both().on(
                On::Method("initialize"),
                [Act::Error(-32022, "Unsupported protocol version")],
            ),
        ),
    ]
}

fn version(seen: &[Seen]) -> Option<&Value> {
    seen.iter()
        .find(|seen| seen.method == "initialize")?
        .message
        .pointer("/params/protocolVersion")
}

/// Odd answers to the question.
fn discoveries() -> Vec<Row> {
    let legacy_after = |name, acts: Vec<Act>| {
        Row::new(name, PIPE_AND_HTTP, legacy().on(DISCOVER, acts)).saw(Saw::Times(
            "initialize",
            1,
            2,
        ))
    };
    let discovered = |name, result: Value| {
        Row::new(
            name,
            PIPE_AND_HTTP,
            modern().on(DISCOVER, [Act::Result(result)]),
        )
    };
    vec![
        legacy_after("discover_answered_minus_32602", vec![Act::Error(-32602, "Invalid params")]),
        legacy_after("discover_answered_minus_32600", vec![Act::Error(-32600, "Invalid Request")]),
        legacy_after("discover_answered_minus_32002", vec![Act::Error(-32002, "Server not initialized")]),
        legacy_after("discover_answered_zero", vec![Act::Error(0, "before initialization was complete")]),
        legacy_after("discover_answered_with_a_null_id", vec![
            Act::Status(400),
            Act::text(r#"{"jsonrpc":"2.0","id":null,"error":{"code":-32600,"message":"Invalid Request"}}"#),
        ])
        .limits(Duration::from_secs(8), Duration::from_secs(8), Duration::from_secs(9)),
        legacy_after("discover_answered_with_an_empty_result", vec![Act::Result(json!({}))]),
        legacy_after("discover_answered_with_null", vec![Act::Result(Value::Null)]),
        Row::new(
            "discover_answered_with_garbage",
            PIPE_AND_HTTP,
            legacy().on(DISCOVER, [Act::text("unknown command")]),
        )
        .limits(Duration::from_secs(8), Duration::from_secs(8), Duration::from_secs(9)),
        Row::new("discover_answered_404", JSON, legacy().on(DISCOVER, [Act::Status(404)])),
        Row::new("discover_answered_405", JSON, legacy().on(DISCOVER, [Act::Status(405)])),
        Row::new("discover_answered_406", JSON, legacy().on(DISCOVER, [Act::Status(406)])),
        Row::new("discover_answered_500", JSON, legacy().on(DISCOVER, [Act::Status(500)])),
        Row::new("discover_answered_202", JSON, legacy().on(DISCOVER, [Act::Status(202)])),
        Row::new(
            "discover_answered_with_a_page",
            JSON,
            legacy().on(
                DISCOVER,
                [Act::Status(400), Act::header("content-type", "text/html"), Act::text("<html>Bad Request</html>")],
            ),
        ),
        discovered(
            "discover_without_server_info",
            json!({"supportedVersions": ["2026-07-28"], "capabilities": {"tools": {}}, "ttlMs": 0, "cacheScope": "private"}),
        ),
        discovered(
            "discover_without_caching",
            json!({"supportedVersions": ["2026-07-28"], "capabilities": {"tools": {}}}),
        ),
        discovered(
            "discover_with_odd_caching",
            json!({"supportedVersions": ["2026-07-28"], "capabilities": {"tools": true}, "ttlMs": "long", "cacheScope": "everybody"}),
        ),
        discovered(
            "discover_with_versions_of_the_future",
            json!({"supportedVersions": ["2099-01-01", "2026-07-28", 7], "capabilities": {"tools": {}}, "ttlMs": 0, "cacheScope": "private"}),
        ),
        Row::new(
            "discover_with_legacy_versions_only",
            PIPE_AND_HTTP,
            legacy().on(
                DISCOVER,
                [Act::Result(json!({
                    "supportedVersions": ["2025-11-25"], "capabilities": {"tools": {}}, "ttlMs": 0, "cacheScope": "private",
                }))],
            ),
        ),
        Row::new(
            "discover_with_unknown_versions_only",
            PIPE_AND_HTTP,
            modern().on(
                DISCOVER,
                [Act::Result(json!({
                    "supportedVersions": ["2099-01-01"], "capabilities": {"tools": {}}, "ttlMs": 0, "cacheScope": "private",
                }))],
            ),
        )
        .connect(Connect::Ends)
        .tools(Tools::Any)
        .healthy_or_absent(),
        Row::new(
            "discover_refused_for_its_version",
            PIPE_AND_HTTP,
            Script::new(Speaks::Modern).on(
                DISCOVER,
                [
                    Act::Status(400),
                    Act::text(
                        r#"{"jsonrpc":"2.0","id":$ID,"error":{"code":-32022,"message":"Unsupported protocol version","data":{"supported":["2099-01-01"],"requested":"2026-07-28"}}}"#,
                    ),
                ],
            ),
        )
        .fails(Kind::Any, &[]),
    ]
}

/// Results of the modern protocol.
fn modern_answers() -> Vec<Row> {
    let answer = |name, acts: Vec<Act>| {
        Row::new(
            name,
            PIPE_AND_HTTP,
            modern().tool("odd").on(On::Tool("odd"), acts),
        )
    };
    let text = |more: &str| {
        Act::text(format!(
            r#"{{"jsonrpc":"2.0","id":$ID,"result":{{"content":[{{"type":"text","text":"said"}}]{more}}}}}"#
        ))
    };
    vec![
        answer("modern_result_without_type", vec![text("")]).call(Call::text("odd", "said")),
        answer("modern_result_of_an_unknown_type", vec![text(r#","resultType":"hologram""#)]).call(Call::ends("odd")),
        answer("modern_result_with_null_type", vec![text(r#","resultType":null"#)]).call(Call::ends("odd")),
        answer("modern_result_is_a_task", vec![text(r#","resultType":"task","taskId":"7""#)])
            .short()
            .call(Call::ends("odd")),
        answer("modern_tool_is_unknown", vec![Act::Error(-32602, "Unknown tool: odd")])
            .call(Call::error("odd", &["Unknown tool"])),
        answer("modern_call_lacks_a_capability", vec![Act::Error(-32021, "Missing required client capability")])
            .call(Call::error("odd", &["Missing required client capability"])),
        answer("modern_call_is_never_answered", vec![Act::Never]).short().call(Call::error("odd", &["timeout"])),
        answer("modern_call_asks_for_input_for_ever", vec![Act::text(
            r#"{"jsonrpc":"2.0","id":$ID,"result":{"resultType":"input_required","requestState":"again-$COUNT"}}"#,
        )])
        .limits(Duration::from_secs(9), Duration::from_secs(3), Duration::from_secs(5))
        .call(Call::error("odd", &[])),
        answer("modern_call_asks_for_nothing", vec![Act::text(
            r#"{"jsonrpc":"2.0","id":$ID,"result":{"resultType":"input_required"}}"#,
        )])
        .short()
        .call(Call::error("odd", &[])),
        Row::new(
            "modern_list_without_caching",
            PIPE_AND_HTTP,
            modern().on(
                On::Method("tools/list"),
                [Act::text(
                    r#"{"jsonrpc":"2.0","id":$ID,"result":{"tools":[{"name":"ok","inputSchema":{"type":"object"}}]}}"#,
                )],
            ),
        ),
        Row::new(
            "modern_subscription_is_refused",
            PIPE_AND_HTTP,
            modern().on(On::Method("subscriptions/listen"), [Act::Error(-32601, "Method not found")]),
        ),
        Row::new(
            "modern_subscription_ends_at_once",
            STREAMABLE,
            modern().on(On::Method("subscriptions/listen"), [Act::Stream]),
        )
        .saw(Saw::Times("subscriptions/listen", 0, 4)),
        Row::new(
            "modern_tool_replaced",
            PIPE_AND_HTTP,
            modern()
                .first(1, On::Method("tools/list"), [Act::Result(json!({"tools": [
                    {"name": "ok", "inputSchema": {"type": "object"}}, {"name": "gone", "inputSchema": {"type": "object"}},
                ]}))])
                .on(On::Method("subscriptions/listen"), [
                    Act::Stream,
                    Act::Notify("notifications/subscriptions/acknowledged", json!({
                        "_meta": {"io.modelcontextprotocol/subscriptionId": "$ID"},
                        "notifications": {"toolsListChanged": true},
                    })),
                    Act::WaitFor("tools/call", 1),
                    Act::Notify("notifications/tools/list_changed", json!({
                        "_meta": {"io.modelcontextprotocol/subscriptionId": "$ID"},
                    })),
                    Act::Never,
                ]),
        )
        .call(Call::text("ok", "fine"))
        .tools(Tools::Exactly(vec!["ok"])),
    ]
}

fn modern_http() -> Vec<Row> {
    vec![
        Row::new("modern_headers", STREAMABLE, modern())
            .saw(Saw::That("the method and the tool in headers", |seen| {
                seen.iter().any(|seen| {
                    seen.header("mcp-method") == Some("tools/call") && seen.header("mcp-name") == Some("ok")
                })
            }))
            .saw(Saw::That("no session and no stream", |seen| {
                seen.iter()
                    .all(|seen| seen.verb != "GET" && seen.header("mcp-session-id").is_none())
            })),
        Row::new(
            "modern_server_hands_out_a_session",
            JSON,
            modern().on(
                DISCOVER,
                [
                    Act::header("mcp-session-id", "session-9"),
                    Act::Result(json!({
                        "supportedVersions": ["2026-07-28"], "capabilities": {"tools": {}}, "ttlMs": 0, "cacheScope": "private",
                    })),
                ],
            ),
        ),
        Row::new(
            "modern_name_that_is_no_header",
            JSON,
            modern().tool("読む\n").on(On::Tool("読む\n"), [Act::says("read")]),
        )
        .call(Call::text("読む\n", "read")),
    ]
}
