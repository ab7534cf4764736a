//! Whatever a name leads to: an answer or an error at once.

use std::io::Write as _;
use std::os::unix::fs::{PermissionsExt as _, symlink};
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use pirn_tool::{CallRequest, FailureKind, Origin, ToolResult};
use serde_json::{Value, json};
use tokio_util::sync::CancellationToken;

use crate::support::Bench;

/// How long a call may take.
const SOON: Duration = Duration::from_secs(1);

/// How often a call may be too slow on a machine that is busy with other work; one that waits for somebody always is.
const TRIES_MAX: usize = 4;

/// When a call that takes longer than [`SOON`] is given up.
const GIVEN_UP: Duration = Duration::from_secs(10);

/// What a tool does about a kind of file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Does {
    /// The call succeeds and gives something.
    Answers,
    /// Fails, with this in its text.
    Refuses(&'static str),
    /// One or the other, depending on the moment or on who runs the test.
    Either,
}
use Does::{Answers, Either, Refuses};

const PIPE: Does = Refuses("it is a pipe (FIFO), not a regular file");
const SOCKET: Does = Refuses("it is a socket, not a regular file");
const DEVICE: Does = Refuses("it is a character device, not a regular file");
const FOLDER: Does = Refuses("EISDIR");
const NOTHING: Does = Refuses("ENOENT");
const LOOP: Does = Refuses("ELOOP");
const FORBIDDEN: Does = Refuses("EACCES");
const PROCESS: Does = Refuses("the memory or the environment of a process");

/// Names, with what `read`, `grep`, `edit` and `write` do, in this order. Each is also reached by a link.
const KINDS: [(&str, [Does; 4]); 14] = [
    ("regular", [Answers, Answers, Answers, Answers]),
    (
        "empty",
        [Answers, Answers, Refuses("Could not find"), Answers],
    ),
    ("folder", [FOLDER, Answers, FOLDER, FOLDER]),
    ("pipe", [PIPE, PIPE, PIPE, PIPE]),
    ("socket", [SOCKET, SOCKET, SOCKET, SOCKET]),
    ("/dev/zero", [DEVICE, DEVICE, DEVICE, DEVICE]),
    ("/dev/null", [DEVICE, DEVICE, DEVICE, DEVICE]),
    ("/dev/tty", [DEVICE, DEVICE, DEVICE, DEVICE]),
    ("dangling", [NOTHING, NOTHING, NOTHING, Answers]),
    ("loop", [LOOP, LOOP, LOOP, LOOP]),
    ("forbidden", [Either, Either, Either, Either]),
    ("huge", [Either, Answers, Refuses("64.0MB"), Answers]),
    ("/proc/self/environ", [PROCESS, PROCESS, PROCESS, Either]),
    ("/proc/self/mem", [PROCESS, PROCESS, PROCESS, Either]),
];

fn bench() -> Bench {
    let bench = Bench::new();
    bench.put("regular", "some text\n");
    bench.put("empty", "");
    std::fs::create_dir(bench.path("folder")).unwrap();
    rustix::fs::mkfifoat(rustix::fs::CWD, bench.path("pipe"), 0o600.into()).unwrap();
    std::os::unix::net::UnixListener::bind(bench.path("socket")).unwrap();
    symlink("nowhere", bench.path("dangling")).unwrap();
    symlink("loop", bench.path("loop")).unwrap();
    let forbidden = bench.put("forbidden", "some text\n");
    std::fs::set_permissions(forbidden, std::fs::Permissions::from_mode(0o0)).unwrap();
    let huge = std::fs::File::create(bench.path("huge")).unwrap();
    huge.set_len(1 << 40).unwrap();
    bench
}

/// A call of each tool, those that make something last.
fn calls(path: &str) -> [(&'static str, Value); 7] {
    [
        ("read", json!({"path": path})),
        ("grep", json!({"path": path, "pattern": "text"})),
        (
            "edit",
            json!({"path": path, "edits": [{"oldText": "text", "newText": "words"}]}),
        ),
        ("ls", json!({"path": path})),
        ("find", json!({"path": path, "pattern": "*"})),
        ("write", json!({"path": path, "content": "new"})),
        (
            "bash",
            json!({"command": format!("head -c 20 {path}"), "timeout": 0.2}),
        ),
    ]
}

/// What all seven tools do about a kind of which four are told.
fn all(does: &[Does; 4]) -> [Does; 7] {
    let [read, grep, edit, write] = *does;
    let (ls, find) = match read {
        FOLDER => (Answers, Answers),
        Refuses("ENOENT" | "ELOOP") => (read, read),
        Answers | Refuses(_) => (Refuses("ENOTDIR"), Refuses("Not a directory")),
        Either => (Either, Either),
    };
    [read, grep, edit, ls, find, write, Either]
}

async fn check(bench: &Bench, path: &str, does: &[Does; 4]) {
    for ((tool, arguments), does) in calls(path).into_iter().zip(all(does)) {
        for origin in [Origin::Model, Origin::Nested] {
            let result = soon(bench, tool, &arguments, origin).await;
            let text = result.joined_text();
            // What a first edit has changed the second one does not find.
            let is_again = tool == "edit" && text.contains("Could not find");
            match does {
                Answers => assert!(!result.is_error || is_again, "{tool} {path}: {text}"),
                Refuses(reason) => {
                    assert!(
                        result.is_error && text.contains(reason),
                        "{tool} {path}: {text}"
                    );
                }
                Either => {}
            }
        }
    }
}

/// The result of a call that ends within [`SOON`].
async fn soon(bench: &Bench, tool: &str, arguments: &Value, origin: Origin) -> ToolResult {
    let mut took = Duration::ZERO;
    for _try in 0..TRIES_MAX {
        let start = Instant::now();
        let request = CallRequest::new("1", tool, arguments.clone()).origin(origin);
        let call = bench.pipeline.call(request);
        let result = tokio::time::timeout(GIVEN_UP, call).await.unwrap().result;
        took = start.elapsed();
        if took < SOON {
            return result;
        }
    }
    panic!("{tool} {arguments}: {took:?}")
}

#[tokio::test]
async fn every_kind_is_answered_or_refused() {
    for (kind, does) in KINDS {
        let bench = bench();
        check(&bench, kind, &does).await;
        if kind == "/dev/null" {
            let unharmed = std::fs::metadata(kind).unwrap();
            assert!(!unharmed.is_file());
        }
    }
}

#[tokio::test]
async fn a_link_is_what_it_leads_to() {
    for (kind, does) in KINDS {
        let bench = bench();
        symlink(kind, bench.path("link")).unwrap();
        check(&bench, "link", &does).await;
        assert!(bench.path("link").is_symlink());
    }
}

#[tokio::test]
async fn folders_with_all_of_them_can_be_looked_at() {
    let bench = bench();
    for (tool, arguments, wanted) in [
        (
            "ls",
            json!({}),
            "dangling\nempty\nfolder/\nforbidden\nhuge\nloop\npipe\nregular\nsocket\n\n[Links that lead nowhere: dangling, loop]",
        ),
        (
            "find",
            json!({"pattern": "*"}),
            "dangling\nempty\nfolder/\nforbidden\nhuge\nloop\npipe\nregular\nsocket",
        ),
        (
            "find",
            json!({"pattern": "*", "path": "folder"}),
            "No files found matching pattern",
        ),
        ("grep", json!({"pattern": "some"}), "regular:1: some text"),
    ] {
        let result = soon(&bench, tool, &arguments, Origin::Model).await;
        let text = result.joined_text().replace("forbidden:1: some text\n", "");
        assert_eq!(text, wanted);
    }
    for (tool, path, reason) in [
        ("ls", "pipe", "ENOTDIR"),
        ("ls", "dangling", "ENOENT"),
        ("ls", "loop", "ELOOP"),
        ("find", "regular", "Not a directory"),
    ] {
        let mut arguments = json!({"path": path});
        if tool == "find" {
            arguments["pattern"] = json!("*");
        }
        let text = bench.fails(tool, arguments).await;
        assert!(text.contains(reason), "{text}");
    }
}

#[tokio::test]
async fn nothing_is_taken_out_of_a_pipe() {
    let bench = bench();
    let path = bench.path("pipe");
    let writer = std::thread::spawn({
        let path = path.clone();
        move || {
            let mut pipe = std::fs::File::options().write(true).open(path).unwrap();
            pipe.write_all(b"for somebody else")
        }
    });
    for (tool, arguments) in calls("pipe") {
        // A command may read what it likes.
        if tool == "bash" {
            continue;
        }
        bench.fails(tool, arguments).await;
    }
    assert_eq!(std::fs::read_to_string(path).unwrap(), "for somebody else");
    writer.join().unwrap().unwrap();
}

/// Calls every tool while `disturb` is at work on the file.
async fn check_disturbed(disturb: impl Fn(&Path) + Send + 'static) {
    let bench = bench();
    let path = bench.put("unsteady", "some text\n");
    let is_over = Arc::new(AtomicBool::new(false));
    let worker = std::thread::spawn({
        let (is_over, path) = (Arc::clone(&is_over), path.clone());
        move || {
            while !is_over.load(Ordering::Relaxed) {
                disturb(&path);
            }
        }
    });
    for _round in 0..10 {
        check(&bench, "unsteady", &[Either; 4]).await;
        for (tool, arguments) in [
            ("ls", json!({})),
            ("find", json!({"pattern": "*"})),
            ("grep", json!({"pattern": "text"})),
        ] {
            bench.ok(tool, arguments).await;
        }
    }
    is_over.store(true, Ordering::Relaxed);
    worker.join().unwrap();
}

#[tokio::test(flavor = "multi_thread")]
async fn a_file_that_vanishes_harms_nobody() {
    check_disturbed(|path| {
        let _gone = std::fs::remove_file(path);
        let _made = std::fs::write(path, "some text\n");
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_file_that_grows_harms_nobody() {
    check_disturbed(|path| {
        let file = std::fs::File::options()
            .append(true)
            .create(true)
            .open(path);
        let _written = file.and_then(|mut file| {
            // Not to fill the disk.
            if file.metadata()?.len() > 1 << 20 {
                file.set_len(0)?;
            }
            file.write_all(b"more text\n")
        });
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_file_that_becomes_a_pipe_harms_nobody() {
    check_disturbed(|path| {
        let _gone = std::fs::remove_file(path);
        let _made = rustix::fs::mkfifoat(rustix::fs::CWD, path, 0o600.into());
        let _gone = std::fs::remove_file(path);
        let _made = std::fs::write(path, "some text\n");
    })
    .await;
}

/// Stops a call soon after its start, and says how long it took to end then; `None` for one that had ended.
async fn stopped_after(bench: &Bench, tool: &str, arguments: &Value) -> Option<Duration> {
    let cancel = CancellationToken::new();
    let request = CallRequest::new("1", tool, arguments.clone()).cancel(cancel.clone());
    let call = bench.pipeline.call(request);
    tokio::pin!(call);
    let early = tokio::time::timeout(Duration::from_millis(5), &mut call).await;
    cancel.cancel();
    let start = Instant::now();
    if early.is_ok() {
        return None;
    }
    let outcome = tokio::time::timeout(GIVEN_UP, call).await.unwrap();
    assert!(
        matches!(
            outcome.failure,
            Some(FailureKind::Cancelled | FailureKind::Failed) | None
        ),
        "{tool} {arguments}: {outcome:?}"
    );
    Some(start.elapsed())
}

#[tokio::test]
async fn every_call_can_be_stopped() {
    let bench = bench();
    for (kind, _) in KINDS {
        for (tool, mut arguments) in calls(kind) {
            if tool == "bash" {
                arguments["timeout"] = json!(100);
            }
            let mut took = Vec::new();
            for _try in 0..TRIES_MAX {
                match stopped_after(&bench, tool, &arguments).await {
                    Some(slow) if slow > SOON => took.push(slow),
                    Some(_) | None => break,
                }
            }
            assert!(took.len() < TRIES_MAX, "{tool} {kind}: {took:?}");
        }
    }
}

/// Set where the test below runs as somebody else.
const AS_NOBODY: &str = "PIRN_TEST_AS_NOBODY";

/// What root may open all the same, an ordinary user may not.
#[tokio::test]
async fn what_may_not_be_read_is_refused() {
    use std::os::unix::process::CommandExt as _;
    const NOBODY: u32 = 65_534;
    if rustix::process::geteuid().is_root() && std::env::var_os(AS_NOBODY).is_none() {
        let folder = tempfile::tempdir().unwrap();
        std::fs::set_permissions(folder.path(), std::fs::Permissions::from_mode(0o777)).unwrap();
        // The folder of the build may not be open to everybody.
        let program = folder.path().join("tests");
        std::fs::copy(std::env::current_exe().unwrap(), &program).unwrap();
        let output = std::process::Command::new(program)
            .args(["--exact", "kinds::what_may_not_be_read_is_refused"])
            .env(AS_NOBODY, "1")
            .env("TMPDIR", folder.path())
            .current_dir(folder.path())
            .uid(NOBODY)
            .gid(NOBODY)
            .output()
            .unwrap();
        let text = String::from_utf8_lossy(&output.stdout);
        assert!(
            output.status.success() && text.contains("1 passed"),
            "{output:?}"
        );
        return;
    }
    let bench = bench();
    check(&bench, "forbidden", &[FORBIDDEN; 4]).await;
    symlink("forbidden", bench.path("link")).unwrap();
    let closed = bench.path("closed");
    bench.put("closed/inner", "some text\n");
    std::fs::set_permissions(&closed, std::fs::Permissions::from_mode(0o0)).unwrap();
    for (tool, arguments) in calls("closed/inner") {
        let result = soon(&bench, tool, &arguments, Origin::Model).await;
        let text = result.joined_text();
        let says_so = text.contains("EACCES") || text.contains("Permission denied");
        assert!(result.is_error && says_so, "{tool}: {text}");
    }
    for (tool, arguments) in [
        ("ls", json!({"path": "closed"})),
        ("find", json!({"path": "closed", "pattern": "*"})),
        ("grep", json!({"path": "closed", "pattern": "x"})),
    ] {
        let result = soon(&bench, tool, &arguments, Origin::Nested).await;
        let text = result.joined_text();
        assert!(result.is_error && text.contains("EACCES"), "{tool}: {text}");
    }
    std::fs::set_permissions(&closed, std::fs::Permissions::from_mode(0o700)).unwrap();
}
