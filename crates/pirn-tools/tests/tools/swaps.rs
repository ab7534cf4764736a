//! Folders and files that another process exchanges for links while tools use them.

use std::os::unix::fs::symlink;
use std::path::Path;
use std::process::{Child, Command};
use std::time::{Duration, Instant};

use pirn_sandbox::{Profile, SandboxPolicy};
use rustix::fs::{CWD, RenameFlags, renameat_with};
use serde_json::json;

use crate::support::{Bench, names};

/// Set for the process that exchanges; the folder in which it does.
const EXCHANGED: &str = "PIRN_TEST_EXCHANGED";

/// Seconds that each race takes, where it should take longer than a moment.
const SOAK_SECONDS: &str = "PIRN_TEST_SOAK_SECONDS";

/// What must neither be read nor reached.
const SECRET: &str = "SECRET-OF-THE-USER";

/// The other process: exchanges names until it is killed. Without the variable it does nothing.
#[test]
fn exchanging_process() {
    let Some(folder) = std::env::var_os(EXCHANGED) else {
        return;
    };
    let folder = Path::new(&folder);
    loop {
        for (one, other) in [("folder", "folder-link"), ("file", "file-link")] {
            let (one, other) = (folder.join(one), folder.join(other));
            if renameat_with(CWD, &one, CWD, &other, RenameFlags::EXCHANGE).is_err() {
                return;
            }
        }
    }
}

struct Exchange(Child);

impl Exchange {
    fn begin(folder: &Path) -> Self {
        let process = Command::new(std::env::current_exe().unwrap())
            .args(["--exact", "swaps::exchanging_process", "--nocapture"])
            .env(EXCHANGED, folder)
            .spawn()
            .unwrap();
        Self(process)
    }
}

impl Drop for Exchange {
    fn drop(&mut self) {
        let _gone = self.0.kill();
        let _reaped = self.0.wait();
    }
}

fn race_time() -> Duration {
    let seconds = std::env::var(SOAK_SECONDS).ok();
    seconds
        .and_then(|seconds| seconds.parse().ok())
        .map_or(Duration::from_millis(700), Duration::from_secs)
}

/// A home with secrets, and a working folder in which two names lead there from time to time.
fn bench(profile: Profile) -> Bench {
    let bench = Bench::confined(|policy: &mut SandboxPolicy| policy.profile = profile);
    let home = bench.beside("home");
    std::fs::create_dir(home.join(".ssh")).unwrap();
    std::fs::write(home.join(".ssh/id_rsa"), SECRET).unwrap();
    bench.put("folder/id_rsa", "harmless");
    bench.put("file", "harmless");
    symlink(home.join(".ssh"), bench.path("folder-link")).unwrap();
    symlink(home.join(".ssh/id_rsa"), bench.path("file-link")).unwrap();
    bench
}

async fn race(profile: Profile) {
    let bench = bench(profile);
    let secrets = bench.beside("home").join(".ssh");
    let exchange = Exchange::begin(&bench.path(""));
    let over_at = Instant::now() + race_time();
    let mut calls = 0_usize;
    while Instant::now() < over_at {
        for (tool, arguments) in [
            ("read", json!({"path": "file"})),
            ("read", json!({"path": "folder/id_rsa"})),
            ("grep", json!({"pattern": "SECRET", "path": "file"})),
            ("grep", json!({"pattern": "SECRET", "path": "folder"})),
            ("grep", json!({"pattern": "SECRET"})),
            ("ls", json!({"path": "folder"})),
            ("find", json!({"pattern": "*", "path": "folder"})),
            ("write", json!({"path": "folder/made", "content": "x"})),
            (
                "write",
                json!({"path": "folder/new/deep/made", "content": "x"}),
            ),
            (
                "edit",
                json!({"path": "file", "edits": [{"oldText": "SECRET", "newText": "taken"}]}),
            ),
            (
                "edit",
                json!({"path": "folder/id_rsa", "edits": [{"oldText": "harmless", "newText": "harmless"}]}),
            ),
        ] {
            let text = bench.result(tool, arguments.clone()).await.joined_text();
            let is_out = text.contains(SECRET) || text.contains("taken");
            assert!(!is_out, "{tool} {arguments} after {calls} calls: {text}");
            calls += 1;
        }
        assert_eq!(names(&secrets), ["id_rsa"], "after {calls} calls");
    }
    drop(exchange);
    assert_eq!(
        std::fs::read_to_string(secrets.join("id_rsa")).unwrap(),
        SECRET
    );
    if profile == Profile::ReadOnly {
        assert!(!bench.path("folder/made").exists());
    }
}

#[tokio::test]
async fn nothing_gets_out_or_in_where_commands_write() {
    race(Profile::WorkspaceWrite).await;
}

#[tokio::test]
async fn nothing_gets_out_or_in_where_they_only_read() {
    race(Profile::ReadOnly).await;
}

/// Without confinement both files may be read and written, but one call is about one of them: what was read from one is never
/// put into the other.
#[tokio::test]
async fn an_edit_is_of_the_file_that_was_read_where_nothing_is_confined() {
    let bench = bench(Profile::Off);
    let secrets = bench.beside("home").join(".ssh");
    let exchange = Exchange::begin(&bench.path(""));
    let over_at = Instant::now() + race_time();
    let (mut calls, mut edited) = (0_usize, 0_usize);
    while Instant::now() < over_at {
        for path in ["file", "folder/id_rsa"] {
            for (old, new) in [("harmless", "harmless too"), ("harmless too", "harmless")] {
                let edits = json!([{"oldText": old, "newText": new}]);
                let arguments = json!({"path": path, "edits": edits});
                let result = bench.result("edit", arguments).await;
                edited += usize::from(!result.is_error);
                calls += 1;
                let secret = std::fs::read_to_string(secrets.join("id_rsa")).unwrap();
                assert_eq!(secret, SECRET, "{path} after {calls} calls");
            }
        }
        assert_eq!(names(&secrets), ["id_rsa"], "after {calls} calls");
    }
    drop(exchange);
    assert!(edited > 0, "{calls} calls");
    for (one, other, inside) in [
        ("file", "file-link", None),
        ("folder", "folder-link", Some("id_rsa")),
    ] {
        let is_link = |name: &&str| bench.path(name).is_symlink();
        let links: Vec<_> = [one, other].into_iter().filter(is_link).collect();
        for name in [one, other] {
            let mut path = bench.path(name);
            path.extend(inside);
            let text = std::fs::read_to_string(path).unwrap();
            // An edit that was refused halfway makes the next one add to it.
            let is_own = text.starts_with("harmless") && !text.contains(SECRET);
            // A file that was edited by the name of a link has that name.
            assert_eq!(is_own, !links.contains(&name), "{name}: {text}");
        }
    }
}

#[tokio::test]
async fn other_names_and_ways_of_the_system_lead_nowhere() {
    let bench = bench(Profile::WorkspaceWrite);
    let secret = bench.beside("home").join(".ssh/id_rsa");
    std::fs::hard_link(&secret, bench.path("hard")).unwrap();
    let own = std::process::id();
    let by_root = format!("/proc/{own}/root{}", secret.display());
    // From the folder of this process up to the root, however deep it lies.
    let depth = std::env::current_dir().unwrap().components().count() - 1;
    let by_folder = format!(
        "/proc/{own}/cwd/{}{}",
        "../".repeat(depth),
        secret.display()
    );
    let by_thread = format!("/proc/thread-self/root{}", secret.display());
    for path in [
        "hard",
        "file-link",
        "folder-link/id_rsa",
        &by_root,
        &by_folder,
        &by_thread,
        secret.to_str().unwrap(),
    ] {
        for (tool, arguments) in [
            ("read", json!({"path": path})),
            ("grep", json!({"path": path, "pattern": "SECRET"})),
            (
                "edit",
                json!({"path": path, "edits": [{"oldText": "SECRET", "newText": "taken"}]}),
            ),
            ("write", json!({"path": path, "content": "x"})),
        ] {
            // Below `/tmp` commands have another file of that name, which may be written; the secret itself is looked at below.
            if tool == "write" && (path == secret.to_str().unwrap() || path == by_folder) {
                continue;
            }
            let result = bench.result(tool, arguments).await;
            let text = result.joined_text();
            assert!(result.is_error, "{tool} {path}: {text}");
            assert!(!text.contains(SECRET), "{tool} {path}: {text}");
        }
    }
    for (pattern, wanted) in [
        ("SECRET", "No matches found"),
        ("harmless", "file:1: harmless"),
    ] {
        let text = bench.ok("grep", json!({"pattern": pattern})).await;
        assert!(text.starts_with(wanted), "{text}");
    }
    assert_eq!(std::fs::read_to_string(&secret).unwrap(), SECRET);
}
