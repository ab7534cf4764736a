use super::matching::Tolerance;
use super::{Edit, diff, matching, nearest, prepare};
use serde_json::json;

fn edits(pairs: &[(&str, &str)]) -> Vec<Edit> {
    pairs
        .iter()
        .map(|(old, new)| Edit {
            old_text: (*old).into(),
            new_text: (*new).into(),
        })
        .collect()
}

/// Applies edits to a content; the error is the failure's text for a file `f`.
pub(super) fn apply(content: &str, pairs: &[(&str, &str)]) -> Result<String, String> {
    let edits = edits(pairs);
    let plan = matching::plan(content, &edits, Tolerance::NearToo)
        .map_err(|failure| failure.describe("f", edits.len(), None))?;
    Ok(matching::apply(content, &plan.replacements))
}

/// Old and new texts.
type Pairs<'a> = &'a [(&'a str, &'a str)];

/// Names, contents, edits, and contents after them.
const REPLACED: &[(&str, &str, Pairs<'_>, &str)] = &[
    ("one", "a b c", &[("b", "x")], "a x c"),
    (
        "several, any order",
        "a b c",
        &[("c", "z"), ("a", "x")],
        "x b z",
    ),
    (
        "against the original",
        "a b",
        &[("a", "b"), ("b", "a")],
        "b a",
    ),
    ("touching", "abcd", &[("ab", "1"), ("cd", "2")], "12"),
    ("delete", "a\nb\nc\n", &[("b\n", "")], "a\nc\n"),
    (
        "crlf",
        "a\r\nb\r\nc\r\n",
        &[("a\nb", "x\ny\nz")],
        "x\r\ny\r\nz\r\nc\r\n",
    ),
    (
        "crlf in the call",
        "a\nb\n",
        &[("a\r\nb", "x\r\ny")],
        "x\ny\n",
    ),
    (
        "mixed keeps each",
        "a\r\nb\nc\r\nd",
        &[("b", "x\ny")],
        "a\r\nx\ny\nc\r\nd",
    ),
    (
        "last line takes the one before",
        "a\r\nb",
        &[("b", "x\ny")],
        "a\r\nx\r\ny",
    ),
    (
        "byte order mark",
        "\u{FEFF}a\r\nb",
        &[("a", "x")],
        "\u{FEFF}x\r\nb",
    ),
    ("lone carriage return", "a\rb\n", &[("b", "c")], "a\rc\n"),
    (
        "trailing space",
        "a  \nb\nc  \n",
        &[("a\nb", "x\ny")],
        "x\ny\nc  \n",
    ),
    (
        "quotes",
        "say \u{201C}hi\u{201D} \u{2018}x\u{2019}\nrest \u{201C}q\u{201D}\n",
        &[("\"hi\"", "'ho'")],
        "say 'ho' \u{2018}x\u{2019}\nrest \u{201C}q\u{201D}\n",
    ),
    (
        "dash and space",
        "a\u{2014}b\u{00A0}c",
        &[("a-b c", "d")],
        "d",
    ),
    (
        "decomposed",
        "caf\u{65}\u{301}!",
        &[("caf\u{E9}", "tea")],
        "tea!",
    ),
    ("compatibility", "\u{FB01}sh", &[("fish", "bird")], "bird"),
    (
        "two on one inexact line",
        "\u{201C}a\u{201D} and \u{201C}b\u{201D}\n\u{2026}\n",
        &[("\"b\"", "2"), ("\"a\"", "1")],
        "1 and 2\n\u{2026}\n",
    ),
    (
        "inexact with line feed",
        "a \nb\nc \n",
        &[("a\n", "")],
        "b\nc \n",
    ),
    (
        "one exact, one alike",
        "'a' \u{2018}a\u{2019}",
        &[("'a'", "x")],
        "x \u{2018}a\u{2019}",
    ),
    (
        "the rest of the line keeps its spelling",
        "t = \u{201C}hello\u{201D}; // \u{201C}quotes\u{201D} \u{BD}  \nnext\n",
        &[("t = \"hello\";", "t = \"bye\";")],
        "t = \"bye\"; // \u{201C}quotes\u{201D} \u{BD}  \nnext\n",
    ),
    (
        "an exact edit beside an inexact one",
        "price \u{2014} 1\nexact: \u{201C}keep\u{201D} \u{BD}\n",
        &[("exact:", "EXACT:"), ("price - 1", "cost")],
        "cost\nEXACT: \u{201C}keep\u{201D} \u{BD}\n",
    ),
    (
        "blanks at the end stay outside",
        "f(\u{201C}a\u{201D})  \nb\n",
        &[("f(\"a\")", "g()")],
        "g()  \nb\n",
    ),
    (
        "a line split at its line feed",
        "n=a\r\nv=1\r\nend\r\n",
        &[("v=1\r", "v=2\r")],
        "n=a\r\nv=2\r\nend\r\n",
    ),
    (
        "a line split at its line feed, trimmed afterwards",
        "n=a\r\nv=1\r\nend\r\n",
        &[("v=1\r", "v=2")],
        "n=a\r\nv=2\r\nend\r\n",
    ),
    (
        "a carriage return that is there already",
        "n=a\r\nv=1\r\nend\r\n",
        &[("v=1", "v=2\r\n")],
        "n=a\r\nv=2\r\n\r\nend\r\n",
    ),
    (
        "a carriage return in a file without any",
        "v=1\nend\n",
        &[("v=1\r", "v=2\r")],
        "v=2\nend\n",
    ),
    (
        "line feeds that were widened twice",
        "a\r\nb\r\n",
        &[("a\r\nb", "x\r\r\ny")],
        "x\r\ny\r\n",
    ),
    (
        "begins with a line feed",
        "a\r\nb\r\nc",
        &[("\nb", "\nx\ny")],
        "a\r\nx\r\ny\r\nc",
    ),
    (
        "a line is taken out from its line feed on",
        "a\r\nb\r\nc\r\n",
        &[("\nb", "")],
        "a\r\nc\r\n",
    ),
    (
        "each line keeps its end",
        "a\r\nb\nc\r\nd\n",
        &[("a\nb\nc\nd", "a\nb\nx\nc\nd")],
        "a\r\nb\nx\r\nc\r\nd\n",
    ),
    (
        "carriage returns only",
        "a\rb\rc\r",
        &[("a\nb", "x\ny\nz")],
        "x\ry\rz\rc\r",
    ),
    (
        "the whole of a file with carriage returns only",
        "a\rb\r",
        &[("a\rb\r", "x\rb\r")],
        "x\rb\r",
    ),
    (
        "a line separator is a character",
        "a\u{2028}b\nc",
        &[("a\u{2028}b", "a\u{2028}x")],
        "a\u{2028}x\nc",
    ),
    (
        "a mark in the call",
        "\u{FEFF}using A;\r\n",
        &[("\u{FEFF}using A;\r", "\u{FEFF}using B;\r")],
        "\u{FEFF}using B;\r\n",
    ),
    (
        "a mark in the new text only",
        "\u{FEFF}a\n",
        &[("a", "\u{FEFF}b")],
        "\u{FEFF}b\n",
    ),
    (
        "a mark in the old text only",
        "\u{FEFF}a\n",
        &[("\u{FEFF}a", "b")],
        "\u{FEFF}b\n",
    ),
    (
        "a mark in the old text is at the start",
        "\u{FEFF}a\na\n",
        &[("\u{FEFF}a\n", "\u{FEFF}b\n")],
        "\u{FEFF}b\na\n",
    ),
    (
        "inexact crlf",
        "a \r\nb\r\nc\r\n",
        &[("a\nb", "x\ny")],
        "x\r\ny\r\nc\r\n",
    ),
];

#[test]
fn replaces() {
    for (name, content, pairs, wanted) in REPLACED {
        assert_eq!(apply(content, pairs).as_deref(), Ok(*wanted), "{name}");
    }
}

#[test]
fn refuses() {
    for (content, pairs, wanted) in [
        ("a", &[("", "x")][..], "oldText must not be empty in f."),
        (
            "a",
            &[("a", "x"), ("", "x")],
            "edits[1].oldText must not be empty in f.",
        ),
        ("a", &[("b", "x")], "Could not find the exact text in f. "),
        (
            "a",
            &[("a", "x"), ("b", "x")],
            "Could not find edits[1] in f. ",
        ),
        (
            "a a a",
            &[("a", "x")],
            "Found 3 occurrences of the text in f. ",
        ),
        (
            "a a b",
            &[("b", "x"), ("a", "x")],
            "Found 2 occurrences of edits[1] in f. ",
        ),
        (
            "\u{2018}a\u{2019} \u{201B}a\u{2019}",
            &[("'a'", "x")],
            "Found 2 occurrences of the text in f. ",
        ),
        (
            "overlapping: aaa",
            &[("aa", "x")],
            "Found 2 occurrences of the text in f. ",
        ),
        (
            "a ligature: \u{FB01}sh",
            &[("ish", "x")],
            "Could not find the exact text in f. ",
        ),
        (
            "blanks in a line: f(x)",
            &[("f( ", "g( ")],
            "Could not find the exact text in f. ",
        ),
        (
            "abc",
            &[("bc", "x"), ("ab", "x")],
            "edits[0] and edits[1] overlap in f. ",
        ),
        (
            "a\n \n \nb",
            &[("   ", "x")],
            "Could not find the exact text in f. ",
        ),
    ] {
        let error = apply(content, pairs).unwrap_err();
        assert!(error.starts_with(wanted), "{content:?}: {error}");
    }
}

#[test]
fn accepts_older_shapes() {
    let one = json!({"oldText": "a", "newText": "b"});
    for (given, wanted) in [
        (json!({"path": "f", "edits": [one]}), json!([one])),
        (json!({"path": "f", "edits": one}), json!([one])),
        (
            json!({"path": "f", "edits": json!([one]).to_string()}),
            json!([one]),
        ),
        (json!({"path": "f", "edits": one.to_string()}), json!([one])),
        (
            json!({"path": "f", "oldText": "a", "newText": "b"}),
            json!([one]),
        ),
        (
            json!({"path": "f", "edits": [one], "oldText": "a", "newText": "b"}),
            json!([one, one]),
        ),
        (json!({"path": "f", "edits": "no json"}), json!("no json")),
    ] {
        assert_eq!(
            prepare(given.clone()).get("edits"),
            Some(&wanted),
            "{given}"
        );
    }
    assert_eq!(prepare(json!({"path": "f"})), json!({"path": "f"}));
    assert_eq!(prepare(json!(3)), json!(3));
}

#[test]
fn shows_the_nearest_match() {
    let text = "fn one() {\n    first();\n}\n\nfn two() {\n    second(1, 2);\n    third();\n}\n";
    assert_eq!(
        nearest::describe(text, "    second(1,2);\n    third()\n").as_deref(),
        Some("Nearest match, lines 6-7 (96% alike):\n6 |     second(1, 2);\n7 |     third();")
    );
    assert_eq!(
        nearest::describe(text, "fn tow() {").as_deref(),
        Some("Nearest match, line 5 (90% alike):\n5 | fn two() {")
    );
    assert_eq!(nearest::describe(text, "@@@@@@@@@@@@@@@@@@@@@@@@@@"), None);
    assert_eq!(nearest::describe("", "x"), None);
    assert_eq!(nearest::describe(text, "  \n "), None);
}

#[test]
fn the_nearest_match_of_a_huge_file_takes_little_time() {
    let text = "let value = compute(something, 12345);\n".repeat(500_000);
    let start = std::time::Instant::now();
    nearest::describe(
        &text,
        &"let value = compote(something, 54321);\n".repeat(30),
    );
    assert!(
        start.elapsed() < std::time::Duration::from_secs(5),
        "{:?}",
        start.elapsed()
    );
}

#[test]
fn describes_what_changed() {
    let before = (1..=12)
        .map(|n| format!("line {n}\n"))
        .collect::<Vec<_>>()
        .concat();
    let after = before.replace("line 7\n", "line seven\nand more\n");
    let details = diff::details(&before, &after, "f");
    assert_eq!(details.get("firstChangedLine"), Some(&json!(7)));
    let diff = details.get("diff").unwrap().as_str().unwrap();
    assert_eq!(
        diff,
        "    ...\n  3 line 3\n  4 line 4\n  5 line 5\n  6 line 6\n- 7 line 7\n+ 7 line seven\n+ 8 and more\n  8 line 8\n  \
         9 line 9\n 10 line 10\n 11 line 11\n    ..."
    );
    let patch = details.get("patch").unwrap().as_str().unwrap();
    assert!(
        patch.starts_with("--- f\n+++ f\n@@ -3,9 +3,10 @@\n line 3\n"),
        "{patch}"
    );
}
