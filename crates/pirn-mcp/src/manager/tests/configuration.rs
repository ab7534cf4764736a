//! Servers that come, change and go.

use std::time::Duration;

use pirn_tool::Exposure;

use super::support::{Answer, FakeServer, World, http, lazy, stdio};
use crate::config::{McpExposure, Scope, ServerEntry, ToolExposures, TransportEntry};
use crate::error::ErrorKind;
use crate::manager::ServerState::{Connected, Connecting, Disabled, Disconnected};
use crate::manager::{Enablement, ServerEvent, TransportKind};

const SECOND: Duration = Duration::from_secs(1);

fn with_command(entry: ServerEntry, command: &str) -> ServerEntry {
    let TransportEntry::Stdio(mut stdio) = entry.transport else {
        panic!("a stdio entry");
    };
    stdio.command = command.to_owned();
    ServerEntry {
        transport: TransportEntry::Stdio(stdio),
        ..entry
    }
}

#[tokio::test(start_paused = true)]
async fn a_new_configuration_touches_only_what_it_changes() {
    let world = World::new();
    let servers: Vec<FakeServer> = ["kept", "changed", "removed", "shown", "added"]
        .iter()
        .map(|name| {
            let server = FakeServer::with_tools(&["tool"]);
            world.script(name, vec![Answer::Open(server.clone())]);
            server
        })
        .collect();
    let before = ["kept", "changed", "removed", "shown"].map(stdio);
    world.manager.set_configuration(before.to_vec());
    world.manager.start();
    world.pass(SECOND).await;
    world.events();

    world.manager.set_configuration(vec![
        stdio("kept"),
        with_command(stdio("changed"), "other"),
        ServerEntry {
            exposure: McpExposure::Direct,
            ..stdio("shown")
        },
        stdio("added"),
    ]);
    assert!(
        !world
            .visible_names()
            .contains(&"mcp__removed__tool".to_owned()),
        "hidden at once"
    );
    world.pass(SECOND).await;
    let closed: Vec<u32> = servers.iter().map(FakeServer::closed).collect();
    assert_eq!(closed, [0, 1, 1, 0, 0]);
    assert_eq!(
        world.visible(),
        [
            ("mcp__changed__tool".to_owned(), Exposure::Deferred),
            ("mcp__kept__tool".to_owned(), Exposure::Deferred),
            ("mcp__shown__tool".to_owned(), Exposure::Direct),
            ("mcp__added__tool".to_owned(), Exposure::Deferred),
        ]
    );
    let again: Vec<String> = world
        .attempts()
        .into_iter()
        .filter(|attempt| attempt.at_ms > 0)
        .map(|attempt| attempt.server)
        .collect();
    assert_eq!(again.len(), 2);
    assert!(again.contains(&"changed".to_owned()) && again.contains(&"added".to_owned()));
    let names: Vec<String> = world
        .manager
        .servers()
        .into_iter()
        .map(|one| one.name)
        .collect();
    assert_eq!(names, ["added", "changed", "kept", "shown"]);
    let events = world.events();
    assert!(events.contains(&ServerEvent::ConfigurationChanged));
    assert_eq!(
        *world.call("removed").await.unwrap_err().kind(),
        ErrorKind::UnknownServer
    );
}

#[tokio::test(start_paused = true)]
async fn a_server_that_comes_back_waits_until_its_predecessor_has_closed() {
    let server = FakeServer::with_tools(&["tool"]);
    *server.state.close_pace.lock().unwrap() = SECOND * 2;
    let world = World::with_one(vec![Answer::Open(server.clone())]);
    world.pass(SECOND).await;
    world.manager.set_configuration(Vec::new());
    world.manager.set_configuration(vec![stdio("one")]);
    world.pass(SECOND * 3).await;
    assert_eq!(world.attempt_times(), [0, 3_000]);
    assert_eq!(world.visible_names(), ["mcp__one__tool"]);
}

#[tokio::test(start_paused = true)]
async fn exposures_hide_single_tools_without_a_reconnect() {
    let world = World::with_one(vec![Answer::Open(FakeServer::with_tools(&["a", "b"]))]);
    world.pass(SECOND).await;
    world.manager.set_configuration(vec![ServerEntry {
        tool_exposures: ToolExposures(vec![("a".to_owned(), McpExposure::Hidden)]),
        description: Some("Letters".to_owned()),
        ..stdio("one")
    }]);
    world.pass(SECOND).await;
    assert_eq!(world.visible_names(), ["mcp__one__b"]);
    let tool = world.registry.get("mcp__one__b").unwrap();
    let namespace = tool.spec().namespace.clone().unwrap();
    assert_eq!(namespace.description.as_deref(), Some("Letters"));
    assert_eq!(world.attempts().len(), 1);
}

#[tokio::test(start_paused = true)]
async fn a_server_can_be_switched_off_and_on() {
    let server = FakeServer::with_tools(&["tool"]);
    let world = World::with_one(vec![Answer::Open(server.clone())]);
    world.pass(SECOND).await;
    let manager = &world.manager;
    manager
        .set_enabled("one", Enablement::Disabled)
        .await
        .unwrap();
    assert_eq!(world.visible_names(), [""; 0]);
    assert_eq!((server.closed(), server.holders()), (1, 0));
    assert_eq!(
        *world.call("one").await.unwrap_err().kind(),
        ErrorKind::Disabled
    );
    assert_eq!(
        *manager.reconnect("one").await.unwrap_err().kind(),
        ErrorKind::Disabled
    );
    manager
        .set_enabled("one", Enablement::Enabled)
        .await
        .unwrap();
    world.pass(SECOND).await;
    assert_eq!(
        world.states(),
        [
            Connecting,
            Connected,
            Disabled,
            Disconnected,
            Connecting,
            Connected
        ]
    );
    // What is written in the configuration counts again once it changes.
    let off = ServerEntry {
        enabled: false,
        ..stdio("one")
    };
    manager.set_configuration(vec![off]);
    world.pass(SECOND).await;
    assert_eq!(world.state("one"), Disabled);
}

#[tokio::test(start_paused = true)]
async fn registrations_yield_to_files() {
    let world = World::new();
    for name in ["one", "two"] {
        world.script(name, vec![Answer::Open(FakeServer::with_tools(&["tool"]))]);
    }
    let manager = &world.manager;
    manager.start();
    manager.register(stdio("one")).unwrap();
    manager.register(stdio("two")).unwrap();
    world.pass(SECOND).await;
    assert_eq!(world.state("one"), Connected);
    let origin = manager.server("one").unwrap().origin;
    assert_eq!(origin.scope, Scope::Runtime);

    let taken = manager.register(stdio("one")).unwrap_err();
    assert_eq!(taken.message(), "is registered already");
    for bad in ["o ne", "", "o-ne\u{e9}"] {
        assert_eq!(
            *manager.register(stdio(bad)).unwrap_err().kind(),
            ErrorKind::Config
        );
    }
    manager.replace(stdio("t-w")).unwrap();
    manager.register(stdio("t_w")).unwrap_err();
    manager.unregister("t-w").unwrap();

    // `one` of a file counts, the registration is remembered.
    manager.set_configuration(vec![with_command(stdio("one"), "from a file")]);
    world.pass(SECOND).await;
    assert_eq!(manager.server("one").unwrap().origin.scope, Scope::User);
    let overridden: Vec<_> = manager
        .registrations()
        .into_iter()
        .map(|registration| {
            (
                registration.entry.name,
                registration.overridden_by.map(|origin| origin.scope),
            )
        })
        .collect();
    assert_eq!(
        overridden,
        [
            ("one".to_owned(), Some(Scope::User)),
            ("two".to_owned(), None)
        ]
    );
    manager.set_configuration(Vec::new());
    world.pass(SECOND).await;
    assert_eq!(manager.server("one").unwrap().origin.scope, Scope::Runtime);
    manager.unregister("one").unwrap();
    assert!(manager.server("one").is_none());
    assert_eq!(
        *manager.unregister("one").unwrap_err().kind(),
        ErrorKind::UnknownServer
    );
    assert!(world.events().contains(&ServerEvent::RegistrationsChanged));
}

#[tokio::test(start_paused = true)]
async fn a_changed_entry_ends_what_failed_before() {
    let world = World::with_one(vec![Answer::Fail(ErrorKind::Start)]);
    world.pass(SECOND * 60).await;
    let open = Answer::Open(FakeServer::with_tools(&["tool"]));
    world.script("one", vec![open]);
    let repaired = with_command(stdio("one"), "repaired");
    world.manager.set_configuration(vec![repaired]);
    world.pass(SECOND).await;
    assert_eq!(world.state("one"), Connected);
}

#[tokio::test(start_paused = true)]
async fn nothing_connects_before_the_start() {
    let world = World::new();
    world.script("one", vec![Answer::Open(FakeServer::with_tools(&[]))]);
    world.manager.set_configuration(vec![stdio("one")]);
    world.pass(SECOND).await;
    assert_eq!(world.attempts(), []);
    assert_eq!(world.state("one"), Disconnected);
    world.manager.start();
    world.pass(SECOND).await;
    assert_eq!(world.state("one"), Connected);
}

#[tokio::test(start_paused = true)]
async fn a_status_shows_how_a_server_is_reached_without_secrets() {
    let world = World::new();
    let stdio = with_command(lazy("local"), "run");
    let http = ServerEntry {
        enabled: false,
        ..http("remote")
    };
    world.manager.set_configuration(vec![stdio, http]);
    let shown: Vec<_> = world
        .manager
        .servers()
        .into_iter()
        .map(|one| (one.transport.kind, one.transport.target, one.state))
        .collect();
    assert_eq!(
        shown,
        [
            (TransportKind::Stdio, "run".to_owned(), Disconnected),
            (
                TransportKind::Http,
                "https://example.com/mcp".to_owned(),
                Disabled
            ),
        ]
    );
}
