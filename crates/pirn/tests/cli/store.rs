//! `--store`: values that outlive a script.

use std::os::unix::fs::PermissionsExt as _;
use std::process::Stdio;

use serde_json::{Value, json};

use crate::place::{Place, transcript};

fn values(place: &Place) -> Value {
    let file: Value = serde_json::from_str(&place.read("store.json")).unwrap();
    assert_eq!(file["version"], 1);
    file["values"].clone()
}

#[test]
fn values_stay_across_runs() {
    let place = Place::new();
    let code = "const n = (load('n') ?? 0) + 1; store('n', n); store('big', 12345678901234567890n.toString()); return n";
    for expected in ["1\n", "2\n", "3\n"] {
        assert_eq!(
            place
                .run(&["exec", "--store", "store.json", "-e", code])
                .good(),
            expected
        );
    }
    assert_eq!(
        values(&place),
        json!({"n": 3, "big": "12345678901234567890"})
    );
    let mode = std::fs::metadata(place.path().join("store.json"))
        .unwrap()
        .permissions()
        .mode();
    assert_eq!(mode & 0o777, 0o600);
    place
        .run(&[
            "exec",
            "--store",
            "store.json",
            "-e",
            "store('big', undefined)",
        ])
        .good();
    assert_eq!(values(&place), json!({"n": 3}));
}

#[test]
fn a_failed_script_stores_nothing() {
    let place = Place::new();
    place
        .run(&["exec", "--store", "store.json", "-e", "store('a', 1)"])
        .good();
    let before = place.read("store.json");
    let run = place.run(&[
        "exec",
        "--store",
        "store.json",
        "-e",
        "store('a', 2); throw new Error('no')",
    ]);
    assert_eq!((run.code, place.read("store.json")), (Some(1), before));
}

#[test]
fn a_link_stays_a_link_and_unknown_fields_stay() {
    let place = Place::new();
    place.write(
        "real.json",
        r#"{"version": 1, "values": {"a": 1e400}, "comment": "mine"}"#,
    );
    std::os::unix::fs::symlink("real.json", place.path().join("store.json")).unwrap();
    place
        .run(&["exec", "--store", "store.json", "-e", "store('b', 2)"])
        .good();
    assert!(place.path().join("store.json").is_symlink());
    assert_eq!(
        place.read("real.json"),
        "{\"comment\":\"mine\",\"values\":{\"a\":1e400,\"b\":2},\"version\":1}\n"
    );
}

#[test]
fn processes_at_the_same_time_lose_nothing() {
    let place = Place::new();
    for round in 1..=2 {
        let children: Vec<_> = (0..20)
            .map(|index| {
                let code = format!("store('k{index}', (load('k{index}') ?? 0) + 1)");
                place
                    .pirn(&["exec", "--store", "store.json", "-e", &code])
                    .stdout(Stdio::piped())
                    .stderr(Stdio::piped())
                    .spawn()
                    .unwrap()
            })
            .collect();
        for child in children {
            let run = place.ended(child.wait_with_output().unwrap());
            assert_eq!((run.code, run.stderr.as_str()), (Some(0), ""));
        }
        let expected: Value = (0..20)
            .map(|index| (format!("k{index}"), json!(round)))
            .collect();
        assert_eq!(values(&place), expected);
    }
}

#[test]
fn a_conflict_is_reported() {
    let place = Place::new();
    // The script itself changes the file behind its back.
    let code = "await tools.write({path: 'store.json', content: '{\"version\":1,\"values\":{\"a\":5,\"b\":6}}'}); store('a', 7)";
    let run = place.run(&["exec", "-q", "--yes", "--store", "store.json", "-e", code]);
    assert_eq!(run.code, Some(0), "{run:#?}");
    assert_eq!(
        run.stderr,
        "note: another script wrote a meanwhile; this script's value replaced it\n"
    );
    assert_eq!(values(&place), json!({"a": 7, "b": 6}));
}

#[test]
fn a_store_that_cannot_be_used_is_left_alone() {
    let place = Place::new();
    let cases = [
        ("cut.json", "{\"version\": 1, \"values\": {\"a\": "),
        ("list.json", "[1, 2]"),
        ("other.json", "{\"name\": \"package\"}"),
        ("newer.json", "{\"version\": 2, \"values\": {}}"),
        ("shape.json", "{\"version\": 1, \"values\": []}"),
    ];
    let mut shown = String::new();
    for (name, content) in cases {
        place.write(name, content);
        let arguments = ["exec", "--store", name, "-e", "store('a', 1)"];
        shown.push_str(&transcript(&arguments, &place.run(&arguments)));
        assert_eq!(place.read(name), content);
    }
    std::fs::create_dir(place.path().join("folder")).unwrap();
    for name in ["folder", "missing/store.json"] {
        let arguments = ["exec", "--store", name, "-e", "store('a', 1)"];
        shown.push_str(&transcript(&arguments, &place.run(&arguments)));
    }
    insta::assert_snapshot!(shown);
}

#[test]
fn a_store_that_breaks_meanwhile_is_left_alone() {
    let place = Place::new();
    let code =
        "await tools.write({path: 'store.json', content: 'broken'}); store('a', 7); return 'shown'";
    let run = place.run(&["exec", "-q", "--yes", "--store", "store.json", "-e", code]);
    assert_eq!((run.code, run.stdout.as_str()), (Some(1), "shown\n"));
    assert!(
        run.stderr
            .contains("what the script stored could not be written to store.json"),
        "{run:#?}"
    );
    assert_eq!(place.read("store.json"), "broken");
}
