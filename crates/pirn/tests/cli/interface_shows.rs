//! How the interface shows a conversation: below the shell's history, on a screen of its own, as lines, and as a page.

use pirn_testkit::{calls, says};
use serde_json::json;

use crate::desk::Desk;
use crate::interface::{Interface, check_sequences};
use crate::session::Session;

/// Reads until the terminal was sent this text.
#[track_caller]
fn until_written(interface: &mut Interface, text: &str) {
    while !String::from_utf8_lossy(&interface.written).contains(text) {
        let so_far = String::from_utf8_lossy(&interface.written).into_owned();
        assert!(interface.read(), "the end came before {text:?}: {so_far:?}");
    }
}

#[test]
fn r5_the_screen_is_switched_and_the_draft_stays() {
    let desk = Desk::new(vec![says("An answer."), says("Another one.")]);
    let mut interface = Interface::start(&desk);
    interface.keys("hello\r");
    interface.until("An answer.");
    interface.keys("/tui fullscreen\r");
    until_written(&mut interface, "\u{1b}[?1049h");
    interface.until("An answer.");
    interface.keys("again\r");
    interface.until("Another one.");
    interface.keys("kept");
    interface.until("> kept");
    // A message that is edited goes on after the switch back.
    interface.keys("\u{15}/tui inline\r");
    until_written(&mut interface, "\u{1b}[?1049l");
    interface.until("Another one.");
    interface.check_once(&[
        "a line of the shell",
        "> hello",
        "> again",
        "An answer.",
        "Another one.",
    ]);
    interface.leave();
}

#[test]
fn r26_r27_a_terminal_that_takes_lines_gets_lines() {
    let code = "await tools.write({path: '/usr/pirn-test-file', content: 'x'}); return 'never'";
    let desk = Desk::new(vec![
        calls(&[("c1", "exec", json!({"code": code}))]),
        says("It was denied."),
    ]);
    let variables = [("TERM", "dumb"), ("DESK_KEY", "k3y")];
    let mut session = Session::interface(&desk.place, &variables, 80);
    let mut seen = session.until("> ");
    session.answer("write it\r");
    seen += &session.until("Allow write?");
    seen += &session.until("tab: answer");
    session.answer("\t");
    seen += &session.until("[n] no");
    session.answer("n");
    seen += &session.until("It was denied.");
    session.answer("/quit\r");
    let (code, _, rest) = session.end();
    seen += &rest;
    assert_eq!(code, Some(0), "{seen}");
    assert!(!seen.contains('\u{1b}'), "{seen:?}");
    assert!(seen.contains("> write it"), "{seen}");
}

#[test]
fn r27_a_screen_reader_is_given_lines() {
    let desk = Desk::new(vec![says("An answer.")]);
    let variables = [
        ("TERM", "xterm-256color"),
        ("ACCESSIBLE", "1"),
        ("DESK_KEY", "k3y"),
    ];
    let mut session = Session::interface(&desk.place, &variables, 80);
    let mut seen = session.until("> ");
    session.answer("hello\r");
    seen += &session.until("\r\nAn answer.\r\n");
    session.answer("/quit\r");
    let (code, _, rest) = session.end();
    seen += &rest;
    assert_eq!(code, Some(0), "{seen}");
    check_sequences(&seen);
    // Nothing moves the cursor back to change what was said.
    for motion in ["A", "B", "G", "H", "J", "K", "L", "M"] {
        let moves = seen.split("\u{1b}[").skip(1).any(|rest| {
            rest.trim_start_matches(|digit: char| digit.is_ascii_digit() || digit == ';')
                .starts_with(motion)
        });
        assert!(!moves, "{motion}: {seen:?}");
    }
}

#[test]
fn a_page_is_written_after_what_it_gives_away_was_said() {
    let desk = Desk::new(vec![
        calls(&[("c1", "ls", json!({}))]),
        says("Nothing <b>is</b> there."),
    ]);
    let mut interface = Interface::start(&desk);
    interface.keys("look\r");
    interface.until("there.");
    interface.keys("/export page.html\r");
    interface.until("1 results of tools");
    interface.until("→ write ");
    assert!(!desk.place.path().join("page.html").exists());
    interface.keys("\r");
    interface.until("the conversation is in");
    let page = desk.place.read("page.html");
    assert!(
        page.contains("Nothing &lt;b&gt;is&lt;/b&gt; there.") && page.contains("Call of ls"),
        "{page}"
    );
    interface.leave();
}

#[test]
fn a_program_is_seen_with_what_went_to_the_model_and_what_was_kept_from_it() {
    let code = "const text = await tools.read({path: 'big.txt'});\nreturn 'short';";
    let desk = Desk::new(vec![
        calls(&[("c1", "exec", json!({"code": code}))]),
        says("Done."),
    ]);
    std::fs::write(desk.place.path().join("big.txt"), "word\n".repeat(400)).unwrap();
    let mut interface = Interface::start(&desk);
    interface.keys("read\r");
    interface.until("Done.");
    interface.until("to the model, 1 KB");
    interface.check_once(&["✓ read big.txt", "kept from it"]);
    interface.leave();
}
