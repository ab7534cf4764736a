//! Sessions, standing streams, resuming, the fall back to older protocols, and the end.

use std::sync::atomic::{AtomicUsize, Ordering};

use super::server::{Scripted, Step, events, events_head, json, response};
use super::*;

fn discover(id: u32) -> ClientJsonRpcMessage {
    message(
        json!({"jsonrpc": "2.0", "id": id, "method": "server/discover", "params": {"_meta": {
            "io.modelcontextprotocol/protocolVersion": "2026-07-28",
            "io.modelcontextprotocol/clientInfo": {"name": "test", "version": "1"},
            "io.modelcontextprotocol/clientCapabilities": {},
        }}}),
    )
}

/// A server whose first session is lost when `lost` says so in its own way.
async fn forgetful(lost: impl Fn() -> Script + Send + Sync + 'static) -> Server {
    let sessions = AtomicUsize::new(0);
    Server::start(move |received| {
        let id = &received.body["id"];
        match (received.what().as_str(), received.header("mcp-session-id")) {
            ("POST initialize", _) => {
                let session = format!("session-{}", sessions.fetch_add(1, Ordering::SeqCst) + 1);
                response(
                    200,
                    &[
                        ("content-type", "application/json"),
                        ("mcp-session-id", &session),
                    ],
                    &initialize_result(id).to_string(),
                )
            }
            ("POST tools/list", Some("session-1")) => lost(),
            _ => well_behaved(received),
        }
    })
    .await
}

#[tokio::test]
async fn a_lost_session_is_replaced_and_the_request_sent_again() {
    let null_id =
        json!({"jsonrpc": "2.0", "id": null, "error": {"code": -32000, "message": "no session"}});
    let no_id = json!({"jsonrpc": "2.0", "error": {"code": -32000, "message": "no session"}});
    let scripts: Vec<(&str, Scripted)> = vec![
        ("404", Box::new(|| response(404, &[], "gone"))),
        ("400 with a null id", Box::new(move || json(400, &null_id))),
        ("400 without an id", Box::new(move || json(400, &no_id))),
    ];
    for (name, lost) in scripts {
        let server = forgetful(lost).await;
        let parts = parts(server.url("/mcp"));
        let mut transport = connected(&parts).await;
        let outcome = call(&mut transport, request(2, "tools/list")).await;
        assert!(matches!(outcome, Outcome::Answer(_)), "{name}: {outcome:?}");
        transport.close().await.unwrap();
        let posts: Vec<_> = server
            .received()
            .iter()
            .filter(|one| one.method != "GET")
            .map(|one| {
                format!(
                    "{} {}",
                    one.what(),
                    one.header("mcp-session-id").unwrap_or("-")
                )
            })
            .collect();
        assert_eq!(
            posts,
            [
                "POST initialize -",
                "POST notifications/initialized session-1",
                "POST tools/list session-1",
                "POST initialize -",
                "POST notifications/initialized session-2",
                "POST tools/list session-2",
                "DELETE session-2",
            ],
            "{name}"
        );
    }
}

#[tokio::test]
async fn a_session_that_is_always_lost_ends_in_an_error() {
    let server = Server::start(|received| match received.what().as_str() {
        "POST tools/list" => response(404, &[], "never heard of"),
        _ => well_behaved(received),
    })
    .await;
    let mut transport = connected(&parts(server.url("/mcp"))).await;
    let Outcome::Failed(error) = call(&mut transport, request(2, "tools/list")).await else {
        panic!("a failure");
    };
    assert_eq!(*error.kind(), ErrorKind::Http { status: 404 });
    assert!(error.message().contains("never heard of"), "{error}");
}

#[tokio::test]
async fn discovery_falls_back_where_the_server_does_not_know_it() {
    let null_id = || {
        json(
            400,
            &json!({"jsonrpc": "2.0", "id": null, "error": {"code": -32000, "message": "no session"}}),
        )
    };
    let scripts: Vec<(&str, Scripted, u16)> = vec![
        ("400 with a null id", Box::new(null_id), 400),
        (
            "404 page",
            Box::new(|| response(404, &[("content-type", "text/html")], "<html>")),
            404,
        ),
        ("405", Box::new(|| response(405, &[], "")), 405),
    ];
    for (name, no, status) in scripts {
        let server = Server::start(move |received| match received.what().as_str() {
            "POST server/discover" => no(),
            _ => well_behaved(received),
        })
        .await;
        let mut transport = http_transport(&parts(server.url("/mcp"))).unwrap();
        let last_failure = transport.last_failure();
        let Outcome::Answer(answer) = call(&mut transport, discover(1)).await else {
            panic!("{name}: an answer that says no");
        };
        assert!(answer["error"].is_object(), "{name}: {answer}");
        let failure = last_failure.get().expect("noted");
        assert_eq!(
            (failure.status(), failure.suggests_events()),
            (Some(status), true),
            "{name}"
        );
        let Outcome::Answer(answer) = call(&mut transport, initialize(2)).await else {
            panic!("{name}: an answer");
        };
        assert!(answer["result"].is_object(), "{name}: {answer}");
        assert!(last_failure.get().is_none(), "{name}");
    }
}

#[tokio::test]
async fn discovery_falls_back_where_the_server_is_silent() {
    let scripts: Vec<(&str, Scripted)> = vec![
        ("no headers", Box::new(|| vec![Step::Hang])),
        (
            "no events",
            Box::new(|| vec![Step::Bytes(events_head()), Step::Hang]),
        ),
    ];
    for (name, silence) in scripts {
        let server = Server::start(move |received| match received.what().as_str() {
            "POST server/discover" => silence(),
            _ => well_behaved(received),
        })
        .await;
        let mut parts = parts(server.url("/mcp"));
        parts.response_timeout = Duration::from_millis(200);
        let mut transport = http_transport(&parts).unwrap();
        let Outcome::Answer(answer) = call(&mut transport, discover(1)).await else {
            panic!("{name}: an answer that says no");
        };
        assert!(answer["error"].is_object(), "{name}: {answer}");
        let outcome = call(&mut transport, initialize(2)).await;
        assert!(matches!(outcome, Outcome::Answer(_)), "{name}: {outcome:?}");
    }
}

#[tokio::test]
async fn a_server_of_2024_is_told_by_its_status() {
    for status in [400, 404, 405] {
        let server = Server::start(move |_| response(status, &[], "Cannot POST /sse")).await;
        let mut transport = http_transport(&parts(server.url("/sse"))).unwrap();
        let last_failure = transport.last_failure();
        let outcome = call(&mut transport, initialize(1)).await;
        let Outcome::Failed(error) = outcome else {
            panic!("a failure");
        };
        assert_eq!(*error.kind(), ErrorKind::Http { status });
        assert!(last_failure.get().expect("noted").suggests_events());
        assert_eq!(receive(&mut transport).await, None, "closed");
    }
}

#[tokio::test]
async fn the_standing_stream_may_fail_in_any_way() {
    let scripts: Vec<(&str, Scripted)> = vec![
        ("not offered", Box::new(|| response(405, &[], ""))),
        ("an error", Box::new(|| response(500, &[], "oops"))),
        ("unauthorized", Box::new(|| response(401, &[], ""))),
        (
            "a page",
            Box::new(|| response(200, &[("content-type", "text/html")], "<html>")),
        ),
        ("no headers ever", Box::new(|| vec![Step::Hang])),
        (
            "no events ever",
            Box::new(|| vec![Step::Bytes(events_head()), Step::Hang]),
        ),
        ("ends at once", Box::new(|| events(&[]))),
        ("breaks", Box::new(|| vec![Step::Bytes(b"HTT".to_vec())])),
    ];
    for (name, get) in scripts {
        let server = Server::start(move |received| match received.what().as_str() {
            "GET" => get(),
            _ => well_behaved(received),
        })
        .await;
        let mut transport = connected(&parts(server.url("/mcp"))).await;
        server.wait_for("GET", 1).await;
        let outcome = call(&mut transport, request(2, "tools/list")).await;
        assert!(matches!(outcome, Outcome::Answer(_)), "{name}: {outcome:?}");
        let closing = tokio::time::timeout(PATIENCE, transport.close()).await;
        closing.expect("closes in time").unwrap();
        assert_eq!(
            server.log().last().map(String::as_str),
            Some("DELETE"),
            "{name}"
        );
    }
}

#[tokio::test]
async fn the_standing_stream_brings_messages() {
    let server = Server::start(|received| match received.what().as_str() {
        "GET" => {
            let mut script = events(&[b"event: message\ndata: {\"jsonrpc\":\"2.0\",\"method\":\"notifications/tools/list_changed\"}\n\n"]);
            script.push(Step::Hang);
            script
        }
        _ => well_behaved(received),
    })
    .await;
    let mut transport = connected(&parts(server.url("/mcp"))).await;
    let message = receive(&mut transport).await.unwrap();
    assert_eq!(message["method"], "notifications/tools/list_changed");
}

#[tokio::test]
async fn a_standing_stream_that_keeps_ending_is_given_up() {
    let server = Server::start(|received| match received.what().as_str() {
        "GET" => events(&[b"retry: 0\n"]),
        _ => well_behaved(received),
    })
    .await;
    let _transport = connected(&parts(server.url("/mcp"))).await;
    server.wait_for("GET", 5).await;
    tokio::time::sleep(Duration::from_millis(500)).await; // sleeps: shows that nothing more happens
    assert_eq!(server.log().iter().filter(|one| *one == "GET").count(), 5);
}

#[tokio::test]
async fn a_stream_with_ids_is_resumed_after_the_time_the_server_asks_for() {
    let server = Server::start(|received| match (received.what().as_str(), received.header("last-event-id")) {
        ("POST tools/list", _) => events(&[b"id: e-1\nretry: 1\ndata:\n\n"]),
        ("GET", Some("e-1")) => events(&[b"id: e-2\nretry: 1\ndata: {\"jsonrpc\":\"2.0\",\"method\":\"notifications/tools/list_changed\"}\n\n"]),
        ("GET", Some("e-2")) => events(&[format!("data: {}\n\n", tools(2)).as_bytes()]),
        _ => well_behaved(received),
    })
    .await;
    let mut transport = connected(&parts(server.url("/mcp"))).await;
    let outcome = call(&mut transport, request(2, "tools/list")).await;
    assert!(matches!(outcome, Outcome::Answer(_)), "{outcome:?}");
    let resumed: Vec<_> = server
        .received()
        .iter()
        .filter_map(|one| one.header("last-event-id").map(str::to_owned))
        .collect();
    assert_eq!(resumed, ["e-1", "e-2"]);
}

#[tokio::test]
async fn a_stream_that_cannot_be_resumed_fails_its_own_request_only() {
    let server = Server::start(|received| match received.what().as_str() {
        "POST tools/call" => events(&[b"id: e-1\nretry: 1\ndata:\n\n"]),
        _ => well_behaved(received),
    })
    .await;
    let parts = parts(server.url("/mcp"));
    let mut transport = connected(&parts).await;
    let Outcome::Answer(answer) = call(&mut transport, request(2, "tools/call")).await else {
        panic!("an error in the answer's place");
    };
    let message = answer["error"]["message"].as_str().unwrap();
    assert!(message.contains("could not be resumed"), "{answer}");
    let gave_up = &answer["error"]["data"][WORKER_GAVE_UP];
    assert!(gave_up.is_null(), "the connection is not closed: {answer}");
    let outcome = call(&mut transport, request(3, "tools/list")).await;
    assert!(matches!(outcome, Outcome::Answer(_)), "{outcome:?}");
}

#[tokio::test]
async fn closing_ends_whatever_is_going_on() {
    // A first request that is never answered, a session whose farewell is never answered, a stream that never ends.
    let server = Server::start(|_| vec![Step::Hang]).await;
    let mut transport = http_transport(&parts(server.url("/mcp"))).unwrap();
    let sending = tokio::spawn(transport.send(initialize(1)));
    server.wait_for("POST initialize", 1).await;
    tokio::time::timeout(PATIENCE, transport.close())
        .await
        .expect("closes in time")
        .unwrap();
    let sent = tokio::time::timeout(PATIENCE, sending)
        .await
        .expect("ends in time")
        .unwrap();
    assert!(sent.is_err());

    let server = Server::start(|received| match received.what().as_str() {
        "DELETE" => vec![Step::Hang],
        "POST tools/call" => vec![Step::Bytes(events_head()), Step::Hang],
        _ => well_behaved(received),
    })
    .await;
    let mut transport = connected(&parts(server.url("/mcp"))).await;
    transport.send(request(2, "tools/call")).await.unwrap();
    tokio::time::timeout(PATIENCE, transport.close())
        .await
        .expect("closes in time")
        .unwrap();
    assert_eq!(receive(&mut transport).await, None);
}

#[tokio::test]
async fn dropping_ends_a_request_and_takes_leave() {
    let server = Server::start(|received| match received.what().as_str() {
        "POST tools/call" => vec![Step::Hang],
        _ => well_behaved(received),
    })
    .await;
    let mut transport = connected(&parts(server.url("/mcp"))).await;
    let sending = transport.send(request(2, "tools/call"));
    let sending = tokio::spawn(sending);
    server.wait_for("POST tools/call", 1).await;
    drop(transport);
    let ended = tokio::time::timeout(PATIENCE, sending).await;
    // Whether the worker still says so depends on who ends first.
    drop(ended.expect("ends in time").unwrap());
    server.wait_for("DELETE", 1).await;
}
