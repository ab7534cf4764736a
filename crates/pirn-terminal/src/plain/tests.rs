use super::PlainPainter;
use crate::row::{Row, TextStyle};

fn rows(texts: &[&str]) -> Vec<Row> {
    texts
        .iter()
        .map(|text| Row::new(text, TextStyle::PLAIN))
        .collect()
}

#[test]
fn nothing_is_told_twice_and_nothing_is_taken_back() {
    let mut painter = PlainPainter::default();
    assert_eq!(painter.draw(&rows(&["Pirn"]), &[], "> "), "Pirn\r\n> ");
    assert_eq!(painter.draw(&[], &[], "> a"), "a");
    assert_eq!(painter.draw(&[], &[], "> ab"), "b");
    assert_eq!(painter.draw(&[], &[], "> a"), "\u{8} \u{8}");
    assert_eq!(
        painter.draw(&[], &rows(&["Allow write?", "y yes"]), "> a"),
        "\r\nAllow write?\r\ny yes\r\n> a"
    );
    assert_eq!(
        painter.draw(&[], &rows(&["Allow write?", "y yes"]), "> a"),
        ""
    );
    assert_eq!(
        painter.draw(&[], &rows(&["Allow write? (1 more)", "y yes"]), "> a"),
        "\r\nAllow write? (1 more)\r\n> a"
    );
    // Another text from the history stands on a new line.
    assert_eq!(painter.draw(&[], &[], "> other"), "\r\n> other");
    assert_eq!(painter.leave(), "\r\n");
}

#[test]
fn no_text_of_a_stranger_becomes_a_sequence() {
    let mut painter = PlainPainter::default();
    let hostile = rows(&["\u{1b}[2J\u{9b}31m\u{7}\rx"]);
    let bytes = painter.draw(&hostile, &hostile, "> ");
    assert!(
        bytes
            .chars()
            .all(|character| !character.is_control() || "\r\n".contains(character)),
        "{bytes:?}"
    );
}
