//! How scripts end: deadlines, limits, Ctrl-C, and a killed Pirn.

use std::io::{BufRead as _, BufReader, Read as _};
use std::path::PathBuf;
use std::process::{Child, Stdio};
use std::thread;
use std::time::Duration;

use rustix::process::{Pid, Signal, kill_process};

use crate::place::Place;

pub(crate) fn start(place: &Place, arguments: &[&str]) -> Child {
    place
        .pirn(arguments)
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap()
}

pub(crate) fn interrupt(child: &Child) {
    kill_process(Pid::from_child(child), Signal::INT).unwrap();
}

/// A pipe with a name, which a command of a script holds open as long as it lives.
pub(crate) fn named_pipe(place: &Place) -> PathBuf {
    let path = place.path().join("pipe");
    assert!(
        place
            .program("mkfifo")
            .arg(&path)
            .status()
            .unwrap()
            .success()
    );
    path
}

/// A command that says that it runs, and then runs until it is killed, with a child and a grandchild in the background.
const ENDLESS: &str = "exec 3>pipe; (setsid sleep 600 &) ; sleep 600 & echo here >&3; wait";

#[test]
fn limits() {
    let place = Place::new();
    let cases: [(&[&str], &str, i32, &str); 5] = [
        (
            &["--timeout-ms", "200"],
            "await new Promise((done) => setTimeout(done, 60_000))",
            124,
            "timed out after 200 ms",
        ),
        (
            &["--timeout-ms", "200"],
            "for (;;);",
            124,
            "timed out after 200 ms",
        ),
        (
            &["--cpu-ms", "50"],
            "for (;;);",
            1,
            "50 ms of processor time",
        ),
        (
            &["--memory-mb", "16"],
            "const all = []; for (;;) all.push('x'.repeat(100_000) + all.length)",
            1,
            "out of memory",
        ),
        (
            &["--yes", "--timeout-ms", "200"],
            "await tools.bash({command: 'sleep 600'})",
            124,
            "cancelled    bash",
        ),
    ];
    for (flags, code, exit_code, text) in cases {
        let mut arguments = vec!["exec"];
        arguments.extend(flags);
        let code = format!("text('before'); {code}");
        arguments.extend(["-e", &code]);
        let run = place.run(&arguments);
        assert_eq!(
            (run.code, run.stdout.as_str()),
            (Some(exit_code), "before\n"),
            "{code} {run:#?}"
        );
        assert!(run.stderr.contains(text), "{code} {run:#?}");
    }
    assert_eq!(
        place
            .run(&["exec", "--memory-mb", "8", "-e", "return 1"])
            .good(),
        "1\n"
    );
    assert_eq!(
        place
            .run(&["exec", "--memory-mb", "2048", "-e", "return 1"])
            .good(),
        "1\n"
    );
}

#[test]
fn what_calls_did_is_listed_after_a_failure() {
    let place = Place::new();
    let code = "await tools.write({path: 'a', content: '1'}); await tools.ls({}); await tools.ls({}); \
                await tools.edit({path: 'none', edits: [{oldText: 'x', newText: 'y'}]}).catch(() => {}); \
                tools.bash({command: 'sleep 600'}); await tools.read({path: 'a'}); throw new Error('now')";
    let run = place.run(&["exec", "-q", "--yes", "-e", code]);
    assert_eq!(run.code, Some(1));
    let (_, listed) = run.stderr.split_once("\n\n").unwrap();
    assert_eq!(
        listed,
        "Calls before the failure; nothing is undone:\n  \
           took effect  write {\"path\":\"a\",\"content\":\"1\"}\n  \
           failed       edit {\"path\":\"none\",\"edits\":[{\"oldText\":\"x\",\"newText\":\"y\"}]}\n  \
           cancelled    bash {\"command\":\"sleep 600\"}\n  \
           3 calls that only read\n"
    );
}

#[test]
fn control_c_ends_a_computing_script() {
    let place = Place::new();
    let mut child = start(
        &place,
        &[
            "exec",
            "-e",
            "text('before'); console.log('here'); for (;;);",
        ],
    );
    let mut errors = BufReader::new(child.stderr.take().unwrap());
    let mut line = String::new();
    errors.read_line(&mut line).unwrap();
    assert_eq!(line, "here\n");
    interrupt(&child);
    let run = place.ended(child.wait_with_output().unwrap());
    assert_eq!((run.code, run.stdout.as_str()), (Some(130), "before\n"));
    line.clear();
    errors.read_to_string(&mut line).unwrap();
    assert!(line.starts_with("error: Interrupted"), "{line}");
}

#[test]
fn control_c_cancels_calls() {
    let place = Place::new();
    let pipe = named_pipe(&place);
    let code = format!("text('before'); await tools.bash({{command: {ENDLESS:?}}})");
    let child = start(&place, &["exec", "--yes", "-e", &code]);
    let mut pipe = BufReader::new(std::fs::File::open(pipe).unwrap());
    let mut line = String::new();
    pipe.read_line(&mut line).unwrap();
    interrupt(&child);
    let run = place.ended(child.wait_with_output().unwrap());
    assert_eq!(
        (run.code, run.stdout.as_str()),
        (Some(130), "before\n"),
        "{run:#?}"
    );
    assert!(run.stderr.contains("cancelled    bash"), "{run:#?}");
    // The pipe ends when its last holder is gone.
    assert_eq!(pipe.read_to_string(&mut line).unwrap(), 0);
}

#[test]
fn the_second_control_c_ends_at_once() {
    let place = Place::new();
    let pipe = named_pipe(&place);
    let stubborn = "trap '' TERM INT; exec 3>pipe; echo here >&3; while :; do sleep 600; done";
    let code = format!("text('before'); await tools.bash({{command: {stubborn:?}}})");
    let mut child = start(&place, &["exec", "-q", "--yes", "-e", &code]);
    let mut pipe = BufReader::new(std::fs::File::open(pipe).unwrap());
    let mut line = String::new();
    pipe.read_line(&mut line).unwrap();
    while child.try_wait().unwrap().is_none() {
        interrupt(&child);
        thread::sleep(Duration::from_millis(50)); // sleeps: signals at the same moment count as one
    }
    let run = place.ended(child.wait_with_output().unwrap());
    assert_eq!((run.code, run.stderr.as_str()), (Some(130), ""));
    assert_eq!(pipe.read_to_string(&mut line).unwrap(), 0);
}

#[test]
fn a_request_to_end_and_a_closed_terminal_leave_nothing() {
    for (signals, code) in [
        (&[Signal::TERM][..], Some(130)),
        (&[Signal::HUP], Some(130)),
        (
            &[Signal::HUP, Signal::HUP, Signal::TERM, Signal::TERM],
            Some(130),
        ),
    ] {
        let place = Place::new();
        let pipe = named_pipe(&place);
        // In the home folder, missing start-up files have stand-ins while a command runs.
        let script = format!("text('before'); await tools.bash({{command: {ENDLESS:?}}})");
        let before = names(&place.path());
        let child = place
            .pirn(&["exec", "-q", "--yes", "-e", &script])
            .env("HOME", place.path())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        let mut pipe = BufReader::new(std::fs::File::open(pipe).unwrap());
        let mut line = String::new();
        pipe.read_line(&mut line).unwrap();
        for signal in signals {
            // It may have ended after the first one.
            let _gone = kill_process(Pid::from_child(&child), *signal);
        }
        let run = place.ended(child.wait_with_output().unwrap());
        assert_eq!(
            (run.code, run.stdout.as_str()),
            (code, "before\n"),
            "{run:#?}"
        );
        assert_eq!(pipe.read_to_string(&mut line).unwrap(), 0);
        // Pirn's own folder stays; what it notes while commands run does not.
        let mut after = names(&place.path());
        after.retain(|name| name != ".pirn");
        assert_eq!(after, before, "{signals:?}");
        let mut notes = names(&place.path().join(".pirn/sandboxes"));
        // The lock for who looks.
        notes.retain(|name| name != "turn");
        assert_eq!(notes, [] as [std::ffi::OsString; 0], "{signals:?}");
    }
}

fn names(folder: &std::path::Path) -> Vec<std::ffi::OsString> {
    let mut names: Vec<_> = std::fs::read_dir(folder)
        .unwrap()
        .map(|entry| entry.unwrap().file_name())
        .collect();
    names.sort();
    names
}

#[test]
fn an_error_is_told_with_what_is_behind_it() {
    let place = Place::new();
    let cases: [(&str, &[&str]); 5] = [
        (
            "await Promise.any([tools.read({path: 'one'}), tools.read({path: 'two'})])",
            &[
                "AggregateError",
                "Error 1 of 2: Error: Could not read one",
                "Error 2 of 2: Error: Could not read two",
            ],
        ),
        (
            "try { await tools.read({path: 'one'}) } catch (cause) { throw new Error('no settings', {cause}) }",
            &["error: no settings", "Caused by: Error: Could not read one"],
        ),
        (
            "throw new Error('outer', {cause: new Error('middle', {cause: {code: 7}})})",
            &[
                "error: outer",
                "Caused by: Error: middle",
                "Caused by: {\"code\":7}",
            ],
        ),
        (
            "const round = new Error('round'); round.cause = round; throw round",
            &["error: round", "Caused by: Error: round"],
        ),
        (
            "throw {toString() { throw 1 }, get a() { throw 2 }}",
            &["error: The script threw a value that cannot be described"],
        ),
    ];
    for (script, texts) in cases {
        let run = place.run(&["exec", "-q", "-e", script]);
        assert_eq!(run.code, Some(1), "{run:#?}");
        for text in texts {
            assert!(run.stderr.contains(text), "{text}: {}", run.stderr);
        }
        let run = place.run(&["exec", "-q", "--layout", "items", "-e", script]);
        for text in &texts[1..] {
            assert!(
                format!("{}{}", run.stdout, run.stderr).contains(text),
                "{text}: {run:#?}"
            );
        }
    }
}

#[test]
fn a_big_integer_is_returned_as_it_is_shown() {
    let place = Place::new();
    for digits in [
        "5",
        "-5",
        "9007199254740993",
        "18446744073709551615",
        "123456789012345678901234567890",
    ] {
        let returned = place.run(&["exec", "-q", "-e", &format!("return {digits}n")]);
        let shown = place.run(&["exec", "-q", "-e", &format!("text({digits}n)")]);
        assert_eq!(returned.stdout.trim_end(), digits, "{returned:#?}");
        assert_eq!(shown.stdout.trim_end(), digits, "{shown:#?}");
    }
}

#[test]
fn nothing_outlives_a_killed_pirn() {
    let place = Place::new();
    let pipe = named_pipe(&place);
    let code = format!("await tools.bash({{command: {ENDLESS:?}}})");
    let mut child = start(&place, &["exec", "--yes", "-e", &code]);
    let mut pipe = BufReader::new(std::fs::File::open(pipe).unwrap());
    let mut line = String::new();
    pipe.read_line(&mut line).unwrap();
    assert_eq!(line, "here\n");
    child.kill().unwrap();
    assert_eq!(child.wait().unwrap().code(), None);
    assert_eq!(pipe.read_to_string(&mut line).unwrap(), 0);
}

#[test]
fn background_processes_end_with_the_script() {
    let place = Place::new();
    let pipe = named_pipe(&place);
    let code = "await tools.bash({command: 'exec 3>pipe; sleep 600 >/dev/null 2>&1 & echo here >&3'}); return 'done'";
    let child = start(&place, &["exec", "-q", "--yes", "-e", code]);
    let mut text = String::new();
    std::fs::File::open(pipe)
        .unwrap()
        .read_to_string(&mut text)
        .unwrap();
    assert_eq!(text, "here\n");
    assert_eq!(
        place.ended(child.wait_with_output().unwrap()).good(),
        "done\n"
    );
}
