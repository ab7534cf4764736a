//! Files that programs make or ship: each is read, given back, and changed in one word.

use std::path::Path;
use std::process::Command;

use serde_json::{Value, json};

use crate::support::Bench;

/// Files without which the test would show nothing: the kept ones and those of git, Python and the shell's own tools.
const FILES_MIN: usize = 30;

/// How a file's bytes are text, found without the code that is tested.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Form {
    Utf8,
    Utf16Le,
    Utf16Be,
    /// One character a byte; read and edited with an encoding.
    Bytes,
}

impl Form {
    fn of(bytes: &[u8]) -> Self {
        match bytes {
            [0xFF, 0xFE, ..] => Self::Utf16Le,
            [0xFE, 0xFF, ..] => Self::Utf16Be,
            _ if std::str::from_utf8(bytes).is_ok() => Self::Utf8,
            _ => Self::Bytes,
        }
    }

    /// The bytes of an ASCII text.
    fn bytes_of(self, text: &str) -> Vec<u8> {
        match self {
            Self::Utf8 | Self::Bytes => text.into(),
            Self::Utf16Le => text.encode_utf16().flat_map(u16::to_le_bytes).collect(),
            Self::Utf16Be => text.encode_utf16().flat_map(u16::to_be_bytes).collect(),
        }
    }

    fn encoding(self) -> Option<&'static str> {
        (self == Self::Bytes).then_some("latin1")
    }
}

/// The middle one of the words that are there once, with its place.
fn unique_word(bytes: &[u8], text: &str, form: Form) -> Option<(String, usize)> {
    let words = text
        .split(|character: char| !character.is_ascii_alphanumeric())
        .filter(|word| word.len() >= 4);
    let is_unique = |word: &&str| text.find(*word) == text.rfind(*word);
    let unique: Vec<_> = words.filter(is_unique).take(40).collect();
    let word = (*unique.get(unique.len() / 2)?).to_owned();
    let wanted = form.bytes_of(&word);
    let at = bytes
        .windows(wanted.len())
        .position(|window| window == wanted.as_slice())?;
    Some((word, at))
}

fn replaced(bytes: &[u8], at: usize, old: &[u8], new: &[u8]) -> Vec<u8> {
    let (before, rest) = bytes.split_at(at);
    [before, new, &rest[old.len()..]].concat()
}

/// The files below a folder with their contents, in order of their names.
fn files(folder: &Path) -> Vec<(String, Vec<u8>)> {
    let names = crate::support::names(folder);
    names
        .into_iter()
        .map(|name| {
            let content = std::fs::read(folder.join(&name)).unwrap();
            (name, content)
        })
        .collect()
}

#[tokio::test]
async fn files_of_installed_programs_keep_every_other_byte() {
    let programs = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/tools/programs");
    let made = tempfile::tempdir().unwrap();
    let script = Command::new("bash")
        .arg(programs.join("make.sh"))
        .arg(made.path())
        .output()
        .unwrap();
    assert!(script.status.success(), "{script:?}");
    let files: Vec<_> = [files(&programs.join("fixtures")), files(made.path())].concat();
    assert!(files.len() >= FILES_MIN, "only {} files", files.len());
    let bench = Bench::new();
    for (name, content) in files {
        let form = Form::of(&content);
        let arguments = |mut arguments: Value| {
            arguments["path"] = json!(name);
            if let Some(encoding) = form.encoding() {
                arguments["encoding"] = json!(encoding);
            }
            arguments
        };
        bench.put(&name, &content);
        let read = bench.script("read", arguments(json!({}))).await.unwrap();
        let read = read.as_str().unwrap();
        bench
            .script("write", arguments(json!({"content": read})))
            .await
            .unwrap();
        let now = || std::fs::read(bench.path(&name)).unwrap();
        assert_eq!(now(), content, "{name} was written back");

        let Some((word, at)) = unique_word(&content, read, form) else {
            continue;
        };
        let changed: String = word.chars().rev().chain(['X']).collect();
        let wanted = replaced(
            &content,
            at,
            &form.bytes_of(&word),
            &form.bytes_of(&changed),
        );
        // With the word alone, and with its line as a program has it.
        let line = read.split('\n').find(|line| line.contains(&word)).unwrap();
        for old in [word.as_str(), line] {
            bench.put(&name, &content);
            let edits = json!([{"oldText": old, "newText": old.replace(&word, &changed)}]);
            let edited = bench
                .script("edit", arguments(json!({"edits": edits})))
                .await;
            assert_eq!(edited.map(|_| ()), Ok(()), "{name}: {old:?}");
            assert!(now() == wanted, "{name}: {old:?} changed something else");
        }
    }
}
