//! What holds for any input.

use proptest::prelude::*;
use serde_json::{Map, Value, json};

use super::{id, wire_with};

const METHODS: [&str; 12] = [
    "initialize",
    "server/discover",
    "tools/list",
    "tools/call",
    "resources/list",
    "resources/templates/list",
    "resources/read",
    "prompts/list",
    "prompts/get",
    "subscriptions/listen",
    "ping",
    "completion/complete",
];

/// Any JSON, with the names of the protocol's members among its own.
pub(super) fn any_json() -> impl Strategy<Value = Value> {
    let name = prop_oneof![
        prop::sample::select(vec![
            "id",
            "method",
            "result",
            "error",
            "params",
            "jsonrpc",
            "code",
            "message",
            "data",
            "tools",
            "name",
            "inputSchema",
            "annotations",
            "icons",
            "content",
            "type",
            "text",
            "contents",
            "uri",
            "messages",
            "role",
            "resources",
            "prompts",
            "arguments",
            "nextCursor",
            "capabilities",
            "serverInfo",
            "protocolVersion",
            "resultType",
            "inputRequests",
            "supportedVersions",
            "_meta",
            "progressToken",
            "requestedSchema",
        ])
        .prop_map(str::to_owned),
        "[a-z\\\\\"]{0,3}",
    ];
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        (-3_i64..9).prop_map(Value::from),
        any::<f64>().prop_map(Value::from),
        "\\PC{0,6}".prop_map(Value::from),
        prop::sample::select(vec![
            "input_required",
            "task",
            "complete",
            "text",
            "image",
            "resource",
            "1",
            "notifications/progress",
            "elicitation/create",
            "ping",
        ])
        .prop_map(Value::from),
    ];
    leaf.prop_recursive(5, 48, 6, move |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..5).prop_map(Value::from),
            prop::collection::vec((name.clone(), inner), 0..6)
                .prop_map(|members| Value::Object(Map::from_iter(members))),
        ]
    })
}

proptest! {
    #[test]
    fn any_bytes_are_survived(bytes in prop::collection::vec(any::<u8>(), 0..200), is_expected: bool) {
        let wire = wire_with(&["tools/call"]);
        let expected = is_expected.then(|| id(1));
        let messages = wire.incoming(&bytes, expected.as_ref());
        let is_blank = bytes.trim_ascii().is_empty();
        if is_expected && !is_blank && serde_json::from_slice::<Value>(&bytes).is_err() {
            prop_assert_eq!(messages.len(), 1);
        }
    }

    #[test]
    fn an_object_with_an_open_id_is_the_answer(value in any_json(), method in prop::sample::select(METHODS.to_vec())) {
        let wire = wire_with(&[method]);
        let mut object = match value {
            Value::Object(object) => object,
            other => Map::from_iter([("result".to_owned(), other)]),
        };
        object.remove("method");
        object.insert("id".to_owned(), json!(1));
        let text = Value::Object(object).to_string();
        prop_assert_eq!(wire.incoming(text.as_bytes(), None).len(), 1);
        prop_assert!(wire.open_requests().is_empty());
        prop_assert_eq!(wire.incoming(text.as_bytes(), None).len(), 0);
    }

    #[test]
    fn any_json_is_survived(value in any_json(), is_expected: bool) {
        let wire = wire_with(&METHODS);
        let expected = is_expected.then(|| id(3));
        let count = wire.incoming(value.to_string().as_bytes(), expected.as_ref()).len();
        let items = value.as_array().map_or(1, Vec::len);
        prop_assert!(count <= items);
    }

    #[test]
    fn what_is_well_formed_is_lossless(structured in any_json(), more in any_json(), texts in prop::collection::vec("\\PC{0,20}", 0..4)) {
        let wire = wire_with(&["tools/call", "tools/list", "resources/read"]);
        let content: Vec<Value> = texts.iter().map(|text| json!({"type": "text", "text": text, "more": more})).collect();
        let tools: Vec<Value> = texts.iter().map(|text| json!({"name": format!("n{text}"), "inputSchema": {"type": "object", "x": more}, "other": structured})).collect();
        let contents: Vec<Value> = texts.iter().map(|text| json!({"uri": text, "text": text, "more": more})).collect();
        let results = [
            json!({"content": content, "structuredContent": structured, "more": more}),
            json!({"tools": tools, "more": more}),
            json!({"contents": contents, "more": structured}),
        ];
        for (number, result) in (1..).zip(results) {
            let text = json!({"jsonrpc": "2.0", "id": number, "result": result}).to_string();
            prop_assert_eq!(wire.incoming(text.as_bytes(), None).len(), 1);
            prop_assert_eq!(wire.take_result(&id(number)), Some(result));
        }
        prop_assert!(wire.take_warnings().is_empty());
    }
}
