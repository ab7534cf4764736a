//! Who waits for whom.

use std::sync::Arc;
use std::time::Duration;

use pirn_tool::{CallRequest, Effects, Origin, Pipeline, Tool, ToolResult, ToolSpec};
use serde_json::{Value, json};
use tokio_util::sync::CancellationToken;

use super::support::{Answer, FakeServer, World, lazy, pause, stdio};
use crate::config::{McpExposure, ServerEntry, ToolExposures};
use crate::error::ErrorKind;
use crate::manager::{FindReachedTools, ReachedTools, ServerSelection, WaitOutcome};

const SECOND: Duration = Duration::from_secs(1);

/// Names of tools and the servers that are waited for, of `git`, `dev-docs` and one with a name of 60 characters.
async fn check_names(names: &[&str], expected: &[&str]) {
    let long = "l".repeat(60);
    let world = World::new();
    let servers = ["dev-docs", "git", &long];
    for server in servers {
        world.script(server, vec![Answer::Open(FakeServer::with_tools(&[]))]);
    }
    world.manager.set_configuration(servers.map(lazy).to_vec());
    world.manager.start();
    let cancel = CancellationToken::new();
    let owned: Vec<String> = names.iter().map(|name| (*name).to_owned()).collect();
    let waited = world
        .manager
        .wait_for(ServerSelection::Names(&owned), &cancel)
        .await;
    assert_eq!(waited, WaitOutcome::Settled);
    let mut started: Vec<String> = world.attempts().into_iter().map(|one| one.server).collect();
    started.sort();
    let expected: Vec<&str> = expected
        .iter()
        .map(|name| if *name == "long" { &long } else { *name })
        .collect();
    assert_eq!(started, expected, "{names:?}");
}

#[tokio::test(start_paused = true)]
async fn names_of_tools_select_their_servers() {
    let all = ["dev-docs", "git", "long"];
    let cut = format!("mcp__{}_0123abcd", "l".repeat(50));
    let table: [(&[&str], &[&str]); 9] = [
        (&[], &[]),
        (&["read", "digit", "github"], &[]),
        (&["mcp__git__status"], &["git"]),
        (
            &["mcp__git__status", "mcp__dev_docs__search"],
            &["dev-docs", "git"],
        ),
        (&["git_status"], &["git"]),
        (&["dev-docs"], &["dev-docs"]),
        (&[&cut], &["long"]),
        (&["search_tools"], &all),
        (&["read_mcp_resource"], &all),
    ];
    for (names, expected) in table {
        check_names(names, expected).await;
    }
}

#[tokio::test(start_paused = true)]
async fn scripts_do_not_start_servers_that_they_cannot_see() {
    let world = World::new();
    world.script("one", vec![Answer::Open(FakeServer::with_tools(&["tool"]))]);
    let entry = |tool_exposures| ServerEntry {
        exposure: McpExposure::Hidden,
        tool_exposures: ToolExposures(tool_exposures),
        ..lazy("one")
    };
    let cancel = CancellationToken::new();
    let names = ["mcp__one__tool".to_owned()];
    let script = ServerSelection::Names(&names);
    world.manager.set_configuration(vec![entry(Vec::new())]);
    world.manager.wait_for(script, &cancel).await;
    assert_eq!(world.attempts(), []);
    let shown = vec![("tool".to_owned(), McpExposure::Deferred)];
    world.manager.set_configuration(vec![entry(shown)]);
    world.manager.wait_for(script, &cancel).await;
    assert_eq!(world.visible_names(), ["mcp__one__tool"]);
}

#[tokio::test(start_paused = true)]
async fn waiting_ends_with_each_outcome_and_with_the_start_limit() {
    let open = || Answer::Open(FakeServer::with_tools(&[]));
    let late = |answer| Answer::Late(SECOND * 2, Box::new(answer));
    for (answer, expected_ms) in [
        (open(), 0),
        (late(open()), 2_000),
        (late(Answer::Fail(ErrorKind::Start)), 2_000),
        (late(Answer::Fail(ErrorKind::NeedsAuthorization)), 2_000),
        (Answer::Hang, 30_250),
    ] {
        let world = World::with_one(vec![answer]);
        let cancel = CancellationToken::new();
        assert_eq!(
            world.manager.wait_for(ServerSelection::All, &cancel).await,
            WaitOutcome::Settled
        );
        assert_eq!(world.now_ms(), expected_ms);
    }
    let world = World::with_one(vec![Answer::Hang]);
    let cancel = CancellationToken::new();
    let waiting = world
        .manager
        .wait_for(ServerSelection::Server("one"), &cancel);
    let cancelling = async {
        pause(SECOND).await;
        cancel.cancel();
    };
    let (waited, ()) = tokio::join!(waiting, cancelling);
    assert_eq!((waited, world.now_ms()), (WaitOutcome::Cancelled, 1_000));
}

#[tokio::test(start_paused = true)]
async fn waiting_tries_a_server_again_whose_pause_is_over() {
    let world = World::with_one(vec![Answer::Fail(ErrorKind::NeedsAuthorization)]);
    let cancel = CancellationToken::new();
    world.pass(SECOND).await;
    world.manager.wait_for(ServerSelection::All, &cancel).await;
    assert_eq!(world.attempt_times(), [0], "not so soon");
    world.script("one", vec![Answer::Open(FakeServer::with_tools(&["tool"]))]);
    world.pass(SECOND * 20).await;
    world.manager.wait_for(ServerSelection::All, &cancel).await;
    assert_eq!(world.visible_names(), ["mcp__one__tool"]);
    assert_eq!(world.attempt_times(), [0, 21_000]);
}

#[tokio::test(start_paused = true)]
async fn the_hook_waits_before_scripts_searches_and_the_servers_own_tools() {
    let script = |name: &str, effects| {
        Tool::from_fn(ToolSpec::new(name, "").effects(effects), |_, _| async {
            ToolResult::text("ran")
        })
    };
    let find: FindReachedTools = Arc::new(|tool, arguments| {
        if tool != "exec" {
            return None;
        }
        let names = arguments["names"].as_array();
        Some(names.map_or(ReachedTools::All, |names| {
            let names = names.iter().filter_map(Value::as_str).map(str::to_owned);
            ReachedTools::Named(names.collect())
        }))
    });
    for (tool, arguments, expected) in [
        ("exec", json!({"names": ["mcp__two__x"]}), vec!["two"]),
        ("exec", json!({"names": ["read"]}), vec![]),
        ("exec", json!({}), vec!["one", "two"]),
        ("read", json!({"path": "mcp__one__x"}), vec![]),
        ("tool_search", json!({"query": "x"}), vec!["one", "two"]),
    ] {
        let world = World::new();
        world
            .registry
            .register(script("exec", Effects::ORCHESTRATION));
        world
            .registry
            .register(script("tool_search", Effects::NONE));
        world.registry.register(script("read", Effects::READ));
        for name in ["one", "two"] {
            world.script(name, vec![Answer::Open(FakeServer::with_tools(&["x"]))]);
        }
        world
            .manager
            .set_configuration(["one", "two"].map(lazy).to_vec());
        let pipeline = Pipeline::builder(world.registry.clone())
            .hook(Arc::new(world.manager.wait_hook(Arc::clone(&find))))
            .build();
        let request = CallRequest::new("1", tool, arguments).origin(Origin::User);
        let outcome = pipeline.call(request).await;
        assert_eq!(outcome.result.joined_text(), "ran");
        let mut started: Vec<String> = world.attempts().into_iter().map(|one| one.server).collect();
        started.sort();
        assert_eq!(started, expected, "{tool}");
    }
}

#[tokio::test(start_paused = true)]
async fn a_changed_configuration_is_waited_for_too() {
    let world = World::with_one(vec![Answer::Open(FakeServer::with_tools(&["old"]))]);
    world.pass(SECOND).await;
    let new = Answer::Open(FakeServer::with_tools(&["new"]));
    world.script("one", vec![Answer::Late(SECOND, Box::new(new))]);
    let mut entry = stdio("one");
    entry.timeouts.start = SECOND * 5;
    world.manager.set_configuration(vec![entry]);
    let cancel = CancellationToken::new();
    world.manager.wait_for(ServerSelection::All, &cancel).await;
    assert_eq!(world.visible_names(), ["mcp__one__new"]);
}
