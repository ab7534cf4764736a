//! The tool `find`, over folders that are made for it.

use pirn_tool::{CallRequest, Origin};
use serde_json::{Value, json};

use crate::support::Bench;

#[tokio::test]
async fn finds_by_pattern() {
    let bench = Bench::new();
    for name in [
        "a.ts",
        "src/a.ts",
        "src/deep/b.ts",
        "lib/src/c.ts",
        ".hidden/d.ts",
        "README.md",
        "two words/ö.md",
        ".git/e.ts",
        "ignored/f.ts",
    ] {
        bench.put(name, "");
    }
    bench.put(".gitignore", "ignored/\n");
    let absolute = bench.path("src/*.ts").display().to_string();
    for (pattern, path, found) in [
        (
            "*.ts",
            Value::Null,
            ".hidden/d.ts\na.ts\nlib/src/c.ts\nsrc/a.ts\nsrc/deep/b.ts",
        ),
        ("src/*.ts", Value::Null, "src/a.ts"),
        ("./src/*.ts", Value::Null, "src/a.ts"),
        ("**/src/*.ts", Value::Null, "lib/src/c.ts\nsrc/a.ts"),
        ("src/**", Value::Null, "src/a.ts\nsrc/deep/\nsrc/deep/b.ts"),
        ("src", Value::Null, "lib/src/\nsrc/"),
        ("src/", Value::Null, "lib/src/\nsrc/"),
        ("readme*", Value::Null, "README.md"),
        ("Readme*", Value::Null, "No files found matching pattern"),
        ("*.{md,rs}", Value::Null, "README.md\ntwo words/ö.md"),
        ("ö.md", json!("two words"), "two words/ö.md"),
        ("*.ts", json!("src"), "src/a.ts\nsrc/deep/b.ts"),
        ("*.ts", json!("./src/"), "src/a.ts\nsrc/deep/b.ts"),
        ("*.ts", json!("src/../lib"), "src/../lib/src/c.ts"),
        ("e.ts", json!(".git"), ".git/e.ts"),
        (absolute.as_str(), Value::Null, "src/a.ts"),
    ] {
        assert_eq!(
            bench
                .ok("find", json!({"pattern": pattern, "path": path}))
                .await,
            found,
            "{pattern} {path}"
        );
    }
    assert_eq!(
        bench
            .ok("find", json!({"pattern": "*.ts", "limit": 2}))
            .await,
        ".hidden/d.ts\na.ts\n\n[2 results limit reached. Use limit=4 for more, or offset=2 for the next, or refine pattern]"
    );
    assert_eq!(
        bench
            .ok("find", json!({"pattern": "*.ts", "limit": 5}))
            .await
            .lines()
            .count(),
        5
    );
    assert_eq!(
        bench
            .fails("find", json!({"pattern": "*", "path": "none"}))
            .await,
        "Could not search none: ENOENT: no such file or directory"
    );
    assert!(
        bench
            .fails("find", json!({"pattern": "a{"}))
            .await
            .starts_with("Invalid pattern: ")
    );
    assert!(
        bench
            .fails("find", json!({"pattern": "*", "path": "a.ts"}))
            .await
            .starts_with("Not a directory: ")
    );
}

#[tokio::test]
async fn rules_of_a_repository_stop_at_a_nested_one() {
    let bench = Bench::new();
    bench.put(".git/HEAD", "");
    bench.put(".gitignore", "*.log\n");
    bench.put("a.log", "");
    bench.put("nested/.git/HEAD", "");
    bench.put("nested/b.log", "");
    assert_eq!(
        bench.ok("find", json!({"pattern": "*.log"})).await,
        "nested/b.log"
    );
    std::fs::remove_dir_all(bench.path("nested/.git")).unwrap();
    assert_eq!(
        bench.ok("find", json!({"pattern": "*.log"})).await,
        "No files found matching pattern"
    );
    assert_eq!(
        bench
            .ok("find", json!({"pattern": "*.log", "path": "nested"}))
            .await,
        "No files found matching pattern"
    );
}

#[tokio::test]
async fn links_are_listed_and_not_followed() {
    let bench = Bench::new();
    bench.put("real/a.ts", "needle\n");
    std::os::unix::fs::symlink("real", bench.path("link")).unwrap();
    std::os::unix::fs::symlink(".", bench.path("real/round")).unwrap();
    std::os::unix::fs::symlink("real/a.ts", bench.path("b.ts")).unwrap();
    assert_eq!(
        bench.ok("find", json!({"pattern": "*.ts"})).await,
        "b.ts\nreal/a.ts"
    );
    assert_eq!(
        bench
            .ok("find", json!({"pattern": "*.ts", "path": "link"}))
            .await,
        "link/a.ts"
    );
    assert_eq!(
        bench.ok("grep", json!({"pattern": "needle"})).await,
        "real/a.ts:1: needle"
    );
    assert_eq!(
        bench
            .ok("grep", json!({"pattern": "needle", "path": "link"}))
            .await,
        "link/a.ts:1: needle"
    );
    assert_eq!(
        bench
            .ok("grep", json!({"pattern": "needle", "path": "b.ts"}))
            .await,
        "b.ts:1: needle"
    );
}

#[tokio::test]
async fn a_stopped_search_ends_at_once() {
    use pirn_tool::CallRequest;
    let bench = Bench::new();
    for n in 0..2_000 {
        bench.put(&format!("d{}/f{n}", n % 20), "text\n".repeat(2_000));
    }
    for tool in ["grep", "find"] {
        let cancel = tokio_util::sync::CancellationToken::new();
        let request =
            CallRequest::new("1", tool, json!({"pattern": "no such thing"})).cancel(cancel.clone());
        let call = bench.pipeline.call(request);
        tokio::pin!(call);
        let early = tokio::time::timeout(std::time::Duration::from_millis(1), &mut call).await;
        cancel.cancel();
        let outcome = match early {
            Ok(finished) => finished,
            Err(_elapsed) => tokio::time::timeout(std::time::Duration::from_secs(2), call)
                .await
                .unwrap(),
        };
        let text = outcome.result.joined_text();
        assert!(
            [
                "Operation aborted",
                "No matches found",
                "No files found matching pattern"
            ]
            .contains(&text.as_str()),
            "{text}"
        );
    }
}

/// A folder whose path is longer than the system opens: nobody can read it by name, also not root.
#[cfg(target_os = "linux")]
fn put_out_of_reach(bench: &Bench) {
    let long = "n".repeat(250);
    let chain = |count: usize| vec![long.as_str(); count].join("/");
    // Each half can be made; together they are too long.
    let (upper, lower) = (chain(9), chain(9));
    bench.put(&format!("lower/{lower}/hidden.txt"), "needle\n");
    bench.put(&format!("upper/{upper}/seen.txt"), "needle\n");
    std::fs::rename(
        bench.path("lower"),
        bench.path(&format!("upper/{upper}/lower")),
    )
    .unwrap();
}

#[cfg(target_os = "linux")]
#[tokio::test]
async fn what_cannot_be_read_is_told() {
    let bench = Bench::new();
    put_out_of_reach(&bench);
    for (tool, pattern) in [("find", "*.txt"), ("grep", "needle")] {
        let arguments = json!({ "pattern": pattern });
        let shown = bench.ok(tool, arguments.clone()).await;
        assert!(
            shown.contains("1 place could not be read and is left out: upper/"),
            "{tool}: {shown}"
        );
        let request = CallRequest::new("1", tool, arguments).origin(Origin::Nested);
        let result = bench.pipeline().call(request).await.result;
        let found = result.structured.unwrap();
        assert_eq!(found.as_array().unwrap().len(), 1, "{tool}: {found}");
        assert_eq!(result.notes.len(), 1, "{tool}: {:?}", result.notes);
    }
}
