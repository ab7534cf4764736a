//! Tools in the registry: changes, clashes, resources.

use std::time::Duration;

use pirn_tool::{Exposure, Tool, ToolResult, ToolSpec};

use super::support::{Answer, FakeServer, World, stdio};
use crate::config::{McpExposure, ServerEntry};
use crate::connection::Changed;
use crate::manager::{Enablement, ServerEvent};
use crate::tools::RESOURCE_TOOL_NAMES;

const SECOND: Duration = Duration::from_secs(1);

#[tokio::test(start_paused = true)]
async fn a_changed_list_is_read_again_and_withdrawn_tools_are_hidden() {
    let server = FakeServer::with_tools(&["a", "b"]);
    let world = World::with_one(vec![Answer::Open(server.clone())]);
    world.pass(SECOND).await;
    world.events();
    server.set_tools(&["b", "c"]);
    server.change(Changed::Tools);
    world.pass(SECOND).await;
    assert_eq!(world.visible_names(), ["mcp__one__b", "mcp__one__c"]);
    let changed = ServerEvent::ToolsChanged {
        server: "one".to_owned(),
    };
    assert_eq!(world.events(), [changed]);
    server.change(Changed::Prompts);
    server.change(Changed::Resources);
    world.pass(SECOND).await;
    let server = || "one".to_owned();
    assert_eq!(
        world.events(),
        [
            ServerEvent::PromptsChanged { server: server() },
            ServerEvent::ResourcesChanged { server: server() },
        ]
    );
}

/// When the tools are listed, if changes are told of at these times.
async fn check_lists(changes_ms: impl IntoIterator<Item = u64>, expected_ms: &[u128]) {
    let server = FakeServer::with_tools(&[]);
    let world = World::with_one(vec![Answer::Open(server.clone())]);
    for at_ms in changes_ms {
        let now_ms = u64::try_from(world.now_ms()).unwrap();
        world.pass(Duration::from_millis(at_ms - now_ms)).await;
        server.change(Changed::Tools);
    }
    world.pass(SECOND * 10).await;
    assert_eq!(*server.state.lists.lock().unwrap(), expected_ms);
}

#[tokio::test(start_paused = true)]
async fn a_storm_of_changes_is_one_reading_every_two_seconds() {
    check_lists([1_000], &[0, 1_100]).await;
    check_lists([1_000, 1_050, 1_120], &[0, 1_220]).await;
    check_lists([1_000, 1_200], &[0, 1_100, 1_300]).await;
    let storm = (0..100).map(|step| 1_000 + step * 50);
    check_lists(storm, &[0, 3_000, 5_050, 6_050]).await;
}

#[tokio::test(start_paused = true)]
async fn names_that_others_have_are_left_out() {
    let world = World::new();
    let built_in = ToolSpec::new("mcp__a__b__c", "Ours");
    world
        .registry
        .register(Tool::from_fn(built_in, |_, _| async {
            ToolResult::text("ours")
        }));
    let server = FakeServer::with_tools(&["b__c", "d"]);
    world.script("a", vec![Answer::Open(server.clone())]);
    world.manager.set_configuration(vec![stdio("a")]);
    world.manager.start();
    world.pass(SECOND).await;
    // Told once, not at every list.
    server.change(Changed::Tools);
    world.pass(SECOND).await;
    assert_eq!(world.visible_names(), ["mcp__a__b__c", "mcp__a__d"]);
    let ours = world.registry.get("mcp__a__b__c").unwrap();
    assert_eq!(ours.spec().description, "Ours");
    assert_eq!(
        world.warnings(),
        ["a: the tool \"b__c\" is left out: this session has a tool named mcp__a__b__c already",]
    );
}

#[tokio::test(start_paused = true)]
async fn resource_tools_follow_the_servers_that_have_resources() {
    let world = World::new();
    let exposure = || {
        let exposures: Vec<Option<Exposure>> = RESOURCE_TOOL_NAMES
            .iter()
            .map(|name| world.registry.get(name).map(|tool| tool.spec().exposure))
            .collect();
        assert!(exposures.iter().all(|one| *one == exposures[0]));
        exposures[0]
    };
    world.script("none", vec![Answer::Open(FakeServer::with_tools(&["a"]))]);
    for name in ["deferred", "direct", "hidden"] {
        world.script(name, vec![Answer::Open(FakeServer::with_resources())]);
    }
    let entry = |name: &str, exposure| ServerEntry {
        exposure,
        ..stdio(name)
    };
    let none = stdio("none");
    let hidden = entry("hidden", McpExposure::Hidden);
    let deferred = entry("deferred", McpExposure::Deferred);
    let direct = entry("direct", McpExposure::Direct);
    world.manager.start();
    for (entries, expected) in [
        (vec![none.clone(), hidden.clone()], None),
        (
            vec![none.clone(), deferred.clone()],
            Some(Exposure::Deferred),
        ),
        (vec![direct, deferred.clone()], Some(Exposure::Direct)),
        (vec![deferred], Some(Exposure::Deferred)),
        (vec![none.clone(), hidden], Some(Exposure::Hidden)),
    ] {
        world.manager.set_configuration(entries);
        world.pass(SECOND).await;
        assert_eq!(exposure(), expected);
    }
    world
        .manager
        .set_configuration(vec![entry("direct", McpExposure::Direct)]);
    world.pass(SECOND).await;
    let manager = &world.manager;
    manager
        .set_enabled("direct", Enablement::Disabled)
        .await
        .unwrap();
    assert_eq!(exposure(), Some(Exposure::Hidden));
}
