use super::{Foreign, cut, on_its_lines, on_one_line, visible_code, without_controls};

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
        '\u{fffc}',
        '\u{e000}',
        '\u{f8ff}',
        '\u{f0000}',
        '\u{10fffd}',
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
    assert_eq!(on_its_lines("a\tb\nc\r\u{fffc}"), "a\tb\nc\\r\\u{fffc}");
}

#[test]
fn code_is_shown_as_what_runs() {
    for (source, shown) in [
        ("a\tb = 1\n", "a\tb = 1\n"),
        ("x\u{a0}= '\u{202e}'", "x⟦U+00A0⟧= '⟦U+202E⟧'"),
        ("\r\n\u{1b}[2J", "⟦U+000D⟧\n⟦U+001B⟧[2J"),
        ("⟦U+0061⟧", "⟦U+27E6⟧U+0061⟧"),
        (
            "\u{e000}\u{fffc}\u{f0000}\u{34f}",
            "⟦U+E000⟧⟦U+FFFC⟧⟦U+F0000⟧⟦U+034F⟧",
        ),
        ("gr\u{fc}n \u{4f60}", "gr\u{fc}n \u{4f60}"),
    ] {
        assert_eq!(visible_code(source), shown, "{source:?}");
    }
}

/// The characters of a source, from how it is shown.
fn unescape(shown: &str) -> String {
    let mut source = String::new();
    let mut rest = shown;
    while let Some((before, after)) = rest.split_once('⟦') {
        let (number, after) = after
            .split_once('⟧')
            .expect("every escape has both brackets");
        source.push_str(before);
        let number = number.strip_prefix("U+").expect("a number");
        let number = u32::from_str_radix(number, 16).expect("a number");
        source.push(char::from_u32(number).expect("a character"));
        rest = after;
    }
    source + rest
}

proptest::proptest! {
    #[test]
    fn a_shown_source_can_be_read_back(source: String) {
        let shown = visible_code(&source);
        proptest::prop_assert_eq!(unescape(&shown), source);
        let is_plain = |c: char| matches!(c, '\n' | '\t' | ' ') || !(c.is_control() || c.is_whitespace());
        proptest::prop_assert!(shown.chars().all(is_plain));
    }
}
