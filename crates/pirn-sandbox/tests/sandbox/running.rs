//! Starting children, reading their output, waiting for their end.

use std::time::{Duration, Instant};

use pirn_sandbox::{Command, ErrorKind, ExitStatus, OutputMode, Stdin};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};

use crate::support::{PATIENCE, finish, run, shell};

#[tokio::test]
async fn reports_how_a_program_ended() {
    for (script, status, shell_code) in [
        ("true", ExitStatus::Code(0), 0),
        ("exit 3", ExitStatus::Code(3), 3),
        ("exit 255", ExitStatus::Code(255), 255),
        ("kill -9 $$", ExitStatus::Signal(9), 137),
        ("kill -TERM $$", ExitStatus::Signal(15), 143),
        ("kill -PIPE $$", ExitStatus::Signal(13), 141),
    ] {
        let (found, captured) = run(shell(script)).await;
        assert_eq!(found, status, "{script}");
        assert_eq!(found.shell_code(), Some(shell_code), "{script}");
        assert_eq!(captured.bytes, b"", "{script}");
    }
}

#[tokio::test]
async fn merges_both_outputs_in_order() {
    let script = "for i in 1 2 3 4 5; do echo out$i; echo err$i >&2; done";
    let (_, captured) = run(shell(script)).await;
    let wanted: String = (1..=5).map(|i| format!("out{i}\nerr{i}\n")).collect();
    assert_eq!(String::from_utf8(captured.bytes).unwrap(), wanted);
}

#[tokio::test]
async fn separates_both_outputs_on_request() {
    let mut child = shell("echo out; echo err >&2")
        .output_mode(OutputMode::Separate)
        .spawn()
        .unwrap();
    let mut errors = child.take_error_output().unwrap();
    let (_, captured) = finish(&mut child).await;
    assert_eq!(captured.bytes, b"out\n");
    assert_eq!(errors.read_bounded(100).await.unwrap().bytes, b"err\n");
}

#[tokio::test]
async fn gives_exactly_the_environment_directory_and_input_it_was_told() {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path().canonicalize().unwrap();
    let environment = Command::new("env")
        .env("PATH", "/usr/bin:/bin")
        .env("A", "1")
        .env("A", "two words")
        .current_dir(&folder);
    let (_, captured) = run(environment).await;
    let text = String::from_utf8(captured.bytes).unwrap();
    let mut lines: Vec<_> = text.lines().collect();
    lines.sort_unstable();
    assert_eq!(lines, ["A=two words", "PATH=/usr/bin:/bin"]);

    let (_, captured) = run(shell("pwd").current_dir(&folder)).await;
    assert_eq!(
        String::from_utf8(captured.bytes).unwrap().trim_end(),
        folder.to_str().unwrap()
    );

    let (_, captured) = run(shell("cat; echo end")).await;
    assert_eq!(captured.bytes, b"end\n");

    let (_, captured) = run(shell("cat; echo end").stdin(Stdin::Bytes(b"given ".to_vec()))).await;
    assert_eq!(captured.bytes, b"given end\n");
}

#[tokio::test]
async fn talks_both_ways_through_pipes() {
    let mut child = Command::new("/bin/cat")
        .stdin(Stdin::Piped)
        .spawn()
        .unwrap();
    let mut stdin = child.take_stdin().unwrap();
    let mut output = child.take_output().unwrap();
    for word in ["ping", "pong"] {
        stdin.write_all(word.as_bytes()).await.unwrap();
        let mut answer = [0; 4];
        output.read_exact(&mut answer).await.unwrap();
        assert_eq!(answer, word.as_bytes());
    }
    drop(stdin);
    assert_eq!(child.wait().await, ExitStatus::Code(0));
}

#[tokio::test]
async fn bounds_what_it_keeps() {
    let mut child = shell("head -c 1000000 /dev/zero").spawn().unwrap();
    let captured = child.take_output().unwrap().read_bounded(10).await.unwrap();
    assert_eq!(
        (captured.bytes.len(), captured.dropped_bytes),
        (10, 999_990)
    );
}

#[tokio::test]
async fn says_why_a_program_does_not_start() {
    let folder = tempfile::tempdir().unwrap();
    let plain = folder.path().join("plain");
    std::fs::write(&plain, "text").unwrap();
    let missing = folder.path().join("missing");
    for (command, kind, text) in [
        (
            Command::new("no-such-program").env("PATH", "/bin"),
            ErrorKind::ProgramNotFound,
            "no-such-program",
        ),
        (Command::new(&plain), ErrorKind::PermissionDenied, "plain"),
        (
            Command::new("/bin/true").current_dir(&missing),
            ErrorKind::WorkingDirectory,
            "missing",
        ),
        (
            Command::new("/bin/true").current_dir(&plain),
            ErrorKind::WorkingDirectory,
            "plain",
        ),
    ] {
        let error = command.spawn().unwrap_err();
        assert_eq!(error.kind(), kind, "{error}");
        assert!(error.to_string().contains(text), "{error}");
    }
}

#[tokio::test]
async fn reads_background_output_after_the_shell_has_ended() {
    let mut child = shell("(sleep 0.2; echo late) & echo early")
        .spawn()
        .unwrap();
    assert_eq!(child.wait().await, ExitStatus::Code(0));
    assert!(child.has_descendants());
    let (_, captured) = finish(&mut child).await;
    assert_eq!(captured.bytes, b"early\nlate\n");
    tokio::time::timeout(PATIENCE, child.wait_all())
        .await
        .unwrap();
    assert!(!child.has_descendants());
}

#[tokio::test]
async fn has_no_descendants_after_a_plain_command() {
    let mut child = shell("echo done").spawn().unwrap();
    finish(&mut child).await;
    assert!(!child.has_descendants());
}

#[tokio::test]
async fn terminates_in_order_and_kills_what_ignores_it() {
    let mut polite =
        shell("trap 'echo bye; exit 7' TERM; echo ready; while :; do sleep 0.05; done")
            .spawn()
            .unwrap();
    let mut output = polite.take_output().unwrap();
    let mut ready = [0; 6];
    output.read_exact(&mut ready).await.unwrap();
    assert_eq!(polite.terminate(PATIENCE).await, ExitStatus::Code(7));
    // The shell may also report what became of its sleep.
    assert!(
        output
            .read_bounded(100)
            .await
            .unwrap()
            .bytes
            .ends_with(b"bye\n")
    );

    let mut deaf = shell("trap '' TERM; echo ready; while :; do sleep 0.05; done")
        .spawn()
        .unwrap();
    let mut output = deaf.take_output().unwrap();
    output.read_exact(&mut ready).await.unwrap();
    let start = Instant::now();
    assert_eq!(
        deaf.terminate(Duration::from_millis(100)).await,
        ExitStatus::Signal(9)
    );
    assert!(start.elapsed() < Duration::from_secs(2));
    deaf.wait_all().await;
}

#[cfg(target_os = "linux")]
#[tokio::test]
async fn passes_only_three_descriptors() {
    // A descriptor that the standard library would let through.
    let leaked = std::fs::File::open("/dev/null").unwrap();
    let (_, plain) = run(Command::new("/bin/ls").arg("/proc/self/fd")).await;
    drop(leaked);
    // The fourth one is the folder being listed.
    assert_eq!(String::from_utf8(plain.bytes).unwrap(), "0\n1\n2\n3\n");
    let (_, targets) = run(shell("readlink /proc/self/fd/0")).await;
    assert_eq!(targets.bytes, b"/dev/null\n");
}

#[cfg(target_os = "linux")]
#[tokio::test]
async fn resets_signals() {
    let (_, captured) = run(shell("grep -E 'Sig(Blk|Ign)' /proc/self/status | cut -f2")).await;
    for line in String::from_utf8(captured.bytes).unwrap().lines() {
        // Signals 32 and 33 belong to the C library, which sets them up by itself.
        let signals = u64::from_str_radix(line, 16).unwrap() & !(0b11 << 31);
        assert_eq!(signals, 0, "{line}");
    }
}

#[test]
fn what_is_handed_over_goes_on_without_us() {
    let folder = tempfile::tempdir().unwrap();
    let runtime = || {
        tokio::runtime::Builder::new_current_thread()
            .enable_all()
            .build()
            .unwrap()
    };
    runtime().block_on(async {
        run(shell("mkfifo ask answer").current_dir(folder.path())).await;
        shell("read line < ask; echo \"$line $MARK\" > answer")
            .env("MARK", "mark")
            .current_dir(folder.path())
            .hand_over()
            .unwrap();
        let missing = Command::new("/no/such/program").hand_over().unwrap_err();
        assert_eq!(missing.kind(), ErrorKind::ProgramNotFound);
    });
    // The runtime is gone, and with it whatever it kept.
    runtime().block_on(async {
        let exchange = shell("echo hello > ask; cat answer").current_dir(folder.path());
        assert_eq!(run(exchange).await.1.bytes, b"hello mark\n");
    });
}
