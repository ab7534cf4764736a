//! What scripts get of searches: all of it, as values.

use pirn_tool::{CallRequest, FailureKind, Origin};
use serde_json::{Value, json};

use crate::support::Bench;

#[tokio::test]
async fn searches_give_lists() {
    let bench = Bench::new();
    bench.put("src/a.txt", "one\r\ntwo needle\r\nthree\r\nneedle\r\n");
    bench.put("b.txt", "needle\n");
    std::os::unix::fs::symlink("nowhere", bench.path("broken")).unwrap();
    let found =
        |path: &str, line: u64, text: &str| json!({"path": path, "line": line, "text": text});
    for (tool, arguments, wanted) in [
        (
            "grep",
            json!({"pattern": "needle$"}),
            json!([
                found("b.txt", 1, "needle"),
                found("src/a.txt", 2, "two needle"),
                found("src/a.txt", 4, "needle")
            ]),
        ),
        (
            "grep",
            json!({"pattern": "needle", "limit": 1}),
            json!([found("b.txt", 1, "needle")]),
        ),
        (
            "grep",
            json!({"pattern": "two", "context": 1, "path": "src/a.txt"}),
            json!([{"path": "src/a.txt", "line": 2, "text": "two needle", "before": ["one"], "after": ["three"]}]),
        ),
        (
            "grep",
            json!({"pattern": "needle", "context": 2, "path": "src", "limit": 1}),
            json!([{"path": "src/a.txt", "line": 2, "text": "two needle", "before": ["one"], "after": ["three", "needle"]}]),
        ),
        ("grep", json!({"pattern": "nothing"}), json!([])),
        (
            "find",
            json!({"pattern": "*"}),
            json!(["b.txt", "broken", "src/", "src/a.txt"]),
        ),
        (
            "find",
            json!({"pattern": "*", "limit": 2}),
            json!(["b.txt", "broken"]),
        ),
        (
            "find",
            json!({"pattern": "*.txt", "path": "src"}),
            json!(["src/a.txt"]),
        ),
        ("find", json!({"pattern": "nothing"}), json!([])),
    ] {
        assert_eq!(
            bench.script(tool, arguments.clone()).await,
            Ok(wanted),
            "{tool} {arguments}"
        );
    }
    let listed = bench.script("ls", json!({})).await.unwrap();
    let listed: Vec<_> = listed
        .as_array()
        .unwrap()
        .iter()
        .map(|entry| {
            (
                entry["name"].as_str().unwrap(),
                entry["type"].as_str().unwrap(),
                entry["size"].as_u64().unwrap(),
            )
        })
        .collect();
    let folder = listed[2].2;
    assert_eq!(
        listed,
        [
            ("b.txt", "file", 7),
            ("broken", "link", 0),
            ("src", "folder", folder)
        ]
    );
    let entries = bench.script("ls", json!({"path": "src"})).await.unwrap();
    let modified = std::fs::metadata(bench.path("src/a.txt"))
        .unwrap()
        .modified()
        .unwrap();
    let modified = modified
        .duration_since(std::time::UNIX_EPOCH)
        .unwrap()
        .as_millis();
    assert_eq!(
        u128::from(entries[0]["modified"].as_u64().unwrap()),
        modified
    );
    std::fs::create_dir(bench.path("empty")).unwrap();
    for (tool, arguments) in [
        ("ls", json!({"path": "empty"})),
        ("find", json!({"path": "empty", "pattern": "*"})),
        ("grep", json!({"path": "empty", "pattern": "x"})),
    ] {
        assert_eq!(bench.script(tool, arguments).await, Ok(json!([])), "{tool}");
    }
}

#[tokio::test]
async fn offset_and_limit_choose_among_the_results() {
    let bench = Bench::new();
    bench.put("src/a.txt", "one\r\ntwo needle\r\nthree\r\nneedle\r\n");
    bench.put("b.txt", "needle\n");
    std::os::unix::fs::symlink("nowhere", bench.path("broken")).unwrap();
    let found =
        |path: &str, line: u64, text: &str| json!({"path": path, "line": line, "text": text});
    for (tool, arguments, wanted) in [
        (
            "find",
            json!({"pattern": "*", "offset": 1, "limit": 2}),
            json!(["broken", "src/"]),
        ),
        ("find", json!({"pattern": "*", "offset": 9}), json!([])),
        (
            "grep",
            json!({"pattern": "needle", "offset": 1}),
            json!([
                found("src/a.txt", 2, "two needle"),
                found("src/a.txt", 4, "needle")
            ]),
        ),
        (
            "grep",
            json!({"pattern": "needle", "offset": 1, "limit": 1}),
            json!([found("src/a.txt", 2, "two needle")]),
        ),
    ] {
        let given = bench.script(tool, arguments.clone()).await;
        assert_eq!(given, Ok(wanted), "{tool} {arguments}");
    }
}

#[tokio::test]
async fn lists_are_whole_or_an_error() {
    let bench = Bench::new();
    let long = "x".repeat(60_000);
    bench.put("long", format!("{long}\n").repeat(3));
    bench.put("many", "needle\n".repeat(5_000));
    for n in 0..1_500 {
        bench.put(&format!("files/{n:04}"), "");
    }
    let count = |value: Result<Value, String>| value.unwrap().as_array().unwrap().len();
    assert_eq!(
        count(bench.script("grep", json!({"pattern": "needle"})).await),
        5_000
    );
    assert_eq!(
        count(
            bench
                .script("find", json!({"pattern": "*", "path": "files"}))
                .await
        ),
        1_500
    );
    assert_eq!(
        count(bench.script("ls", json!({"path": "files"})).await),
        1_500
    );
    let lines = bench
        .script("grep", json!({"pattern": "x", "path": "long"}))
        .await
        .unwrap();
    assert_eq!(lines[2]["text"].as_str().unwrap(), long);
    bench.put("long", format!("{long}\n").repeat(300));
    let error = bench
        .script("grep", json!({"pattern": "x", "path": "long"}))
        .await
        .unwrap_err();
    assert!(error.contains("more than 16.0MB"), "{error}");
    let request = CallRequest::new("1", "read", json!({"path": "long"})).origin(Origin::Nested);
    let outcome = bench.pipeline.call(request).await;
    assert_eq!(outcome.failure, Some(FailureKind::Limit));
    let text = outcome.result.joined_text();
    assert!(
        text.contains("Page through it with offset and limit"),
        "{text}"
    );
    let few = bench
        .script("grep", json!({"pattern": "x", "path": "long", "limit": 2}))
        .await;
    assert_eq!(count(few), 2);
}

#[tokio::test]
async fn changes_say_what_they_changed() {
    let bench = Bench::new();
    for (tool, arguments, wanted) in [
        (
            "write",
            json!({"path": "sub/f", "content": "a\nb\nc"}),
            json!({"path": "sub/f", "added": 3, "removed": 0, "created": true}),
        ),
        (
            "write",
            json!({"path": "sub/f", "content": "a\nB\nc\nd\n"}),
            json!({"path": "sub/f", "added": 3, "removed": 2, "created": false}),
        ),
        (
            "edit",
            json!({"path": "sub/f", "edits": [{"oldText": "B\n", "newText": ""}]}),
            json!({"path": "sub/f", "added": 0, "removed": 1}),
        ),
    ] {
        let given = bench.script(tool, arguments.clone()).await;
        assert_eq!(given, Ok(wanted), "{tool} {arguments}");
    }
    bench.put("near", "say \u{201C}hi\u{201D}\n");
    let edits = json!([{"oldText": "\"hi\"", "newText": "hello"}]);
    let given = bench
        .script("edit", json!({"path": "near", "edits": edits}))
        .await
        .unwrap();
    assert!(
        given["notes"][0]
            .as_str()
            .unwrap()
            .contains("not there exactly")
    );
}

#[tokio::test]
async fn unknown_keys_are_refused_before_anything_runs() {
    let bench = Bench::new();
    bench.put("f", "text\n");
    for (tool, arguments, wanted) in [
        (
            "bash",
            json!({"command": "touch made", "dir": "/"}),
            "dir: is not a known property",
        ),
        (
            "bash",
            json!({"command": "touch made", "timeOut": 1}),
            "did you mean \"timeout\"?",
        ),
        (
            "read",
            json!({"path": "f", "offest": 2}),
            "did you mean \"offset\"?",
        ),
        (
            "write",
            json!({"path": "made", "content": "", "mode": 5}),
            "mode: is not a known property",
        ),
        (
            "grep",
            json!({"pattern": "t", "ignorecase": true}),
            "did you mean \"ignoreCase\"?",
        ),
        (
            "find",
            json!({"pattern": "t", "limits": 1}),
            "did you mean \"limit\"?",
        ),
        ("ls", json!({"paths": "."}), "did you mean \"path\"?"),
        (
            "edit",
            json!({"path": "f", "edits": [{"oldText": "t", "newText": "", "all": true}]}),
            "edits.0.all: is not a known property",
        ),
    ] {
        for origin in [Origin::Model, Origin::Nested] {
            let request = CallRequest::new("1", tool, arguments.clone()).origin(origin);
            let outcome = bench.pipeline.call(request).await;
            let text = outcome.result.joined_text();
            assert_eq!(
                outcome.failure,
                Some(FailureKind::InvalidArguments),
                "{text}"
            );
            assert!(text.contains(wanted), "{text}");
        }
    }
    assert!(!bench.path("made").exists());
    assert_eq!(bench.get("f"), "text\n");
}
