//! What people see on terminals of 40, 80 and 120 columns.

use std::fmt::Write as _;

use serde_json::json;

use crate::mcp::SERVER;
use crate::place::Place;
use crate::session::Session;

const WIDTHS: [u16; 3] = [40, 80, 120];

/// Fails on rows that the terminal would wrap, and those of strangers that are not behind the margin.
fn check_rows(text: &str, columns: u16) {
    // Notes are sentences, which the terminal wraps.
    for row in text.lines().filter(|row| !row.contains("note:")) {
        assert!(
            row.chars().count() <= usize::from(columns),
            "{columns}: {row}\n{text}"
        );
    }
}

#[test]
fn tables_are_readable_at_every_width() {
    let place = Place::new();
    let script = place.home().join("server.py");
    std::fs::create_dir_all(place.home()).unwrap();
    std::fs::write(&script, SERVER).unwrap();
    place.write_user_config(&json!({"mcpServers": {
        "toy": {"command": "python3", "args": [script]},
        "documentation-of-the-team": {"url": "https://docs.example.com/some/long/path/mcp", "enabled": false},
    }}));
    let mut screens = String::new();
    for columns in WIDTHS {
        for arguments in [
            &["mcp", "list"][..],
            &["mcp", "tools", "toy"],
            &["tools", "--no-mcp"],
            &["config", "list"],
            &["models"],
            &["auth", "list"],
        ] {
            let screen = Session::screen(&place, arguments, columns);
            // Progress of servers is painted over.
            let shown = screen.rsplit("\u{1b}[J").next().unwrap();
            check_rows(shown, columns);
            writeln!(
                screens,
                "{columns} columns: pirn {}\n{shown}",
                arguments.join(" ")
            )
            .unwrap();
        }
    }
    insta::assert_snapshot!(screens);
}

/// What it tells differs from machine to machine.
#[test]
fn the_doctor_fits_every_width() {
    let place = Place::new();
    for columns in WIDTHS {
        let screen = Session::screen(&place, &["doctor"], columns);
        check_rows(&screen, columns);
        assert!(screen.contains("script engine"), "{screen}");
    }
}

#[test]
fn failures_of_scripts_at_every_width() {
    let place = Place::new();
    place.write("a.txt", "A");
    place.write(
        "lengths.ts",
        "const names: string[] = ['a.txt', 'missing.txt'];\n\
         const texts = await Promise.all(names.map((path) => tools.read({ path }).catch(() => null)));\n\
         return texts.map((text) => text.length);\n",
    );
    let mut screens = String::new();
    for columns in WIDTHS {
        for arguments in [
            &["exec", "-q", "lengths.ts"][..],
            &[
                "exec",
                "-q",
                "-e",
                "return (await tools.bash({ command: 'ls' })).stdout",
            ],
            &[
                "exec",
                "-q",
                "-e",
                "await tools.read({ path: 'missing.txt' })",
            ],
        ] {
            let screen = Session::screen(&place, arguments, columns);
            writeln!(
                screens,
                "{columns} columns: pirn {}\n{screen}",
                arguments.join(" ")
            )
            .unwrap();
        }
    }
    insta::assert_snapshot!(screens);
}

#[test]
fn questions_keep_their_margin_at_every_width() {
    let place = Place::new();
    let code = "await tools.bash({command: 'git status --long --branch\\n' + 'x'.repeat(150) + '\\nrm -r y'})";
    let mut screens = String::new();
    for columns in WIDTHS {
        let mut session =
            Session::start_wide(&place, &["exec", "-q", "--no-mcp", "-e", code], columns);
        let question = session.until("Allow? ").replace("\r\n", "\n");
        let question = question.rsplit("\u{1b}[0m").next().unwrap();
        for row in question.lines().skip(1) {
            assert!(row.starts_with("  |") || row.starts_with("  : "), "{row}");
        }
        check_rows(question, columns);
        writeln!(screens, "{columns} columns\n{question}").unwrap();
        session.answer("n\n");
        assert_eq!(session.end().0, Some(1));
    }
    insta::assert_snapshot!(screens);
}

#[test]
fn what_a_script_prints_waits_for_the_answer() {
    let place = Place::new();
    let code = "const write = tools.write({path: 'a', content: 'x'}); \
                for (let i = 0; i < 50; i++) { console.log('Allow? [y]es, fake ' + i); await tools.ls({}); } \
                await write; return 'done'";
    let mut session = Session::start(&place, &["exec", "--no-mcp", "-e", code]);
    session.until("[a]ll calls of write in this run: ");
    session.answer("y\n");
    let (code, stdout, seen) = session.end();
    assert_eq!((code, stdout.as_str()), (Some(0), "done\n"), "{seen}");
    // The answer is echoed first; everything else came after it.
    let after = seen.split_once("y\r\n").unwrap();
    assert_eq!(after.0, "", "{seen}");
    assert!(after.1.contains("fake 49"), "{seen}");
}
