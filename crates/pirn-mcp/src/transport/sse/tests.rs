use std::sync::{Arc, Mutex};
use std::time::Duration;

use serde_json::{Value, json};
use tokio::sync::Notify;

use super::super::http::tests::server::{
    Received, Script, Server, Step, events, events_head, response,
};
use super::super::http::tests::{PATIENCE, initialize, initialize_result, parts, receive, request};
use super::*;
use crate::error::ErrorKind;

/// What the stream says first.
fn endpoint_event(endpoint: &str) -> String {
    format!("event: endpoint\ndata: {endpoint}\n\n")
}

fn message_event(message: &Value) -> String {
    format!("event: message\ndata: {message}\n\n")
}

/// A server that names `endpoint` and then, when the message with id 1 has come, goes on with `then`.
async fn server(
    endpoint: &'static str,
    then: impl Fn() -> Script + Send + Sync + 'static,
) -> Server {
    let posted = Arc::new(Notify::new());
    Server::start(move |received| {
        if received.method == "GET" {
            let mut script = events(&[b": welcome\n\n", endpoint_event(endpoint).as_bytes()]);
            script.push(Step::Wait(Arc::clone(&posted)));
            script.extend(then());
            return script;
        }
        posted.notify_one();
        response(202, &[], "Accepted")
    })
    .await
}

fn answer(then: &str) -> Script {
    let text = message_event(&initialize_result(&json!(1))) + then;
    text.as_bytes()
        .chunks(7)
        .map(|piece| Step::Bytes(piece.to_vec()))
        .collect()
}

#[tokio::test]
async fn messages_go_to_the_endpoint_and_answers_come_on_the_stream() {
    for (endpoint, path) in [
        ("/messages?session=1", "/messages?session=1"),
        ("messages", "/deep/messages"),
        ("?s=1", "/deep/sse?s=1"),
    ] {
        let server = server(endpoint, || {
            let mut script = answer("event: ping\ndata: 1\n\n: comment\n\ndata: hello\n\n");
            let changed = json!({"jsonrpc": "2.0", "method": "notifications/tools/list_changed"});
            script.push(Step::Bytes(format!("data: {changed}\n\n").into_bytes()));
            script.push(Step::Hang);
            script
        })
        .await;
        let mut parts = parts(server.url("/deep/sse"));
        parts.headers = vec![("x-key".to_owned(), crate::Secret::new("k"))];
        let mut transport = SseTransport::open(&parts).await.unwrap();
        transport.send(initialize(1)).await.unwrap();
        let first = receive(&mut transport).await.unwrap();
        assert_eq!(first["result"]["serverInfo"]["name"], "fake", "{endpoint}");
        let second = receive(&mut transport).await.unwrap();
        assert_eq!(second["method"], "notifications/tools/list_changed");
        let received = server.received();
        let [get, post] = received.as_slice() else {
            panic!("{endpoint}: {:?}", server.log());
        };
        assert_eq!(
            (get.path.as_str(), get.header("accept")),
            ("/deep/sse", Some("text/event-stream"))
        );
        assert_eq!(
            (post.path.as_str(), post.header("content-type")),
            (path, Some("application/json"))
        );
        assert!(received.iter().all(|one| one.header("x-key") == Some("k")));
    }
}

#[tokio::test]
async fn an_endpoint_elsewhere_is_refused() {
    for endpoint in [
        "http://other.test/messages",
        "https://127.0.0.1/",
        "//other.test",
        "http://:x",
    ] {
        let server = server(endpoint, Script::new).await;
        let error = SseTransport::open(&parts(server.url("/sse")))
            .await
            .err()
            .expect("refused");
        assert_eq!(*error.kind(), ErrorKind::Protocol, "{endpoint}");
        let expected = format!("{} names {endpoint} for messages", server.url("/sse"));
        assert!(error.message().starts_with(&expected), "{error}");
        assert_eq!(server.log(), ["GET"], "{endpoint}");
    }
}

#[tokio::test]
async fn a_stream_that_does_not_come_up_is_explained() {
    let check = async |name: &str, script: fn() -> Script, kind: ErrorKind, words: &str| {
        let server = Server::start(move |_: &Received| script()).await;
        let mut parts = parts(server.url("/sse"));
        parts.response_timeout = Duration::from_millis(200);
        let error = SseTransport::open(&parts).await.err().expect("refused");
        assert_eq!(*error.kind(), kind, "{name}");
        assert!(error.message().contains(words), "{name}: {error}");
    };
    check(
        "status",
        || response(404, &[], "none here"),
        ErrorKind::Http { status: 404 },
        "HTTP 404: none here",
    )
    .await;
    check(
        "sign-in",
        || response(401, &[], ""),
        ErrorKind::NeedsAuthorization,
        "wants a sign-in",
    )
    .await;
    check(
        "page",
        || response(200, &[("content-type", "text/html")], "<html>"),
        ErrorKind::Protocol,
        "text/html",
    )
    .await;
    check(
        "no headers",
        || vec![Step::Hang],
        ErrorKind::Timeout,
        "within 200ms",
    )
    .await;
    check(
        "no endpoint",
        || vec![Step::Bytes(events_head()), Step::Hang],
        ErrorKind::Timeout,
        "within 200ms",
    )
    .await;
    check(
        "an end",
        || events(&[b"data: 1\n\n"]),
        ErrorKind::Closed,
        "before it named an address",
    )
    .await;
}

#[tokio::test]
async fn the_end_of_the_stream_fails_what_is_open_and_closes() {
    let server = server("/messages", || answer("data: {\"jsonrpc\"")).await;
    let parts = parts(server.url("/sse"));
    let mut transport = SseTransport::open(&parts).await.unwrap();
    let (first, second) = (
        transport.send(initialize(1)),
        transport.send(request(2, "tools/list")),
    );
    second.await.unwrap();
    first.await.unwrap();
    assert_eq!(receive(&mut transport).await.unwrap()["id"], 1);
    let failure = receive(&mut transport).await.unwrap();
    assert_eq!(failure["id"], 2);
    let message = failure["error"]["message"].as_str().unwrap();
    assert!(message.contains("ended before its answer"), "{failure}");
    assert_eq!(receive(&mut transport).await, None);
    let error = transport.send(request(3, "tools/list")).await.unwrap_err();
    assert_eq!(*error.explain("fake").kind(), ErrorKind::Closed);
}

#[tokio::test]
async fn a_refused_message_fails_its_own_request() {
    let statuses = Arc::new(Mutex::new(vec![200, 500, 413]));
    let server = Server::start({
        let statuses = Arc::clone(&statuses);
        move |received| match received.method.as_str() {
            "GET" => {
                let mut script = events(&[endpoint_event("/messages").as_bytes()]);
                script.push(Step::Hang);
                script
            }
            _ => response(statuses.lock().unwrap().pop().unwrap(), &[], "no room"),
        }
    })
    .await;
    let parts = parts(server.url("/sse"));
    let mut transport = SseTransport::open(&parts).await.unwrap();
    let last_failure = transport.last_failure();
    for status in [413, 500] {
        let failure = transport.send(request(2, "tools/list")).await.unwrap_err();
        assert_eq!(failure.status(), Some(status));
        assert_eq!(
            last_failure.get().and_then(|failure| failure.status()),
            Some(status)
        );
        let words = format!("/messages answered HTTP {status}: no room");
        assert!(failure.to_string().contains(&words), "{failure}");
        assert!(parts.wire.open_requests().is_empty());
    }
    transport.send(request(2, "tools/list")).await.unwrap();
    assert!(last_failure.get().is_none());
}

#[tokio::test]
async fn closing_ends_the_stream_and_messages_on_their_way() {
    let server = Server::start(|received| match received.method.as_str() {
        "GET" => {
            let mut script = events(&[endpoint_event("/messages").as_bytes()]);
            script.push(Step::Hang);
            script
        }
        _ => vec![Step::Hang],
    })
    .await;
    let mut transport = SseTransport::open(&parts(server.url("/sse")))
        .await
        .unwrap();
    let sending = tokio::spawn(transport.send(initialize(1)));
    server.wait_for("POST initialize", 1).await;
    transport.close().await.unwrap();
    let sent = tokio::time::timeout(PATIENCE, sending)
        .await
        .expect("ends in time")
        .unwrap();
    assert_eq!(*sent.unwrap_err().explain("fake").kind(), ErrorKind::Closed);
    assert_eq!(receive(&mut transport).await, None);
}
