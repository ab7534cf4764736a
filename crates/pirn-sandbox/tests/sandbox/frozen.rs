//! Children that are frozen: they stand still, go on, and still end in every way.

use std::path::Path;
use std::time::{Duration, Instant};

use pirn_sandbox::{Child, Command, ExitStatus, Stdin, levels_here};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};

use crate::confined::Place;
use crate::support::{PATIENCE, marked, marker, shell, wait_for_marked};

/// How soon everything must be gone.
const GONE_WITHIN: Duration = Duration::from_secs(2);

/// A program with one descendant; it gives back what it is told.
const SCRIPT: &str = "sleep 1000 & exec cat";

fn is_stopped(process: &Path) -> bool {
    std::fs::read_to_string(process.join("stat")).is_ok_and(|stat| {
        stat.rsplit_once(") ")
            .is_some_and(|(_, rest)| rest.starts_with('T'))
    })
}

/// Waits until both processes are stopped, or neither.
async fn wait_for_stopped(marker: &str, stopped: usize) {
    let deadline = Instant::now() + PATIENCE;
    loop {
        let found = marked(marker);
        if found.len() == 2 && found.iter().filter(|process| is_stopped(process)).count() == stopped
        {
            return;
        }
        assert!(
            Instant::now() < deadline,
            "wanted {stopped} stopped of {found:?}"
        );
        tokio::time::sleep(Duration::from_millis(5)).await; // sleeps: no event tells of a stop of somebody else's child
    }
}

async fn start(command: Command, mark: &str) -> Child {
    let child = command
        .env("MARK", mark)
        .stdin(Stdin::Piped)
        .spawn()
        .unwrap();
    wait_for_marked(mark, 2, PATIENCE).await;
    child
}

#[tokio::test]
async fn the_frozen_stand_still_and_go_on_when_thawed() {
    let place = Place::new();
    let mut commands = vec![shell(SCRIPT)];
    for (level, report) in levels_here(&place.policy(pirn_sandbox::Level::Strict)) {
        if report.is_ok() {
            commands.push(place.shell(&place.sandbox(level), SCRIPT));
        }
    }
    for command in commands {
        let mark = marker();
        let mut child = start(command, &mark).await;
        let mut stdin = child.take_stdin().unwrap();
        let mut output = child.take_output().unwrap();
        for word in ["ping", "pong"] {
            child.freeze();
            wait_for_stopped(&mark, 2).await;
            stdin.write_all(word.as_bytes()).await.unwrap();
            child.thaw();
            let mut answer = [0; 4];
            output.read_exact(&mut answer).await.unwrap();
            assert_eq!(answer, word.as_bytes());
            wait_for_stopped(&mark, 0).await;
        }
        drop(child);
        wait_for_marked(&mark, 0, GONE_WITHIN).await;
    }
}

#[tokio::test]
async fn the_frozen_end_in_every_way() {
    for end in ["drop", "kill", "terminate"] {
        let mark = marker();
        let child = start(shell(SCRIPT), &mark).await;
        child.freeze();
        wait_for_stopped(&mark, 2).await;
        match end {
            "drop" => drop(child),
            "kill" => assert_eq!(child.kill_all().await, ExitStatus::Signal(9)),
            _ => assert_eq!(child.terminate(PATIENCE).await, ExitStatus::Signal(15)),
        }
        wait_for_marked(&mark, 0, GONE_WITHIN).await;
    }
}

#[tokio::test]
async fn an_interrupt_reaches_the_frozen() {
    let mark = marker();
    let child = start(shell(SCRIPT), &mark).await;
    child.freeze();
    wait_for_stopped(&mark, 2).await;
    child.interrupt();
    let ended = tokio::time::timeout(PATIENCE, child.wait()).await.unwrap();
    assert_eq!(ended, ExitStatus::Signal(2));
}
