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
