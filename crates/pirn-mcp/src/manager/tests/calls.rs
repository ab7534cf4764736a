//! Asking servers for something.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use pirn_tool::{CallRequest, Pipeline};
use serde_json::{Map, json};
use tokio_util::sync::CancellationToken;

use super::support::{Answer, FakeServer, World, pause, stdio};
use crate::error::ErrorKind;
use crate::manager::CallOptions;

const SECOND: Duration = Duration::from_secs(1);

#[tokio::test(start_paused = true)]
async fn calls_of_a_starting_server_wait_for_it_together() {
    let server = FakeServer::with_tools(&["tool"]);
    let world = World::with_one(vec![Answer::Late(
        SECOND,
        Box::new(Answer::Open(server.clone())),
    )]);
    let (first, second) = tokio::join!(world.call("one"), world.call("one"));
    assert_eq!(first.unwrap()["content"][0]["text"], "did tool");
    second.unwrap();
    assert_eq!((world.attempts().len(), world.now_ms()), (1, 1_000));
}

#[tokio::test(start_paused = true)]
async fn only_reading_is_repeated_and_only_once() {
    let transient = ErrorKind::Http { status: 502 };
    let server = FakeServer::with_tools(&["tool"]);
    let world = World::with_one(vec![Answer::Open(server.clone())]);
    let read = || {
        world
            .manager
            .read_resource("one", "file:///a", CallOptions::default())
    };

    server.fail_next([transient.clone()]);
    world.call("one").await.unwrap_err();
    server.fail_next([transient.clone()]);
    read().await.unwrap();
    server.fail_next([transient.clone(), transient.clone()]);
    assert_eq!(*read().await.unwrap_err().kind(), transient);
    server.fail_next([ErrorKind::Server { code: -32_002 }]);
    read().await.unwrap_err();
    assert_eq!(
        server.requests(),
        [
            "call tool",
            "read file:///a",
            "read file:///a",
            "read file:///a",
            "read file:///a",
            "read file:///a"
        ]
    );
}

#[tokio::test(start_paused = true)]
async fn a_call_during_which_the_server_dies_fails_and_the_next_one_connects() {
    let server = FakeServer::with_tools(&["tool"]);
    *server.state.pace.lock().unwrap() = SECOND;
    let world = World::with_one(vec![Answer::Open(server.clone())]);
    let dying = async {
        pause(SECOND / 2).await;
        server.die();
    };
    let (outcome, ()) = tokio::join!(world.call("one"), dying);
    assert_eq!(*outcome.unwrap_err().kind(), ErrorKind::Closed);
    world.call("one").await.unwrap();
    assert_eq!(world.attempt_times(), [0, 500]);
}

#[tokio::test(start_paused = true)]
async fn a_call_can_be_cancelled_while_its_server_starts_and_while_it_runs() {
    let world = World::with_one(vec![Answer::Hang]);
    let options = CallOptions::default();
    let cancel = options.cancel.clone();
    let cancelling = async {
        pause(SECOND).await;
        cancel.cancel();
    };
    let call = world.manager.call_tool("one", "tool", Map::new(), options);
    let (outcome, ()) = tokio::join!(call, cancelling);
    assert_eq!(*outcome.unwrap_err().kind(), ErrorKind::Cancelled);
    assert_eq!(world.now_ms(), 1_000);

    let server = FakeServer::with_tools(&["tool"]);
    *server.state.pace.lock().unwrap() = SECOND * 100;
    world.script("one", vec![Answer::Open(server.clone())]);
    world.manager.reconnect("one").await.unwrap();
    let cancel = CancellationToken::new();
    let pipeline = Pipeline::builder(world.registry.clone()).build();
    let request = CallRequest::new("1", "mcp__one__tool", json!({}));
    let cancelling = async {
        pause(SECOND).await;
        cancel.cancel();
    };
    let (outcome, ()) = tokio::join!(
        pipeline.call(with_user(request).cancel(cancel.clone())),
        cancelling
    );
    assert!(outcome.result.is_error);
    assert_eq!(world.now_ms(), 2_000);
}

#[tokio::test(start_paused = true)]
async fn tools_are_called_through_the_pipeline_with_progress() {
    let server = FakeServer::with_tools(&["tool"]);
    let world = World::with_one(vec![Answer::Open(server.clone())]);
    world.pass(SECOND).await;
    let updates = Arc::new(Mutex::new(Vec::new()));
    let sink = Arc::clone(&updates);
    let pipeline = Pipeline::builder(world.registry.clone()).build();
    let mut request = with_user(CallRequest::new("1", "mcp__one__tool", json!({"a": 1})));
    request.updates = Some(Arc::new(move |update: pirn_tool::Update| {
        sink.lock().unwrap().push(update.text);
    }));
    let outcome = pipeline.call(request).await;
    assert_eq!(outcome.result.joined_text(), "did tool");
    assert_eq!(*updates.lock().unwrap(), ["half"]);
}

#[tokio::test(start_paused = true)]
async fn who_is_not_there_is_named() {
    let world = World::with_one(vec![Answer::Hang]);
    let error = world.call("two").await.unwrap_err();
    assert_eq!(*error.kind(), ErrorKind::UnknownServer);
    assert_eq!(error.hints(), ["The servers are: one."]);
    world
        .manager
        .set_configuration(vec![crate::config::ServerEntry {
            enabled: false,
            ..stdio("one")
        }]);
    let error = world.call("one").await.unwrap_err();
    assert_eq!(*error.kind(), ErrorKind::Disabled);
}

#[tokio::test(start_paused = true)]
async fn what_is_odd_about_messages_is_told() {
    let server = FakeServer::with_tools(&["tool"]);
    let odd = |text: &str| server.state.warnings.lock().unwrap().push(text.to_owned());
    odd("at the start");
    let world = World::with_one(vec![Answer::Open(server.clone())]);
    world.pass(SECOND).await;
    odd("in a call");
    world.call("one").await.unwrap();
    assert_eq!(world.warnings(), ["one: at the start", "one: in a call"]);
}

#[tokio::test(start_paused = true)]
async fn prompts_are_reached() {
    let server = FakeServer::with_tools(&[]);
    let world = World::with_one(vec![Answer::Open(server.clone())]);
    let manager = &world.manager;
    manager
        .list_prompts("one", CallOptions::default())
        .await
        .unwrap();
    manager
        .get_prompt("one", "hello", Map::new(), CallOptions::default())
        .await
        .unwrap();
    assert_eq!(server.requests(), ["prompts", "prompt hello"]);
}

/// The tools are not declared to the model, so a person calls.
fn with_user(request: CallRequest) -> CallRequest {
    request.origin(pirn_tool::Origin::User)
}
