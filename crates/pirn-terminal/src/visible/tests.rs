use super::{Foreign, cut, ends, on_one_line, without_controls};

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

#[test]
fn nothing_invisible_reaches_the_terminal() {
    for character in [
        '\u{ad}',
        '\u{34f}',
        '\u{61c}',
        '\u{115f}',
        '\u{17b4}',
        '\u{180b}',
        '\u{180e}',
        '\u{200b}',
        '\u{200e}',
        '\u{2028}',
        '\u{202e}',
        '\u{2060}',
        '\u{2066}',
        '\u{2800}',
        '\u{3164}',
        '\u{fe0f}',
        '\u{feff}',
        '\u{ffa0}',
        '\u{fff9}',
        '\u{1d173}',
        '\u{e0001}',
        '\u{e0041}',
        '\u{e0100}',
        '\u{e01ef}',
        '\u{1b}',
        '\u{9b}',
        '\n',
        '\r',
        '\u{7f}',
    ] {
        let text = format!("a{character}b");
        let shown = format!("{}", Foreign::new(&text));
        assert!(
            !shown.contains(character) && shown.starts_with("a\\"),
            "{character:?}: {shown}"
        );
        assert_eq!(format!("{:?}", Foreign::new(&text)), shown);
    }
    let lines: Vec<String> = Foreign::new("one\u{1b}[2J\n\u{202e}two\n")
        .lines()
        .map(|line| line.to_string())
        .collect();
    assert_eq!(lines, ["one\\u{1b}[2J", "\\u{202e}two"]);
}
