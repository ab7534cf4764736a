//! From the start to the end of confined children.

use std::io::BufRead as _;
use std::os::fd::OwnedFd;
use std::process::Stdio;
use std::time::Duration;

use pirn_sandbox::{Command, ErrorKind, ExitStatus, Level, OutputMode, Stdin};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio_util::sync::CancellationToken;

use super::{Place, also_as_ordinary_user, levels};
use crate::support::{PATIENCE, finish, marker, run, shell, wait_for_marked};

/// How soon everything must be gone.
const GONE_WITHIN: Duration = Duration::from_secs(2);

/// Leaves three processes: a background job, a daemon in its own session, and one forked twice.
const DAEMONS: &str =
    "sleep 1000 & setsid sleep 1001 & (setsid sh -c 'setsid sleep 1002 & exit' &) ; ";

#[tokio::test]
async fn reports_how_a_program_ended() {
    also_as_ordinary_user("confined::life::reports_how_a_program_ended");
    let place = Place::new();
    for level in levels() {
        let sandbox = place.sandbox(*level);
        for (script, status) in [
            ("true", ExitStatus::Code(0)),
            ("exit 3", ExitStatus::Code(3)),
            ("exit 255", ExitStatus::Code(255)),
            ("kill -9 $$", ExitStatus::Signal(9)),
            ("kill -TERM $$", ExitStatus::Signal(15)),
            ("kill -PIPE $$", ExitStatus::Signal(13)),
        ] {
            let (found, text) = place.run(&sandbox, script).await;
            assert_eq!((found, text.as_str()), (status, ""), "{level:?} {script}");
        }
    }
}

#[tokio::test]
async fn passes_environment_directory_input_and_output() {
    also_as_ordinary_user("confined::life::passes_environment_directory_input_and_output");
    let place = Place::new();
    std::fs::create_dir(place.work.join("inner")).unwrap();
    for level in levels() {
        let sandbox = place.sandbox(*level);
        let work = place.work.display();
        place
            .check(
                &sandbox,
                "pwd; echo $HOME",
                &format!("{work}\n{}\n", place.home.display()),
            )
            .await;
        let inner = place.shell(&sandbox, "pwd").current_dir("inner");
        assert_eq!(
            run(inner).await.1.bytes,
            format!("{work}/inner\n").as_bytes()
        );
        let variables = Command::new("env")
            .env("PATH", "/usr/bin:/bin")
            .env("A", "two words");
        let (_, captured) = run(variables.sandbox(&sandbox)).await;
        let temp = sandbox.private_temp().unwrap().unwrap().display();
        assert_eq!(
            String::from_utf8(captured.bytes).unwrap(),
            format!("A=two words\nPATH=/usr/bin:/bin\nTMPDIR={temp}\n")
        );
        let input = place
            .shell(&sandbox, "cat; echo end")
            .stdin(Stdin::Bytes(b"given ".to_vec()));
        assert_eq!(run(input).await.1.bytes, b"given end\n");
        let large = place.shell(&sandbox, "head -c 8000000 /dev/zero");
        let mut child = large.spawn().unwrap();
        let captured = child.take_output().unwrap().read_bounded(10).await.unwrap();
        assert_eq!(captured.dropped_bytes, 7_999_990);
        let mut child = place
            .shell(&sandbox, "echo out; echo err >&2")
            .output_mode(OutputMode::Separate)
            .spawn()
            .unwrap();
        let mut errors = child.take_error_output().unwrap();
        assert_eq!(finish(&mut child).await.1.bytes, b"out\n");
        assert_eq!(errors.read_bounded(100).await.unwrap().bytes, b"err\n");
    }
}

#[tokio::test]
async fn talks_both_ways_through_pipes() {
    let place = Place::new();
    for level in levels() {
        let sandbox = place.sandbox(*level);
        let mut child = Command::new("/bin/cat")
            .stdin(Stdin::Piped)
            .sandbox(&sandbox)
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
}

#[tokio::test]
async fn says_why_a_program_does_not_start() {
    also_as_ordinary_user("confined::life::says_why_a_program_does_not_start");
    let place = Place::new();
    let plain = place.work.join("plain");
    std::fs::write(&plain, "text").unwrap();
    let hidden = place.folder.path().join("hidden");
    std::fs::copy("/bin/true", &hidden).unwrap();
    let missing = place.work.join("missing");
    for level in levels() {
        let sandbox = place.sandbox(*level);
        for (command, kind, text) in [
            (
                Command::new("no-such-program").env("PATH", "/bin"),
                ErrorKind::ProgramNotFound,
                "no-such-program",
            ),
            (Command::new(&plain), ErrorKind::PermissionDenied, "plain"),
            (
                Command::new(&hidden),
                if *level == Level::Basic {
                    ErrorKind::PermissionDenied
                } else {
                    ErrorKind::ProgramNotFound
                },
                "hidden",
            ),
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
            let error = command.sandbox(&sandbox).spawn().unwrap_err();
            assert_eq!(error.kind(), kind, "{level:?}: {error}");
            assert!(error.to_string().contains(text), "{level:?}: {error}");
        }
    }
}

#[tokio::test]
async fn background_processes_live_until_their_time_is_over() {
    let place = Place::new();
    for level in levels() {
        let sandbox = place.sandbox(*level);
        let mark = marker();
        let child = place
            .shell(&sandbox, &format!("{DAEMONS} exit 4"))
            .env("MARK", &mark)
            .spawn()
            .unwrap();
        assert_eq!(child.wait().await, ExitStatus::Code(4));
        assert!(child.has_descendants());
        let lifetime = CancellationToken::new();
        child.detach_to(lifetime.clone());
        wait_for_marked(&mark, 3, PATIENCE).await;
        lifetime.cancel();
        wait_for_marked(&mark, 0, GONE_WITHIN).await;
    }
}

#[tokio::test]
async fn everything_dies_when_dropped_or_killed() {
    also_as_ordinary_user("confined::life::everything_dies_when_dropped_or_killed");
    let place = Place::new();
    for level in levels() {
        let sandbox = place.sandbox(*level);
        let mark = marker();
        let script = format!("{DAEMONS} sleep 1003");
        let start = || {
            place
                .shell(&sandbox, &script)
                .env("MARK", &mark)
                .spawn()
                .unwrap()
        };
        let child = start();
        wait_for_marked(&mark, 5, PATIENCE).await;
        drop(child);
        wait_for_marked(&mark, 0, GONE_WITHIN).await;
        let child = start();
        wait_for_marked(&mark, 5, PATIENCE).await;
        assert_eq!(child.kill_all().await, ExitStatus::Signal(9));
        wait_for_marked(&mark, 0, Duration::ZERO).await;
        for _attempt in 0..5 {
            let child = start();
            let end = tokio::time::timeout(GONE_WITHIN, child.kill_all()).await;
            assert_eq!(end.unwrap(), ExitStatus::Signal(9));
        }
        wait_for_marked(&mark, 0, GONE_WITHIN).await;
    }
}

#[tokio::test]
async fn terminates_in_order_and_interrupts() {
    let place = Place::new();
    let script = "trap 'echo bye; exit 7' TERM; trap 'echo again' INT; echo ready; \
                  while :; do sleep 0.05; done";
    let mut commands = vec![shell(script)];
    for level in levels() {
        commands.push(place.shell(&place.sandbox(*level), script));
    }
    for command in commands {
        let mut child = command.spawn().unwrap();
        let mut output = child.take_output().unwrap();
        let mut word = [0; 6];
        output.read_exact(&mut word).await.unwrap();
        child.interrupt();
        output.read_exact(&mut word).await.unwrap();
        assert_eq!(&word, b"again\n");
        assert_eq!(child.terminate(PATIENCE).await, ExitStatus::Code(7));
        let rest = output.read_bounded(100).await.unwrap();
        assert!(rest.bytes.ends_with(b"bye\n"));
    }
}

#[tokio::test]
async fn passes_descriptors_in_their_order() {
    let place = Place::new();
    let list = "cat <&3; cat <&4; cat <&5; ls /proc/self/fd";
    let mut commands = vec![shell(list)];
    for level in levels() {
        commands.push(place.shell(&place.sandbox(*level), list));
    }
    for mut command in commands {
        for text in ["one\n", "two\n", "three\n"] {
            let (reader, mut writer) = std::io::pipe().unwrap();
            std::io::Write::write_all(&mut writer, text.as_bytes()).unwrap();
            command = command.descriptor(OwnedFd::from(reader));
        }
        let (status, captured) = run(command).await;
        // The last number is the folder being listed.
        let wanted = "one\ntwo\nthree\n0\n1\n2\n3\n4\n5\n6\n";
        assert_eq!(String::from_utf8(captured.bytes).unwrap(), wanted);
        assert_eq!(status, ExitStatus::Code(0));
    }
    let missing = Command::new("/no/such/program")
        .descriptor(OwnedFd::from(std::fs::File::open("/dev/null").unwrap()))
        .spawn();
    assert_eq!(missing.unwrap_err().kind(), ErrorKind::ProgramNotFound);
}

/// The variable that turns [`victim`] into a process that starts daemons and waits to be killed.
const VICTIM_MARK: &str = "PIRN_SANDBOX_TEST_CONFINED_VICTIM";

#[tokio::test]
async fn nothing_survives_the_owner() {
    also_as_ordinary_user("confined::life::nothing_survives_the_owner");
    let mark = marker();
    let mut victim = std::process::Command::new(std::env::current_exe().unwrap())
        .args(["--exact", "confined::life::victim", "--nocapture"])
        .env(VICTIM_MARK, &mark)
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let mut lines = std::io::BufReader::new(victim.stdout.take().unwrap()).lines();
    assert!(lines.any(|line| line.unwrap().contains("victim is ready")));
    wait_for_marked(&mark, 5 * levels().len(), PATIENCE).await;
    victim.kill().unwrap();
    victim.wait().unwrap();
    wait_for_marked(&mark, 0, GONE_WITHIN).await;
}

/// Not a test by itself: the process that [`nothing_survives_the_owner`] kills.
#[tokio::test]
async fn victim() {
    let Ok(mark) = std::env::var(VICTIM_MARK) else {
        return;
    };
    let place = Place::new();
    let children: Vec<_> = levels()
        .iter()
        .map(|level| {
            place
                .shell(&place.sandbox(*level), &format!("{DAEMONS} sleep 1004"))
                .env("MARK", &mark)
                .spawn()
                .unwrap()
        })
        .collect();
    println!("victim is ready");
    tokio::time::sleep(Duration::from_mins(1)).await; // sleeps: lives until it is killed
    drop(children);
}
