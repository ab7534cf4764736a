//! What the tests share: shells, unique markers, and looking for marked processes.

use std::path::PathBuf;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use pirn_sandbox::{CapturedOutput, Child, Command, ExitStatus};

/// The longest any wait in these tests may take.
pub(crate) const PATIENCE: Duration = Duration::from_secs(10);

/// A shell that runs `script`, with a `PATH` and nothing else.
pub(crate) fn shell(script: &str) -> Command {
    Command::new("/bin/sh")
        .args(["-c", script])
        .env("PATH", "/usr/bin:/bin")
}

/// Runs a command to its end.
pub(crate) async fn run(command: Command) -> (ExitStatus, CapturedOutput) {
    let mut child = command.spawn().unwrap();
    finish(&mut child).await
}

/// Waits for the end of a child and of its output.
pub(crate) async fn finish(child: &mut Child) -> (ExitStatus, CapturedOutput) {
    let mut output = child.take_output().unwrap();
    let captured = tokio::time::timeout(PATIENCE, output.read_bounded(1 << 20))
        .await
        .unwrap()
        .unwrap();
    (
        tokio::time::timeout(PATIENCE, child.wait()).await.unwrap(),
        captured,
    )
}

/// A string that no other process has in its environment.
pub(crate) fn marker() -> String {
    static NEXT: AtomicU64 = AtomicU64::new(0);
    format!(
        "pirn-test-{}-{}",
        std::process::id(),
        NEXT.fetch_add(1, Ordering::Relaxed)
    )
}

/// The processes whose environment holds `MARK=<marker>`, without zombies.
pub(crate) fn marked(marker: &str) -> Vec<PathBuf> {
    let wanted = format!("MARK={marker}");
    let Ok(entries) = std::fs::read_dir("/proc") else {
        return Vec::new();
    };
    entries
        .flatten()
        .map(|entry| entry.path())
        .filter(|path| {
            // A zombie's environment is empty.
            std::fs::read(path.join("environ")).is_ok_and(|bytes| {
                bytes
                    .split(|byte| *byte == 0)
                    .any(|variable| variable == wanted.as_bytes())
            })
        })
        .collect()
}

/// Waits until `count` marked processes exist.
pub(crate) async fn wait_for_marked(marker: &str, count: usize, patience: Duration) {
    let deadline = Instant::now() + patience;
    loop {
        let found = marked(marker);
        if found.len() == count {
            return;
        }
        assert!(
            Instant::now() < deadline,
            "wanted {count} processes, found {found:?}"
        );
        tokio::time::sleep(Duration::from_millis(10)).await; // sleeps: no event tells of a process outside our own children
    }
}
