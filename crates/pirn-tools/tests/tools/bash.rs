//! The tool `bash`, with commands that end and that do not.

use std::os::unix::fs::MetadataExt as _;
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use pirn_tool::{CallRequest, CallSettings, FailureKind, Origin, Update};
use serde_json::{Value, json};
use tokio_util::sync::CancellationToken;

use crate::support::{Bench, PATIENCE, names};

/// What is said when the shell has ended and others have not.
const HELD_OPEN: &str = "[The shell has ended, but background processes hold its output open: \"sleep 1000\". What they write from now on \
                         is lost: redirect it to a file.]";

/// The fields of what a script gets that do not depend on time.
async fn fields(bench: &Bench, arguments: Value) -> Value {
    let mut structured = bench.script_end("bash", arguments).await.unwrap();
    assert!(
        structured
            .as_object_mut()
            .unwrap()
            .remove("wall_time_seconds")
            .unwrap()
            .is_number()
    );
    structured
}

#[tokio::test]
async fn runs_commands() {
    let bench = Bench::new();
    for (command, is_error, text, output, exit_code) in [
        ("echo hi", false, "hi\n", "hi\n", 0),
        ("true", false, "(no output)", "", 0),
        (
            "echo out; echo err >&2; echo out",
            false,
            "out\nerr\nout\n",
            "out\nerr\nout\n",
            0,
        ),
        (
            "exit 3",
            true,
            "(no output)\n\nCommand exited with code 3",
            "",
            3,
        ),
        (
            "echo no; false",
            true,
            "no\n\nCommand exited with code 1",
            "no\n",
            1,
        ),
        (
            "kill -9 $$",
            true,
            "(no output)\n\nCommand exited with code 137",
            "",
            137,
        ),
        ("cat", false, "(no output)", "", 0),
        ("printf '\\377'", false, "\u{FFFD}", "\u{FFFD}", 0),
        ("[[ a == a ]] && echo bash", false, "bash\n", "bash\n", 0),
        (
            "env | grep -v -E '^(PWD|SHLVL|_|TERM|.*PAGER|.*EDITOR|VISUAL|.*PROMPT.*|.*_(INTERACTIVE|REQUIRE|INPUT|FRONTEND))='",
            false,
            "PATH=/usr/bin:/bin\n",
            "PATH=/usr/bin:/bin\n",
            0,
        ),
    ] {
        let result = bench.result("bash", json!({"command": command})).await;
        assert_eq!(
            (result.is_error, result.joined_text().as_str()),
            (is_error, text),
            "{command}"
        );
        let wanted = json!({"output": output, "exit_code": exit_code});
        let given = fields(&bench, json!({"command": command})).await;
        assert_eq!(given, wanted, "{command}");
    }
    let text = bench.ok("bash", json!({"command": "pwd"})).await;
    assert_eq!(
        text.trim_end(),
        bench.path("").to_str().unwrap().trim_end_matches('/')
    );
}

#[tokio::test]
async fn uses_the_shell_and_prefix_it_was_given() {
    let bench = Bench::with(|options| {
        options.shell = Some("/bin/sh".into());
        options.shell_command_prefix = Some("word=given".into());
    });
    assert_eq!(
        bench
            .ok(
                "bash",
                json!({"command": "echo $word ${BASH_VERSION-none}"})
            )
            .await,
        "given none\n"
    );
    let bench = Bench::with(|options| options.shell = Some("/no/such/shell".into()));
    assert_eq!(
        bench.fails("bash", json!({"command": "true"})).await,
        "Program not found: /no/such/shell"
    );
}

#[tokio::test]
async fn refuses_bad_timeouts_and_missing_folders() {
    let bench = Bench::new();
    for timeout in [json!(0), json!(-1), json!(60_000)] {
        let text = bench
            .fails("bash", json!({"command": "true", "timeout": timeout}))
            .await;
        assert!(
            text.contains("timeout: ") && text.contains("Seconds until the command is stopped"),
            "{text}"
        );
    }
    let bench = Bench::with(|options| options.cwd = "/no/such/folder".into());
    assert_eq!(
        bench.fails("bash", json!({"command": "true"})).await,
        "Working directory does not exist: /no/such/folder\nCommands cannot run until it is back."
    );
}

#[tokio::test]
async fn cuts_long_output_and_keeps_all_of_it() {
    let bench = Bench::new();
    for (command, start, notice, total_bytes) in [
        (
            "seq 3000",
            "1001\n",
            "[Showing lines 1001-3000 of 3000. Full output: ",
            13_893,
        ),
        ("seq 2000", "1\n", "", 0),
        (
            "seq 2001; exit 4",
            "2\n",
            "[Showing lines 2-2001 of 2001. Full output: ",
            8_898,
        ),
        (
            "for i in {1..10}; do head -c 9999 /dev/zero | tr '\\0' x; echo; done",
            "xxx",
            "[Showing lines 6-10 of 10 (50.0KB limit). Full output: ",
            100_000,
        ),
        (
            "echo a; head -c 100000 /dev/zero | tr '\\0' x",
            "xxx",
            "[Showing last 50.0KB of line 2 (line is 97.7KB). Full output: ",
            100_002,
        ),
    ] {
        let result = bench.result("bash", json!({"command": command})).await;
        let text = result.joined_text();
        assert!(text.starts_with(start), "{command}: {text}");
        assert!(
            text.contains(notice),
            "{command}: {}",
            text.get(text.len() - 200..).unwrap()
        );
        let place = text.split("Full output: ").nth(1);
        let Some(path) = place.and_then(|rest| rest.split(']').next()) else {
            assert_eq!(notice, "", "{command}");
            continue;
        };
        let metadata = std::fs::metadata(path).unwrap();
        assert_eq!(
            (metadata.len(), metadata.mode() & 0o777),
            (total_bytes, 0o600),
            "{command}"
        );
        let name = std::path::Path::new(path).file_name().unwrap();
        let name = name.to_str().unwrap();
        let hex = name
            .strip_prefix("pirn-bash-")
            .unwrap()
            .strip_suffix(".log")
            .unwrap();
        assert!(
            hex.len() == 16 && u64::from_str_radix(hex, 16).is_ok(),
            "{name}"
        );
        let given = fields(&bench, json!({"command": command})).await;
        assert_eq!(
            given["output"].as_str().unwrap().len() as u64,
            total_bytes,
            "{command}"
        );
    }
    // None for scripts, which get all of it.
    assert_eq!(names(&bench.beside("tmp")).len(), 4);
}

#[tokio::test]
async fn scripts_get_all_of_the_output_or_none() {
    let bench = Bench::new();
    let command = "echo start; head -c 3000000 /dev/zero | tr '\\0' x; echo; echo end";
    let output = fields(&bench, json!({"command": command})).await["output"].clone();
    let output = output.as_str().unwrap();
    assert_eq!(output.len(), 3_000_011);
    assert!(output.starts_with("start\nxxx") && output.ends_with("xxx\nend\n"));

    let command = "head -c 17000000 /dev/zero | tr '\\0' x; exit 3";
    let request = CallRequest::new("1", "bash", json!({"command": command}));
    let outcome = bench.pipeline.call(request.origin(Origin::Nested)).await;
    assert_eq!(outcome.failure, Some(FailureKind::Limit));
    let text = outcome.result.joined_text();
    assert!(
        text.starts_with("The output has 16.2MB, more than 16.0MB"),
        "{text}"
    );
    assert!(text.ends_with("Command exited with code 3"), "{text}");
    let path = text
        .split(" is in ")
        .nth(1)
        .unwrap()
        .split(": ")
        .next()
        .unwrap();
    assert_eq!(std::fs::metadata(path).unwrap().len(), 17_000_000);
}

#[tokio::test]
async fn a_command_runs_where_the_call_says() {
    let bench = Bench::new();
    bench.put("sub/deep/f", "");
    for cwd in ["sub", "./sub/deep/..", bench.path("sub").to_str().unwrap()] {
        let text = bench
            .ok("bash", json!({"command": "basename $PWD; ls", "cwd": cwd}))
            .await;
        assert_eq!(text, "sub\ndeep\n", "{cwd}");
    }
    for (cwd, reason) in [
        ("subs", "The closest name that exists is \"sub\""),
        ("sub/deep/f", "ENOTDIR"),
    ] {
        let text = bench
            .fails("bash", json!({"command": "touch made", "cwd": cwd}))
            .await;
        assert!(
            text.starts_with("Could not run in ") && text.contains(reason),
            "{text}"
        );
    }
    assert!(!bench.path("made").exists());
}

#[tokio::test]
async fn stops_after_the_timeout_with_what_there_was() {
    let bench = Bench::new();
    let start = Instant::now();
    let command = "echo before; trap 'echo cleanup; exit 1' TERM; sleep 1000 & wait; echo after";
    let result = bench
        .result("bash", json!({"command": command, "timeout": 0.3}))
        .await;
    assert!(start.elapsed() < Duration::from_secs(3));
    assert!(result.is_error);
    assert_eq!(
        result.joined_text(),
        "before\ncleanup\n\nCommand timed out after 0.3 seconds"
    );
    let wanted = json!({"output": "before\ncleanup\n", "exit_code": null});
    let given = fields(&bench, json!({"command": command, "timeout": 0.3})).await;
    assert_eq!(given, wanted);

    let command = "trap '' TERM; echo deaf; while :; do sleep 0.05; done";
    let result = bench
        .result("bash", json!({"command": command, "timeout": 0.3}))
        .await;
    assert!(
        result
            .joined_text()
            .ends_with("Command timed out after 0.3 seconds")
    );

    let command = "(while :; do echo noise; sleep 0.02; done) & exit 0";
    let result = bench
        .result("bash", json!({"command": command, "timeout": 2}))
        .await;
    assert!(
        result.joined_text().contains("The shell itself had ended"),
        "{}",
        result.joined_text()
    );
}

#[tokio::test]
async fn aborts() {
    let bench = Bench::new();
    let cancel = CancellationToken::new();
    let request = CallRequest::new(
        "1",
        "bash",
        json!({"command": "echo begun; exec sleep 1000"}),
    )
    .cancel(cancel.clone());
    let call = bench.pipeline.call(request);
    tokio::pin!(call);
    tokio::time::timeout(Duration::from_millis(300), &mut call)
        .await
        .unwrap_err();
    cancel.cancel();
    let outcome = tokio::time::timeout(Duration::from_secs(3), call)
        .await
        .unwrap();
    assert_eq!(outcome.failure, Some(FailureKind::Cancelled));
    assert_eq!(outcome.result.joined_text(), "begun\n\nCommand aborted");
}

#[tokio::test]
async fn keeps_late_output_and_does_not_wait_for_silent_jobs() {
    let bench = Bench::new();
    let start = Instant::now();
    assert_eq!(
        bench
            .ok(
                "bash",
                json!({"command": "(sleep 0.05; echo late) & echo early"})
            )
            .await,
        "early\nlate\n"
    );
    assert_eq!(
        bench
            .ok("bash", json!({"command": "sleep 1000 & echo started"}))
            .await,
        format!("started\n\n{HELD_OPEN}")
    );
    let command = "echo one > >(sleep 0.4; cat)";
    assert_eq!(bench.ok("bash", json!({"command": command})).await, "one\n");
    let command = "(sleep 1000 &) ; echo one; exit 3";
    let result = bench.result("bash", json!({"command": command})).await;
    assert_eq!(
        result.joined_text(),
        format!("one\n\n{HELD_OPEN}\n\nCommand exited with code 3")
    );
    let structured = fields(&bench, json!({"command": command})).await;
    assert_eq!(structured.get("output"), Some(&json!("one\n")));
    assert_eq!(structured.get("output_held_open"), Some(&json!(true)));
    assert_eq!(structured.get("held_open_by"), Some(&json!(["sleep 1000"])));

    assert!(
        start.elapsed() < Duration::from_secs(8),
        "{:?}",
        start.elapsed()
    );
}

#[tokio::test]
async fn nobody_is_waited_for() {
    let bench = Bench::with(|options| {
        let path = options.environment.clone();
        options.environment = path
            .into_iter()
            .chain(
                [
                    ("EDITOR", "vi"),
                    ("TERM", "xterm"),
                    ("PAGER", "less"),
                    ("VISUAL", "true"),
                ]
                .map(|(name, value)| (name.into(), value.into())),
            )
            .collect();
    });
    let start = Instant::now();
    for (command, status, text) in [
        ("exec 3</dev/tty && echo opened", false, "/dev/tty"),
        ("$EDITOR file", false, ""),
        (
            "sh -c \"$GIT_EDITOR \\\"\\$@\\\"\" editor file",
            false,
            "No editor: nobody is there to type.",
        ),
        ("sh -c \"$VISUAL file\"", true, ""),
        ("echo $TERM; echo text | $PAGER", true, "dumb\ntext"),
        ("read -r line || echo nothing", true, "nothing"),
        (
            "git init -q . && git -c user.name=a -c user.email=b commit --allow-empty",
            false,
            "git commit -m",
        ),
    ] {
        let result = bench.result("bash", json!({"command": command})).await;
        let shown = result.joined_text();
        assert_eq!(result.is_error, !status, "{command}: {shown}");
        assert!(shown.contains(text), "{command}: {shown}");
    }
    assert!(start.elapsed() < Duration::from_secs(10));
}

#[tokio::test]
async fn a_call_can_bring_variables() {
    let bench = Bench::new();
    let settings = CallSettings {
        environment: vec![
            ("GIT_EDITOR".into(), "mine".into()),
            ("MORE".into(), "1".into()),
        ],
        ..CallSettings::default()
    };
    let command = json!({"command": "echo $GIT_EDITOR $MORE $PATH"});
    let request = CallRequest::new("1", "bash", command).settings(settings.into());
    let outcome = bench.pipeline.call(request).await;
    assert_eq!(outcome.result.joined_text(), "mine 1 /usr/bin:/bin\n");
}

#[tokio::test]
async fn a_command_without_a_timeout_has_the_default_one() {
    let bench = Bench::with(|options| options.command_timeout = Some(Duration::from_secs(2)));
    assert_eq!(
        bench
            .fails("bash", json!({"command": "echo begun; sleep 1000"}))
            .await,
        "begun\n\nCommand timed out after 2 seconds, the default. Give timeout (in seconds) for more"
    );
    assert_eq!(
        bench
            .ok(
                "bash",
                json!({"command": "sleep 0.6; echo done", "timeout": 20})
            )
            .await,
        "done\n"
    );
}

#[tokio::test]
async fn commands_of_any_length_run() {
    let bench = Bench::new();
    for length in [1_000, 131_000, 131_071, 131_072, 3_000_000] {
        let start = "cat <<'END' | wc -c; echo $# $0; exit 7\n";
        let end = "\nEND\n";
        let text = "x".repeat(length - start.len() - end.len());
        let command = format!("{start}{text}{end}");
        assert_eq!(command.len(), length);
        let result = bench.result("bash", json!({"command": command})).await;
        assert_eq!(
            result.joined_text(),
            format!(
                "{}\n0 /bin/bash\n\nCommand exited with code 7",
                text.len() + 1
            )
        );
    }
    assert_eq!(names(&bench.beside("tmp")), [""; 0]);
}

#[tokio::test]
async fn a_noisy_job_does_not_hang_the_call() {
    let bench = Bench::new();
    let start = Instant::now();
    let command = "(while :; do echo noise; sleep 0.02; done) & exit 0";
    let text = bench.ok("bash", json!({"command": command})).await;
    assert!(text.starts_with("noise\n"));
    assert!(
        start.elapsed() < Duration::from_secs(8),
        "{:?}",
        start.elapsed()
    );
}

#[tokio::test]
async fn background_jobs_live_until_their_owner_ends() {
    let bench = Bench::new();
    let lifetime = CancellationToken::new();
    let command = "setsid sh -c 'echo $$ > pid; sleep 0.3; while :; do echo x; sleep 0.01; done' & \
                   until [ -s pid ]; do sleep 0.01; done";
    let mut request = CallRequest::new("1", "bash", json!({"command": command}));
    request.lifetime = lifetime.clone();
    let outcome = bench.pipeline.call(request).await;
    assert!(!outcome.result.is_error, "{}", outcome.result.joined_text());
    let process = format!("/proc/{}", bench.get("pid").trim());
    // It starts writing only now, and a closed pipe would kill it.
    tokio::time::sleep(Duration::from_millis(600)).await; // sleeps: the job has to outlive a span of time
    assert!(std::fs::exists(&process).unwrap());
    lifetime.cancel();
    let gone = async {
        while std::fs::exists(&process).unwrap() {
            tokio::time::sleep(Duration::from_millis(10)).await; // sleeps: no event tells of the end of a stranger
        }
    };
    tokio::time::timeout(PATIENCE, gone).await.unwrap();
}

#[tokio::test]
async fn reports_progress() {
    let bench = Bench::new();
    let updates = Arc::new(Mutex::new(Vec::new()));
    let mut request = CallRequest::new(
        "1",
        "bash",
        json!({"command": "echo one; sleep 0.4; echo two; sleep 0.4; seq 1000"}),
    );
    request.updates = Some(Arc::new({
        let updates = Arc::clone(&updates);
        move |update: Update| updates.lock().unwrap().push(update.text)
    }));
    bench.pipeline.call(request).await;
    let updates = updates.lock().unwrap();
    assert_eq!(updates.first().map(String::as_str), Some("one\n"));
    assert!(updates.contains(&"one\ntwo\n".to_owned()), "{updates:?}");
    assert!(updates.len() <= 10, "{}", updates.len());
}

#[tokio::test(flavor = "multi_thread")]
async fn many_commands_run_side_by_side() {
    let bench = Bench::new();
    let calls = (0..32).map(|n| {
        let bench = &bench;
        async move {
            let command = format!("echo {n}; sleep 1");
            assert_eq!(
                bench.ok("bash", json!({"command": command})).await,
                format!("{n}\n")
            );
        }
    });
    let start = Instant::now();
    futures_util::future::join_all(calls).await;
    // One after the other they would take 32 s.
    assert!(
        start.elapsed() < Duration::from_secs(16),
        "{:?}",
        start.elapsed()
    );
}
