//! The adapters through the pipeline, as programs call them.

use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use pirn_tool::{CallRequest, Origin, Pipeline, Registry};
use serde_json::{Value, json};

use super::frame::{VALUE_JSON_BYTES_MAX, cut_to_json_bytes, json_bytes};
use super::*;

/// The longest any call in these tests may take.
const PATIENCE: Duration = Duration::from_secs(20);

struct Bench {
    folder: tempfile::TempDir,
    pipeline: Pipeline,
}

impl Bench {
    fn new() -> Self {
        Self::with(|_| None)
    }

    fn with(sandbox: impl FnOnce(&Path) -> Option<Sandbox>) -> Self {
        let folder = tempfile::tempdir().unwrap();
        std::fs::create_dir(folder.path().join("work")).unwrap();
        let registry = Registry::new();
        for tool in eval_adapters(AdapterOptions {
            root: folder.path().join("work"),
            environment: vec![("PATH".into(), "/usr/bin:/bin".into())],
            sandbox: sandbox(&folder.path().join("work")),
        }) {
            registry.register(tool);
        }
        Self {
            folder,
            pipeline: Pipeline::builder(registry).build(),
        }
    }

    fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join("work").join(name)
    }

    fn put(&self, name: &str, content: impl AsRef<[u8]>) {
        let path = self.path(name);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, content).unwrap();
    }

    async fn call_with(
        &self,
        tool: &str,
        arguments: Value,
        cancel: CancellationToken,
    ) -> ToolResult {
        let request = CallRequest::new("1", tool, arguments)
            .origin(Origin::Extension)
            .cancel(cancel);
        let call = self.pipeline.call(request);
        tokio::time::timeout(PATIENCE, call).await.unwrap().result
    }

    async fn call(&self, tool: &str, arguments: Value) -> ToolResult {
        self.call_with(tool, arguments, CancellationToken::new())
            .await
    }

    /// The value of a call that must succeed.
    async fn ok(&self, tool: &str, arguments: Value) -> Value {
        let result = self.call(tool, arguments.clone()).await;
        assert!(
            !result.is_error,
            "{tool} {arguments}: {}",
            result.joined_text()
        );
        result.structured.unwrap()
    }

    /// The text of a call that must fail.
    async fn fails(&self, tool: &str, arguments: Value) -> String {
        let result = self.call(tool, arguments.clone()).await;
        assert!(
            result.is_error,
            "{tool} {arguments}: {}",
            result.joined_text()
        );
        result.joined_text()
    }
}

#[tokio::test]
async fn read_text_gives_lines() {
    let bench = Bench::new();
    bench.put("notes", "one\ntwo\nthree\nfour");
    bench.put("empty", "");
    bench.put("..notes", "dots\n");
    let expected = |offset: u64, lines: u64, total: u64, text: &str| json!({"path": "notes", "offset": offset, "lines": lines, "totalLines": total, "text": text});
    for (arguments, value) in [
        (
            json!({"path": "notes"}),
            expected(1, 4, 4, "one\ntwo\nthree\nfour"),
        ),
        (
            json!({"path": "notes", "offset": 2, "limit": 2}),
            expected(2, 2, 4, "two\nthree\n"),
        ),
        (
            json!({"path": "notes", "offset": 4, "limit": 9}),
            expected(4, 1, 4, "four"),
        ),
        (
            json!({"path": "notes", "limit": 1}),
            expected(1, 1, 4, "one\n"),
        ),
    ] {
        assert_eq!(bench.ok("read_text", arguments).await, value);
    }
    let empty = bench.ok("read_text", json!({"path": "empty"})).await;
    assert_eq!(
        (&empty["lines"], &empty["totalLines"]),
        (&json!(0), &json!(0))
    );
    let dots = bench.ok("read_text", json!({"path": "..notes"})).await;
    assert_eq!(dots["text"], "dots\n");
    let text = bench
        .fails("read_text", json!({"path": "notes", "offset": 5}))
        .await;
    assert!(
        text.contains("has 4 lines; there is nothing from line 5 on"),
        "{text}"
    );
}

#[tokio::test]
async fn read_text_is_bounded_but_reaches_into_large_files() {
    let bench = Bench::new();
    let line = "x".repeat(99) + "\n";
    bench.put("large", line.repeat(30_000));
    bench.put("over", "x".repeat(1_000_001));
    bench.put("exact", "x".repeat(1_000_000));
    let text = bench
        .fails("read_text", json!({"path": "over", "maxBytes": 9_000_000}))
        .await;
    assert!(text.contains("more than 1000000 bytes"), "{text}");
    let exact = json!({"path": "exact", "maxBytes": 1_000_000});
    assert_eq!(
        bench.ok("read_text", exact).await["text"]
            .as_str()
            .unwrap()
            .len(),
        1_000_000
    );
    let text = bench.fails("read_text", json!({"path": "exact"})).await;
    assert!(text.contains("more than 200000 bytes"), "{text}");
    let range = json!({"path": "large", "offset": 29_999, "limit": 5});
    let value = bench.ok("read_text", range).await;
    assert_eq!(value["totalLines"], 30_000);
    assert_eq!(value["lines"], 2);
    assert_eq!(value["text"], line.repeat(2));
    let range = json!({"path": "large", "offset": 1, "limit": 3, "maxBytes": 299});
    let text = bench.fails("read_text", range).await;
    assert!(
        text.contains("more than 299 bytes in lines 1 to 3"),
        "{text}"
    );
}

#[tokio::test]
async fn read_text_says_what_is_no_text() {
    let bench = Bench::new();
    bench.put("binary", b"ok\nok\n\xff\xfe\nok\n");
    bench.put("folder/file", "");
    let text = bench.fails("read_text", json!({"path": "binary"})).await;
    assert!(text.contains("not valid UTF-8 in line 3"), "{text}");
    // Only what is given has to be text.
    let range = json!({"path": "binary", "limit": 2});
    assert_eq!(bench.ok("read_text", range).await["text"], "ok\nok\n");
    for (path, problem) in [
        ("folder", "is a folder"),
        ("missing", "ENOENT"),
        ("binary/x", "ENOTDIR"),
        ("a\0b", "cannot be read"),
    ] {
        let text = bench.fails("read_text", json!({"path": path})).await;
        assert!(text.contains(problem), "{text}");
    }
}

#[tokio::test]
async fn nothing_outside_the_working_folder_can_be_named() {
    let bench = Bench::new();
    let outside = bench.folder.path().join("outside");
    std::fs::create_dir(&outside).unwrap();
    std::fs::write(outside.join("secret"), "secret").unwrap();
    // A sibling whose name begins like the folder's.
    std::fs::create_dir(bench.folder.path().join("work2")).unwrap();
    std::fs::write(bench.folder.path().join("work2/secret"), "secret").unwrap();
    std::os::unix::fs::symlink(&outside, bench.path("link")).unwrap();
    std::os::unix::fs::symlink(outside.join("secret"), bench.path("secret")).unwrap();
    bench.put("inner/file", "fine");
    std::os::unix::fs::symlink("inner/file", bench.path("inner-link")).unwrap();
    let absolute = outside.join("secret").display().to_string();
    for path in [
        "../outside/secret",
        "../work2/secret",
        "link/secret",
        "secret",
        &absolute,
        "/etc/passwd",
    ] {
        let text = bench.fails("read_text", json!({"path": path})).await;
        assert!(text.contains("outside the working folder"), "{text}");
    }
    for path in ["..", "link", "/", "../outside"] {
        for (tool, arguments) in [
            ("list_directory", json!({"path": path})),
            ("run_process", json!({"command": "true", "cwd": path})),
        ] {
            let text = bench.fails(tool, arguments).await;
            assert!(text.contains("outside the working folder"), "{text}");
        }
    }
    // Links and absolute paths within it are fine.
    let inside = bench.path("inner/file").display().to_string();
    for path in ["inner-link", "inner/../inner/file", &inside] {
        let value = bench.ok("read_text", json!({"path": path})).await;
        assert_eq!(value["text"], "fine");
    }
}

#[tokio::test]
async fn a_pipe_without_a_writer_is_refused_at_once() {
    let bench = Bench::new();
    bench
        .ok(
            "run_process",
            json!({"command": "mkfifo", "args": ["pipe"]}),
        )
        .await;
    let text = bench.fails("read_text", json!({"path": "pipe"})).await;
    assert!(text.contains("not a regular file"), "{text}");
}

#[tokio::test]
async fn list_directory_gives_kinds_in_order() {
    let bench = Bench::new();
    bench.put("b/inner", "");
    bench.put("a.txt", "");
    bench.put(".hidden", "");
    std::os::unix::fs::symlink("a.txt", bench.path("link")).unwrap();
    let list = json!([
        {"name": ".hidden", "kind": "file"},
        {"name": "a.txt", "kind": "file"},
        {"name": "b", "kind": "directory"},
        {"name": "link", "kind": "other"},
    ]);
    assert_eq!(bench.ok("list_directory", json!({})).await, list);
    assert_eq!(
        bench.ok("list_directory", json!({"path": "b"})).await,
        json!([{"name": "inner", "kind": "file"}])
    );
    let text = bench
        .fails("list_directory", json!({"path": "a.txt"}))
        .await;
    assert!(text.contains("ENOTDIR"), "{text}");
}

#[test]
fn a_huge_folder_is_cut_with_a_mark() {
    let bench = Bench::new();
    for name in ["d", "b", "a", "c", "e"] {
        bench.put(name, "");
    }
    let list = list_directory::list(&bench.path(""), ".", 2, &CancellationToken::new());
    assert_eq!(
        list,
        Ok(json!([
            {"name": "a", "kind": "file"},
            {"name": "b", "kind": "file"},
            {"name": "…", "kind": "truncated", "omitted": 3},
        ]))
    );
}

#[tokio::test]
async fn run_process_runs_without_a_shell() {
    let bench = Bench::new();
    bench.put("sub/file", "");
    let value = bench
        .ok(
            "run_process",
            json!({"command": "printf", "args": ["%s|", "$HOME", "a b; c", "*"]}),
        )
        .await;
    assert_eq!(
        value,
        json!({
            "command": "printf", "args": ["%s|", "$HOME", "a b; c", "*"], "exitCode": 0, "signal": null, "timedOut": false,
            "stdoutTruncated": false, "stderrTruncated": false, "stdout": "$HOME|a b; c|*|", "stderr": ""
        })
    );
    let value = bench
        .ok(
            "run_process",
            json!({"command": "sh", "args": ["-c", "cat; echo oops >&2; exit 3"]}),
        )
        .await;
    assert_eq!(
        (&value["exitCode"], &value["stderr"]),
        (&json!(3), &json!("oops\n"))
    );
    let value = bench
        .ok(
            "run_process",
            json!({"command": "sh", "args": ["-c", "kill -SEGV $$"]}),
        )
        .await;
    assert_eq!(
        (&value["exitCode"], &value["signal"]),
        (&Value::Null, &json!("SIGSEGV"))
    );
    let value = bench
        .ok("run_process", json!({"command": "ls", "cwd": "sub"}))
        .await;
    assert_eq!(value["stdout"], "file\n");
    let text = bench
        .fails("run_process", json!({"command": "no-such-program"}))
        .await;
    assert!(text.contains("Program not found"), "{text}");
}

#[tokio::test]
async fn streams_are_cut_so_that_the_result_fits_a_message() {
    let bench = Bench::new();
    // NUL takes six bytes in JSON.
    for (writes, cut) in [
        (
            "head -c 900000 /dev/zero | tr '\\0' a; head -c 900000 /dev/zero | tr '\\0' b >&2",
            false,
        ),
        (
            "head -c 1000001 /dev/zero | tr '\\0' a; head -c 1000001 /dev/zero | tr '\\0' b >&2",
            true,
        ),
        (
            "head -c 900000 /dev/zero; head -c 900000 /dev/zero >&2",
            true,
        ),
        ("head -c 300000 /dev/zero; echo short >&2", false),
        ("head -c 500000 /dev/zero; echo short >&2", true),
    ] {
        let value = bench
            .ok(
                "run_process",
                json!({"command": "sh", "args": ["-c", writes]}),
            )
            .await;
        assert!(json_bytes(&value) <= VALUE_JSON_BYTES_MAX, "{writes}");
        assert_eq!(value["stdoutTruncated"], cut, "{writes}");
        if value["stderr"] == "short\n" {
            assert_eq!(value["stderrTruncated"], false);
        } else {
            assert_eq!(value["stderrTruncated"], cut, "{writes}");
        }
    }
}

#[test]
fn cuts_count_escapes() {
    for (text, max, kept) in [
        ("abc", 3, "abc"),
        ("abcd", 3, "abc"),
        ("a\"b", 3, "a\""),
        ("\u{1}x", 5, ""),
        ("ä漢", 4, "ä"),
    ] {
        let mut cut = text.to_owned();
        assert_eq!(cut_to_json_bytes(&mut cut, max), cut != text);
        assert_eq!(cut, kept);
        assert!(json_bytes(&cut) <= max + 2);
    }
}

/// Writes its process id to `started`, and to `late` after the sleep, whatever TERM says.
fn stubborn(bench: &Bench) -> Value {
    let started = bench.path("started").display().to_string();
    let late = bench.path("late").display().to_string();
    json!([
        "-c",
        format!(
            "trap '' TERM; (trap '' TERM; sleep 30; echo > {late}) & echo before; echo $! > {started}; wait; wait"
        )
    ])
}

/// Waits for the process id of the grandchild.
async fn grandchild(started: &Path) -> String {
    let deadline = Instant::now() + PATIENCE;
    loop {
        match std::fs::read_to_string(started) {
            Ok(pid) if pid.ends_with('\n') => return pid.trim().to_owned(),
            _ => assert!(Instant::now() < deadline),
        }
        tokio::time::sleep(Duration::from_millis(2)).await; // sleeps: polls for a file of another process
    }
}

fn is_alive(pid: &str) -> bool {
    std::fs::read_to_string(format!("/proc/{pid}/stat")).is_ok_and(|stat| !stat.contains(") Z "))
}

#[tokio::test]
async fn a_time_out_is_a_result_and_ends_what_ignores_term() {
    let bench = Bench::new();
    let value = bench
        .ok(
            "run_process",
            json!({"command": "sh", "args": stubborn(&bench), "timeoutMs": 300}),
        )
        .await;
    assert_eq!(
        (&value["timedOut"], &value["signal"]),
        (&json!(true), &json!("SIGKILL"))
    );
    assert_eq!(value["stdout"], "before\n");
    let pid = grandchild(&bench.path("started")).await;
    assert!(!is_alive(&pid));
}

#[tokio::test]
async fn an_abort_ends_everything_and_is_an_error() {
    let bench = Bench::new();
    let cancel = CancellationToken::new();
    let arguments = json!({"command": "sh", "args": stubborn(&bench)});
    let call = bench.call_with("run_process", arguments, cancel.clone());
    let stop = async {
        let pid = grandchild(&bench.path("started")).await;
        cancel.cancel();
        pid
    };
    let (result, pid) = tokio::join!(call, stop);
    assert!(result.is_error);
    assert_eq!(result.joined_text(), "Operation aborted");
    assert!(!is_alive(&pid));
}

#[tokio::test]
async fn what_a_program_leaves_in_the_background_ends_with_it() {
    let bench = Bench::new();
    let started = bench.path("started").display().to_string();
    let script = format!("sleep 30 & echo $! > {started}; echo done");
    let value = bench
        .ok(
            "run_process",
            json!({"command": "sh", "args": ["-c", script]}),
        )
        .await;
    assert_eq!(
        (&value["exitCode"], &value["stdout"]),
        (&json!(0), &json!("done\n"))
    );
    let pid = grandchild(&bench.path("started")).await;
    assert!(!is_alive(&pid));
}

#[tokio::test]
async fn limits_are_clamped() {
    let bench = Bench::new();
    let huge = json!({"command": "true", "timeoutMs": u64::MAX});
    assert_eq!(bench.ok("run_process", huge).await["exitCode"], 0);
    for (tool, arguments) in [
        ("run_process", json!({"command": ""})),
        ("read_text", json!({"path": "x", "offset": 0})),
        ("run_process", json!({"command": "true", "args": [{}]})),
    ] {
        let text = bench.fails(tool, arguments.clone()).await;
        assert!(text.contains("Validation failed"), "{arguments}: {text}");
    }
}

#[cfg(target_os = "linux")]
#[tokio::test]
async fn processes_are_confined_and_refusals_are_explained() {
    use pirn_sandbox::SandboxPolicy;
    let bench = Bench::with(|work| {
        let policy = SandboxPolicy::new(work, std::env::temp_dir());
        Some(Sandbox::prepare(policy).unwrap())
    });
    let run = |script: &str| json!({"command": "sh", "args": ["-c", script]});
    let value = bench.ok("run_process", run("echo x > inside")).await;
    assert_eq!(
        (&value["exitCode"], value.get("refused")),
        (&json!(0), None)
    );
    let value = bench
        .ok("run_process", run("echo x > /usr/pirn-eval-test"))
        .await;
    assert_ne!(value["exitCode"], 0);
    let refused = value["refused"][0].as_str().unwrap();
    assert!(
        refused.contains("/usr/pirn-eval-test") && refused.contains("sandbox.writeRoots"),
        "{refused}"
    );
    assert!(!Path::new("/usr/pirn-eval-test").exists());
}

#[tokio::test]
async fn what_processes_cannot_read_is_refused() {
    use pirn_sandbox::SandboxPolicy;
    let bench = Bench::with(|work| {
        let policy = SandboxPolicy::new(work, std::env::temp_dir());
        Some(Sandbox::on_demand(policy))
    });
    bench.put(".env", "secret");
    bench.put("keys/.env.d/a", "secret");
    bench.put("plain", "text");
    std::os::unix::fs::symlink(bench.path(".env"), bench.path("link")).unwrap();
    for (tool, path) in [
        ("read_text", ".env"),
        ("read_text", "link"),
        ("read_text", "keys/.env.d/a"),
        ("list_directory", "keys/.env.d"),
    ] {
        let text = bench.fails(tool, json!({"path": path})).await;
        assert!(text.contains("sandbox.unreadable"), "{tool} {path}: {text}");
    }
    let value = bench.ok("read_text", json!({"path": "plain"})).await;
    assert_eq!(value["text"], "text");
}
