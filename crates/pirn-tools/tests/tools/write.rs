//! The tool `write`, with new files and old ones.

use std::os::unix::fs::{MetadataExt as _, PermissionsExt as _};

use serde_json::json;

use crate::support::{Bench, names};

#[tokio::test]
async fn creates_and_replaces() {
    let bench = Bench::new();
    for content in ["", "first\n", "second\r\n", "\u{FEFF}third"] {
        assert_eq!(
            bench
                .ok("write", json!({"path": "a/b/c.txt", "content": content}))
                .await,
            "Successfully wrote to a/b/c.txt"
        );
        assert_eq!(bench.get("a/b/c.txt"), content);
        assert_eq!(names(&bench.path("a/b")), ["c.txt"]);
    }
}

#[tokio::test]
async fn keeps_the_mode_and_follows_links() {
    let bench = Bench::new();
    let script = bench.put("bin/script.sh", "old");
    std::fs::set_permissions(&script, std::fs::Permissions::from_mode(0o750)).unwrap();
    let link = bench.path("link");
    std::os::unix::fs::symlink("bin/script.sh", &link).unwrap();
    std::os::unix::fs::symlink("link", bench.path("link to link")).unwrap();
    bench
        .ok("write", json!({"path": "link to link", "content": "new"}))
        .await;
    assert_eq!(bench.get("bin/script.sh"), "new");
    assert_eq!(std::fs::metadata(&script).unwrap().mode() & 0o777, 0o750);
    assert!(link.symlink_metadata().unwrap().is_symlink());

    std::os::unix::fs::symlink("bin/later.txt", bench.path("dangling")).unwrap();
    bench
        .ok("write", json!({"path": "dangling", "content": "made"}))
        .await;
    assert_eq!(bench.get("bin/later.txt"), "made");
    assert!(
        bench
            .path("dangling")
            .symlink_metadata()
            .unwrap()
            .is_symlink()
    );

    std::os::unix::fs::symlink("folder link/x", bench.path("round")).unwrap();
    std::os::unix::fs::symlink("bin", bench.path("folder link")).unwrap();
    bench
        .ok(
            "write",
            json!({"path": "folder link/new.txt", "content": "there"}),
        )
        .await;
    assert_eq!(bench.get("bin/new.txt"), "there");
    assert_eq!(
        names(&bench.path("bin")),
        ["later.txt", "new.txt", "script.sh"]
    );
}

#[tokio::test]
async fn new_files_have_the_usual_mode() {
    let bench = Bench::new();
    bench
        .ok("write", json!({"path": "new", "content": ""}))
        .await;
    bench.put("plain", "");
    let mode = |name| std::fs::metadata(bench.path(name)).unwrap().mode();
    assert_eq!(mode("new"), mode("plain"));
}

#[tokio::test]
async fn says_why_it_cannot_write() {
    let bench = Bench::new();
    bench.put("file", "");
    std::fs::create_dir(bench.path("folder")).unwrap();
    std::os::unix::fs::symlink("loop", bench.path("loop")).unwrap();
    for (path, text) in [
        (
            "folder",
            "Could not write folder: EISDIR: illegal operation on a directory",
        ),
        ("file/x", "Could not write file/x: ENOTDIR: not a directory"),
    ] {
        assert_eq!(
            bench
                .fails("write", json!({"path": path, "content": ""}))
                .await,
            text
        );
    }
    assert!(
        bench
            .fails("write", json!({"path": "loop", "content": ""}))
            .await
            .starts_with("Could not write loop: ")
    );
}

#[tokio::test]
async fn writes_to_names_of_full_length() {
    let bench = Bench::new();
    let name = "n".repeat(255);
    for content in ["one", "two"] {
        bench
            .ok("write", json!({"path": name, "content": content}))
            .await;
        assert_eq!(bench.get(&name), content);
    }
    assert_eq!(names(&bench.path("")), [name]);
}

#[tokio::test]
async fn large_content_arrives_whole() {
    let bench = Bench::new();
    let content = "0123456789abcdef".repeat(512 * 1024);
    bench
        .ok("write", json!({"path": "large", "content": content}))
        .await;
    assert_eq!(bench.get("large"), content);
}

#[tokio::test(flavor = "multi_thread")]
async fn parallel_writes_leave_one_whole_content() {
    let bench = Bench::new();
    let contents: Vec<String> = (0..16).map(|n| format!("{n}\n").repeat(20_000)).collect();
    let calls = contents
        .iter()
        .map(|content| bench.ok("write", json!({"path": "f", "content": content})));
    futures_util::future::join_all(calls).await;
    assert!(contents.contains(&bench.get("f")));
    assert_eq!(names(&bench.path("")), ["f"]);
}
