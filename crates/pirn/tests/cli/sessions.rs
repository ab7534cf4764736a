//! `pirn sessions`: conversations that are kept, without a model.

use serde_json::{Value, json};

use crate::place::Place;

const ID: &str = "01900000-0000-7000-8000-000000000001";

/// A place with one session of two branches.
fn place() -> Place {
    let place = Place::new();
    let folder = place.pirn_home().join("sessions/--somewhere--");
    std::fs::create_dir_all(&folder).unwrap();
    let entry = |id: &str, parent: Value, text: &str| {
        json!({
            "type": "message", "id": id, "parentId": parent, "timestamp": "2026-01-01T00:00:00.000Z",
            "message": {"role": "user", "content": text, "timestamp": 1},
        })
    };
    let lines = [
        json!({"type": "session", "version": 3, "id": ID, "timestamp": "2026-01-01T00:00:00.000Z", "cwd": place.path()}),
        entry("00000001", Value::Null, "Count the crates"),
        entry("00000002", json!("00000001"), "in tests, too"),
        entry("00000003", json!("00000001"), "but not in fuzz"),
    ];
    let text = lines.map(|line| line.to_string()).join("\n") + "\n";
    std::fs::write(folder.join("one.jsonl"), text).unwrap();
    place
}

#[test]
fn sessions_are_listed_shown_named_and_exported() {
    let place = place();
    let list = place.run(&["sessions", "list"]).good();
    assert!(list.contains("Count the crates"), "{list}");
    let shown = place.run(&["sessions", "show", "01900000"]).good();
    assert!(shown.contains("[user]\nbut not in fuzz"), "{shown}");
    assert!(!shown.contains("in tests, too"), "{shown}");
    place.run(&["sessions", "rename", ID, "crates"]).good();
    let list = place.run(&["sessions", "list", "--json"]).json();
    assert_eq!(list[0]["name"], "crates");
    assert_eq!(list[0]["messageCount"], 3);
    let facts = place.run(&["sessions", "show", "crates", "--json"]).json();
    assert_eq!(facts["branchEnds"].as_array().unwrap().len(), 2, "{facts}");
    let export = place.run(&["sessions", "export", "crates", "--json"]);
    assert!(export.stderr.contains("before it is shared"), "{export:#?}");
    assert_eq!(export.json()["entries"].as_array().unwrap().len(), 4);
}

#[test]
fn a_branch_is_copied_and_a_session_deleted() {
    let place = place();
    let fork = place
        .run(&["sessions", "fork", ID, "--at", "00000002"])
        .good();
    let fork = fork.trim_end();
    let id = fork.rsplit_once('_').unwrap().1.trim_end_matches(".jsonl");
    let shown = place.run(&["sessions", "show", id]).good();
    assert!(shown.contains("in tests, too"), "{shown}");
    assert!(!shown.contains("but not in fuzz"), "{shown}");
    place.run(&["sessions", "delete", ID]).good();
    let list = place.run(&["sessions", "list", "--json"]).json();
    assert_eq!(list.as_array().unwrap().len(), 1, "{list}");
    assert_eq!(list[0]["path"], fork);
}

#[test]
fn what_is_not_there_is_refused_with_the_way_to_find_it() {
    let place = place();
    for arguments in [
        &["sessions", "show", "nothing"][..],
        &["sessions", "delete", "nothing"],
        &["sessions", "fork", "nothing"],
    ] {
        let run = place.run(arguments);
        assert_eq!(run.code, Some(2), "{run:#?}");
        assert!(run.stderr.contains("pirn sessions list --all"), "{run:#?}");
    }
    let run = place.run(&["sessions", "fork", ID, "--at", "ffffffff"]);
    assert_eq!(run.code, Some(1), "{run:#?}");
    assert!(run.stderr.contains("no entry `ffffffff`"), "{run:#?}");
}

#[test]
fn conversations_of_other_programs_are_taken_over_once() {
    let place = Place::new();
    let claude = place.home().join(".claude/projects/-srv");
    let codex = place.home().join(".codex/sessions/2026/01/01");
    for folder in [&claude, &codex] {
        std::fs::create_dir_all(folder).unwrap();
    }
    let said = |cwd: &std::path::Path, id: &str| {
        json!({
            "type": "user", "uuid": "u1", "parentUuid": null, "sessionId": id, "cwd": cwd,
            "timestamp": "2026-01-01T00:00:00.000Z", "message": {"content": "Count"},
        })
    };
    let here = format!("{}\nbroken\n", said(&place.path(), "c1a0de-1"));
    std::fs::write(claude.join("one.jsonl"), here).unwrap();
    let elsewhere = format!(
        "{}\n",
        said(std::path::Path::new("/elsewhere"), "../../c1a0de")
    );
    std::fs::write(claude.join("two.jsonl"), elsewhere).unwrap();
    std::fs::write(codex.join("rollout-1.jsonl"), "no conversation").unwrap();

    let run = place.run(&["sessions", "import", "claude-code"]);
    assert!(run.stderr.contains("line 2 cannot be read"), "{run:#?}");
    let file = run.good();
    assert!(file.trim_end().ends_with("_c1a0de-1.jsonl"), "{file}");
    let shown = place.run(&["sessions", "show", "c1a0de-1"]).good();
    assert!(shown.contains("[user]\nCount"), "{shown}");
    let again = place.run(&["sessions", "import", "claude-code"]);
    assert!(again.stderr.contains("is here already"), "{again:#?}");
    assert_eq!(again.good(), "");

    // An id that would lead elsewhere becomes no part of a path.
    let all = place.run(&["sessions", "import", "claude-code", "--all"]);
    let all = all.good();
    assert!(all.contains("/.pirn/sessions/--elsewhere--/"), "{all}");
    assert!(!all.contains("c1a0de"), "{all}");
    let file = codex.join("rollout-1.jsonl");
    let refused = place.run(&["sessions", "import", "codex", file.to_str().unwrap()]);
    assert_eq!(refused.code, Some(1), "{refused:#?}");
    assert!(
        refused
            .stderr
            .contains("is no conversation of that program"),
        "{refused:#?}"
    );
    // Its own files are taken over as pi's.
    let place = self::place();
    let file = place.pirn_home().join("sessions/--somewhere--/one.jsonl");
    let moved = place.path().join("pi.jsonl");
    std::fs::rename(file, &moved).unwrap();
    place.run(&["sessions", "import", "pi", "pi.jsonl"]).good();
    let list = place.run(&["sessions", "list", "--json"]).json();
    assert_eq!(list[0]["id"], ID, "{list}");
    assert_eq!(list[0]["messageCount"], 3, "{list}");
}
