use serde_json::{Value, json};

use super::{changed, remove_value, set_value};
use crate::tree::Node;

/// Adds `x` to the list at `a.b`.
fn add(old: Option<&Node>) -> Value {
    let old = old.map_or(&[][..], Node::items).iter().map(Node::to_json);
    old.chain([json!("x")]).collect()
}

#[test]
fn one_value_changes() {
    let cases = [
        ("", "{\n  \"a\": {\n    \"b\": [\"x\"]\n  }\n}\n"),
        (
            "// Why\n",
            "// Why\n{\n  \"a\": {\n    \"b\": [\"x\"]\n  }\n}\n",
        ),
        (
            "\u{feff}{}",
            "\u{feff}{\n  \"a\": {\n    \"b\": [\"x\"]\n  }\n}",
        ),
        (
            "{\n    \"c\": 1, // one\n}\n",
            "{\n    \"c\": 1, // one\n    \"a\": {\n        \"b\": [\"x\"]\n    },\n}\n",
        ),
        (
            "{\n  \"a\": {\n    // Kept\n    \"b\": [\"y\"], // too\n    \"c\": 2\n  }\n}\n",
            "{\n  \"a\": {\n    // Kept\n    \"b\": [\"y\", \"x\"], // too\n    \"c\": 2\n  }\n}\n",
        ),
        (
            "{ \"a\": { \"c\": 2 } }",
            "{ \"a\": { \"c\": 2, \"b\": [\"x\"] } }",
        ),
    ];
    for (before, after) in cases {
        let text = changed(before, &["a", "b"], &add).unwrap();
        assert_eq!(text, after, "{before}");
    }
}

#[test]
fn what_is_in_the_way_is_named() {
    for (text, line, problem) in [
        ("[]", 1, "must hold an object"),
        ("{\n  \"a\": 1\n}", 2, "a must be an object"),
        ("{\n  \"a\" 1\n}", 2, "not valid JSON"),
    ] {
        let (at, message) = changed(text, &["a", "b"], &add).unwrap_err();
        assert!(at == line && message.contains(problem), "{at} {message}");
    }
}

#[test]
fn a_file_is_made_and_changed() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("new/settings.json");
    let set = || set_value(&path, 1024, &["a", "b"], add);
    set().unwrap();
    set().unwrap();
    let text = std::fs::read_to_string(&path).unwrap();
    assert_eq!(text, "{\n  \"a\": {\n    \"b\": [\"x\", \"x\"]\n  }\n}\n");
    std::fs::write(&path, "{").unwrap();
    let error = set().unwrap_err().to_string();
    assert!(
        error.contains("settings.json:1 cannot be changed"),
        "{error}"
    );
    assert_eq!(std::fs::read_to_string(&path).unwrap(), "{");
}

#[test]
fn a_member_is_taken_out() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("file");
    let remove = |keys: &[&str]| remove_value(&path, 1024, keys);
    assert!(!remove(&["a"]).unwrap());
    assert!(!path.exists());
    std::fs::write(&path, "{\n  // Why\n  \"a\": {\"b\": 1, \"c\": 2},\n}\n").unwrap();
    assert!(remove(&["a", "b"]).unwrap());
    assert!(!remove(&["a", "b"]).unwrap());
    assert!(!remove(&["x", "y"]).unwrap());
    assert_eq!(
        std::fs::read_to_string(&path).unwrap(),
        "{\n  // Why\n  \"a\": {\"c\": 2},\n}\n"
    );
    std::fs::write(&path, "{").unwrap();
    let error = remove(&["a"]).unwrap_err().to_string();
    assert!(
        error.contains(":1 cannot be changed: it is not valid JSON"),
        "{error}"
    );
}
