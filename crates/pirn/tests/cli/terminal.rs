//! On a terminal: questions, and calls that are repainted.

use crate::place::Place;
use crate::session::Session;

const TWICE: &str =
    "for (const name of ['a', 'b']) await tools.write({path: name, content: 'x'}); return 'done'";

#[test]
fn each_call_is_asked_for() {
    let place = Place::new();
    let mut session = Session::start(&place, &["exec", "-e", TWICE]);
    let question = session.until("Allow? [y]es, [n]o, [a]ll calls of write in this run: ");
    assert!(
        question
            .contains("The script wants to call write (effects: read, write)\r\n  | path: \"a\"\r\n  | content: \"x\"\r\n"),
        "{question}"
    );
    session.answer("perhaps\n");
    session.until("Allow? ");
    session.answer("y\n");
    session.until("  | path: \"b\"\r\n  | content: \"x\"\r\n");
    session.until("Allow? [y]es, [n]o, [a]ll calls of write in this run: ");
    session.answer("n\n");
    let (code, stdout, seen) = session.end();
    assert_eq!((code, stdout.as_str()), (Some(1), ""), "{seen}");
    assert!(
        seen.contains("✗ write") && seen.contains("not allowed by the user"),
        "{seen}"
    );
    assert!(place.path().join("a").exists() && !place.path().join("b").exists());
}

#[test]
fn all_calls_of_a_tool_are_allowed_at_once() {
    let place = Place::new();
    let code = "await Promise.all(['a', 'b', 'c'].map((path) => tools.write({path, content: 'x'}))); return 'done'";
    let mut session = Session::start(&place, &["exec", "-e", code]);
    session.until("calls of write in this run: ");
    session.answer("a\n");
    let (code, stdout, seen) = session.end();
    assert_eq!((code, stdout.as_str()), (Some(0), "done\n"), "{seen}");
    assert!(!seen.contains("Allow?"), "{seen}");
    assert_eq!(seen.matches("✓ write").count(), 3, "{seen}");
}

#[test]
fn a_script_on_standard_input_answers_nothing() {
    let place = Place::new();
    // The script is typed, as is what looks like an answer; both are read as the script.
    let mut session = Session::start(&place, &["exec", "-"]);
    session.answer("let y; await tools.write({path: 'a', content: 'x'});\n//\ny\n\u{4}");
    session.until("calls of write in this run: ");
    session.answer("\u{4}");
    let (code, _, seen) = session.end();
    assert_eq!(code, Some(1), "{seen}");
    assert!(!place.path().join("a").exists());
}

#[test]
fn what_a_script_prints_cannot_hide_a_question() {
    let place = Place::new();
    let code = "console.log('\\u001b[8m\\u001b[2J'); await tools.write({path: '\\u202ea\\u001b[1m', content: ''})";
    let mut session = Session::start(&place, &["exec", "-e", code]);
    let before = session.until("Allow?");
    assert!(before.contains("\\u{1b}[8m\\u{1b}[2J"), "{before}");
    assert!(
        !before.contains("\u{1b}[8m")
            && !before.contains("\u{1b}[2J")
            && !before.contains('\u{202e}'),
        "{before:?}"
    );
    session.answer("n\n");
    assert_eq!(session.end().0, Some(1));
}

#[test]
fn a_key_that_is_typed_is_not_shown() {
    let place = Place::new();
    let mut session = Session::start(&place, &["auth", "login", "groq"]);
    session.until("Key of groq (it is not shown): ");
    session.answer("wrong\u{15}gsk-\u{e4}x\u{7f}\u{7f}1\n");
    let (code, stdout, seen) = session.end();
    assert_eq!((code, stdout.as_str()), (Some(0), ""), "{seen}");
    assert!(!seen.contains("gsk") && !seen.contains("wrong"), "{seen}");
    let key = place.run(&["auth", "print-api-key", "groq"]).good();
    assert_eq!(key, "gsk-1\n");

    let mut session = Session::start(&place, &["auth", "login", "groq"]);
    session.until("Key of groq (it is not shown): ");
    session.answer("other\u{3}");
    let (code, _, seen) = session.end();
    assert_eq!(code, Some(130), "{seen}");
    let key = place.run(&["auth", "print-api-key", "groq"]).good();
    assert_eq!(key, "gsk-1\n", "nothing was changed");
}

#[test]
fn control_c_ends_a_question() {
    let place = Place::new();
    let mut session = Session::start(
        &place,
        &[
            "exec",
            "-e",
            "text('kept'); await tools.write({path: 'a', content: ''})",
        ],
    );
    session.until("calls of write in this run: ");
    session.answer("\u{3}");
    let (code, stdout, seen) = session.end();
    assert_eq!((code, stdout.as_str()), (Some(130), "kept\n"), "{seen}");
}

#[test]
fn running_calls_are_repainted() {
    let place = Place::new();
    assert!(
        place
            .program("mkfifo")
            .arg(place.path().join("pipe"))
            .status()
            .unwrap()
            .success()
    );
    let code = "await tools.bash({command: 'read line < pipe'}); return 'done'";
    let mut session = Session::start(&place, &["exec", "--yes", "-e", code]);
    session.until("· bash ");
    session.until(" {\"command\":\"read line < pipe\"}\r\n");
    session.until("\u{1b}[1A\r\u{1b}[J· bash ");
    std::fs::write(place.path().join("pipe"), "go\n").unwrap();
    session.until("✓ bash ");
    let (code, stdout, seen) = session.end();
    assert_eq!((code, stdout.as_str()), (Some(0), "done\n"), "{seen}");
}

#[test]
fn errors_are_coloured_unless_that_is_not_wanted() {
    let place = Place::new();
    let (_, _, seen) = Session::start(&place, &["exec", "-e", "throw new Error('no')"]).end();
    assert!(
        seen.starts_with("\u{1b}[1;31merror:\u{1b}[0m no"),
        "{seen:?}"
    );
    assert!(
        !place
            .run(&["exec", "-e", "throw new Error('no')"])
            .stderr
            .contains('\u{1b}')
    );
}
