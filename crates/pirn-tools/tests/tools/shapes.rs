//! What scripts get of searches: all of it, as values.

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
    let few = bench
        .script("grep", json!({"pattern": "x", "path": "long", "limit": 2}))
        .await;
    assert_eq!(count(few), 2);
}
