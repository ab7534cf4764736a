mod peers;
mod properties;
mod results;

use rmcp::model::{ClientJsonRpcMessage, RequestId, ServerJsonRpcMessage};
use serde_json::{Value, json};

use super::{Trace, Wire, read_trace};

/// A wire on which a request for each of the methods is open, numbered from one.
pub(super) fn wire_with(methods: &[&str]) -> Wire {
    let wire = Wire::new(Trace::off());
    for (index, method) in methods.iter().enumerate() {
        send(&wire, index + 1, method);
    }
    wire
}

fn send(wire: &Wire, id: usize, method: &str) {
    let params = match method {
        "initialize" => json!({
            "protocolVersion": "2025-11-25",
            "capabilities": {},
            "clientInfo": {"name": "test", "version": "1"},
        }),
        "resources/read" => json!({"uri": "test://asked"}),
        "subscriptions/listen" => json!({"notifications": {}}),
        "server/discover" | "ping" | "tools/list" => json!({}),
        _ => json!({"name": "thing"}),
    };
    let message: ClientJsonRpcMessage = serde_json::from_value(
        json!({"jsonrpc": "2.0", "id": id, "method": method, "params": params}),
    )
    .expect("a request");
    wire.outgoing(&message).expect("a line");
}

pub(super) fn id(number: i64) -> RequestId {
    RequestId::Number(number)
}

/// What request 1, a call, is answered with when the server writes `text`.
fn answer_to_call(text: &[u8], expected: Option<i64>) -> String {
    let wire = wire_with(&["tools/call"]);
    let expected = expected.map(id);
    describe(&wire, &wire.incoming(text, expected.as_ref()))
}

/// Messages in short: the whole result, the error's code and text, or the method.
fn describe(wire: &Wire, messages: &[ServerJsonRpcMessage]) -> String {
    let described: Vec<String> = messages
        .iter()
        .map(|message| match message {
            ServerJsonRpcMessage::Response(response) => {
                let result = wire.take_result(&response.id).unwrap_or_default();
                format!("{} {result}", response.id)
            }
            ServerJsonRpcMessage::Error(error) => {
                let id = error.id.as_ref().expect("an error is for somebody");
                format!("{id} error {} {}", error.error.code.0, error.error.message)
            }
            ServerJsonRpcMessage::Request(_) | ServerJsonRpcMessage::Notification(_) => {
                serde_json::to_string(message).expect("JSON")
            }
        })
        .collect();
    described.join("\n")
}

const HELLO: &str = r#"1 {"content":[{"type":"text","text":"hi"}]}"#;

#[test]
fn bytes_of_an_answer() {
    let result = r#""result":{"content":[{"type":"text","text":"hi"}]}"#;
    let whole = format!(r#"{{"jsonrpc":"2.0","id":1,{result}}}"#);
    let cases: &[(&str, Vec<u8>, &str)] = &[
        ("as it should be", whole.clone().into(), HELLO),
        ("byte order mark", format!("\u{feff}{whole}").into(), HELLO),
        ("carriage return", format!("{whole}\r").into(), HELLO),
        ("no jsonrpc", format!(r#"{{"id":1,{result}}}"#).into(), HELLO),
        ("other jsonrpc", format!(r#"{{"jsonrpc":2.0,"id":1,{result}}}"#).into(), HELLO),
        ("id as a string", format!(r#"{{"id":"1",{result}}}"#).into(), HELLO),
        ("id as a fraction", format!(r#"{{"id":1.0,{result}}}"#).into(), HELLO),
        ("error null", format!(r#"{{"id":1,{result},"error":null}}"#).into(), HELLO),
        ("error false", format!(r#"{{"id":1,"error":false,{result}}}"#).into(), HELLO),
        ("batch", format!("[{whole}]").into(), HELLO),
        ("echoed method", format!(r#"{{"id":1,"method":"tools/call",{result}}}"#).into(), HELLO),
        ("several lines", whole.replace(',', ",\r\n  ").into(), HELLO),
        ("duplicates", format!("{whole}{whole}").into(), HELLO),
        ("something behind", format!("{whole} done").into(), HELLO),
        (
            "no UTF-8",
            b"{\"id\":1,\"result\":{\"content\":[{\"type\":\"text\",\"text\":\"\xff\xc3!\"}]}}".to_vec(),
            "1 {\"content\":[{\"type\":\"text\",\"text\":\"\u{fffd}\u{fffd}!\"}]}",
        ),
        (
            "lone surrogates",
            br#"{"id":1,"result":{"content":[{"type":"text","text":"\ud800 \udc00x \ud83d\ude00 \ud83dz"}]}}"#.to_vec(),
            "1 {\"content\":[{\"type\":\"text\",\"text\":\"\u{fffd} \u{fffd}x \u{1f600} \u{fffd}z\"}]}",
        ),
        (
            "numbers that JSON does not have",
            br#"{"id":1,"result":{"content":[],"structuredContent":[NaN,Infinity,-Infinity,1e999,-1.5e3,12]}}"#.to_vec(),
            r#"1 {"content":[],"structuredContent":[null,null,null,null,-1500.0,12]}"#,
        ),
        (
            "control characters and escapes that there are not",
            b"{\"id\":1,\"result\":{\"content\":[],\"structuredContent\":\"a\tb\nc\\x \\u12\"}}".to_vec(),
            r#"1 {"content":[],"structuredContent":"a\tb\nc\\x \\u12"}"#,
        ),
        ("not open", br#"{"id":7,"result":{}}"#.to_vec(), ""),
        ("text", b"Listening on port 3000".to_vec(), ""),
        ("a value", b"12".to_vec(), ""),
        ("nothing", b" \r".to_vec(), ""),
        ("an object", br#"{"level":"info"}"#.to_vec(), ""),
        ("id null", br#"{"id":null,"result":{}}"#.to_vec(), ""),
        (
            "neither result nor error",
            br#"{"id":1}"#.to_vec(),
            r#"1 error -32603 the server's answer has neither a result nor an error: {"id":1}"#,
        ),
        (
            "error null alone",
            br#"{"id":1,"error":null}"#.to_vec(),
            r#"1 error -32603 the server's answer has neither a result nor an error: {"id":1,"error":null}"#,
        ),
        (
            "damaged behind the id",
            br#"{"id":1,"result":{"content":"say "hi""}}"#.to_vec(),
            r#"1 error -32603 the server's answer is not valid JSON (expected `,` or `}` at line 1 column 35): {"id":1,"result":{"content":"say "hi""}}"#,
        ),
        (
            "damaged before the id",
            br#"{"result":{"content":"say "hi""},"id":1}"#.to_vec(),
            r#"1 error -32603 the server's answer is not valid JSON (expected `,` or `}` at line 1 column 28): {"result":{"content":"say "hi""},"id":1}"#,
        ),
    ];
    for (name, text, expected) in cases {
        assert_eq!(answer_to_call(text, None), *expected, "{name}");
    }
}

#[test]
fn bytes_where_the_request_is_known() {
    let cases: &[(&str, &[u8], &str)] = &[
        (
            "id null",
            br#"{"id":null,"result":{}}"#,
            r#"1 {"content":[]}"#,
        ),
        (
            "error with id null",
            br#"{"jsonrpc":"2.0","id":null,"error":{"code":-32000,"message":"No session"}}"#,
            "1 error -32000 No session",
        ),
        (
            "error without id",
            br#"{"error":"unauthorized"}"#,
            "1 error -32603 unauthorized",
        ),
        (
            "text",
            b"<html>\n <h1>Bad gateway</h1>",
            "1 error -32603 the server's answer is not valid JSON (expected value at line 1 column 1): <html> <h1>Bad gateway</h1>…",
        ),
        (
            "cut off",
            br#"{"jsonrpc":"2.0","id":1,"result":{"content":[{"ty"#,
            r#"1 error -32603 the server's answer is not valid JSON (EOF while parsing a string at line 1 column 49): {"jsonrpc":"2.0","id":1,"result":{"content":[{"ty"#,
        ),
        (
            "a value",
            b"\"no\"",
            "1 error -32603 the server's answer is not a JSON-RPC message: \"no\"",
        ),
        (
            "an object",
            br#"{"detail":"Not found"}"#,
            r#"1 error -32603 the server's answer has neither a result nor an error: {"detail":"Not found"}"#,
        ),
        ("another's answer", br#"{"id":9,"result":{}}"#, ""),
        ("nothing", b"\n", ""),
    ];
    for (name, text, expected) in cases {
        assert_eq!(answer_to_call(text, Some(1)), *expected, "{name}");
    }
}

#[test]
fn errors_of_servers() {
    let cases: &[(Value, &str)] = &[
        (
            json!({"code": -32601, "message": "no"}),
            "1 error -32601 no",
        ),
        (
            json!({"code": "-32601", "message": "no"}),
            "1 error -32601 no",
        ),
        (
            json!({"code": "ENOENT", "message": "no"}),
            "1 error -32603 no (ENOENT)",
        ),
        (
            json!({"code": 1e3, "message": null}),
            "1 error 1000 the server answered with an error without a message",
        ),
        (
            json!({"code": 99_999_999_999_u64, "message": "no"}),
            "1 error -32603 no (99999999999)",
        ),
        (
            json!({"message": {"text": "no"}}),
            r#"1 error -32603 {"text":"no"}"#,
        ),
        (
            json!({"code": 5, "message": null, "data": "why"}),
            "1 error 5 why",
        ),
        (
            json!({"code": 5, "reason": "why"}),
            r#"1 error 5 {"reason":"why"}"#,
        ),
        (json!("no"), "1 error -32603 no"),
        (
            json!(["no"]),
            r#"1 error -32603 the server answered with the error ["no"]"#,
        ),
        (
            json!(true),
            "1 error -32603 the server answered with the error true",
        ),
    ];
    for (error, expected) in cases {
        let text = json!({"jsonrpc": "2.0", "id": 1, "error": error}).to_string();
        assert_eq!(answer_to_call(text.as_bytes(), None), *expected);
        let beside_null = json!({"id": 1, "result": null, "error": error}).to_string();
        assert_eq!(answer_to_call(beside_null.as_bytes(), None), *expected);
    }
}

#[test]
fn errors_keep_their_data_and_ours_are_marked() {
    let wire = wire_with(&["tools/call", "tools/call"]);
    let text = br#"{"id":1,"error":{"code":-32042,"message":"m","data":{"elicitations":[]}}}"#;
    let [ServerJsonRpcMessage::Error(error)] = &*wire.incoming(text, None) else {
        panic!("one error");
    };
    assert_eq!(error.error.data, Some(json!({"elicitations": []})));
    assert!(!Wire::is_failure(&error.error));
    let ServerJsonRpcMessage::Error(error) = wire.failure(&id(2), "gone") else {
        panic!("an error");
    };
    assert!(Wire::is_failure(&error.error));
}

#[test]
fn an_answer_without_id_belongs_to_the_handshake() {
    let refusal = br#"{"jsonrpc":"2.0","id":null,"error":{"code":-32601,"message":"no"}}"#;
    let cases: &[(&[&str], &str)] = &[
        (&["server/discover"], "1 error -32601 no"),
        (&["initialize"], "1 error -32601 no"),
        (&["tools/list"], ""),
        (&["initialize", "tools/list"], ""),
    ];
    for (methods, expected) in cases {
        let wire = wire_with(methods);
        assert_eq!(describe(&wire, &wire.incoming(refusal, None)), *expected);
    }
}

#[test]
fn requests_are_open_until_they_are_answered_failed_or_given_up() {
    let wire = wire_with(&[
        "tools/call",
        "tools/call",
        "tools/call",
        "tools/call",
        "ping",
    ]);
    assert_eq!(wire.open_requests(), [1, 2, 3, 4, 5].map(id));
    let answer = |number: i64| json!({"id": number, "result": {"content": []}}).to_string();
    assert_eq!(wire.incoming(answer(2).as_bytes(), None).len(), 1);
    assert!(wire.incoming(answer(2).as_bytes(), None).is_empty());
    drop(wire.failure(&id(3), "gone"));
    wire.forget(&id(4));
    wire.forget(&id(2));
    let cancelled = serde_json::from_value(json!({
        "jsonrpc": "2.0",
        "method": "notifications/cancelled",
        "params": {"requestId": 5},
    }))
    .expect("a notification");
    wire.outgoing(&cancelled).expect("a line");
    assert_eq!(wire.open_requests(), [id(1)]);
    for number in 2..=5 {
        assert!(wire.incoming(answer(number).as_bytes(), None).is_empty());
        assert_eq!(wire.take_result(&id(number)), None);
    }
}

#[test]
fn results_nobody_takes_are_bounded() {
    let wire = Wire::new(Trace::off());
    for number in 0..400 {
        send(&wire, number, "tools/call");
        let answer = json!({"id": number, "result": {"content": []}}).to_string();
        assert_eq!(wire.incoming(answer.as_bytes(), None).len(), 1);
    }
    let kept = (0..400).filter(|number| wire.take_result(&id(*number)).is_some());
    assert_eq!(kept.count(), 256);
}

#[test]
fn values_that_are_too_deep_fail() {
    let deep = format!("{}{}", "[".repeat(200), "]".repeat(200));
    for text in [
        format!(r#"{{"id":1,"result":{deep}}}"#),
        format!(r#"{{"result":{deep},"id":1}}"#),
        format!(r#"{{"result":{},"id":1}}"#, "[".repeat(9_000)),
    ] {
        let answer = answer_to_call(text.as_bytes(), None);
        assert!(
            answer.starts_with(
                "1 error -32603 the server's answer is not valid JSON (recursion limit"
            ),
            "{answer}"
        );
    }
}

#[test]
fn answers_that_are_too_long_fail() {
    let wire = wire_with(&["tools/call"]);
    assert!(wire.too_long(None, 20 << 20).is_none());
    assert!(wire.too_long(Some(&id(2)), 20 << 20).is_none());
    let failure = wire.too_long(Some(&RequestId::String("1".into())), 20 << 20);
    assert_eq!(
        describe(&wire, &[failure.expect("an error")]),
        "1 error -32603 the server's answer is too long: 20 MiB, of which 16 are allowed"
    );
    assert!(wire.open_requests().is_empty());
}

#[test]
fn the_trace_shows_what_came_and_what_was_made_of_it() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("trace.jsonl");
    let wire = Wire::new(Trace::to_file(path.clone()));
    send(&wire, 1, "tools/call");
    send(&wire, 2, "tools/call");
    send(&wire, 3, "tools/call");
    for text in [
        r#"{"jsonrpc":"2.0","id":1,"result":{"content":[]}}"#,
        r#"{"id":"2","result":{"content":"hi"}}"#,
        r#"{"id":3}"#,
        r#"{"id":4,"result":{}}"#,
        "Listening",
    ] {
        wire.incoming(text.as_bytes(), None);
    }
    let lines: Vec<String> = read_trace(&path)
        .expect("a trace")
        .skip(3)
        .map(|line| {
            let message = line.message.map(|message| message.to_string());
            let repaired = line.repaired.map(|repaired| format!(" => {repaired}"));
            format!(
                "{:?} {}{}",
                line.direction,
                message.or(line.text).unwrap_or_default(),
                repaired.unwrap_or_default()
            )
        })
        .collect();
    assert_eq!(
        lines,
        [
            r#"Received {"jsonrpc":"2.0","id":1,"result":{"content":[]}}"#,
            r#"Received {"id":"2","result":{"content":"hi"}} => {"jsonrpc":"2.0","id":2,"result":{"content":[{"type":"text","text":"hi"}]}}"#,
            r#"Received {"id":3}"#,
            r#"Note request 3 fails: the server's answer has neither a result nor an error: {"id":3}"#,
            r#"Received {"id":4,"result":{}}"#,
            "Note ignored: it answers no request that is still open",
            "Received Listening",
            "Note no message: expected value at line 1 column 1",
        ]
    );
}

#[test]
fn batches_give_each_their_message() {
    let wire = wire_with(&["tools/call", "tools/list"]);
    let text = br#"[{"id":2,"result":{"tools":[]}}, 5, {"method":"notifications/tools/list_changed"}, {"id":1,"error":"no"}]"#;
    assert_eq!(
        describe(&wire, &wire.incoming(text, None)),
        "2 {\"tools\":[]}\n{\"jsonrpc\":\"2.0\",\"method\":\"notifications/tools/list_changed\"}\n1 error -32603 no"
    );
    let text = br#"[5, {"result":1}, {"id":1,"result":{"content":"hi"}}]"#;
    assert_eq!(answer_to_call(text, Some(1)), HELLO);
}
