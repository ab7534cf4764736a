//! Paths are what they are.

use serde_json::json;

use crate::support::{Bench, names};

#[tokio::test]
async fn a_path_is_the_path() {
    let bench = Bench::new();
    let absolute = bench.put("plain.txt", "plain").display().to_string();
    let written = [
        "plain.txt",
        "two words/ä ö.txt",
        "caf\u{65}\u{301}.txt",
        "caf\u{E9}.txt",
        "shot 3.00 PM.txt",
        "shot 3.00\u{202F}PM.txt",
        "shot 3.00\u{A0}PM.txt",
        "it\u{2019}s.txt",
        "it's.txt",
        "@types/a.txt",
        "types/a.txt",
        "@at",
        "at",
        "@@at",
        " leading",
        "trailing ",
        "trailing\u{3000}",
        "trailing",
        "~home",
        "a~/b",
        "$HOME `x` \"q\".txt",
        "line\nbreak",
        "back\\slash",
        "%20",
    ];
    for path in written {
        let content = format!("in {path:?}");
        assert_eq!(
            bench
                .ok("write", json!({"path": path, "content": content}))
                .await,
            format!("Successfully wrote to {path}")
        );
        assert_eq!(bench.get(path), content);
    }
    // None of them is another one.
    for path in written {
        let content = format!("in {path:?}");
        assert_eq!(bench.ok("read", json!({"path": path})).await, content);
        let edits = json!([{"oldText": "in \"", "newText": "still in \""}]);
        bench
            .ok("edit", json!({"path": path, "edits": edits}))
            .await;
        assert_eq!(bench.get(path), format!("still {content}"));
        let line = bench
            .ok("grep", json!({"pattern": "still", "path": path}))
            .await;
        assert!(line.starts_with(&format!("{path}:1: still in")), "{line}");
    }
    std::fs::create_dir(bench.path("x")).unwrap();
    for path in [
        absolute.clone(),
        "./plain.txt".into(),
        ".//x/./../plain.txt".into(),
        format!("file://localhost{}", absolute.replace("plain", "pl%61in")),
    ] {
        let text = bench.ok("read", json!({"path": path})).await;
        assert_eq!(text, "still in \"plain.txt\"", "{path}");
    }
}

#[tokio::test]
async fn the_result_names_the_path_that_was_used() {
    let bench = Bench::new();
    let home = bench.beside("home");
    for (path, shown) in [
        ("~/new.txt", home.join("new.txt")),
        (
            &format!("file://{}", bench.path("u.txt").display()),
            bench.path("u.txt"),
        ),
    ] {
        let text = bench
            .ok("write", json!({"path": path, "content": "x"}))
            .await;
        assert_eq!(text, format!("Successfully wrote to {}", shown.display()));
        assert_eq!(std::fs::read_to_string(shown).unwrap(), "x");
    }
    assert_eq!(bench.ok("ls", json!({"path": "~"})).await, "new.txt");
    // Folders of those names are meant by their names.
    bench.put("file:/x", "in the folder");
    assert_eq!(
        bench.ok("read", json!({"path": "file:///x"})).await,
        "in the folder"
    );
    std::fs::remove_dir_all(bench.path("file:")).unwrap();
    std::fs::create_dir(bench.path("~")).unwrap();
    bench
        .ok("write", json!({"path": "./~/inner", "content": "x"}))
        .await;
    assert_eq!(names(&bench.path("~")), ["inner"]);
}

#[tokio::test]
async fn parent_folders_are_those_of_the_system() {
    let bench = Bench::new();
    bench.put("real/inner/f", "");
    bench.put("real/x", "beside the folder that the link leads to");
    bench.put("x", "beside the link");
    bench.put("file", "");
    std::os::unix::fs::symlink("real/inner", bench.path("link")).unwrap();
    assert_eq!(
        bench.ok("read", json!({"path": "link/../x"})).await,
        "beside the folder that the link leads to"
    );
    bench
        .ok("write", json!({"path": "link/../made", "content": ""}))
        .await;
    assert_eq!(names(&bench.path("real")), ["inner", "made", "x"]);
    assert_eq!(
        bench.ok("ls", json!({"path": "link/.."})).await,
        "inner/\nmade\nx"
    );
    for tool in ["read", "write"] {
        for (path, reason) in [
            ("none/../x", "ENOENT: no such file or directory"),
            ("file/../x", "ENOTDIR: not a directory"),
            ("", "the path is empty"),
        ] {
            let mut arguments = json!({"path": path});
            if tool == "write" {
                arguments["content"] = json!("");
            }
            let text = bench.fails(tool, arguments).await;
            assert!(text.contains(reason), "{text}");
        }
    }
    assert!(
        bench
            .fails("write", json!({"path": "new/", "content": ""}))
            .await
            .contains("a name that ends in a separator is that of a folder")
    );
    assert_eq!(names(&bench.path("")), ["file", "link", "real", "x"]);
}

#[tokio::test]
async fn what_is_not_there_is_told_with_what_is() {
    let bench = Bench::new();
    for name in [
        "shot 3.00\u{202F}PM.txt",
        "caf\u{65}\u{301}.txt",
        "src/main.rs",
        "README.md",
    ] {
        bench.put(name, "");
    }
    for (path, closest) in [
        ("shot 3.00 PM.txt", "\"shot 3.00\\u202fPM.txt\""),
        ("caf\u{E9}.txt", "\"cafe\\u0301.txt\""),
        ("src/mian.rs", "\"src/main.rs\""),
        ("scr/main.rs", "\"src\""),
        ("readme.md", "\"README.md\""),
        ("@README.md", "\"README.md\""),
    ] {
        let sentence = format!(". The closest name that exists is {closest}");
        let edits = json!([{"oldText": "a", "newText": "b"}]);
        for (tool, arguments) in [
            ("read", json!({"path": path})),
            ("edit", json!({"path": path, "edits": edits})),
            ("ls", json!({"path": path})),
            ("grep", json!({"path": path, "pattern": "x"})),
            ("find", json!({"path": path, "pattern": "x"})),
        ] {
            let text = bench.fails(tool, arguments).await;
            assert!(text.contains(&sentence), "{tool}: {text}");
        }
    }
    assert_eq!(
        bench
            .fails("read", json!({"path": "nothing like it"}))
            .await,
        "Could not read nothing like it: ENOENT: no such file or directory"
    );
}
