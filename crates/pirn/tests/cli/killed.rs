//! Conversations whose process is killed, and disks that do not take what is said.

use std::collections::BTreeSet;
use std::io::Read as _;
use std::path::PathBuf;
use std::process::Stdio;
use std::time::{Duration, Instant};

use pirn_model::Message;
use pirn_session::EntryBody;
use pirn_testkit::{calls, says};
use serde_json::{Value, json};

use crate::desk::Desk;

/// Kills in an ordinary run of the tests; `PIRN_KILLS` names another number, such as 1000.
const KILLS: u64 = 12;

/// Numbers that look random and are the same in every run.
struct Numbers(u64);

impl Numbers {
    fn below(&mut self, bound: u64) -> u64 {
        self.0 = self
            .0
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) % bound.max(1)
    }
}

/// The only session's file, once there is one.
fn file(desk: &Desk) -> Option<PathBuf> {
    let sessions = desk.place.pirn_home().join("sessions");
    let folders = std::fs::read_dir(sessions).into_iter().flatten().flatten();
    let files = folders
        .filter(|folder| folder.path().is_dir())
        .flat_map(|folder| std::fs::read_dir(folder.path()).unwrap().flatten());
    let files: Vec<PathBuf> = files.map(|file| file.path()).collect();
    assert!(files.len() <= 1, "{files:?}");
    files.into_iter().next()
}

/// The messages that were told as complete: they have to be in the file from then on.
fn acknowledged(output: &str) -> Vec<Value> {
    let whole = output
        .split_inclusive('\n')
        .filter(|line| line.ends_with('\n'));
    whole
        .map(|line| serde_json::from_str::<Value>(line).unwrap())
        .filter(|line| line["type"] == "message_end")
        .map(|line| line["message"].clone())
        .collect()
}

/// Checks that the file has all of these, and no second answer to any call.
fn check(desk: &Desk, wanted: &[Value]) {
    let Some(file) = file(desk) else {
        assert!(wanted.is_empty(), "{wanted:?}");
        return;
    };
    let loaded = pirn_session::load(&file).unwrap();
    let kept: BTreeSet<String> = loaded
        .tree
        .entries()
        .iter()
        .filter_map(|entry| match &entry.body {
            EntryBody::Message { message } => Some(json!(message).to_string()),
            _ => None,
        })
        .collect();
    for message in wanted {
        assert!(kept.contains(&message.to_string()), "lost: {message}");
    }
}

/// Whether each call of a request has its result right behind it.
fn is_valid(request: &Value) -> bool {
    let mut open: Vec<&Value> = Vec::new();
    for message in request["messages"].as_array().unwrap() {
        if message["role"] == "tool" {
            let Some(place) = open.iter().position(|id| **id == message["tool_call_id"]) else {
                return false;
            };
            open.remove(place);
        } else if !open.is_empty() {
            return false;
        }
        let calls = message["tool_calls"].as_array();
        open.extend(calls.into_iter().flatten().map(|call| &call["id"]));
    }
    open.is_empty()
}

#[test]
fn whatever_is_killed_when_nothing_that_was_told_is_lost() {
    let kills = std::env::var("PIRN_KILLS").ok();
    let kills = kills.map_or(KILLS, |number| number.parse().unwrap());
    let turn = || {
        [
            calls(&[
                ("1", "bash", json!({"command": "echo one"})),
                ("2", "write", json!({"path": "a.txt", "content": "a"})),
            ]),
            calls(&[(
                "3",
                "exec",
                json!({"code": "return await tools.bash({command: 'echo two'})"}),
            )]),
            says("Done."),
        ]
    };
    let desk = Desk::new((0..kills + 2).flat_map(|_| turn()).collect());
    let say = ["-p", "--mode", "json", "--continue", "Go on"];
    let started = Instant::now();
    let first = desk.run(&say);
    let whole_ms = u64::try_from(started.elapsed().as_millis()).unwrap();
    let mut wanted = acknowledged(&first.good());
    assert!(wanted.len() >= 6, "{wanted:#?}");
    let mut numbers = Numbers(41);
    for _ in 0..kills {
        let mut child = desk
            .command(&say)
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        let mut stdout = child.stdout.take().unwrap();
        let reader = std::thread::spawn(move || {
            let mut told = Vec::new();
            stdout.read_to_end(&mut told).unwrap();
            String::from_utf8(told).unwrap()
        });
        // A moment somewhere in the run is what is tested here, whichever it is.
        let deadline = Duration::from_millis(numbers.below(whole_ms + whole_ms / 8));
        std::thread::park_timeout(deadline);
        child.kill().unwrap();
        child.wait().unwrap();
        wanted.extend(acknowledged(&reader.join().unwrap()));
        check(&desk, &wanted);
    }
    // The next turn works, and every call has one result, those that were cut off among them.
    let last = desk.run(&say);
    wanted.extend(acknowledged(&last.good()));
    check(&desk, &wanted);
    for request in desk.requests() {
        assert!(is_valid(&request), "{request:#}");
    }
    let loaded = pirn_session::load(&file(&desk).unwrap()).unwrap();
    let messages = loaded.tree.context().messages;
    let mut open = BTreeSet::new();
    for message in &messages {
        match message {
            Message::Assistant(reply) => {
                assert!(open.is_empty(), "a call without a result: {open:?}");
                open.extend(reply.tool_calls().map(|call| call.id.clone()));
            }
            Message::ToolResult(result) => {
                assert!(open.remove(&result.tool_call_id), "a result without a call");
            }
            _ => {}
        }
    }
}

/// Demand: two writers; the second one is refused, and told who the first one is.
#[test]
fn a_session_in_use_is_refused_by_a_second_process_and_free_after_a_kill() {
    use pirn_testkit::{Act, begun, event};
    let mut endless = begun();
    endless.push(event(json!({"content": "Once upon"}), None));
    endless.push(Act::Never);
    let desk = Desk::new(vec![endless, says("Free.")]);
    let mut first = desk
        .command(&["-p", "--mode", "json", "One"])
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let mut output = std::io::BufReader::new(first.stdout.take().unwrap());
    let mut line = String::new();
    while !line.contains("text_delta") {
        line.clear();
        assert_ne!(
            std::io::BufRead::read_line(&mut output, &mut line).unwrap(),
            0
        );
    }
    let path = file(&desk).unwrap();
    let before = std::fs::read(&path).unwrap();
    let second = ["-p", "--session", path.to_str().unwrap(), "Two"];
    let refused = desk.run(&second);
    assert_ne!(refused.code, Some(0), "{refused:#?}");
    assert!(
        refused.stderr.contains(&first.id().to_string()),
        "{refused:#?}"
    );
    assert_eq!(std::fs::read(&path).unwrap(), before);
    first.kill().unwrap();
    first.wait().unwrap();
    assert_eq!(desk.run(&second).good(), "Free.\n");
}

#[test]
fn a_home_that_cannot_be_written_is_told_before_the_model_is_asked() {
    let desk = Desk::new(vec![says("Unheard."), says("Heard.")]);
    // A file in place of the folder cannot be written by anybody, not even by root.
    std::fs::write(desk.place.pirn_home().join("sessions"), "in the way").unwrap();
    let run = desk.run(&["-p", "Hello"]);
    assert_eq!(run.code, Some(1), "{run:#?}");
    assert!(
        run.stderr.contains("the session cannot be kept"),
        "{run:#?}"
    );
    assert!(desk.requests().is_empty());
    assert_eq!(
        std::fs::read_to_string(desk.place.pirn_home().join("sessions")).unwrap(),
        "in the way"
    );
    assert_eq!(desk.run(&["-p", "--no-session", "Hello"]).code, Some(0));
}

/// A full disk: the entry that did not fit is no part of the session, and what was there stays.
#[test]
fn a_full_disk_is_told_and_nothing_is_overwritten() {
    // Without privileges there is no small disk to fill.
    let Some(disk) = SmallDisk::mount() else {
        return;
    };
    let desk = Desk::new(vec![says("One."), says("Two."), says("Three.")]);
    let sessions = disk.path.to_str().unwrap();
    let flags = ["-p", "--session-dir", sessions, "--continue"];
    let run = |message: &str| desk.run(&[&flags[..], &[message]].concat());
    assert_eq!(run("Hello").good(), "One.\n");
    let filler = disk.path.join("filler");
    SmallDisk::fill(&filler);
    let before = disk.session();
    let refused = run(&"long ".repeat(4_000));
    assert_eq!(refused.code, Some(1), "{refused:#?}");
    assert!(refused.stderr.contains("No space left"), "{refused:#?}");
    let after = disk.session();
    assert!(after.starts_with(&before), "what was there was changed");
    std::fs::remove_file(filler).unwrap();
    let answered = run("And now?");
    assert_eq!(answered.code, Some(0), "{answered:#?}");
    assert!(disk.session().starts_with(&before));
}

/// A file system in memory that is soon full; unmounted at the end.
struct SmallDisk {
    path: PathBuf,
    _folder: tempfile::TempDir,
}

impl SmallDisk {
    fn mount() -> Option<Self> {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().to_owned();
        let mounted = std::process::Command::new("mount")
            .args(["-t", "tmpfs", "-o", "size=256k", "pirn-test"])
            .arg(&path)
            .stderr(Stdio::null())
            .status();
        mounted
            .is_ok_and(|status| status.success())
            .then_some(Self {
                path,
                _folder: folder,
            })
    }

    fn fill(file: &std::path::Path) {
        use std::io::Write as _;
        let mut file = std::fs::File::create(file).unwrap();
        for size in [4096, 64, 1] {
            while file.write_all(&vec![0; size]).is_ok() {}
        }
    }

    /// The bytes of the only session.
    fn session(&self) -> Vec<u8> {
        let folders = std::fs::read_dir(&self.path).unwrap().flatten();
        let folder = folders
            .map(|folder| folder.path())
            .find(|path| path.is_dir())
            .unwrap();
        let file = std::fs::read_dir(folder).unwrap().next().unwrap().unwrap();
        std::fs::read(file.path()).unwrap()
    }
}

impl Drop for SmallDisk {
    fn drop(&mut self) {
        drop(
            std::process::Command::new("umount")
                .arg(&self.path)
                .status(),
        );
    }
}
