//! For any tree of files scripts get what the system's own programs say.

use std::path::Path;
use std::process::Command;

use pirn_tools::SCRIPT_RESULT_BYTES_MAX;
use proptest::collection::vec;
use proptest::prelude::*;
use serde_json::{Value, json};

use crate::support::Bench;

/// Names as people and programs give them.
const NAMES: [&str; 14] = [
    "a",
    "b.txt",
    "B.txt",
    ".hidden",
    "with blank",
    "[id]",
    "{x,y}",
    "-n",
    "ü",
    "u\u{308}",
    "a'b\"c",
    "line\nbreak",
    "*",
    "~",
];

/// Pieces that contents are made of; the word that is searched is one of them.
const PIECES: [&str; 10] = [
    "needle",
    "Needle",
    "\n",
    "\r\n",
    "\r",
    " ",
    "ü",
    "\u{FEFF}",
    "\t",
    "needles needle",
];

/// What lies at a path: a folder, or a file with this content.
type Node = (Vec<usize>, Option<String>);

fn tree() -> impl Strategy<Value = Vec<Node>> {
    let path = vec(0..NAMES.len(), 1..4);
    let content = vec(0..PIECES.len(), 0..40)
        .prop_map(|pieces| pieces.into_iter().map(|piece| PIECES[piece]).collect());
    vec((path, proptest::option::weighted(0.8, content)), 0..14)
}

/// Makes the tree as far as its parts do not stand in each other's way.
fn make(bench: &Bench, tree: &[Node]) -> Vec<String> {
    let mut files = Vec::new();
    for (path, content) in tree {
        let names: Vec<_> = path.iter().map(|name| NAMES[*name]).collect();
        let path = names.join("/");
        let full = bench.path(&path);
        match content {
            None => {
                let _made = std::fs::create_dir_all(&full);
            }
            Some(content) => {
                let is_free = std::fs::create_dir_all(full.parent().unwrap()).is_ok();
                if is_free && !full.exists() {
                    std::fs::write(&full, content).unwrap();
                    files.push(path);
                }
            }
        }
    }
    files
}

/// What a program of the system writes, in records that end in zero bytes.
fn records(folder: &Path, program: &str, arguments: &[&str]) -> Vec<String> {
    let output = Command::new(program)
        .args(arguments)
        .current_dir(folder)
        .env("LC_ALL", "C.UTF-8")
        .output()
        .unwrap();
    let text = String::from_utf8(output.stdout).unwrap();
    text.split_terminator('\0').map(str::to_owned).collect()
}

/// A path as the next call takes it: a `~` in front would be the home folder.
fn given(path: &str) -> String {
    if path == "~" || path.starts_with("~/") {
        format!("./{path}")
    } else {
        path.to_owned()
    }
}

fn listed(value: &Value) -> Vec<(String, String, u64)> {
    let entry = |entry: &Value| {
        (
            entry["name"].as_str().unwrap().to_owned(),
            entry["type"].as_str().unwrap().to_owned(),
            if entry["type"] == "file" {
                entry["size"].as_u64().unwrap()
            } else {
                0
            },
        )
    };
    let mut entries: Vec<_> = value.as_array().unwrap().iter().map(entry).collect();
    entries.sort_unstable();
    entries
}

async fn check(tree: &[Node]) {
    let bench = Bench::new();
    let root = bench.path("");
    let files = make(&bench, tree);
    // Folders first, which `find` of the system does not mark.
    let mut wanted: Vec<String> = records(
        &root,
        "find",
        &[".", "-mindepth", "1", "-printf", "%P\\t%y\\0"],
    )
    .into_iter()
    .map(|record| {
        let (path, kind) = record.rsplit_once('\t').unwrap();
        format!("{}{}", given(path), if kind == "d" { "/" } else { "" })
    })
    .collect();
    wanted.sort_unstable();
    let found = bench.script("find", json!({"pattern": "*"})).await.unwrap();
    let mut found: Vec<String> = serde_json::from_value(found).unwrap();
    found.sort_unstable();
    assert_eq!(found, wanted);

    let wanted: Vec<_> = records(
        &root,
        "find",
        &[
            ".",
            "-mindepth",
            "1",
            "-maxdepth",
            "1",
            "-printf",
            "%f\\t%y\\t%s\\0",
        ],
    );
    let mut wanted: Vec<(String, String, u64)> = wanted
        .iter()
        .map(|record| {
            let (rest, size) = record.rsplit_once('\t').unwrap();
            let (name, kind) = rest.rsplit_once('\t').unwrap();
            match kind {
                "d" => (name.to_owned(), "folder".to_owned(), 0),
                _ => (name.to_owned(), "file".to_owned(), size.parse().unwrap()),
            }
        })
        .collect();
    wanted.sort_unstable();
    let entries = bench.script("ls", json!({})).await.unwrap();
    assert_eq!(listed(&entries), wanted);

    // Each record is a path, and each text what follows it up to the next: the lines of `-Z` end in line feeds.
    let mut wanted = Vec::new();
    for file in &files {
        let content = std::fs::read_to_string(bench.path(file)).unwrap();
        let hits = records(&root, "grep", &["-naF", "needle", "--", file]).concat();
        for hit in hits.lines().filter(|hit| !hit.is_empty()) {
            let (line, text) = hit.split_once(':').unwrap();
            // A mark at the beginning is no part of the first line.
            let text = if line == "1" {
                text.strip_prefix('\u{FEFF}').unwrap_or(text)
            } else {
                text
            };
            wanted.push((given(file), line.parse::<u64>().unwrap(), text.to_owned()));
        }
        let path = json!({"path": given(file)});
        assert_eq!(
            bench.script("read", path).await,
            Ok(json!(content)),
            "{file:?}"
        );
        let quoted = file.replace('\'', r"'\''");
        let arguments = json!({"command": format!("cat -- '{quoted}'")});
        let output = bench.script("bash", arguments).await.unwrap();
        assert_eq!(output["output"], json!(content), "{file:?}");
    }
    wanted.sort_unstable();
    let found = bench
        .script("grep", json!({"pattern": "needle"}))
        .await
        .unwrap();
    let mut found: Vec<_> = found
        .as_array()
        .unwrap()
        .iter()
        .map(|hit| {
            (
                hit["path"].as_str().unwrap().to_owned(),
                hit["line"].as_u64().unwrap(),
                hit["text"].as_str().unwrap().to_owned(),
            )
        })
        .collect();
    found.sort_unstable();
    assert_eq!(found, wanted);
}

#[tokio::test]
async fn commands_give_whole_output_up_to_the_limit_and_fail_beyond_it() {
    let bench = Bench::new();
    for (bytes, is_whole) in [
        (SCRIPT_RESULT_BYTES_MAX, true),
        (SCRIPT_RESULT_BYTES_MAX + 1, false),
    ] {
        let command = format!("head -c {bytes} /dev/zero | tr '\\0' x");
        let output = bench.script("bash", json!({"command": command})).await;
        match output {
            Ok(output) => {
                assert!(is_whole);
                assert_eq!(output["output"].as_str().unwrap().len(), bytes);
            }
            Err(error) => {
                assert!(!is_whole, "{error}");
                assert!(error.contains("16.0MB"), "{error}");
            }
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 32, ..ProptestConfig::default() })]

    #[test]
    fn scripts_get_what_the_system_says(tree in tree()) {
        let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(1).enable_all().build().unwrap();
        runtime.block_on(check(&tree));
    }
}
