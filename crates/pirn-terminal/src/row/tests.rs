use proptest::prelude::*;

use super::{Row, Span, TextStyle, Wrap, wrap};

fn texts(rows: &[Row]) -> Vec<String> {
    rows.iter().map(Row::text).collect()
}

#[test]
fn lines_break_between_words_or_anywhere() {
    let line = [Span::new("one two threefour 漢字漢字", TextStyle::PLAIN)];
    let bullet = [Span::new("• ", TextStyle::PLAIN)];
    let indent = [Span::new("  ", TextStyle::PLAIN)];
    assert_eq!(
        texts(&wrap(&line, 8, Wrap::Words, &bullet, &indent)),
        ["• one", "  two", "  threef", "  our 漢", "  字漢字"]
    );
    let rows = wrap(&line, 8, Wrap::Anywhere, &[], &[]);
    assert_eq!(texts(&rows), ["one two ", "threefou", "r 漢字漢", "字"]);
    let continues: Vec<bool> = rows.iter().map(|row| row.continues).collect();
    assert_eq!(continues, [true, true, true, false]);
}

#[test]
fn nothing_foreign_gets_through() {
    let rows = Row::of_text(
        "a\tb\r\n\u{1b}[2J\u{202e}x\u{9b}31m❤\u{fe0f}",
        TextStyle::PLAIN,
        80,
        Wrap::Words,
    );
    assert_eq!(
        texts(&rows),
        ["a   b", "\\u{1b}[2J\\u{202e}x\\u{9b}31m❤\u{fe0f}"]
    );
    assert_eq!(
        Span::new("x", TextStyle::PLAIN)
            .link("javascript:alert(1)")
            .address(),
        None
    );
    assert_eq!(
        Span::new("x", TextStyle::PLAIN)
            .link("https://a\u{1b}\\b")
            .address(),
        None
    );
}

proptest! {
    #[test]
    fn rows_fit_and_hold_everything(text in "[a-c 漢❤\u{301}]{0,60}", columns in 2_usize..20) {
        let line = [Span::new(&text, TextStyle::PLAIN)];
        for kind in [Wrap::Words, Wrap::Anywhere] {
            let rows = wrap(&line, columns, kind, &[], &[]);
            for row in &rows {
                prop_assert!(row.text().trim_end().is_empty() || row.width() <= columns || row.text().ends_with(' '));
            }
            let kept: String = texts(&rows).concat().split(' ').collect();
            prop_assert_eq!(kept, text.split(' ').collect::<String>());
        }
    }
}
