//! What the interface leaves as it was, and what it keeps: the terminal after any end, drafts, and what was said.

use std::path::{Path, PathBuf};

use pirn_testkit::says;

use crate::desk::Desk;
use crate::interface::Interface;
use crate::session::Session;

/// The files below a folder, at any depth.
fn files(folder: &Path) -> Vec<PathBuf> {
    let mut found = Vec::new();
    let Ok(entries) = std::fs::read_dir(folder) else {
        return found;
    };
    for entry in entries {
        let path = entry.unwrap().path();
        if path.is_dir() {
            found.extend(files(&path));
        } else {
            found.push(path);
        }
    }
    found
}

/// Waits until the drafts on the disk have this text.
#[track_caller]
fn until_draft(desk: &Desk, text: &str) {
    let folder = desk.place.pirn_home().join("drafts");
    let deadline = std::time::Instant::now() + std::time::Duration::from_secs(30);
    let has_text =
        |path: &PathBuf| std::fs::read_to_string(path).is_ok_and(|content| content.contains(text));
    while !files(&folder).iter().any(has_text) {
        assert!(
            std::time::Instant::now() < deadline,
            "no draft has {text:?}"
        );
        std::thread::yield_now();
    }
}

/// The guardian among the processes that Pirn started, whichever thread did.
fn guardian(process_id: u32) -> u32 {
    let tasks = std::fs::read_dir(format!("/proc/{process_id}/task")).unwrap();
    let mut started = tasks.flat_map(|task| {
        let task = task.unwrap().file_name().into_string().unwrap();
        let path = format!("/proc/{process_id}/task/{task}/children");
        let all = std::fs::read_to_string(path).unwrap_or_default();
        let ids: Vec<u32> = all
            .split_whitespace()
            .map(|id| id.parse().unwrap())
            .collect();
        ids
    });
    let guards = |id: &u32| {
        let line = std::fs::read(format!("/proc/{id}/cmdline")).unwrap_or_default();
        String::from_utf8_lossy(&line).contains("pirn-guardian")
    };
    started.find(guards).unwrap()
}

#[test]
fn r24_a_killed_interface_leaves_the_terminal_as_it_was() {
    let desk = Desk::new(Vec::new());
    let mut interface = Interface::start(&desk);
    interface.keys("/tui fullscreen\r");
    let raw = interface.session.modes();
    assert!(!raw.contains("ICANON"), "{raw}");
    while !String::from_utf8_lossy(&interface.written).contains("\u{1b}[?1049h") {
        assert!(interface.read());
    }
    let guardian = guardian(interface.session.process_id());
    interface.session.kill();
    // To the end of what sets it back.
    while interface.read() {}
    let status = format!("/proc/{guardian}/status");
    while std::fs::read_to_string(&status).is_ok_and(|status| !status.contains("State:\tZ")) {
        std::thread::yield_now();
    }
    let modes = interface.session.modes();
    assert!(
        modes.contains("ICANON") && modes.contains("ECHO"),
        "{modes}"
    );
    let written = String::from_utf8_lossy(&interface.written).into_owned();
    for (on, off) in [
        ("\u{1b}[?1049h", "\u{1b}[?1049l"),
        ("\u{1b}[?2004h", "\u{1b}[?2004l"),
        ("\u{1b}[?1004h", "\u{1b}[?1004l"),
        ("\u{1b}[>5u", "\u{1b}[<u"),
    ] {
        assert!(written.rfind(off) > written.rfind(on), "{on:?} stays on");
    }
}

#[test]
fn r24_the_guardian_is_small_and_says_nothing_after_an_ordinary_end() {
    let desk = Desk::new(Vec::new());
    let mut interface = Interface::start(&desk);
    let guardian = guardian(interface.session.process_id());
    let memory = std::fs::read_to_string(format!("/proc/{guardian}/smaps_rollup")).unwrap();
    let private: u64 = memory
        .lines()
        .filter(|line| line.starts_with("Private_"))
        .filter_map(|line| line.split_whitespace().nth(1)?.parse::<u64>().ok())
        .sum();
    assert!(private < 1024, "{private} KB");
    interface.keys("/quit\r");
    while interface.read() {}
    let written = String::from_utf8_lossy(&interface.written).into_owned();
    assert_eq!(written.matches("\u{1b}[?2004l").count(), 1, "{written:?}");
}

#[test]
fn r20_a_draft_and_what_waits_are_there_after_a_kill() {
    let desk = Desk::new(Vec::new());
    let mut interface = Interface::start(&desk);
    interface.keys("half a thought\u{1b}[200~\none more line\u{1b}[201~");
    interface.until("one more line");
    until_draft(&desk, "one more line");
    interface.session.kill();

    let mut interface = Interface::start(&desk);
    interface.until("> half a thought");
    interface.until("one more line");
    interface.keys("\u{3}");
    interface.until_that("an empty editor", |screen| {
        !screen.contains("half a thought")
    });
    // A draft that was cleared is among what was said before.
    interface.keys("\u{12}");
    interface.until("half a thought ⏎ one more line");
    interface.keys("\u{1b}");
    interface.until_that("no list", |screen| !screen.contains("Said before"));
    interface.leave();
}

#[test]
fn what_was_said_is_offered_in_the_next_session() {
    let desk = Desk::new(vec![says("Hello to you.")]);
    let mut interface = Interface::start(&desk);
    interface.keys("good morning\r");
    interface.until("Hello to you.");
    interface.leave();

    let mut interface = Interface::start(&desk);
    interface.keys("\u{12}morn");
    interface.until("→ good morning");
    interface.keys("\r");
    interface.until("> good morning");
    interface.keys("\u{3}");
    interface.until_that("an empty editor", |screen| {
        !screen.contains("> good morning")
    });
    interface.leave();
}

#[test]
fn the_text_is_written_in_the_editor_of_the_user() {
    let desk = Desk::new(Vec::new());
    let editor = desk.place.path().join("editor.sh");
    std::fs::write(&editor, "#!/bin/sh\nsed -i s/draft/text/ \"$1\"\n").unwrap();
    let command = format!("sh {}", editor.display());
    let mut interface =
        Interface::start_with(&desk, &[("TERM", "xterm-256color"), ("VISUAL", &command)]);
    interface.keys("a draft");
    interface.until("> a draft");
    interface.keys("\u{7}");
    interface.until("> a text");
    interface.keys("\u{3}");
    interface.until_that("an empty editor", |screen| !screen.contains("> a text"));
    interface.leave();
}

#[test]
fn r13_the_doctor_shows_what_keys_send() {
    let desk = Desk::new(Vec::new());
    let mut session = Session::terminal_of(
        &desk.place,
        &["doctor", "terminal"],
        &[("TERM", "xterm-256color")],
    );
    session.until("\u{1b}[c");
    session.answer("\u{1b}[?5u\u{1b}[?2026;2$y\u{1b}]11;rgb:1010/2020/3030\u{1b}\\\u{1b}[?62c");
    let answers = session.until("ctrl+c twice ends");
    for line in [
        "all keys can be told apart",
        "frames appear at once",
        "background #102030",
    ] {
        assert!(answers.contains(line), "{answers}");
    }
    session.answer("\u{1b}[13;2u");
    session.until("key shift+enter  (1b 5b 31 33 3b 32 75)");
    session.answer("\u{3}\u{3}");
    let (code, _, seen) = session.end();
    assert_eq!(code, Some(0), "{seen}");
}
