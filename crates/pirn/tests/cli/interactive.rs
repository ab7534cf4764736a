//! `pirn` on a terminal, as people see it: the built program, a model that is a script, and an emulated screen.

use pirn_testkit::{Act, begun, calls, event, says};
use serde_json::json;

use crate::desk::Desk;
use crate::interface::{COLUMNS, Interface, ROWS};
use crate::session::Session;

#[test]
fn a_conversation_with_scripts() {
    let code =
        "await tools.write({path: 'made.txt', content: 'new'}); return (await tools.ls({})).length";
    let desk = Desk::new(vec![
        calls(&[("c1", "exec", json!({"code": code}))]),
        says("One file is there.\n\n- first\n- second"),
    ]);
    let mut interface = Interface::start(&desk);
    interface.keys("make a file\r");
    interface.until("• second");
    interface.until("✓ exec");
    interface.check_once(&[
        "a line of the shell",
        "> make a file",
        "✓ write made.txt",
        "✓ ls",
        "One file is there.",
        "• first",
    ]);
    assert_eq!(desk.place.read("made.txt"), "new");
    interface.leave();
}

#[test]
fn messages_are_queued_and_escape_stops() {
    let mut stalled = begun();
    stalled.push(event(json!({"content": "It begins"}), None));
    stalled.push(Act::Never);
    let desk = Desk::new(vec![stalled]);
    let mut interface = Interface::start(&desk);
    interface.keys("begin\r");
    interface.until("It begins");
    interface.keys("and more\r");
    interface.until("next: and more");
    interface.keys("\u{1b}");
    // What was queued is in the editor again.
    interface.until_that("a draft", |screen| {
        screen.contains("\n> and more") && !screen.contains("Working")
    });
    interface.keys("\u{3}");
    interface.until_that("an empty editor", |screen| !screen.contains("> and more"));
    interface.leave();
}

#[test]
fn a_question_pauses_the_script_and_takes_no_keys_of_the_editor() {
    let outside = "/usr/pirn-test-file";
    let code = format!("await tools.write({{path: '{outside}', content: 'x'}}); return 'never'");
    let desk = Desk::new(vec![
        calls(&[("c1", "exec", json!({"code": code}))]),
        says("It was denied."),
    ]);
    let mut interface = Interface::start(&desk);
    interface.keys("write outside\r");
    interface.until("Allow write?");
    interface.keys("yyn");
    interface.until("> yyn");
    interface.until("tab: answer");
    interface.check_once(&["asked by line 1 of this program:"]);
    interface.keys("\t");
    interface.until("[n] no");
    interface.keys("n");
    interface.until("It was denied.");
    interface.until("> yyn");
    assert!(!std::path::Path::new(outside).exists());
    interface.keys("\u{3}");
    interface.until_that("an empty editor", |screen| !screen.contains("> yyn"));
    interface.leave();
}

#[test]
fn commands_of_the_shell_and_of_the_table() {
    let desk = Desk::new(Vec::new());
    let mut interface = Interface::start(&desk);
    interface.keys("!echo out$((1 + 1))\r");
    interface.until("\nout2\n");
    interface.keys("/session\r");
    interface.until("not on disk yet");
    interface.keys("/model\r");
    interface.until("→ desk/scripted");
    interface.keys("\r");
    interface.until("the model is desk/scripted");
    interface.leave();
}

#[test]
fn a_new_size_keeps_everything_once() {
    let desk = Desk::new(vec![says(
        "An answer that is as long as a row of text of eighty columns has room for, and more.",
    )]);
    let mut interface = Interface::start(&desk);
    interface.keys("hello\r");
    interface.until("↓2");
    for columns in [40_u16, 110, 60] {
        interface.terminal.resize(usize::from(columns), ROWS);
        interface.session.resize(columns, 24);
        let border = "─".repeat(usize::from(columns) - 1);
        interface.until_that(&border, |screen| screen.matches(&border).count() == 2);
    }
    interface.check_once(&["a line of the shell", "> hello", "An answer that is"]);
    interface.leave();
}

#[test]
fn without_a_model_it_says_what_to_do() {
    let desk = Desk::new(Vec::new());
    std::fs::remove_file(desk.place.pirn_home().join("models.json")).unwrap();
    let (code, _, seen) = Session::interface(&desk.place, &[], COLUMNS).end();
    assert_eq!(code, Some(2), "{seen}");
    assert!(
        seen.contains("Pirn is a coding agent") && seen.contains("there is no model to ask"),
        "{seen}"
    );
}
