//! The question of `pirn eval` on a terminal.

use crate::place::Place;
use crate::session::Session;

const PROMPT: &str = "Run it? [y]es, [n]o: ";

#[test]
fn a_program_is_shown_and_asked_about() {
    let place = Place::new();
    let code = "open('made', 'w').write('x')\nx = '\u{202e}\u{1b}[2J'";
    for (answer, code_expected) in [("n\n", 1), ("y\n", 0)] {
        let mut session = Session::start(&place, &["eval", "--python", "-e", code]);
        let question = session.until(PROMPT);
        assert!(
            question.contains("A python program wants to run (effects: ")
                && question.contains("  | 2 lines, "),
            "{question}"
        );
        assert!(
            question
                .contains("  | open('made', 'w').write('x')\r\n  | x = '⟦U+202E⟧⟦U+001B⟧[2J'\r\n"),
            "{question}"
        );
        assert!(question.contains("It can call "), "{question}");
        assert!(question.contains("It is run by /"), "{question}");
        assert!(!place.path().join("made").exists());
        session.answer(answer);
        let (code, _, seen) = session.end();
        assert_eq!(code, Some(code_expected), "{seen}");
    }
    assert!(place.path().join("made").exists());
}

#[test]
fn a_long_program_is_paged() {
    let place = Place::new();
    let lines: Vec<String> = (1..=70).map(|number| format!("x = {number}")).collect();
    place.write("long.py", lines.join("\n"));
    let mut session = Session::start(&place, &["eval", "long.py"]);
    let first = session.until("space: next page");
    assert!(
        first.contains("A python program wants to run (effects: ")
            && first.contains("  | x = 1\r\n")
            && !first.contains("x = 20"),
        "{first}"
    );
    session.answer(" ");
    let second = session.until("space: next page");
    // Who asks stands on every screen.
    assert!(second.contains("A python program wants to run"), "{second}");
    assert!(!second.contains("x = 1\r"), "{second}");
    session.answer("b");
    let again = session.until("-- lines 1 to ");
    assert!(again.contains("  | x = 1\r\n"), "{again}");
    // Nothing can be allowed that was not on the screen.
    session.answer("?q");
    session.until("a yes counts after the rest ([m]ore).\r\nRun it? ");
    session.answer("y\n");
    session.until("a yes counts after the rest ([m]ore).\r\nRun it? ");
    session.answer("m\n");
    session.until("-- lines 1 to ");
    session.answer("q");
    session.until("Run it? ");
    session.answer("n\n");
    assert_eq!(session.end().0, Some(1));
}

#[test]
fn a_program_that_was_paged_to_its_end_was_seen() {
    let place = Place::new();
    place.write("long.py", "pass\n".repeat(30));
    let mut session = Session::start(&place, &["eval", "long.py"]);
    loop {
        let page = session.until(", b: back, q: to the question");
        session.answer(" ");
        if page.contains("space: to the question") {
            break;
        }
    }
    let before = session.until(PROMPT);
    assert!(!before.contains("You have seen"), "{before}");
    session.answer("y\n");
    assert_eq!(session.end().0, Some(0));
}

#[test]
fn control_c_ends_the_pager_and_the_question() {
    let place = Place::new();
    place.write("long.py", "open('made', 'w')\n".repeat(60));
    let mut session = Session::start(&place, &["eval", "long.py"]);
    session.until("space: next page");
    session.answer("\u{3}");
    let (code, _, seen) = session.end();
    assert_eq!(code, Some(130), "{seen}");

    let mut session = Session::start(&place, &["eval", "--python", "-e", "1"]);
    session.until(PROMPT);
    session.answer("\u{3}");
    assert_eq!(session.end().0, Some(130));
    assert!(!place.path().join("made").exists());
}

#[test]
fn control_c_ends_a_program() {
    let place = Place::new();
    let code = "print('started', flush=True)\nwhile True: pass";
    let mut session = Session::start(
        &place,
        &[
            "eval",
            "--yes",
            "--python",
            "-e",
            &format!("import sys\nprint('ready', file=sys.stderr, flush=True)\n{code}"),
        ],
    );
    session.until("ready");
    session.answer("\u{3}");
    let (code, stdout, seen) = session.end();
    assert_eq!((code, stdout.as_str()), (Some(130), "started\n"), "{seen}");
}

#[test]
fn calls_inside_are_asked_about_one_by_one() {
    let place = Place::new();
    let code = "tool.run_process(command='touch', args=['made'])['exitCode']";
    let mut session = Session::start(&place, &["eval", "--python", "-e", code]);
    session.until(PROMPT);
    session.answer("y\n");
    session.until("The program wants to call run_process (effects: process)");
    session.until("Allow? [y]es, [n]o, [a]ll calls of run_process in this run: ");
    session.answer("y\n");
    let (code, stdout, seen) = session.end();
    assert_eq!((code, stdout.as_str()), (Some(0), "0\n"), "{seen}");
    assert!(place.path().join("made").exists());
}

#[test]
fn hosts_are_asked_about_once() {
    let code = r#"
import http.client, os, urllib.parse
def fetch():
    proxy = urllib.parse.urlparse(os.environ["HTTP_PROXY"])
    connection = http.client.HTTPConnection(proxy.hostname, proxy.port, timeout=60)
    connection.request("GET", "http://refused.invalid/")
    return connection.getresponse().status == 403
[fetch(), fetch()]
"#;
    let place = Place::new();
    let eval = [
        "eval",
        "--yes",
        "--network",
        "allow-list",
        "--python",
        "-e",
        code,
    ];
    for (answer, refused) in [("n\n", "[true,true]"), ("s\n", "[false,false]")] {
        let mut session = Session::start(&place, &eval);
        session.until("The program wants to reach refused.invalid:80\r\n");
        session.until("Allow? [o]nce, [s]ession, [a]lways, [n]o: ");
        session.answer(answer);
        let (code, stdout, seen) = session.end();
        assert_eq!(code, Some(0), "{seen}");
        assert_eq!(stdout.replace([' ', '\n'], ""), refused, "{seen}");
        assert!(!seen.contains("wants to reach"), "{seen}");
    }
}
