//! Results by method: what callers get, and what the library gets.

use rmcp::model::{ServerJsonRpcMessage, ServerResult};
use serde_json::{Value, json};

use super::{id, wire_with};

/// What a result becomes: its JSON, and its typed form after it went through the library's own union of results, as it does
/// where events are parsed again.
fn pass(method: &str, result: &Value) -> (Option<Value>, ServerResult, Vec<String>) {
    let wire = wire_with(&[method]);
    let text = json!({"jsonrpc": "2.0", "id": 1, "result": result}).to_string();
    let mut messages = wire.incoming(text.as_bytes(), None);
    let (Some(message), true) = (messages.pop(), messages.is_empty()) else {
        panic!("one message for {text}");
    };
    let again = serde_json::to_string(&message).expect("JSON");
    let again: ServerJsonRpcMessage = serde_json::from_str(&again).expect("still a message");
    let ServerJsonRpcMessage::Response(response) = again else {
        panic!("no response: {again:?}");
    };
    (
        wire.take_result(&id(1)),
        response.result,
        wire.take_warnings(),
    )
}

fn variant(result: &ServerResult) -> String {
    let debug = format!("{result:?}");
    debug
        .split(['(', ' '])
        .next()
        .unwrap_or_default()
        .to_owned()
}

#[track_caller]
fn check(method: &str, expected_variant: &str, cases: &[(Value, Value)]) {
    for (result, expected) in cases {
        let (whole, typed, _) = pass(method, result);
        assert_eq!(whole.as_ref(), Some(expected), "for {result}");
        assert_eq!(variant(&typed), expected_variant, "for {result}");
    }
}

#[test]
fn initialize() {
    let empty = json!({"name": "", "version": ""});
    check(
        "initialize",
        "InitializeResult",
        &[
            (
                json!({"protocolVersion": "2025-06-18", "capabilities": {"tools": {}, "x": 1}, "serverInfo": {"name": "n", "version": "1", "more": true}, "instructions": "i"}),
                json!({"protocolVersion": "2025-06-18", "capabilities": {"tools": {}, "x": 1}, "serverInfo": {"name": "n", "version": "1", "more": true}, "instructions": "i"}),
            ),
            (
                json!({"protocolVersion": "2025-06-18", "capabilities": {"tools": true, "prompts": [], "resources": null, "logging": false, "experimental": {"a": true, "b": null}}, "serverInfo": {"name": "n"}}),
                json!({"protocolVersion": "2025-06-18", "capabilities": {"tools": {}, "prompts": {}, "experimental": {"a": {}}}, "serverInfo": {"name": "n", "version": ""}}),
            ),
            (
                json!({"capabilities": [], "serverInfo": "n", "instructions": 5}),
                json!({"capabilities": {}, "serverInfo": {"name": "n", "version": ""}, "protocolVersion": "2025-03-26"}),
            ),
            (
                json!({"protocolVersion": "2025-06-18", "capabilities": {"tools": {"listChanged": "yes"}}}),
                json!({"protocolVersion": "2025-06-18", "capabilities": {"tools": {}}, "serverInfo": empty}),
            ),
            (
                json!({"protocolVersion": "2025-06-18", "capabilities": {"tools": null}, "serverInfo": {"name": 1, "version": 2.5, "icons": [{"sizes": "any"}]}}),
                json!({"protocolVersion": "2025-06-18", "capabilities": {"tools": {}}, "serverInfo": {"name": "1", "version": "2.5", "icons": []}}),
            ),
        ],
    );
}

#[test]
fn discover() {
    let whole = json!({"resultType": "complete", "supportedVersions": ["2026-07-28"], "capabilities": {"tools": {"listChanged": true}}, "ttlMs": 5, "cacheScope": "public", "_meta": {"io.modelcontextprotocol/serverInfo": {"name": "n", "version": "1"}}});
    check(
        "server/discover",
        "DiscoverResult",
        &[
            (whole.clone(), whole),
            (
                json!({"supportedVersions": "2026-07-28", "capabilities": {"tools": true}}),
                json!({"supportedVersions": ["2026-07-28"], "capabilities": {"tools": {}}, "resultType": "complete", "ttlMs": 0, "cacheScope": "private"}),
            ),
        ],
    );
}

#[test]
fn a_handshake_that_cannot_be_repaired_names_the_member() {
    let cases = [
        (
            "server/discover",
            json!({}),
            "the server's answer to server/discover does not fit the protocol: missing field `supportedVersions`",
        ),
        (
            "server/discover",
            json!({"supportedVersions": 5}),
            "the server's answer to server/discover does not fit the protocol: supportedVersions: invalid type: integer `5`, expected a sequence",
        ),
        (
            "initialize",
            json!(null),
            "the server's answer to initialize does not fit the protocol: invalid type: null, expected struct InitializeResult",
        ),
        (
            "tools/call",
            json!({"resultType": "input_required", "inputRequests": 5}),
            "the server's answer to tools/call does not fit the protocol: inputRequests: invalid type: integer `5`, expected a map",
        ),
    ];
    for (method, result, expected) in cases {
        let wire = wire_with(&[method]);
        let text = json!({"id": 1, "result": result}).to_string();
        let [ServerJsonRpcMessage::Error(error)] = &*wire.incoming(text.as_bytes(), None) else {
            panic!("one error for {text}");
        };
        assert_eq!(error.error.message, expected);
    }
}

#[test]
fn list_tools() {
    let schema = json!({"type": "object", "properties": {"region": {"type": "string", "x-mcp-header": "Region"}}, "$defs": {"a": {}}});
    let (whole, typed, warnings) = pass(
        "tools/list",
        &json!({"nextCursor": "", "ttlMs": 5, "x": 1, "tools": [
            {"name": "good", "description": null, "inputSchema": schema, "annotations": {"readOnlyHint": true}, "more": [1]},
            {"name": "none"},
            {"name": "null", "inputSchema": null, "outputSchema": true, "annotations": 5},
            {"name": "true", "inputSchema": true, "annotations": {"readOnlyHint": "yes", "title": "T", "other": 1}},
            {"name": "false", "inputSchema": false, "icons": [{"src": "a"}, {"src": "b", "sizes": "48x48"}]},
            {"name": "untyped", "inputSchema": {"properties": {}}, "title": null, "description": 7},
            {"inputSchema": {}},
            "what",
        ]}),
    );
    assert_eq!(
        whole,
        Some(json!({"ttlMs": 5, "x": 1, "tools": [
            {"name": "good", "inputSchema": schema, "annotations": {"readOnlyHint": true}, "more": [1]},
            {"name": "none", "inputSchema": {"type": "object"}},
            {"name": "null", "inputSchema": {"type": "object"}},
            {"name": "true", "inputSchema": {"type": "object"}, "annotations": {"title": "T", "other": 1}},
            {"name": "false", "inputSchema": {"type": "object", "properties": {}, "additionalProperties": false}, "icons": [{"src": "a"}]},
            {"name": "untyped", "inputSchema": {"properties": {}, "type": "object"}},
        ]}))
    );
    assert_eq!(
        warnings,
        [
            "tool \"none\": it has no inputSchema; any arguments are assumed",
            "tool \"null\": it has no inputSchema; any arguments are assumed",
            "tool \"null\": left out what does not fit the protocol: outputSchema, annotations",
            "tool \"true\": its inputSchema is true; any arguments are assumed",
            "tool \"true\": left out what does not fit the protocol: readOnlyHint",
            "tool \"false\": its inputSchema is false; no arguments are assumed",
            "tool \"false\": left out what does not fit the protocol: icons",
            "tool \"untyped\": its inputSchema has no type; an object is assumed",
            "tool \"untyped\": left out what does not fit the protocol: description",
            "tool number 7 of the list has no name and was left out",
            "tool number 8 of the list has no name and was left out",
        ]
    );
    let ServerResult::ListToolsResult(list) = typed else {
        panic!("a list: {typed:?}");
    };
    let names: Vec<&str> = list.tools.iter().map(|tool| &*tool.name).collect();
    assert_eq!(names, ["good", "none", "null", "true", "false", "untyped"]);
    assert_eq!(json!(list.tools[0].input_schema), schema);
}

#[test]
fn lists_that_are_none() {
    let cursor = json!({"tools": [], "nextCursor": "5"});
    check(
        "tools/list",
        "ListToolsResult",
        &[
            (json!({"tools": [], "nextCursor": "5"}), cursor.clone()),
            (json!({"tools": [], "nextCursor": 5}), cursor),
            (
                json!({"tools": [], "nextCursor": null, "cacheScope": "", "ttlMs": "1", "_meta": 1}),
                json!({"tools": []}),
            ),
            (json!(null), json!({"tools": []})),
            (json!({}), json!({"tools": []})),
            (
                json!([{"name": "a", "inputSchema": {"type": "object"}}]),
                json!({"tools": [{"name": "a", "inputSchema": {"type": "object"}}]}),
            ),
        ],
    );
}

#[test]
fn call_tool() {
    let text = |text: &str| json!({"type": "text", "text": text});
    let image = json!({"type": "image", "data": "AAAA", "mimeType": "image/png", "annotations": {"audience": ["user"], "priority": 0.5}});
    let whole = json!({"content": [image, {"type": "resource", "resource": {"uri": "a:b", "text": ""}}], "structuredContent": null, "isError": true, "more": {"x": 1}});
    check(
        "tools/call",
        "CallToolResult",
        &[
            (whole.clone(), whole),
            (json!(null), json!({"content": []})),
            (json!({}), json!({"content": []})),
            (
                json!({"content": null, "structuredContent": [1]}),
                json!({"content": [], "structuredContent": [1]}),
            ),
            (json!({"content": "hi"}), json!({"content": [text("hi")]})),
            (json!("hi"), json!({"content": [text("hi")]})),
            (json!([text("hi")]), json!({"content": [text("hi")]})),
            (
                json!({"content": text("hi")}),
                json!({"content": [text("hi")]}),
            ),
            (
                json!({"content": ["hi", null, 5, {"a": 1}]}),
                json!({"content": [text("hi"), text("5"), text(r#"{"a":1}"#)]}),
            ),
            (
                json!({"content": [{"type": "video", "url": "u"}, text("hi")], "isError": "true"}),
                json!({"content": [{"type": "video", "url": "u"}, text("hi")], "isError": true}),
            ),
            (
                json!({"content": [{"type": "image"}]}),
                json!({"content": [text(r#"{"type":"image"}"#)]}),
            ),
            (
                json!({"content": [{"type": "image", "data": "iVBORw0KGgoAAA"}, {"type": "audio", "data": "A"}]}),
                json!({"content": [{"type": "image", "data": "iVBORw0KGgoAAA", "mimeType": "image/png"}, {"type": "audio", "data": "A", "mimeType": "application/octet-stream"}]}),
            ),
            (
                json!({"content": [{"type": "text", "text": 5, "_meta": []}]}),
                json!({"content": [text("5")]}),
            ),
            (
                json!({"content": [{"text": "hi"}]}),
                json!({"content": [{"text": "hi", "type": "text"}]}),
            ),
            (
                json!({"content": [{"type": "text", "text": "hi", "annotations": {"audience": "user"}}]}),
                json!({"content": [text("hi")]}),
            ),
            (
                json!({"content": [{"type": "resource_link", "uri": "a:b", "size": -1}, {"type": "resource", "resource": {"blob": "AA"}}]}),
                json!({"content": [{"type": "resource_link", "uri": "a:b", "name": "a:b"}, {"type": "resource", "resource": {"blob": "AA", "uri": ""}}]}),
            ),
            (
                json!({"content": [], "isError": null}),
                json!({"content": []}),
            ),
            (
                json!({"content": [], "isError": 1}),
                json!({"content": [], "isError": true}),
            ),
            // Members of other results.
            (
                json!({"content": [], "messages": [], "tools": [], "action": "accept", "resultType": "odd"}),
                json!({"content": [], "messages": [], "tools": [], "action": "accept", "resultType": "odd"}),
            ),
        ],
    );
}

#[test]
fn a_typed_call_has_text_for_unknown_blocks() {
    let (_, typed, _) = pass(
        "tools/call",
        &json!({"content": [{"type": "video", "url": "u"}], "isError": true, "structuredContent": 5}),
    );
    let ServerResult::CallToolResult(result) = typed else {
        panic!("a result: {typed:?}");
    };
    assert_eq!(
        json!(result),
        json!({"resultType": "complete", "content": [{"type": "text", "text": "{\"type\":\"video\",\"url\":\"u\"}"}], "structuredContent": 5, "isError": true})
    );
}

#[test]
fn large_contents_are_for_callers_only() {
    let text = "x".repeat(100_000);
    let call = json!({"content": [{"type": "text", "text": text}, {"type": "text", "text": null}], "isError": true});
    let (whole, typed, _) = pass("tools/call", &call);
    let mut expected = call;
    expected["content"][1]["text"] = json!("");
    assert_eq!(whole, Some(expected));
    assert_eq!(
        json!(typed),
        json!({"resultType": "complete", "content": [], "isError": true})
    );
    let read = json!({"contents": [{"uri": "a:b", "text": text}], "ttlMs": 60_000});
    let (whole, typed, _) = pass("resources/read", &read);
    assert_eq!(whole, Some(read));
    assert_eq!(
        json!(typed),
        json!({"resultType": "complete", "contents": []})
    );
}

#[test]
fn results_that_ask_or_wait_stay_as_they_are() {
    let question = json!({"method": "elicitation/create", "params": {"mode": "form", "message": "m", "requestedSchema": {"type": "object", "properties": {"a": {"type": "string"}}}}});
    let asking = json!({"resultType": "input_required", "inputRequests": {"q": question}, "requestState": "s"});
    let odd = json!({"resultType": "input_required", "inputRequests": {"q": {"method": "elicitation/create", "params": {"message": null, "requestedSchema": {"properties": {"a": {"type": "string", "format": "odd"}}}}}}});
    let task = json!({"resultType": "task", "taskId": "t", "status": "working", "createdAt": "2026-01-01T00:00:00Z", "lastUpdatedAt": "2026-01-01T00:00:00Z", "ttlMs": null});
    for method in ["tools/call", "prompts/get", "resources/read"] {
        for result in [&asking, &odd] {
            let (whole, typed, _) = pass(method, result);
            assert_eq!(whole, None);
            assert_eq!(variant(&typed), "InputRequiredResult", "{typed:?}");
        }
        assert_eq!(json!(pass(method, &asking).1), asking);
        assert_eq!(variant(&pass(method, &task).1), "CreateTaskResult");
    }
}

#[test]
fn resources_and_prompts() {
    check(
        "resources/list",
        "ListResourcesResult",
        &[(
            json!({"resources": [{"uri": "a:b", "name": null, "size": 1.5, "icons": 5, "more": 1}, {"name": "x"}], "nextCursor": ""}),
            json!({"resources": [{"uri": "a:b", "name": "a:b", "more": 1}]}),
        )],
    );
    check(
        "resources/templates/list",
        "ListResourceTemplatesResult",
        &[(
            json!({"resourceTemplates": [{"uriTemplate": "a:{b}", "mimeType": 5}, null]}),
            json!({"resourceTemplates": [{"uriTemplate": "a:{b}", "name": "a:{b}"}]}),
        )],
    );
    check(
        "resources/read",
        "ReadResourceResult",
        &[
            (json!(null), json!({"contents": []})),
            (
                json!({"contents": "hi"}),
                json!({"contents": [{"uri": "test://asked", "text": "hi"}]}),
            ),
            (
                json!({"contents": {"text": 5, "mimeType": null}}),
                json!({"contents": [{"text": "5", "uri": "test://asked"}]}),
            ),
            (
                json!({"contents": [{"uri": "a:b", "blob": "AA", "text": null, "x": 1}]}),
                json!({"contents": [{"uri": "a:b", "blob": "AA", "x": 1}]}),
            ),
        ],
    );
    check(
        "prompts/list",
        "ListPromptsResult",
        &[(
            json!({"prompts": [{"name": "p", "arguments": [{"name": "a", "required": "yes"}, {}], "description": null}, {"name": ""}]}),
            json!({"prompts": [{"name": "p", "arguments": [{"name": "a"}]}]}),
        )],
    );
    let user = |text: &str| json!({"role": "user", "content": {"type": "text", "text": text}});
    check(
        "prompts/get",
        "GetPromptResult",
        &[
            (
                json!({"messages": [user("a")], "description": null}),
                json!({"messages": [user("a")]}),
            ),
            (json!("a"), json!({"messages": [user("a")]})),
            (
                json!({"messages": [{"role": "system", "content": "a"}, "b"]}),
                json!({"messages": [user("a"), user("b")]}),
            ),
            (
                json!({"messages": [{"role": "user", "content": [{"type": "text", "text": "a"}, {"type": "text", "text": "b"}]}]}),
                json!({"messages": [user("a"), user("b")]}),
            ),
        ],
    );
}

#[test]
fn answers_that_only_acknowledge() {
    for result in [json!({}), json!(null), json!({"_meta": {}}), json!(true)] {
        let (whole, typed, _) = pass("ping", &result);
        assert_eq!(whole, None);
        assert_eq!(variant(&typed), "EmptyResult");
    }
    for result in [
        json!({"resultType": "complete", "_meta": {"io.modelcontextprotocol/subscriptionId": 1}}),
        json!({}),
    ] {
        let (_, typed, _) = pass("subscriptions/listen", &result);
        assert_eq!(
            json!(typed),
            json!({"resultType": "complete", "_meta": {"io.modelcontextprotocol/subscriptionId": 1}})
        );
    }
}
