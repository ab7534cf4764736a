//! What is read can be given back.

use pirn_tools::SCRIPT_RESULT_BYTES_MAX;
use proptest::prelude::*;
use serde_json::{Value, json};

use crate::support::Bench;

fn utf16(text: &str, is_big_endian: bool) -> Vec<u8> {
    std::iter::once(0xFEFF)
        .chain(text.encode_utf16())
        .flat_map(|unit| {
            if is_big_endian {
                unit.to_be_bytes()
            } else {
                unit.to_le_bytes()
            }
        })
        .collect()
}

/// Encodings that need no argument, with a function from text to bytes.
const ENCODINGS: [fn(&str) -> Vec<u8>; 4] = [
    |text| text.as_bytes().to_vec(),
    |text| format!("\u{FEFF}{text}").into_bytes(),
    |text| utf16(text, false),
    |text| utf16(text, true),
];

async fn read(bench: &Bench, arguments: Value) -> String {
    let value = bench.script("read", arguments).await.unwrap();
    value.as_str().unwrap().to_owned()
}

fn bytes(bench: &Bench) -> Vec<u8> {
    std::fs::read(bench.path("f")).unwrap()
}

/// Reads a file, writes it back, and changes a word of one line the way programs do.
async fn check_round(
    bench: &Bench,
    content: &[u8],
    word: &[u8],
    changed: &[u8],
    encoding: Option<&str>,
) {
    let shown = String::from_utf8_lossy(&content[..content.len().min(80)]).into_owned();
    bench.put("f", content);
    let arguments = |more: Value| {
        let mut arguments = more;
        arguments["path"] = json!("f");
        if let Some(encoding) = encoding {
            arguments["encoding"] = json!(encoding);
        }
        arguments
    };
    let text = read(bench, arguments(json!({}))).await;
    bench
        .script("write", arguments(json!({"content": text})))
        .await
        .unwrap();
    assert!(bytes(bench) == content, "{shown}");
    let Some(line) = text.split('\n').find(|line| line.contains("WORD")) else {
        return;
    };
    let edits = json!([{"oldText": line, "newText": line.replace("WORD", "CHANGED")}]);
    bench
        .script("edit", arguments(json!({"edits": edits})))
        .await
        .unwrap();
    let at = memchr::memmem::find(content, word).unwrap();
    let wanted = [&content[..at], changed, &content[at + word.len()..]].concat();
    assert!(bytes(bench) == wanted, "{shown}");
}

/// A word in the way a file has it.
fn inner(encode: fn(&str) -> Vec<u8>, word: &str) -> Vec<u8> {
    encode(word)[encode("").len()..].to_vec()
}

#[tokio::test]
async fn what_was_read_can_be_written_and_edited() {
    let bench = Bench::new();
    let numbered = |end: &str| {
        (1..=3_000)
            .map(|n| format!("line {n}{end}"))
            .collect::<String>()
    };
    let texts = [
        String::new(),
        "\n".to_owned(),
        "\r\n".to_owned(),
        "WORD".to_owned(),
        "a\nWORD".to_owned(),
        "a\nWORD\n".to_owned(),
        "a\r\nWORD b\r\nc\r\n".to_owned(),
        "a\r\nWORD b\r\nc".to_owned(),
        "a\rWORD\rc\r".to_owned(),
        "a\rb\nWORD\r\nc\r\r\nd\n\r".to_owned(),
        "a\u{2028}WORD\u{2029}b\u{85}c\n".to_owned(),
        "\u{1F600} WORD \u{201C}x\u{201D} e\u{301}\n".to_owned(),
        "a\0WORD\0\n".to_owned(),
        "[2 more lines in file. Use offset=3 to continue.]\nWORD\n\n".to_owned(),
        format!("{}WORD\n{}", numbered("\n"), numbered("\n")),
        format!("{}WORD\r\n", numbered("\r\n")),
        format!(
            "{}\nWORD{}\nz",
            "x".repeat(1_000_000),
            "y".repeat(1_000_000)
        ),
    ];
    for text in &texts {
        for encode in ENCODINGS {
            let (word, changed) = (inner(encode, "WORD"), inner(encode, "CHANGED"));
            check_round(&bench, &encode(text), &word, &changed, None).await;
        }
    }
    for content in [
        &b"caf\xE9 WORD \x80\r\n\xFF\n"[..],
        b"\xFF\xFEW\0O\0R\0D\0x",
        b"\0\xFF\xFE",
    ] {
        check_round(&bench, content, b"WORD", b"CHANGED", Some("latin1")).await;
        bench.put("f", content);
        let text = read(&bench, json!({"path": "f", "encoding": "base64"})).await;
        let arguments = json!({"path": "copy", "content": text, "encoding": "base64"});
        bench.script("write", arguments).await.unwrap();
        assert_eq!(std::fs::read(bench.path("copy")).unwrap(), content);
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn any_file_can_be_written_back(
        lines in prop::collection::vec(("[a-c \u{E9}\u{201C}\u{1F600}\u{2028}\0\t]{0,8}", "\n|\r\n|\r|"), 0..20),
        index in any::<prop::sample::Index>(),
        encoding in 0..4_usize,
    ) {
        let at = index.index(lines.len() + 1);
        let lines: Vec<String> = lines.into_iter().map(|(line, end)| line + &end).collect();
        // A first zero would make UTF-16 look like UTF-32, which is left to those who ask for bytes.
        let text = format!("a{}WORD{}", lines[..at].concat(), lines[at..].concat());
        let encode = ENCODINGS[encoding];
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        runtime.block_on(async {
            let bench = Bench::new();
            let (word, changed) = (inner(encode, "WORD"), inner(encode, "CHANGED"));
            check_round(&bench, &encode(&text), &word, &changed, None).await;
        });
    }
}

#[tokio::test]
async fn what_is_no_text_is_said() {
    let bench = Bench::new();
    for (content, at) in [
        (&b"caf\xE9\n"[..], 3),
        (b"\x7FELF\xFF\0\0", 4),
        (b"\xFF\xFEa\0b", 4),
        (b"\xFF\xFE\0\xD8", 2),
        (b"\xFF\xFE\0\0a\0\0\0", 0),
    ] {
        bench.put("f", content);
        for error in [
            bench
                .script("read", json!({"path": "f"}))
                .await
                .unwrap_err(),
            bench.fails("read", json!({"path": "f"})).await,
        ] {
            assert!(
                error.contains(&format!("text (byte {at}). Give {{encoding: \"latin1\"}}")),
                "{error}"
            );
            assert!(error.contains("{encoding: \"base64\"}"), "{error}");
        }
    }
}

#[tokio::test]
async fn the_encoding_stays() {
    let bench = Bench::new();
    let encode = |text: &str| utf16(text, false);
    for (before, content, after) in [
        (encode("a\r\n"), "b\n", encode("b\n")),
        (b"\xEF\xBB\xBFa".to_vec(), "b", b"\xEF\xBB\xBFb".to_vec()),
        (
            b"\xEF\xBB\xBFa".to_vec(),
            "\u{FEFF}b",
            b"\xEF\xBB\xBFb".to_vec(),
        ),
        (b"\xEF\xBB\xBFa".to_vec(), "", Vec::new()),
        (b"caf\xE9".to_vec(), "tea", b"tea".to_vec()),
        (b"a".to_vec(), "\u{E9}", "\u{E9}".into()),
    ] {
        bench.put("f", before);
        bench
            .ok("write", json!({"path": "f", "content": content}))
            .await;
        assert_eq!(bytes(&bench), after, "{content:?}");
    }
    bench.put("f", b"caf\xE9");
    let text = bench
        .fails("write", json!({"path": "f", "content": "th\u{E9}"}))
        .await;
    assert!(text.contains("{encoding: \"latin1\"}"), "{text}");
    assert_eq!(bytes(&bench), b"caf\xE9");
    for (encoding, content, after) in [
        ("latin1", "th\u{E9}", &b"th\xE9"[..]),
        ("utf-8", "th\u{E9}", "th\u{E9}".as_bytes()),
        ("utf-16be", "t", b"\xFE\xFF\0t"),
        ("base64", "/wA=", b"\xFF\0"),
    ] {
        let arguments = json!({"path": "f", "content": content, "encoding": encoding});
        bench.ok("write", arguments).await;
        assert_eq!(bytes(&bench), after);
    }
    for (encoding, content) in [("latin1", "\u{20AC}"), ("base64", "?")] {
        let arguments = json!({"path": "f", "content": content, "encoding": encoding});
        bench.fails("write", arguments).await;
        assert_eq!(bytes(&bench), b"\xFF\0");
    }
}

#[tokio::test]
async fn bytes_that_are_no_text_are_edited_where_the_edit_is_ascii() {
    let bench = Bench::new();
    let edit =
        |old: &str, new: &str| json!({"path": "f", "edits": [{"oldText": old, "newText": new}]});
    bench.put("f", b"caf\xE9=1\r\ntea=2\r\n");
    bench.ok("edit", edit("=1\r\ntea", "=3\ntea")).await;
    assert_eq!(bytes(&bench), b"caf\xE9=3\r\ntea=2\r\n");
    let text = bench.fails("edit", edit("tea", "th\u{E9}")).await;
    assert!(text.contains("{encoding: \"latin1\"}"), "{text}");
    let mut arguments = edit("caf\u{E9}", "th\u{E9}");
    arguments["encoding"] = json!("latin1");
    bench.ok("edit", arguments).await;
    assert_eq!(bytes(&bench), b"th\xE9=3\r\ntea=2\r\n");
    // A byte that is a blank in one encoding is half a letter in another.
    bench.put("f", b"a\xA0b \xFF\n");
    assert!(
        bench
            .fails("edit", edit("a b", "c"))
            .await
            .contains("Could not find")
    );
}

#[tokio::test]
async fn scripts_get_whole_results_or_an_error() {
    let bench = Bench::new();
    let lines = |count: usize| {
        (1..=count)
            .map(|n| format!("line {n}\n"))
            .collect::<String>()
    };
    bench.put("f", lines(5_000));
    assert_eq!(read(&bench, json!({"path": "f"})).await, lines(5_000));
    for (offset, limit, wanted) in [
        (2, 2, "line 2\nline 3\n"),
        (5_000, 10, "line 5000\n"),
        (4_999, 1, "line 4999\n"),
    ] {
        let arguments = json!({"path": "f", "offset": offset, "limit": limit});
        assert_eq!(read(&bench, arguments).await, wanted);
    }
    let error = bench
        .script("read", json!({"path": "f", "offset": 5_001}))
        .await;
    assert_eq!(
        error.unwrap_err(),
        "Offset 5001 is beyond end of file (5000 lines total)"
    );
    bench.put("f", "x".repeat(SCRIPT_RESULT_BYTES_MAX));
    assert_eq!(
        read(&bench, json!({"path": "f"})).await.len(),
        SCRIPT_RESULT_BYTES_MAX
    );
    bench.put(
        "f",
        format!("{}\n", "x".repeat(1_023)).repeat(SCRIPT_RESULT_BYTES_MAX / 1_024 + 1),
    );
    let error = bench
        .script("read", json!({"path": "f"}))
        .await
        .unwrap_err();
    assert!(
        error.contains("more than 16.0MB") && error.contains("offset and limit"),
        "{error}"
    );
    // A model sees a part, and what that was decoded from.
    bench.put("f", utf16(&lines(3_000), false));
    let text = bench.ok("read", json!({"path": "f"})).await;
    assert!(text.starts_with("line 1\nline 2\n"), "{text}");
    assert!(
        text.ends_with(
            "line 2000\n\n[Showing lines 1-2000 of 3000. Use offset=2001 to continue.]\n\n[Decoded from UTF-16 \
             (little-endian). write and edit keep that encoding.]"
        ),
        "{text}"
    );
}
