//! The tool `edit`, with texts that fit and that do not.

use std::os::unix::fs::MetadataExt as _;

use serde_json::{Value, json};

use crate::support::{Bench, names};

#[tokio::test]
async fn replaces_and_reports() {
    let bench = Bench::new();
    bench.put("f.txt", "one\ntwo\nthree\n");
    let edits =
        json!([{"oldText": "one", "newText": "1"}, {"oldText": "three\n", "newText": "3\n4\n"}]);
    let result = bench
        .result("edit", json!({"path": "f.txt", "edits": edits}))
        .await;
    assert_eq!(
        result.joined_text(),
        "Successfully replaced 2 block(s) in f.txt."
    );
    assert_eq!(bench.get("f.txt"), "1\ntwo\n3\n4\n");
    assert_eq!(
        result.details,
        Some(json!({
            "diff": "-1 one\n+1 1\n 2 two\n-3 three\n+3 3\n+4 4",
            "patch": "--- f.txt\n+++ f.txt\n@@ -1,3 +1,4 @@\n-one\n+1\n two\n-three\n+3\n+4\n",
            "firstChangedLine": 1
        }))
    );
    assert_eq!(names(&bench.path("")), ["f.txt"]);
}

#[tokio::test]
async fn keeps_byte_order_mark_line_ends_mode_and_links() {
    use std::os::unix::fs::PermissionsExt as _;
    let bench = Bench::new();
    let path = bench.put("f", "\u{FEFF}a\r\nb\nc\r\n");
    std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o600)).unwrap();
    std::os::unix::fs::symlink("f", bench.path("link")).unwrap();
    bench
        .ok(
            "edit",
            json!({"path": "link", "edits": [{"oldText": "a\n", "newText": "x\ny\n"}]}),
        )
        .await;
    assert_eq!(bench.get("f"), "\u{FEFF}x\r\ny\r\nb\nc\r\n");
    assert_eq!(std::fs::metadata(&path).unwrap().mode() & 0o777, 0o600);
    assert!(bench.path("link").symlink_metadata().unwrap().is_symlink());
}

#[tokio::test]
async fn accepts_sloppy_arguments() {
    let bench = Bench::new();
    for arguments in [
        json!({"edits": "[{\"oldText\":\"a\",\"newText\":\"b\"}]"}),
        json!({"edits": {"oldText": "a", "newText": "b"}}),
        json!({"oldText": "a", "newText": "b"}),
    ] {
        bench.put("f", "a");
        let mut arguments = arguments;
        arguments
            .as_object_mut()
            .unwrap()
            .insert("path".into(), Value::from("f"));
        bench.ok("edit", arguments.clone()).await;
        assert_eq!(bench.get("f"), "b", "{arguments}");
    }
}

#[tokio::test]
async fn explains_failures_and_changes_nothing() {
    let bench = Bench::new();
    let content = "fn main() {\n    println!(\"hello\");\n}\n";
    bench.put("f", content);
    bench.put("binary", b"text \xFF\0\n");
    std::fs::create_dir(bench.path("folder")).unwrap();
    let edit = |old: &str, new: &str| json!({"oldText": old, "newText": new});
    for (path, edits, text) in [
        (
            "f",
            json!([]),
            "Edit tool input is invalid. edits must contain at least one replacement.",
        ),
        (
            "none",
            json!([edit("a", "b")]),
            "Could not edit file: none: ENOENT: no such file or directory.",
        ),
        (
            "folder",
            json!([edit("a", "b")]),
            "Could not edit file: folder: EISDIR: illegal operation on a directory.",
        ),
        (
            "binary",
            json!([edit("a", "b")]),
            "Could not edit file: binary: it is not UTF-8 text (byte 5). Give {encoding: \"latin1\"}",
        ),
        (
            "/dev/null",
            json!([edit("a", "b")]),
            "Could not edit file: /dev/null: it is a character device, not a regular file.",
        ),
        (
            "f",
            json!([edit("    println!(\"hullo\");", "")]),
            "Could not find the exact text in f. oldText has to equal the file's text, with every space and line break.\n\n\
             Nearest match, line 2 (95% alike):\n2 |     println!(\"hello\");",
        ),
        (
            "f",
            json!([edit("hello", "hello")]),
            "No changes made to f. ",
        ),
        (
            "f",
            json!([edit("main", "x"), edit("l", "x")]),
            "Found 3 occurrences of edits[1] in f. ",
        ),
        (
            "f",
            json!([edit("main", "x"), edit("fn main", "x")]),
            "edits[0] and edits[1] overlap in f. ",
        ),
        (
            "f",
            json!([edit("", "x")]),
            "oldText must not be empty in f.",
        ),
    ] {
        let error = bench
            .fails("edit", json!({"path": path, "edits": edits}))
            .await;
        assert!(error.starts_with(text), "{error}");
        assert_eq!(bench.get("f"), content);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn parallel_edits_of_one_file_all_count() {
    let bench = Bench::new();
    let content: String = (0..40).map(|n| format!("<{n}>\n")).collect();
    bench.put("f", content);
    std::os::unix::fs::symlink("f", bench.path("link")).unwrap();
    let calls = (0..40).map(|n| {
        let path = if n % 2 == 0 { "f" } else { "link" };
        bench.ok("edit", json!({"path": path, "edits": [{"oldText": format!("<{n}>"), "newText": format!("[{n}]")}]}))
    });
    futures_util::future::join_all(calls).await;
    let wanted: String = (0..40).map(|n| format!("[{n}]\n")).collect();
    assert_eq!(bench.get("f"), wanted);
}
