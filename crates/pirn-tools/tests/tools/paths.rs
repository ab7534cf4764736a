//! Paths as models and people write them.

use serde_json::json;

use crate::support::Bench;

#[tokio::test]
async fn finds_a_file_however_it_is_written() {
    let bench = Bench::new();
    let absolute = bench.put("plain.txt", "plain").display().to_string();
    bench.put("two words/ä ö.txt", "spaces");
    bench.put("caf\u{65}\u{301}.txt", "decomposed");
    bench.put("Shot at 9.41.12\u{202F}PM.png.txt", "narrow");
    bench.put("it\u{2019}s.txt", "curly");
    bench.put("d\u{65}\u{301}j\u{2019}a.txt", "both");
    bench.put("@at.txt", "at");
    bench.put("no\u{00A0}break.txt", "no break");
    bench.put("$HOME `x` \"q\".txt", "shell");
    std::fs::write(bench.beside("home").join("mine.txt"), "home").unwrap();
    for (path, content) in [
        (absolute.clone(), "plain"),
        ("plain.txt".into(), "plain"),
        ("./x/../plain.txt".into(), "plain"),
        ("@plain.txt".into(), "plain"),
        (format!("file://{absolute}"), "plain"),
        (format!("file://localhost{absolute}"), "plain"),
        (
            format!("file://{}", absolute.replace("plain", "pl%61in")),
            "plain",
        ),
        ("two words/ä ö.txt".into(), "spaces"),
        ("two\u{00A0}words/ä\u{2003}ö.txt".into(), "spaces"),
        ("caf\u{E9}.txt".into(), "decomposed"),
        ("Shot at 9.41.12 PM.png.txt".into(), "narrow"),
        ("it's.txt".into(), "curly"),
        ("d\u{E9}j'a.txt".into(), "both"),
        ("@@at.txt".into(), "at"),
        ("@at.txt".into(), "at"),
        ("no\u{00A0}break.txt".into(), "no break"),
        ("$HOME `x` \"q\".txt".into(), "shell"),
        ("~/mine.txt".into(), "home"),
    ] {
        assert_eq!(
            bench.ok("read", json!({"path": path})).await,
            content,
            "{path}"
        );
    }
    assert_eq!(bench.ok("ls", json!({"path": "~"})).await, "mine.txt");
    assert_eq!(
        bench.fails("read", json!({"path": "none.txt"})).await,
        "Could not read none.txt: ENOENT: no such file or directory"
    );
    assert_eq!(
        bench.fails("read", json!({"path": "."})).await,
        "Could not read .: EISDIR: illegal operation on a directory"
    );
}

#[tokio::test]
async fn writes_where_it_is_told() {
    let bench = Bench::new();
    for (path, place) in [
        ("new folder/deep er/ü.txt", "work/new folder/deep er/ü.txt"),
        ("@at.txt", "work/at.txt"),
        ("~/home.txt", "home/home.txt"),
        ("a\u{00A0}b.txt", "work/a b.txt"),
    ] {
        assert_eq!(
            bench
                .ok("write", json!({"path": path, "content": path}))
                .await,
            format!("Successfully wrote to {path}")
        );
        assert_eq!(std::fs::read_to_string(bench.beside(place)).unwrap(), path);
    }
}
