use proptest::prelude::*;

use super::{MarkdownStream, markdown_rows};
use crate::row::Row;

#[track_caller]
fn check(text: &str, columns: usize, expected: &[&str]) {
    let rows: Vec<String> = markdown_rows(text, columns).iter().map(Row::text).collect();
    assert_eq!(rows, expected);
}

#[test]
fn blocks_of_all_kinds() {
    check(
        "# Head\nText **bold** `code`\nsoft",
        40,
        &["Head", "", "Text bold code soft"],
    );
    check(
        "- one\n- two\n  - deep\n\nafter",
        40,
        &["• one", "• two", "  • deep", "", "after"],
    );
    check(
        "3. three\n4. four and five",
        10,
        &["3. three", "4. four", "   and", "   five"],
    );
    check(
        "> quoted text\n>\n> more",
        10,
        &["│ quoted", "│ text", "│ ", "│ more"],
    );
    check(
        "```rust\nfn a() {}\n\tb\n```\nend",
        40,
        &["```rust", "fn a() {}", "    b", "```", "", "end"],
    );
    check("- [x] done\n- [ ] open", 40, &["• [x] done", "• [ ] open"]);
    check("a\n\n---\n\nb", 5, &["a", "", "─────", "", "b"]);
    check(
        "| a | bb |\n|---|---|\n| one | 2 |",
        40,
        &["a    bb", "───  ──", "one  2"],
    );
    check(
        "| name | text |\n|---|---|\n| one | two three |",
        10,
        &["name: one", "text: two", "three"],
    );
    check("<b>x</b>", 40, &["<b>x</b>"]);
}

#[test]
fn escape_sequences_do_nothing() {
    check("a\u{1b}[2Jb `\u{9b}2J`", 40, &["a\\u{1b}[2Jb \\u{9b}2J"]);
    let rows = markdown_rows("[x](javascript:alert) [y](https://a.b)", 40);
    let links: Vec<_> = rows[0]
        .spans
        .iter()
        .map(crate::row::Span::address)
        .collect();
    assert!(links.contains(&Some("https://a.b")) && !links.contains(&Some("javascript:alert")));
}

const PIECES: &[&str] = &[
    "word ",
    "two words\n",
    "\n\n",
    "# head\n",
    "- item\n",
    "  - deep\n",
    "1. first\n",
    "```\n",
    "code();\n",
    "> quote\n",
    "| a | b |\n|---|---|\n",
    "| 1 | 2 |\n",
    "**bold** ",
    "`x` ",
    "---\n\n",
    "漢字",
];

proptest! {
    #[test]
    fn a_stream_gives_the_rows_of_the_whole(pieces in prop::collection::vec(prop::sample::select(PIECES), 0..30), columns in 8_usize..60) {
        let text = pieces.concat();
        let mut stream = MarkdownStream::default();
        let mut rows = Vec::new();
        for piece in pieces {
            stream.push(piece);
            rows.extend(stream.finished_rows(columns));
            let _laid_out = stream.open_rows(columns);
        }
        rows.extend(stream.last_rows(columns));
        let words = |rows: &[Row]| rows.iter().map(Row::text).filter(|row| !row.trim_matches(['│', ' ']).is_empty()).collect::<Vec<_>>();
        prop_assert_eq!(words(&rows), words(&markdown_rows(&text, columns)));
    }
}
