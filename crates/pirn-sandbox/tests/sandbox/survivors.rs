//! No descendant survives, whatever it did to get away and however its owner ended.

use std::io::BufRead as _;
use std::process::Stdio;
use std::time::Duration;

use pirn_sandbox::ExitStatus;
use tokio_util::sync::CancellationToken;

use crate::support::{PATIENCE, finish, marker, shell, wait_for_marked};

/// How soon everything must be gone.
const GONE_WITHIN: Duration = Duration::from_secs(2);

/// A shell script that leaves three processes: a background job, a daemon in its own session, and one forked twice.
const DAEMONS: &str =
    "sleep 1000 & setsid sleep 1001 & (setsid sh -c 'setsid sleep 1002 & exit' &) ; ";

#[tokio::test]
async fn daemons_die_when_the_child_is_dropped() {
    let mark = marker();
    let child = shell(&format!("{DAEMONS} sleep 1003"))
        .env("MARK", &mark)
        .spawn()
        .unwrap();
    // The shell itself and four sleeps.
    wait_for_marked(&mark, 5, PATIENCE).await;
    drop(child);
    wait_for_marked(&mark, 0, GONE_WITHIN).await;
}

#[tokio::test]
async fn daemons_die_when_killed() {
    let mark = marker();
    let child = shell(DAEMONS).env("MARK", &mark).spawn().unwrap();
    assert_eq!(child.wait().await, ExitStatus::Code(0));
    assert!(child.has_descendants());
    wait_for_marked(&mark, 3, PATIENCE).await;
    assert_eq!(child.kill_all().await, ExitStatus::Code(0));
    wait_for_marked(&mark, 0, Duration::ZERO).await;
}

#[tokio::test]
async fn killing_at_once_is_not_too_early() {
    let mark = marker();
    for _attempt in 0..20 {
        let child = shell("sleep 1000").env("MARK", &mark).spawn().unwrap();
        let end = tokio::time::timeout(GONE_WITHIN, child.kill_all())
            .await
            .unwrap();
        assert_eq!(end, ExitStatus::Signal(9));
        let child = shell("sleep 1000").env("MARK", &mark).spawn().unwrap();
        drop(child);
    }
    wait_for_marked(&mark, 0, GONE_WITHIN).await;
}

#[tokio::test]
async fn detached_processes_live_as_long_as_their_owner() {
    let mark = marker();
    let child = shell(&format!("{DAEMONS} exit 0"))
        .env("MARK", &mark)
        .spawn()
        .unwrap();
    let lifetime = CancellationToken::new();
    child.wait().await;
    child.detach_to(lifetime.clone());
    wait_for_marked(&mark, 3, PATIENCE).await;
    lifetime.cancel();
    wait_for_marked(&mark, 0, GONE_WITHIN).await;
}

#[tokio::test]
async fn a_detached_process_may_go_on_writing() {
    let folder = tempfile::tempdir().unwrap();
    let done = folder.path().join("done");
    // More than a pipe holds, so it would block if nobody read, and die of SIGPIPE if the pipe were closed.
    let script = format!(
        "(head -c 300000 /dev/zero; : > '{}') & exit 0",
        done.display()
    );
    let child = shell(&script).spawn().unwrap();
    child.wait().await;
    child.detach_to(CancellationToken::new());
    let seen = async {
        while !done.exists() {
            tokio::time::sleep(Duration::from_millis(10)).await; // sleeps: no event tells of a file another process makes
        }
    };
    tokio::time::timeout(PATIENCE, seen).await.unwrap();
}

#[tokio::test]
async fn a_fork_storm_is_killed() {
    let mark = marker();
    // Each link starts the next one in a session of its own and ends.
    let script = "chain='n=$1; [ $n -gt 0 ] && setsid sh -c \"$chain\" chain $((n - 1)) & sleep 0.01'; export chain; \
                  for i in 1 2 3 4; do sh -c \"$chain\" chain 100000 & done; wait; sleep 1000";
    let mut child = shell(script).env("MARK", &mark).spawn().unwrap();
    tokio::time::timeout(Duration::from_millis(300), finish(&mut child))
        .await
        .unwrap_err();
    child.kill_all().await;
    wait_for_marked(&mark, 0, GONE_WITHIN).await;
}

#[tokio::test]
async fn killing_the_supervisor_kills_the_program() {
    let mark = marker();
    let child = shell("echo $PPID; exec sleep 1000")
        .env("MARK", &mark)
        .spawn();
    let mut child = child.unwrap();
    let mut output = child.take_output().unwrap();
    let mut line = [0; 16];
    let count = tokio::io::AsyncReadExt::read(&mut output, &mut line)
        .await
        .unwrap();
    let supervisor = String::from_utf8_lossy(line.get(..count).unwrap())
        .trim()
        .to_owned();
    // SIGTERM is blocked there, SIGKILL cannot be.
    for signal in ["-TERM", "-KILL"] {
        let killed = std::process::Command::new("kill")
            .args([signal, &supervisor])
            .status()
            .unwrap();
        assert!(killed.success());
        if signal == "-TERM" {
            assert_eq!(child.status(), None);
        }
    }
    assert_eq!(
        tokio::time::timeout(PATIENCE, child.wait()).await.unwrap(),
        ExitStatus::Lost
    );
    wait_for_marked(&mark, 0, GONE_WITHIN).await;
}

/// The variable that turns [`victim`] into a process that starts daemons and waits to be killed.
const VICTIM_MARK: &str = "PIRN_SANDBOX_TEST_VICTIM";

#[tokio::test]
async fn nothing_survives_the_owner() {
    for signal in ["-KILL", "-TERM", "-INT", "-ABRT"] {
        let mark = marker();
        let mut victim = std::process::Command::new(std::env::current_exe().unwrap())
            .args(["--exact", "survivors::victim", "--nocapture"])
            .env(VICTIM_MARK, &mark)
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let mut lines = std::io::BufReader::new(victim.stdout.take().unwrap()).lines();
        assert!(lines.any(|line| line.unwrap().contains("victim is ready")));
        wait_for_marked(&mark, 13, PATIENCE).await;
        let pid = victim.id().to_string();
        assert!(
            std::process::Command::new("kill")
                .args([signal, &pid])
                .status()
                .unwrap()
                .success()
        );
        victim.wait().unwrap();
        wait_for_marked(&mark, 0, GONE_WITHIN).await;
    }
}

/// Not a test by itself: the process that [`nothing_survives_the_owner`] kills. Runs three children side by side, so that each
/// supervisor is born while the others' lifelines are open.
#[tokio::test]
async fn victim() {
    let Ok(mark) = std::env::var(VICTIM_MARK) else {
        return;
    };
    let children: Vec<_> = (0..3)
        .map(|_| {
            shell(&format!("{DAEMONS} sleep 1004 & wait"))
                .env("MARK", &mark)
                .spawn()
                .unwrap()
        })
        .collect();
    // Each shell has a job left besides the daemons; one of the shells is gone already.
    children.first().unwrap().kill_all().await;
    let replacement = shell("sleep 1005 & sleep 1006 & exec sleep 1007")
        .env("MARK", &mark)
        .spawn()
        .unwrap();
    println!("victim is ready");
    tokio::time::sleep(Duration::from_mins(1)).await; // sleeps: lives until it is killed
    drop((children, replacement));
}
