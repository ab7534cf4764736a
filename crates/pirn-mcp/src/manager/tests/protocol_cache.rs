//! What a server speaks is remembered, forgotten, and found out.

use std::time::Duration;

use super::support::{Answer, FakeServer, World, stdio};
use crate::connection::Protocol::{self, Legacy};
use crate::error::ErrorKind;
use crate::manager::ManagerFolders;
use crate::tools::SpillFolder;

/// What a world remembers at the start, how a server answers, and which protocols it is asked in until it is connected.
async fn check_protocols(
    file: &std::path::Path,
    answers: Vec<Answer>,
    expected: &[Option<Protocol>],
) {
    let world = World::with_folders(ManagerFolders {
        logs: None,
        protocol_cache: Some(file.to_owned()),
        spill: SpillFolder::none(),
    });
    world.script("one", answers);
    world.manager.set_configuration(vec![stdio("one")]);
    world.manager.start();
    world.pass(Duration::from_millis(500)).await;
    let protocols: Vec<Option<Protocol>> = world
        .attempts()
        .into_iter()
        .map(|one| one.protocol)
        .collect();
    assert_eq!(protocols, expected);
    world.manager.shutdown().await;
}

#[tokio::test(start_paused = true)]
async fn a_protocol_is_remembered_and_forgotten_after_a_failure() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("state/protocols.json");
    let open = || Answer::Open(FakeServer::with_tools(&[]));
    let fail = Answer::Fail;

    // It dies of the question, so it is asked no more; the next session knows.
    check_protocols(
        &file,
        vec![fail(ErrorKind::Closed), open()],
        &[None, Some(Legacy)],
    )
    .await;
    let text = std::fs::read_to_string(&file).unwrap();
    assert!(
        text.contains("\"one:") && text.contains("\"legacy\""),
        "{text}"
    );
    check_protocols(&file, vec![open()], &[Some(Legacy)]).await;
    // It was updated and speaks otherwise now.
    check_protocols(
        &file,
        vec![fail(ErrorKind::Protocol), open()],
        &[Some(Legacy), None],
    )
    .await;
    check_protocols(
        &file,
        vec![fail(ErrorKind::Protocol)],
        &[Some(Legacy), None],
    )
    .await;
    check_protocols(&file, vec![open()], &[None]).await;
    // These say nothing about the protocol.
    check_protocols(&file, vec![fail(ErrorKind::Start)], &[Some(Legacy)]).await;
    check_protocols(&file, vec![open()], &[Some(Legacy)]).await;
    // A file that is damaged costs one question.
    std::fs::write(&file, "{\"one").unwrap();
    check_protocols(&file, vec![open()], &[None]).await;
    check_protocols(&file, vec![open()], &[Some(Legacy)]).await;
    let left: Vec<_> = std::fs::read_dir(file.parent().unwrap()).unwrap().collect();
    assert_eq!(left.len(), 1, "no drafts are left behind");
}

#[tokio::test(start_paused = true)]
async fn without_a_file_each_session_asks() {
    let missing = std::path::Path::new("/dev/null/protocols.json");
    for _ in 0..2 {
        check_protocols(
            missing,
            vec![Answer::Open(FakeServer::with_tools(&[]))],
            &[None],
        )
        .await;
    }
}
