//! How often a server's process is started.

use std::path::Path;

use pirn_file::SpillFolder;
use pirn_tool::Registry;

use super::support::stdio;
use crate::config::{ConfigEnvironment, ServerEntry, StdioEntry, TransportEntry};
use crate::connection::Protocol::{self, Legacy, Modern};
use crate::connection::ProtocolCache;
use crate::manager::{ManagerFolders, ManagerOptions, McpManager, Tracing};

/// A server that is this shell script, and notes its start first.
fn program(script: &str) -> ServerEntry {
    ServerEntry {
        transport: TransportEntry::Stdio(StdioEntry {
            command: "/bin/sh".to_owned(),
            args: vec!["-c".to_owned(), format!("echo start >> starts; {script}")],
            ..StdioEntry::default()
        }),
        ..stdio("one")
    }
}

fn manager(folder: &Path) -> McpManager {
    McpManager::new(ManagerOptions {
        registry: Registry::new(),
        environment: ConfigEnvironment::new(Vec::new(), None, folder.to_owned()),
        folders: ManagerFolders {
            logs: None,
            protocol_cache: Some(folder.join("protocols.json")),
            spill: SpillFolder::none(),
        },
        client_name: "test".to_owned(),
        client_version: "0".to_owned(),
        elicitor: None,
        oauth: None,
        interaction: None,
        http: crate::transport::http_client("test/0").unwrap(),
        tracing: Tracing::Off,
    })
}

/// Checks how often a server that ends with code 3 is started in one attempt to reach it.
async fn check(script: &str, known: Option<Protocol>, starts: usize) {
    let folder = tempfile::tempdir().unwrap();
    let entry = program(script);
    if let Some(known) = known {
        let cache = ProtocolCache::new(Some(folder.path().join("protocols.json")));
        cache.of(&entry).set(known).await;
    }
    let manager = manager(folder.path());
    manager.set_configuration(vec![entry]);
    let error = manager.reconnect("one").await.unwrap_err();
    manager.shutdown().await;
    assert!(error.to_string().contains("(exit code 3)"), "{error}");
    let noted = std::fs::read_to_string(folder.path().join("starts")).unwrap();
    assert_eq!(noted.lines().count(), starts, "{script} {known:?}");
}

#[tokio::test]
async fn a_server_that_crashes_at_start_is_started_once() {
    for script in [
        "exit 3",
        "echo 'no key is set' >&2; exit 3",
        "echo hello; exit 3",
    ] {
        for known in [None, Some(Legacy), Some(Modern)] {
            check(script, known, 1).await;
        }
    }
}

#[tokio::test]
async fn a_server_that_ends_after_the_question_is_asked_the_older_way() {
    for (known, starts) in [(None, 2), (Some(Modern), 2), (Some(Legacy), 1)] {
        check("read line; exit 3", known, starts).await;
    }
}
