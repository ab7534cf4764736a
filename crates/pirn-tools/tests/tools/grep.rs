//! The tool `grep`, over files that are made for it.

use serde_json::{Value, json};

use crate::support::Bench;

fn bench() -> Bench {
    let bench = Bench::new();
    bench.put("a.txt", "one\ntwo Needle\nthree\n");
    bench.put(
        "src/b.rs",
        "fn needle() {}\r\nfn other() {}\r\n// needle (again)\r\n",
    );
    bench.put("src/deep/ü x.rs", "needle\n");
    bench.put(".hidden/c.txt", "needle\n");
    bench.put("binary", b"needle\n\0needle\n");
    bench.put("ignored/d.txt", "needle\n");
    bench.put(".git/e.txt", "needle\n");
    bench.put(".gitignore", "ignored/\n");
    bench
}

#[tokio::test]
async fn finds_lines() {
    let bench = bench();
    for (arguments, found) in [
        (
            json!({"pattern": "needle"}),
            ".hidden/c.txt:1: needle\nsrc/b.rs:1: fn needle() {}\nsrc/b.rs:3: // needle (again)\nsrc/deep/ü x.rs:1: needle",
        ),
        (
            json!({"pattern": "needle", "path": "src/b.rs"}),
            "src/b.rs:1: fn needle() {}\nsrc/b.rs:3: // needle (again)",
        ),
        (
            json!({"pattern": "^needle$", "path": "src"}),
            "src/deep/ü x.rs:1: needle",
        ),
        (
            json!({"pattern": "NEEDLE", "ignoreCase": true, "glob": "*.txt"}),
            ".hidden/c.txt:1: needle\na.txt:2: two Needle",
        ),
        (
            json!({"pattern": "(again)", "literal": true}),
            "src/b.rs:3: // needle (again)",
        ),
        (
            json!({"pattern": "needle", "glob": "./src/*.rs"}),
            "src/b.rs:1: fn needle() {}\nsrc/b.rs:3: // needle (again)",
        ),
        (
            json!({"pattern": "needle", "glob": "!*.rs"}),
            ".hidden/c.txt:1: needle",
        ),
        (
            json!({"pattern": "needle", "path": "ignored"}),
            "ignored/d.txt:1: needle",
        ),
        (
            json!({"pattern": "needle", "path": "ignored/d.txt"}),
            "ignored/d.txt:1: needle",
        ),
        (
            json!({"pattern": "needle", "path": ".git"}),
            ".git/e.txt:1: needle",
        ),
        (
            json!({"pattern": "two", "context": 1}),
            "a.txt-1- one\na.txt:2: two Needle\na.txt-3- three",
        ),
        (json!({"pattern": "nothing like it"}), "No matches found"),
        (json!({"pattern": "[a-z]+ Needle"}), "a.txt:2: two Needle"),
    ] {
        assert_eq!(
            bench.ok("grep", arguments.clone()).await,
            found,
            "{arguments}"
        );
    }
    assert_eq!(
        bench
            .fails("grep", json!({"pattern": "x", "path": "none"}))
            .await,
        "Could not search none: ENOENT: no such file or directory"
    );
    assert!(
        bench
            .fails("grep", json!({"pattern": "("}))
            .await
            .contains("unclosed group")
    );
    assert!(
        bench
            .fails("grep", json!({"pattern": "x", "glob": "{"}))
            .await
            .contains('{')
    );
}

#[tokio::test]
async fn shows_a_named_binary_file() {
    let bench = bench();
    let text = bench
        .ok("grep", json!({"pattern": "needle", "path": "binary"}))
        .await;
    assert!(text.starts_with("binary:1: needle\n"), "{text}");
}

#[tokio::test]
async fn stops_at_the_limit() {
    let bench = Bench::new();
    bench.put("a", "x 1\nx 2\nx 3\n.\n.\nx 6\n");
    bench.put("b", "x b\n");
    let notice = |limit: usize| {
        format!(
            "\n\n[{limit} matches limit reached. Use limit={} for more, or offset={limit} for the next, or refine pattern]",
            limit * 2
        )
    };
    for (limit, context, found) in [
        (
            json!(2),
            Value::Null,
            format!("a:1: x 1\na:2: x 2{}", notice(2)),
        ),
        (json!(0), Value::Null, format!("a:1: x 1{}", notice(1))),
        (
            json!(4),
            Value::Null,
            format!("a:1: x 1\na:2: x 2\na:3: x 3\na:6: x 6{}", notice(4)),
        ),
        (
            json!(5),
            Value::Null,
            "a:1: x 1\na:2: x 2\na:3: x 3\na:6: x 6\nb:1: x b".to_owned(),
        ),
        // A match in the trailing context is shown as context; the next one is another match.
        (
            json!(2),
            json!(1),
            format!("a:1: x 1\na:2: x 2\na-3- x 3{}", notice(2)),
        ),
        (
            json!(3),
            json!(3),
            format!(
                "a:1: x 1\na:2: x 2\na:3: x 3\na-4- .\na-5- .\na-6- x 6{}",
                notice(3)
            ),
        ),
    ] {
        let arguments = json!({"pattern": "x", "limit": limit, "context": context});
        assert_eq!(
            bench.ok("grep", arguments.clone()).await,
            found,
            "{arguments}"
        );
    }
    std::fs::remove_file(bench.path("b")).unwrap();
    let arguments = json!({"pattern": "x", "limit": 3, "context": 3});
    assert_eq!(
        bench.ok("grep", arguments).await,
        "a:1: x 1\na:2: x 2\na:3: x 3\na-4- .\na-5- .\na-6- x 6"
    );
}

#[tokio::test]
async fn cuts_long_lines_and_long_results() {
    let bench = Bench::new();
    bench.put("long", format!("ä{}\n", "x".repeat(600)));
    assert_eq!(
        bench.ok("grep", json!({"pattern": "x"})).await,
        format!(
            "long:1: ä{}... [truncated]\n\n[Some lines truncated to 500 chars. Use read tool to see full lines]",
            "x".repeat(499)
        )
    );
    bench.put("many", format!("{}\n", "x".repeat(499)).repeat(150));
    let text = bench
        .ok(
            "grep",
            json!({"pattern": "x", "limit": 120, "path": "many"}),
        )
        .await;
    assert!(text.ends_with("\n\n[50.0KB limit reached]"), "{text}");
    assert_eq!(text.lines().count(), 100 + 2);
}

#[tokio::test]
async fn gives_the_same_answer_every_time() {
    let bench = Bench::new();
    for folder in 0..20 {
        for file in 0..50 {
            bench.put(
                &format!("d{folder:02}/f{file:02}"),
                "needle\n".repeat(1 + file % 3),
            );
        }
    }
    let first = bench
        .ok("grep", json!({"pattern": "needle", "limit": 700}))
        .await;
    assert!(first.starts_with("d00/f00:1: needle\n"));
    assert!(first.contains("700 matches limit reached"));
    for _ in 0..10 {
        assert_eq!(
            bench
                .ok("grep", json!({"pattern": "needle", "limit": 700}))
                .await,
            first
        );
    }
    let lines: Vec<_> = first.lines().take(700).collect();
    assert!(lines.is_sorted_by_key(|line| line.split(':').next()));
}
