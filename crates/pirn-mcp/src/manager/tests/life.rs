//! Connecting, failing, waiting, idling and ending.

use std::time::Duration;

use super::support::{Answer, FakeServer, World, http, lazy, pause, stdio};
use crate::config::ServerEntry;
use crate::error::ErrorKind;
use crate::manager::ServerState::{Connected, Connecting, Disconnected, Failed, NeedsAuth};

const SECOND: Duration = Duration::from_secs(1);

#[tokio::test(start_paused = true)]
async fn an_eager_server_connects_in_the_background() {
    let server = FakeServer::with_tools(&["b", "a"]);
    let world = World::with_one(vec![Answer::Late(SECOND, Box::new(Answer::Open(server)))]);
    world.pass(SECOND * 2).await;
    assert_eq!(world.states(), [Connecting, Connected]);
    let status = world.manager.server("one").unwrap();
    let tools: Vec<_> = status
        .tools
        .iter()
        .map(|tool| (tool.registry.as_str(), tool.server.as_str()))
        .collect();
    assert_eq!(tools, [("mcp__one__b", "b"), ("mcp__one__a", "a")]);
    assert_eq!(status.problem, None);
    assert_eq!(status.stderr_tail, "one starts");
    assert_eq!(world.visible_names(), ["mcp__one__b", "mcp__one__a"]);
}

/// A server, what its attempts come to, and when attempts are made within ten minutes.
async fn check_attempts(entry: ServerEntry, answers: Vec<Answer>, expected_ms: &[u128]) {
    let world = World::new();
    world.script(&entry.name, answers);
    world.manager.set_configuration(vec![entry]);
    world.manager.start();
    world.pass(Duration::from_mins(10)).await;
    assert_eq!(world.attempt_times(), expected_ms);
}

#[tokio::test(start_paused = true)]
async fn a_server_that_fails_is_tried_five_times_ever_more_slowly() {
    let failing = vec![Answer::Fail(ErrorKind::Start)];
    check_attempts(
        stdio("one"),
        failing.clone(),
        &[0, 1_000, 3_000, 7_000, 15_000],
    )
    .await;
    check_attempts(lazy("one"), failing, &[]).await;
    for hopeless in [
        ErrorKind::Config,
        ErrorKind::NeedsAuthorization,
        ErrorKind::Http { status: 404 },
    ] {
        check_attempts(stdio("one"), vec![Answer::Fail(hopeless)], &[0]).await;
    }
}

#[tokio::test(start_paused = true)]
async fn http_is_asked_again_after_passing_failures() {
    let open = || Answer::Open(FakeServer::with_tools(&[]));
    for kind in [
        ErrorKind::Start,
        ErrorKind::Http { status: 408 },
        ErrorKind::Http { status: 429 },
        ErrorKind::Http { status: 503 },
    ] {
        let fail = Answer::Fail(kind);
        check_attempts(
            http("one"),
            vec![fail.clone(), fail.clone(), open()],
            &[0, 250, 1_250],
        )
        .await;
    }
    for kind in [
        ErrorKind::Http { status: 501 },
        ErrorKind::Http { status: 400 },
    ] {
        check_attempts(http("one"), vec![Answer::Fail(kind), open()], &[0]).await;
    }
}

#[tokio::test(start_paused = true)]
async fn a_call_fails_at_once_while_the_pause_runs_and_tries_again_after_it() {
    let server = FakeServer::with_tools(&["tool"]);
    let world = World::with_one(vec![
        Answer::Fail(ErrorKind::Start),
        Answer::Fail(ErrorKind::Start),
        Answer::Open(server),
    ]);
    world.pass(Duration::from_millis(1_500)).await;
    assert_eq!(world.states(), [Connecting, Failed, Connecting, Failed]);
    let refused = world.call("one").await.unwrap_err();
    assert_eq!(world.now_ms(), 1_500);
    assert_eq!(
        refused.message(),
        "is not available: scripted Start; it failed 2 times in a row and is not tried again for 2 s"
    );
    world.pass(SECOND * 2).await;
    world.call("one").await.unwrap();
    assert_eq!(world.attempt_times(), [0, 1_000, 3_000]);
}

#[tokio::test(start_paused = true)]
async fn after_giving_up_a_call_tries_again() {
    let world = World::with_one(vec![Answer::Fail(ErrorKind::Start)]);
    world.pass(Duration::from_mins(5)).await;
    let status = world.manager.server("one").unwrap();
    assert_eq!(status.retry_at, None);
    assert_eq!(
        status.problem.unwrap().hints,
        [
            "After 5 failures in a row it is not started again by itself; a call or a reconnect tries again."
        ]
    );
    let error = world.call("one").await.unwrap_err();
    assert_eq!(error.message(), "scripted Start");
    assert_eq!(world.attempts().len(), 6);
    world.call("one").await.unwrap_err();
    assert_eq!(world.attempts().len(), 6, "the pause runs again");
    world.script("one", vec![Answer::Open(FakeServer::with_tools(&[]))]);
    world.manager.reconnect("one").await.unwrap();
    assert_eq!(world.state("one"), Connected);
}

#[tokio::test(start_paused = true)]
async fn a_dropped_connection_is_made_again() {
    let server = FakeServer::with_tools(&["tool"]);
    let world = World::with_one(vec![Answer::Open(server.clone())]);
    world.pass(SECOND).await;
    server.die();
    world.pass(Duration::from_millis(10)).await;
    assert_eq!(world.states(), [Connecting, Connected, Disconnected]);
    assert_eq!(world.visible_names(), ["mcp__one__tool"], "its tools stay");
    // A call does not wait for the pause.
    world.call("one").await.unwrap();
    assert_eq!(world.attempt_times(), [0, 1_010]);
    // Having died twice within seconds it has to wait.
    server.die();
    let error = world.call("one").await.unwrap_err();
    assert!(error.message().contains("not tried again for"), "{error}");
    world.pass(SECOND * 3).await;
    assert_eq!(world.state("one"), Connected);
    // After a long healthy life the past is forgotten.
    world.pass(Duration::from_mins(1)).await;
    server.die();
    world.call("one").await.unwrap();
}

#[tokio::test(start_paused = true)]
async fn a_lazy_server_that_ends_waits_for_the_next_call() {
    let server = FakeServer::with_tools(&["tool"]);
    let world = World::new();
    world.script("one", vec![Answer::Open(server.clone())]);
    world.manager.set_configuration(vec![lazy("one")]);
    world.manager.start();
    world.pass(SECOND).await;
    assert_eq!(world.attempts(), []);
    world.call("one").await.unwrap();
    server.die();
    world.pass(Duration::from_mins(5)).await;
    assert_eq!(world.attempts().len(), 1);
    world.call("one").await.unwrap();
    assert_eq!(server.requests(), ["call tool", "call tool"]);
}

#[tokio::test(start_paused = true)]
async fn an_idle_server_is_stopped_and_started_by_the_next_call() {
    let server = FakeServer::with_tools(&["tool"]);
    let world = World::new();
    world.script("one", vec![Answer::Open(server.clone())]);
    world.manager.set_configuration(vec![ServerEntry {
        idle_timeout: Some(SECOND * 60),
        ..stdio("one")
    }]);
    world.manager.start();
    world.pass(SECOND * 50).await;
    // A call that runs for longer than the limit keeps the server.
    *server.state.pace.lock().unwrap() = SECOND * 100;
    world.call("one").await.unwrap();
    assert_eq!(world.state("one"), Connected);
    world.pass(SECOND * 59).await;
    assert_eq!(world.state("one"), Connected);
    world.pass(SECOND * 2).await;
    assert_eq!(world.state("one"), Disconnected);
    assert_eq!(world.manager.server("one").unwrap().problem, None);
    assert_eq!((server.closed(), server.holders()), (1, 0));
    assert_eq!(world.visible_names(), ["mcp__one__tool"]);
    world.call("one").await.unwrap();
    assert_eq!(world.attempts().len(), 2);
}

#[tokio::test(start_paused = true)]
async fn nobody_waits_longer_than_the_start_limit() {
    let world = World::with_one(vec![Answer::Hang]);
    let error = world.call("one").await.unwrap_err();
    assert_eq!(*error.kind(), ErrorKind::Timeout);
    assert_eq!(error.message(), "was not ready within 30 s");
    assert!(world.now_ms() <= 30_250);
    assert_eq!(world.state("one"), Failed);
}

#[tokio::test(start_paused = true)]
async fn a_server_without_a_sign_in_is_asked_again_by_calls() {
    let server = FakeServer::with_tools(&["tool"]);
    let world = World::with_one(vec![
        Answer::Fail(ErrorKind::NeedsAuthorization),
        Answer::Fail(ErrorKind::NeedsAuthorization),
        Answer::Open(server.clone()),
    ]);
    world.pass(SECOND).await;
    assert_eq!(world.state("one"), NeedsAuth);
    let error = world.call("one").await.unwrap_err();
    assert_eq!(*error.kind(), ErrorKind::NeedsAuthorization);
    world.call("one").await.unwrap();
    // The sign-in ends in the middle of a session.
    server.fail_next([ErrorKind::NeedsAuthorization]);
    world.call("one").await.unwrap_err();
    pause(SECOND).await;
    assert_eq!(world.state("one"), NeedsAuth);
    assert_eq!(server.holders(), 0);
    world.manager.reconnect("one").await.unwrap();
}

#[tokio::test(start_paused = true)]
async fn shutting_down_closes_all_at_once_and_waits_for_five_seconds() {
    let (quick, slow) = (FakeServer::with_tools(&[]), FakeServer::with_tools(&[]));
    *quick.state.close_pace.lock().unwrap() = SECOND * 3;
    *slow.state.close_pace.lock().unwrap() = Duration::from_hours(1);
    let world = World::new();
    world.script("quick", vec![Answer::Open(quick.clone())]);
    world.script("slow", vec![Answer::Open(slow.clone())]);
    world.script("starting", vec![Answer::Hang]);
    let names = ["quick", "slow", "starting"];
    world.manager.set_configuration(names.map(stdio).to_vec());
    world.manager.start();
    world.pass(SECOND).await;
    world.manager.shutdown().await;
    assert_eq!(world.now_ms(), 6_000);
    for server in [quick, slow] {
        assert_eq!((server.closed(), server.holders()), (1, 0));
    }
    assert_eq!(
        *world.call("quick").await.unwrap_err().kind(),
        ErrorKind::Closed
    );
    world.manager.shutdown().await;
    assert_eq!(world.now_ms(), 6_000);
}

#[tokio::test(start_paused = true)]
async fn dropping_the_manager_ends_the_servers() {
    let server = FakeServer::with_tools(&["tool"]);
    let world = World::with_one(vec![Answer::Open(server.clone())]);
    world.pass(SECOND).await;
    assert_eq!(
        server.holders(),
        2,
        "the connection and who waits for its end"
    );
    let World {
        manager, registry, ..
    } = world;
    let clone = manager.clone();
    drop(manager);
    pause(SECOND).await;
    assert_eq!(server.holders(), 2);
    drop(clone);
    pause(SECOND).await;
    assert_eq!(server.holders(), 0);
    let tool = registry.get("mcp__one__tool").unwrap();
    let outcome = tool.call_alone(serde_json::json!({})).await;
    assert!(outcome.result.is_error);
}

#[tokio::test(start_paused = true)]
async fn a_server_whose_tools_cannot_be_listed_is_connected_all_the_same() {
    let server = FakeServer::with_tools(&[]);
    *server.state.tools.lock().unwrap() = Err(ErrorKind::Server { code: -32_603 });
    let world = World::with_one(vec![Answer::Open(server)]);
    world.pass(SECOND).await;
    let status = world.manager.server("one").unwrap();
    assert_eq!(status.state, Connected);
    assert_eq!(
        status.problem.unwrap().message,
        "its tools could not be listed: scripted Server { code: -32603 }"
    );
}
