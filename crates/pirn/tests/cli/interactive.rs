//! `pirn` on a terminal, as people see it: the built program, a model that is a script, and an emulated screen.

use avt::Terminal;
use pirn_testkit::{Act, begun, calls, event, says};
use serde_json::json;

use crate::desk::Desk;
use crate::session::Session;

const COLUMNS: u16 = 80;
const ROWS: usize = 24;

/// The interface with what it shows.
struct Interface {
    session: Session,
    terminal: Terminal,
    written: Vec<u8>,
    /// Bytes of a character that has not come whole yet.
    torn: Vec<u8>,
}

impl Interface {
    fn start(desk: &Desk) -> Self {
        let variables = [("DESK_KEY", "k3y"), ("TERM", "xterm-256color")];
        let mut terminal = Terminal::with_scrollback(usize::from(COLUMNS), ROWS, None).unwrap();
        terminal.feed("a line of the shell\r\n$ pirn\r\n");
        let mut interface = Self {
            session: Session::interface(&desk.place, &variables, COLUMNS),
            terminal,
            written: Vec::new(),
            torn: Vec::new(),
        };
        interface.until("desk/scripted");
        interface
    }

    fn screen(&self) -> String {
        let lines = self.terminal.screen().all_lines();
        lines
            .map(|line| line.text().trim_end().to_owned() + "\n")
            .collect()
    }

    /// Reads until this is on the screen.
    #[track_caller]
    fn until(&mut self, text: &str) {
        self.until_that(text, |screen| screen.contains(text));
    }

    #[track_caller]
    fn until_that(&mut self, what: &str, holds: impl Fn(&str) -> bool) {
        while !holds(&self.screen()) {
            assert!(
                self.read(),
                "the end came before {what:?}:\n{}",
                self.screen()
            );
        }
    }

    fn read(&mut self) -> bool {
        let bytes = self.session.read_some();
        self.written.extend(&bytes);
        self.torn.extend(&bytes);
        let whole = match std::str::from_utf8(&self.torn) {
            Ok(text) => text.len(),
            Err(error) => error.valid_up_to(),
        };
        let text: Vec<u8> = self.torn.drain(..whole).collect();
        self.terminal.feed(&*String::from_utf8(text).unwrap());
        !bytes.is_empty()
    }

    fn keys(&mut self, keys: &str) {
        self.session.answer(keys);
    }

    #[track_caller]
    fn check_once(&self, lines: &[&str]) {
        let screen = self.screen();
        for line in lines {
            assert_eq!(screen.matches(line).count(), 1, "{line:?} in\n{screen}");
        }
    }

    /// Leaves it, and looks at all that was written.
    #[track_caller]
    fn leave(mut self) {
        self.keys("\u{4}");
        while self.read() {}
        check_sequences(&String::from_utf8_lossy(&self.written));
        let written = String::from_utf8_lossy(&self.written).into_owned();
        for (on, off) in [
            ("\u{1b}[?2004h", "\u{1b}[?2004l"),
            ("\u{1b}[?1004h", "\u{1b}[?1004l"),
            ("\u{1b}[>5u", "\u{1b}[<u"),
        ] {
            assert!(written.rfind(off) > written.rfind(on), "{on:?} stays on");
        }
        assert_eq!(self.session.code(), Some(0));
    }
}

/// Every sequence is one of those that the interface needs; nothing erases the history.
#[track_caller]
fn check_sequences(written: &str) {
    let mut rest = written;
    while let Some((_, after)) = rest.split_once('\u{1b}') {
        let kind = after.chars().next().unwrap();
        match kind {
            '[' => {
                let body = after.strip_prefix('[').unwrap();
                let end = body.find(|end: char| ('@'..='~').contains(&end)).unwrap();
                let (parameters, tail) = body.split_at(end);
                let last = tail.chars().next().unwrap();
                let is_known = match last {
                    'A' | 'B' | 'G' | 'L' | 'M' | 'H' | 'm' | 'c' => true,
                    'J' | 'K' => parameters.is_empty(),
                    'u' => ["<", ">5", "?"].contains(&parameters),
                    'p' => parameters == "?2026$",
                    'h' | 'l' => {
                        ["?2004", "?1004", "?25", "?1049", "?7", "?2026"].contains(&parameters)
                    }
                    _ => false,
                };
                assert!(is_known, "ESC [ {parameters} {last}");
                rest = tail;
            }
            ']' => {
                assert!(
                    after.starts_with("]11;?") || after.starts_with("]8;;"),
                    "{after:?}"
                );
                rest = after;
            }
            '\\' => rest = after,
            _ => panic!("ESC {kind:?}"),
        }
    }
}

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
    interface.check_once(&["asked by this program:"]);
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
        seen.contains("Pirn runs small programs") && seen.contains("there is no model to ask"),
        "{seen}"
    );
}

#[test]
fn a_terminal_that_cannot_move_its_cursor_gets_words() {
    let desk = Desk::new(Vec::new());
    let session = Session::interface(&desk.place, &[("TERM", "dumb")], COLUMNS);
    let (code, _, seen) = session.end();
    assert_eq!(code, Some(0));
    assert!(
        seen.starts_with("Pirn runs small programs") && !seen.contains('\u{1b}'),
        "{seen}"
    );
}
