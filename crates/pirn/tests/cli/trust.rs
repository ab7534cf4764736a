//! `pirn trust`, and what commands do with a project that brings files of its own.

use serde_json::json;

use crate::place::Place;

const GATED: &str = ".pirn/mcp.json";

fn project() -> Place {
    let place = Place::new();
    place.write(GATED, r#"{"mcpServers": {}}"#);
    place
}

#[test]
fn a_project_nobody_decided_about_is_left_alone() {
    let place = project();
    let note = "note: .pirn/mcp.json in [PLACE]/project was not loaded, since nobody has said whether to trust the \
                folder; `pirn trust` decides, --approve trusts it for one run\n";
    let stderr = |arguments: &[&str]| {
        let run = place.run(arguments);
        assert_eq!(run.code, Some(0), "{run:#?}");
        run.stderr
    };
    let cases: [(&[&str], &str); 4] = [
        (&["exec", "-e", "return 1"], note),
        (&["tools"], note),
        (&["exec", "--approve", "-e", "return 1"], ""),
        (&["exec", "--no-approve", "-e", "return 1"], ""),
    ];
    for (arguments, expected) in cases {
        assert_eq!(stderr(arguments), expected, "{arguments:?}");
    }
    for decision in ["--yes", "--no", "--parent"] {
        place.run(&["trust", decision]).good();
        assert_eq!(stderr(&["exec", "-e", "return 1"]), "", "{decision}");
    }
}

#[test]
fn nothing_is_said_where_nothing_needs_trust() {
    let place = Place::new();
    let run = place.run(&["exec", "-e", "return 1"]);
    assert_eq!((run.code, run.stderr.as_str()), (Some(0), ""));
    assert!(!place.pirn_home().exists());
}

#[test]
fn decisions_are_kept_and_shown() {
    let place = project();
    let show = || place.run(&["trust", "--show"]).good();
    let files = "  .pirn/mcp.json (MCP servers: programs that are started)\n";
    assert_eq!(
        show(),
        format!("[PLACE]/project: not trusted, nobody decided yet\n{files}")
    );
    let steps = [
        ("--yes", "trusted, as you decided", "[PLACE]/project"),
        ("--no", "not trusted, as you decided", "[PLACE]/project"),
        ("--parent", "trusted, as you decided for [PLACE]", "[PLACE]"),
    ];
    for (flag, shown, decided_for) in steps {
        let run = place.run(&["trust", flag]);
        assert_eq!((run.code, run.stdout.as_str()), (Some(0), ""), "{run:#?}");
        assert!(run.stderr.starts_with("note: [PLACE]"), "{run:#?}");
        assert_eq!(show(), format!("[PLACE]/project: {shown}\n{files}"));
        assert_eq!(
            place.run(&["trust", "--show", "--json", "."]).json(),
            json!({
                "path": "[PLACE]/project",
                "trusted": flag != "--no",
                "reason": "saved",
                "gated": ["[PLACE]/project/.pirn/mcp.json"],
                "decidedFor": decided_for,
            })
        );
    }
    let kept = std::fs::read_to_string(place.pirn_home().join("trust.json")).unwrap();
    let root = place.path().canonicalize().unwrap();
    let root = root.parent().unwrap().to_str().unwrap();
    assert_eq!(kept, format!("{{\n  \"{root}\": true\n}}\n"));
}

#[test]
fn what_cannot_be_decided() {
    let place = project();
    let cases: [(&[&str], &str); 6] = [
        (
            &["trust"],
            "error: there is no terminal to ask on\n\nhint: give the answer with --yes, --no or --parent; --show tells what \
             was decided\n",
        ),
        (
            &["trust", "missing", "--yes"],
            "error: [PLACE]/project/missing cannot be used\n",
        ),
        (
            &["trust", GATED, "--yes"],
            "error: [PLACE]/project/.pirn/mcp.json is not a folder\n",
        ),
        (
            &["trust", "--yes", "--no"],
            "error: the argument '--yes' cannot be used with '--no'",
        ),
        (
            &["trust", "--json"],
            "error: the following required arguments were not provided",
        ),
        (
            &["exec", "--approve", "--no-approve", "-e", "1"],
            "error: the argument '--approve' cannot be used with '--no-approve'",
        ),
    ];
    for (arguments, expected) in cases {
        let run = place.run(arguments);
        assert_eq!(run.code, Some(2), "{arguments:?} {run:#?}");
        assert!(run.stderr.starts_with(expected), "{arguments:?} {run:#?}");
    }
}

#[test]
fn a_broken_trust_file_stops_what_depends_on_it() {
    let place = project();
    std::fs::create_dir(place.pirn_home()).unwrap();
    let file = place.pirn_home().join("trust.json");
    std::fs::write(&file, "{\"/\": ").unwrap();
    let cases: [(&[&str], i32); 5] = [
        (&["exec", "-e", "return 1"], 2),
        (&["tools"], 2),
        (&["trust", "--yes"], 2),
        (&["trust", "--show"], 2),
        (&["exec", "--approve", "-e", "return 1"], 0),
    ];
    for (arguments, code) in cases {
        let run = place.run(arguments);
        assert_eq!(run.code, Some(code), "{arguments:?} {run:#?}");
        let is_told = run.stderr.contains("trust.json is not a JSON object")
            && run.stderr.contains("it was not changed");
        assert_eq!(is_told, code == 2, "{arguments:?} {run:#?}");
    }
    assert_eq!(std::fs::read_to_string(&file).unwrap(), "{\"/\": ");
}

#[test]
fn the_users_own_folder_needs_no_trust() {
    let place = Place::new();
    std::fs::create_dir(place.pirn_home()).unwrap();
    std::fs::write(place.pirn_home().join("mcp.json"), "{}").unwrap();
    let home = place.pirn_home().parent().unwrap().to_owned();
    let run = place.run(&["exec", "--cwd", home.to_str().unwrap(), "-e", "return 1"]);
    assert_eq!((run.code, run.stderr.as_str()), (Some(0), ""));
}

#[cfg(target_os = "linux")]
mod asked {
    use super::project;
    use crate::session::Session;

    #[test]
    fn the_question_has_five_answers() {
        let cases = [
            ("y\n", Some("project\": true")),
            ("p\n", Some("\": true")),
            ("o\n", None),
            ("n\n", Some("project\": false")),
            ("s\n", None),
            ("\n", None),
            ("\u{4}", None),
        ];
        for (answer, kept) in cases {
            let place = project();
            let mut session = Session::start(&place, &["exec", "-e", "return 'done'"]);
            let question = session.until("[o]nce, [n]o, [s]kip this once: ");
            assert!(
                question.contains(
                    "/project?\r\n  | These files of it steer what Pirn does:\r\n  | .pirn/mcp.json (MCP servers"
                ) && question.contains("  | parent: all of /"),
                "{question}"
            );
            session.answer(answer);
            let (code, stdout, seen) = session.end();
            assert_eq!((code, stdout.as_str()), (Some(0), "done\n"), "{seen}");
            assert!(!seen.contains("note:"), "{seen}");
            let file = std::fs::read_to_string(place.pirn_home().join("trust.json")).ok();
            match (&file, kept) {
                (Some(file), Some(kept)) => assert!(file.contains(kept), "{answer:?} {file}"),
                (None, None) => {}
                _ => panic!("{answer:?} {file:?}"),
            }
        }
    }

    #[test]
    fn the_command_asks_for_answers_that_last() {
        let place = project();
        let mut session = Session::start(&place, &["trust"]);
        let choices = session.until(", [n]o: ");
        assert!(!choices.contains("[o]nce"), "{choices}");
        session.answer("o\n");
        session.until(", [n]o: ");
        session.answer("yes\n");
        let (code, _, seen) = session.end();
        assert_eq!(code, Some(0), "{seen}");
        assert!(seen.contains("is trusted from now on"), "{seen}");
        assert!(
            place
                .run(&["trust", "--show"])
                .good()
                .contains(": trusted, as you decided\n")
        );
    }
}
