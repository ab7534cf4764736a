//! Whatever a name leads to: an answer or an error at once.

use std::io::Write as _;
use std::os::unix::fs::{PermissionsExt as _, symlink};
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use pirn_tool::{CallRequest, FailureKind, Origin};
use serde_json::{Value, json};
use tokio_util::sync::CancellationToken;

use crate::support::Bench;

/// How long a call may take on a busy machine; on an idle one it is far less than a second.
const SOON: Duration = Duration::from_secs(5);

/// What a tool does about a kind of file.
#[derive(Debug, Clone, Copy)]
enum Does {
    /// Succeeds.
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

fn calls(path: &str) -> [(&'static str, Value); 4] {
    [
        ("read", json!({"path": path})),
        ("grep", json!({"path": path, "pattern": "text"})),
        (
            "edit",
            json!({"path": path, "edits": [{"oldText": "text", "newText": "words"}]}),
        ),
        ("write", json!({"path": path, "content": "new"})),
    ]
}

async fn check(bench: &Bench, path: &str, does: &[Does; 4]) {
    for ((tool, arguments), does) in calls(path).into_iter().zip(does) {
        for origin in [Origin::Model, Origin::Nested] {
            let start = Instant::now();
            let request = CallRequest::new("1", tool, arguments.clone()).origin(origin);
            let call = bench.pipeline.call(request);
            let result = tokio::time::timeout(SOON, call).await.unwrap().result;
            let text = result.joined_text();
            let took = start.elapsed();
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
            assert!(took < SOON, "{tool} {path}: {took:?}");
        }
    }
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
        let start = Instant::now();
        let text = bench.ok(tool, arguments).await;
        let text = text.replace("forbidden:1: some text\n", "");
        assert_eq!(text, wanted);
        assert!(start.elapsed() < SOON);
    }
    for (tool, path, reason) in [
        ("ls", "pipe", "ENOTDIR"),
        ("ls", "dangling", "ENOENT"),
        ("ls", "loop", "ELOOP"),
        ("find", "regular", "Not a directory"),
    ] {
        let text = bench
            .fails(tool, json!({"path": path, "pattern": "*"}))
            .await;
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

#[tokio::test]
async fn every_call_can_be_stopped() {
    let bench = bench();
    for path in ["regular", "huge", "pipe", "folder"] {
        let others = [
            ("ls", json!({"path": path})),
            ("find", json!({"path": path, "pattern": "*"})),
            ("bash", json!({"command": format!("cat {path}")})),
        ];
        for (tool, arguments) in calls(path).into_iter().chain(others) {
            let cancel = CancellationToken::new();
            let request = CallRequest::new("1", tool, arguments).cancel(cancel.clone());
            let call = bench.pipeline.call(request);
            tokio::pin!(call);
            let early = tokio::time::timeout(Duration::from_millis(20), &mut call).await;
            cancel.cancel();
            if early.is_err() {
                let outcome = tokio::time::timeout(SOON, call).await.unwrap();
                let is_end = outcome.failure == Some(FailureKind::Cancelled)
                    || outcome.failure.is_none()
                    || outcome.failure == Some(FailureKind::Failed);
                assert!(is_end, "{tool} {path}: {outcome:?}");
            }
        }
    }
}
