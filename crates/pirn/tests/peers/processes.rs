//! Which processes of a run are alive. A mark in their environment tells them from all others.

use std::path::Path;
use std::thread;
use std::time::{Duration, Instant};

/// The variable that holds the mark. Whoever is started inherits it.
pub(crate) const MARK: &str = "PIRN_TEST_MARK";
/// How soon everything that a run started must be gone after it.
pub(crate) const GONE_AFTER: Duration = Duration::from_secs(2);

/// The number and command line of each living process with the mark.
pub(crate) fn marked(mark: &str) -> Vec<String> {
    let mark = format!("{MARK}={mark}");
    std::fs::read_dir("/proc")
        .unwrap()
        .filter_map(|entry| {
            let folder = entry.unwrap().path();
            let number = folder.file_name()?.to_str()?.parse::<u32>().ok()?;
            has_variable(&folder, &mark).then(|| format!("{number} {}", command_line(&folder)))
        })
        .collect()
}

/// Processes that end meanwhile, and those that have ended and are not yet collected, have no environment.
fn has_variable(folder: &Path, variable: &str) -> bool {
    std::fs::read(folder.join("environ")).is_ok_and(|environment| {
        environment
            .split(|byte| *byte == 0)
            .any(|item| item == variable.as_bytes())
    })
}

fn command_line(folder: &Path) -> String {
    let words = std::fs::read(folder.join("cmdline")).unwrap_or_default();
    String::from_utf8_lossy(&words).replace('\0', " ")
}

/// Waits until no process with the mark is left, and tells how long that took.
pub(crate) fn gone(mark: &str) -> Duration {
    let started = Instant::now();
    loop {
        let alive = marked(mark);
        let waited = started.elapsed();
        if alive.is_empty() {
            return waited;
        }
        assert!(
            waited < GONE_AFTER,
            "alive {waited:?} after the end of {mark}: {alive:#?}"
        );
        thread::sleep(Duration::from_millis(20)); // sleeps: the end of strangers cannot be waited for
    }
}
