use super::{cut, ends, on_one_line, without_controls};

#[test]
fn a_terminal_obeys_nothing() {
    let cases = [
        ("plain\ttext\n", "plain\ttext\n"),
        ("a\r\nb\rc", "a\r\nb\\rc"),
        ("\u{1b}[8mhidden", "\\u{1b}[8mhidden"),
        ("\u{9b}2J\u{7}", "\\u{9b}2J\\u{7}"),
        ("gr\u{fc}n \u{4f60}", "gr\u{fc}n \u{4f60}"),
    ];
    for (text, shown) in cases {
        assert_eq!(without_controls(text), shown, "{text:?}");
    }
}

#[test]
fn one_line_shows_what_is_there() {
    let cases = [
        ("a\nb", "a\\nb"),
        ("rm \u{202e}fr-", "rm \\u{202e}fr-"),
        ("ls\u{200b} x", "ls\\u{200b} x"),
        ("a\u{e0041}b", "a\\u{e0041}b"),
        ("e\u{301}", "e\u{301}"),
    ];
    for (text, shown) in cases {
        assert_eq!(on_one_line(text), shown, "{text:?}");
    }
}

#[test]
fn long_text_is_cut() {
    assert_eq!(cut("short", 5), "short");
    assert_eq!(cut("longer", 5), "lon…");
    assert_eq!(cut("\u{4f60}\u{597d}\u{4f60}", 5), "\u{4f60}…");
    assert_eq!(ends("abcdef", 3, 3), "abcdef");
    assert_eq!(ends("abcdefgh", 3, 2), "abc … 3 characters not shown … gh");
}
