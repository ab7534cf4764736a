//! What a response of any kind makes of its request.

use super::server::{Step, events, events_head, response};
use super::*;

/// What is expected of one request.
enum Expected {
    /// An answer with a result.
    Result,
    /// An error in place of an answer, whose message has these words.
    Error(&'static str),
    /// An error of this kind, whose message has these words.
    Failure(ErrorKind, &'static str),
}

fn event(id: u32) -> String {
    format!("data: {}\n\n", tools(id))
}

async fn check(
    name: &str,
    script: impl Fn() -> Script + Send + Sync + 'static,
    expected: Expected,
) {
    let server = Server::start(move |received| match received.what().as_str() {
        "POST tools/list" if received.body["id"] == 2 => script(),
        _ => well_behaved(received),
    })
    .await;
    let mut parts = parts(server.url("/mcp"));
    parts.response_timeout = Duration::from_millis(500);
    let mut transport = connected(&parts).await;
    let outcome = call(&mut transport, request(2, "tools/list")).await;
    match (outcome, expected) {
        (Outcome::Answer(answer), Expected::Result) => {
            assert_eq!(answer["result"]["tools"], json!([]), "{name}: {answer}");
        }
        (Outcome::Answer(answer), Expected::Error(words)) => {
            let message = answer["error"]["message"].as_str().unwrap_or_default();
            assert!(message.contains(words), "{name}: {answer}");
            let gave_up = &answer["error"]["data"][WORKER_GAVE_UP];
            assert!(gave_up.is_null(), "{name}: {answer}");
        }
        (Outcome::Failed(error), Expected::Failure(kind, words)) => {
            assert_eq!(*error.kind(), kind, "{name}: {error}");
            assert!(error.message().contains(words), "{name}: {error}");
        }
        (outcome, _) => panic!("{name}: {outcome:?}"),
    }
    // Whatever it was, it was about one request.
    match call(&mut transport, request(3, "tools/list")).await {
        Outcome::Answer(answer) => assert_eq!(answer["result"]["tools"], json!([]), "{name}"),
        Outcome::Failed(error) => panic!("{name}, the next request: {error}"),
    }
    assert!(parts.wire.open_requests().is_empty(), "{name}");
}

#[tokio::test]
async fn plain_bodies() {
    let json = |body: String| {
        response(
            200,
            &[("content-type", "application/json; charset=utf-8")],
            &body,
        )
    };
    let typed =
        |content_type: &str, body: String| response(200, &[("content-type", content_type)], &body);
    let notification = json!({"jsonrpc": "2.0", "method": "notifications/tools/list_changed"});

    check(
        "plain",
        move || json(tools(2).to_string()),
        Expected::Result,
    )
    .await;
    check(
        "array",
        move || json(json!([tools(2)]).to_string()),
        Expected::Result,
    )
    .await;
    check(
        "array with a notification behind the answer",
        {
            let notification = notification.clone();
            move || json(json!([tools(2), notification]).to_string())
        },
        Expected::Result,
    )
    .await;
    check(
        "no content type",
        || response(200, &[], &tools(2).to_string()),
        Expected::Result,
    )
    .await;
    check(
        "wrong content type",
        move || typed("text/plain", tools(2).to_string()),
        Expected::Result,
    )
    .await;
    check(
        "a message, no answer",
        move || json(notification.to_string()),
        Expected::Error("has no answer"),
    )
    .await;
    check(
        "empty",
        move || json(String::new()),
        Expected::Failure(
            ErrorKind::Protocol,
            "/mcp answered HTTP 200 (application/json",
        ),
    )
    .await;
    check(
        "a page",
        move || typed("text/html", "<html>\n<b>Welcome</b>".to_owned()),
        Expected::Failure(
            ErrorKind::Protocol,
            "HTTP 200 (text/html) without a message of the protocol: <html> <b>Welcome</b>",
        ),
    )
    .await;
    for status in [202, 204] {
        check(
            "accepted without an answer",
            move || response(status, &[], ""),
            Expected::Failure(ErrorKind::Protocol, "without a message"),
        )
        .await;
    }
}

#[tokio::test]
async fn streams_of_events() {
    check("event", || events(&[event(2).as_bytes()]), Expected::Result).await;
    check(
        "named events, comments, noise and other messages before it",
        || {
            events(&[
                b": hello\n\nevent: ping\ndata: {\"jsonrpc\": 1}\n\ndata: ping\n\ndata:\n\n",
                b"event: message\ndata: {\"jsonrpc\":\"2.0\",\"method\":\"notifications/message\",\"params\":{\"level\":\"info\",\"data\":1}}\n\n",
                event(2).as_bytes(),
            ])
        },
        Expected::Result,
    )
    .await;
    check(
        "several lines, CRLF, cut into bytes",
        || {
            let text = "data: {\"jsonrpc\":\"2.0\",\r\ndata: \"id\":2,\"result\":{\"tools\":[],\"x\":\"\u{1F600}\"}}\r\n\r\n";
            let pieces: Vec<_> = text.as_bytes().chunks(1).collect();
            events(&pieces)
        },
        Expected::Result,
    )
    .await;
    check(
        "without the last blank line",
        || events(&[event(2).trim_end().as_bytes()]),
        Expected::Result,
    )
    .await;
    check(
        "ended before the answer",
        || {
            events(&[
                b"data: {\"jsonrpc\":\"2.0\",\"method\":\"notifications/tools/list_changed\"}\n\n",
            ])
        },
        Expected::Error("ended before its answer"),
    )
    .await;
    check(
        "cut in the middle of the answer",
        || events(&[event(2).as_bytes().split_at(30).0]),
        Expected::Error("ended before its answer"),
    )
    .await;
    check(
        "an event beyond the limit",
        || {
            let mut script = events(&[b"data: "]);
            script.extend((0..17).map(|_| Step::Bytes(vec![b'x'; 1024 * 1024])));
            script.push(Step::Bytes(b"\n\n".to_vec()));
            script
        },
        Expected::Error("more than 16 MiB"),
    )
    .await;
}

#[tokio::test]
async fn statuses_that_say_no() {
    let error = |id: Value| json!({"jsonrpc": "2.0", "id": id, "error": {"code": -32000, "message": "bad thing"}});
    let json = server::json;

    check(
        "400 with an answer",
        move || json(400, &error(json!(2))),
        Expected::Error("bad thing"),
    )
    .await;
    check(
        "500 with an answer",
        move || json(500, &error(json!(2))),
        Expected::Error("bad thing"),
    )
    .await;
    check(
        "500 without an id",
        move || json(500, &error(Value::Null)),
        Expected::Failure(ErrorKind::Http { status: 500 }, "/mcp answered HTTP 500: {"),
    )
    .await;
    check(
        "an error that is a text",
        move || json(400, &json!({"error": "invalid_request"})),
        Expected::Failure(ErrorKind::Http { status: 400 }, "invalid_request"),
    )
    .await;
    check(
        "429 is never an answer",
        move || json(429, &error(json!(2))),
        Expected::Failure(ErrorKind::Http { status: 429 }, "HTTP 429"),
    )
    .await;
    check(
        "503",
        || {
            response(
                503,
                &[("retry-after", "7")],
                "<html>\r\n  busy \u{7}</html>",
            )
        },
        Expected::Failure(
            ErrorKind::Http { status: 503 },
            "HTTP 503: <html> busy </html>",
        ),
    )
    .await;
    check(
        "a long page",
        || response(502, &[], &"x".repeat(20_000)),
        Expected::Failure(ErrorKind::Http { status: 502 }, "xxxxxxxxxx…"),
    )
    .await;
    check(
        "a body that never comes",
        || {
            vec![
                Step::Bytes(b"HTTP/1.1 200 OK\r\ncontent-length: 9\r\n\r\n{".to_vec()),
                Step::Hang,
            ]
        },
        Expected::Failure(ErrorKind::Timeout, "did not answer within 500ms"),
    )
    .await;
    check(
        "headers that never come",
        || vec![Step::Hang],
        Expected::Failure(ErrorKind::Timeout, "did not answer within 500ms"),
    )
    .await;
    check(
        "a connection that breaks",
        || vec![Step::Bytes(b"HTTP/1.1 200 OK\r\ncontent-le".to_vec())],
        Expected::Failure(ErrorKind::Closed, "broke"),
    )
    .await;
    check(
        "a body over the limit",
        || {
            let mut script = vec![Step::Bytes(
                b"HTTP/1.1 200 OK\r\nconnection: close\r\n\r\n".to_vec(),
            )];
            script.extend((0..17).map(|_| Step::Bytes(vec![b'x'; 1024 * 1024])));
            script
        },
        Expected::Failure(ErrorKind::Protocol, "is over 16777216 bytes"),
    )
    .await;
}

#[tokio::test]
async fn retry_after_is_a_hint() {
    let server = Server::start(|_| response(429, &[("retry-after", "7")], "")).await;
    let mut transport = http_transport(&parts(server.url("/mcp"))).unwrap();
    let Outcome::Failed(error) = call(&mut transport, initialize(1)).await else {
        panic!("a failure");
    };
    assert_eq!(error.hints(), ["The server asks to wait 7 s."]);
}

#[tokio::test]
async fn a_host_that_is_not_there_cannot_be_reached() {
    let server = Server::start(|_| Vec::new()).await;
    let url = server.url("/mcp?key=secret");
    drop(server);
    let mut transport = http_transport(&parts(url)).unwrap();
    let Outcome::Failed(error) = call(&mut transport, initialize(1)).await else {
        panic!("a failure");
    };
    assert_eq!(*error.kind(), ErrorKind::Start);
    assert!(error.message().contains("cannot be reached: "), "{error}");
    assert!(!error.message().contains("secret"), "{error}");
}

#[tokio::test]
async fn a_slow_stream_outlives_the_limit_of_headers() {
    let go = Arc::new(tokio::sync::Notify::new());
    let gone = Arc::clone(&go);
    let server = Server::start(move |received| match received.what().as_str() {
        "POST tools/list" => vec![
            Step::Bytes(events_head()),
            Step::Wait(Arc::clone(&gone)),
            Step::Bytes(event(2).into_bytes()),
        ],
        _ => well_behaved(received),
    })
    .await;
    let mut parts = parts(server.url("/mcp"));
    parts.response_timeout = Duration::from_millis(100);
    let mut transport = connected(&parts).await;
    transport.send(request(2, "tools/list")).await.unwrap();
    tokio::time::sleep(Duration::from_millis(200)).await; // sleeps: a limit must pass without effect
    go.notify_one();
    let answer = receive(&mut transport).await.unwrap();
    assert_eq!(answer["id"], 2, "{answer}");
}
