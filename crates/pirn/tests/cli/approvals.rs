//! `pirn approvals`: what was answered for good is shown and taken back.

use serde_json::{Value, json};

use crate::place::Place;

fn grant(id: &str, covers: &Value) -> Value {
    json!({
        "id": id,
        "project": "/home/me/project",
        "subjectKind": "tool",
        "subjectName": "mcp__docs__edit",
        "definition": "0123",
        "origin": "nested",
        "effects": ["read", "write"],
        "scope": "always",
        "covers": covers,
        "argumentsHash": "4567",
    })
}

fn place(content: &str) -> Place {
    let place = Place::new();
    std::fs::create_dir_all(place.pirn_home()).unwrap();
    std::fs::write(place.pirn_home().join("approvals.json"), content).unwrap();
    place
}

#[test]
fn answers_are_listed_and_taken_back() {
    let grants = [
        grant("a1", &json!({"kind": "arguments"})),
        grant("b2", &json!({"kind": "folder", "path": "/home/me/notes"})),
        grant(
            "c3",
            &json!({"kind": "host", "host": "example.org", "port": 443}),
        ),
        grant("d4", &json!({"kind": "tool"})),
    ];
    let place = place(&json!({"version": 1, "grants": grants}).to_string());
    let expected = "\
ID  WHAT                  FOR                    EFFECTS      FROM    PROJECT
a1  tool mcp__docs__edit  the same arguments     read, write  nested  /home/me/project
b2  tool mcp__docs__edit  folder /home/me/notes  read, write  nested  /home/me/project
c3  tool mcp__docs__edit  host example.org:443   read, write  nested  /home/me/project
d4  tool mcp__docs__edit  every call             read, write  nested  /home/me/project
";
    assert_eq!(place.run(&["approvals", "list"]).good(), expected);

    let ids = || {
        let listed = place.run(&["approvals", "list", "--json"]).good();
        let listed: Vec<Value> = serde_json::from_str(&listed).unwrap();
        listed
            .iter()
            .map(|grant| grant["id"].as_str().unwrap().to_owned())
            .collect::<Vec<_>>()
    };
    assert_eq!(ids(), ["a1", "b2", "c3", "d4"]);
    let revoked = place
        .run(&["approvals", "revoke", "c3", "a1", "--json"])
        .good();
    assert_eq!(
        serde_json::from_str::<Value>(&revoked).unwrap(),
        json!(["c3", "a1"])
    );
    assert_eq!(ids(), ["b2", "d4"]);

    let run = place.run(&["approvals", "revoke", "a1"]);
    assert_eq!(run.code, Some(1), "{run:#?}");
    assert!(run.stderr.contains("no approval `a1`"), "{run:#?}");
    let run = place.run(&["approvals", "revoke", "b2", "d4"]);
    assert_eq!(
        run.stderr,
        "note: b2 was taken back\nnote: d4 was taken back\n"
    );
    let run = place.run(&["approvals", "list"]);
    assert_eq!(
        (run.code, run.stderr.as_str()),
        (Some(0), "note: no approvals are kept\n")
    );
}

#[test]
fn a_file_that_cannot_be_read_is_named() {
    for content in ["{", r#"{"version": 7, "grants": []}"#] {
        let place = place(content);
        for arguments in [&["approvals", "list"][..], &["approvals", "revoke", "a1"]] {
            let run = place.run(arguments);
            assert_eq!(run.code, Some(1), "{run:#?}");
            assert!(run.stderr.contains("approvals.json"), "{run:#?}");
        }
    }
}
