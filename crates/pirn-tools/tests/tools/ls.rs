//! The tool `ls`, over folders that are made for it.

use serde_json::json;

use crate::support::Bench;

#[tokio::test]
async fn lists() {
    let bench = Bench::new();
    assert_eq!(bench.ok("ls", json!({})).await, "(empty directory)");
    for name in ["b.txt", "A.txt", ".hidden", "folder/x", "ü ö.txt"] {
        bench.put(name, "");
    }
    std::os::unix::fs::symlink("folder", bench.path("link")).unwrap();
    std::os::unix::fs::symlink("nowhere", bench.path("broken")).unwrap();
    assert_eq!(
        bench.ok("ls", json!({})).await,
        ".hidden\nA.txt\nb.txt\nbroken\nfolder/\nlink/\nü ö.txt\n\n[Links that lead nowhere: broken]"
    );
    assert_eq!(bench.ok("ls", json!({"path": "link"})).await, "x");
    assert_eq!(
        bench.ok("ls", json!({"limit": 2})).await,
        ".hidden\nA.txt\n\n[2 entries limit reached. Use limit=4 for more, or offset=2 for the next]"
    );
    assert_eq!(
        bench.ok("ls", json!({"limit": 7})).await.lines().count(),
        7 + 2
    );
    assert_eq!(
        bench.fails("ls", json!({"path": "none"})).await,
        "Could not list none: ENOENT: no such file or directory"
    );
    assert_eq!(
        bench.fails("ls", json!({"path": "b.txt"})).await,
        "Could not list b.txt: ENOTDIR: not a directory"
    );
}

#[tokio::test]
async fn cuts_at_the_byte_limit() {
    let bench = Bench::new();
    for n in 0..300 {
        bench.put(&format!("{n:03}{}", "x".repeat(197)), "");
    }
    let text = bench.ok("ls", json!({})).await;
    assert!(text.ends_with("\n\n[50.0KB limit reached]"));
    assert_eq!(text.lines().count(), 254 + 2);
}
