use proptest::prelude::*;

use super::{Connection, Decoder, Focus, Input, Scheme, TerminalColor, TerminalReply};
use crate::keys::KeyPress;

/// What these bytes give, with everything expired at the end.
fn decoded(bytes: &[u8]) -> Vec<Input> {
    let mut decoder = Decoder::new(Connection::Local);
    let mut inputs = decoder.push(bytes);
    inputs.extend(decoder.expire());
    assert_eq!(decoder.patience(), None, "{bytes:?}");
    inputs
}

#[track_caller]
fn check_keys(bytes: &str, names: &[&str]) {
    let keys: Vec<Input> = names
        .iter()
        .map(|name| Input::Key(name.parse().unwrap()))
        .collect();
    assert_eq!(decoded(bytes.as_bytes()), keys, "{bytes:?}");
}

#[test]
fn keys_of_all_protocols() {
    for (bytes, names) in [
        ("aÄ漢", &["a", "Ä", "漢"][..]),
        (
            "\r\n\t\u{7f}\u{8}",
            &["enter", "ctrl+j", "tab", "backspace", "backspace"],
        ),
        (
            "\u{3}\u{4}\u{1f}\u{0}\u{1d}",
            &["ctrl+c", "ctrl+d", "ctrl+-", "ctrl+space", "ctrl+]"],
        ),
        ("\u{1b}", &["escape"]),
        ("\u{1b}\u{1b}", &["escape", "escape"]),
        ("\u{1b}\u{1b}x", &["escape", "alt+x"]),
        ("\u{1b}\u{1b}[A", &["alt+up"]),
        (
            "\u{1b}\r\u{1b}\u{7f}\u{1b}\u{1d}",
            &["alt+enter", "alt+backspace", "ctrl+alt+]"],
        ),
        (
            "\u{1b}[A\u{1b}OB\u{1b}[1;5C\u{1b}[1;2D",
            &["up", "down", "ctrl+right", "shift+left"],
        ),
        (
            "\u{1b}[H\u{1b}[F\u{1b}[1~\u{1b}[4~\u{1b}[7~\u{1b}[8~",
            &["home", "end", "home", "end", "home", "end"],
        ),
        (
            "\u{1b}[3~\u{1b}[5;5~\u{1b}[2~",
            &["delete", "ctrl+pageup", "insert"],
        ),
        (
            "\u{1b}OP\u{1b}[15~\u{1b}[24~\u{1b}[[A\u{1b}[1;2R",
            &["f1", "f5", "f12", "f1", "shift+f3"],
        ),
        ("\u{1b}[Z", &["shift+tab"]),
        // The keyboard protocol.
        (
            "\u{1b}[13;2u\u{1b}[27u\u{1b}[9;2u\u{1b}[127;5u",
            &["shift+enter", "escape", "shift+tab", "ctrl+backspace"],
        ),
        (
            "\u{1b}[112;6u\u{1b}[97;5:3u\u{1b}[97;5:2u",
            &["ctrl+shift+p", "ctrl+a"],
        ),
        (
            "\u{1b}[1089::99;5u\u{1b}[97:65;2u\u{1b}[57414u",
            &["ctrl+c", "A", "enter"],
        ),
        ("\u{1b}[57441u\u{1b}[57358u", &[]),
        // modifyOtherKeys.
        (
            "\u{1b}[27;2;13~\u{1b}[27;5;106~\u{1b}[27;6;80~",
            &["shift+enter", "ctrl+j", "ctrl+shift+p"],
        ),
        // Introducers that a person typed with alt.
        ("\u{1b}]", &["alt+]"]),
        ("\u{1b}[", &["alt+["]),
        ("\u{1b}O", &["alt+O"]),
        ("\u{1b}P", &["alt+P"]),
        ("\u{1b}]x", &["alt+]", "x"]),
        ("\u{1b}Ox", &["alt+O", "x"]),
        // What means nothing vanishes.
        ("\u{1b}[999z\u{1b}[<0;3;4Ma", &["a"]),
        (
            "\u{1b}]52;c;eA==\u{7}\u{1b}P1+r\u{1b}\\\u{1b}_Gi=1;OK\u{1b}\\b",
            &["b"],
        ),
        ("\u{1b}[12", &[]),
    ] {
        check_keys(bytes, names);
    }
    assert_eq!(decoded(b"\xff\xc3a"), [Input::Key("a".parse().unwrap())]);
}

#[test]
fn answers_of_terminals() {
    let color = |which, rgb| Input::Reply(TerminalReply::Color { which, rgb });
    for (bytes, expected) in [
        ("\u{1b}[?7u", Input::Reply(TerminalReply::KeyboardFlags(7))),
        ("\u{1b}[?62;22c", Input::Reply(TerminalReply::Attributes)),
        (
            "\u{1b}[?2026;2$y",
            Input::Reply(TerminalReply::Mode {
                mode: 2026,
                state: 2,
            }),
        ),
        (
            "\u{1b}[?997;2n",
            Input::Reply(TerminalReply::Scheme(Scheme::Light)),
        ),
        (
            "\u{1b}]11;rgb:1818/2020/ffff\u{1b}\\",
            color(TerminalColor::Background, [0x18, 0x20, 0xff]),
        ),
        (
            "\u{1b}]10;rgb:f/0/8\u{7}",
            color(TerminalColor::Foreground, [255, 0, 136]),
        ),
        (
            "\u{1b}]4;3;rgb:01/02/03\u{7}",
            color(TerminalColor::Palette(3), [1, 2, 3]),
        ),
        (
            "\u{1b}P>|XTerm(390)\u{1b}\\",
            Input::Reply(TerminalReply::Version("XTerm(390)".to_owned())),
        ),
        ("\u{1b}[I", Input::Focus(Focus::Gained)),
        ("\u{1b}[O", Input::Focus(Focus::Lost)),
    ] {
        assert_eq!(decoded(bytes.as_bytes()), [expected], "{bytes:?}");
    }
}

#[test]
fn pastes() {
    for (bytes, expected) in [
        ("a\r\nb\rc\n", "a\nb\nc\n"),
        ("a\u{0}\u{1b}[31mb\u{9b}", "a[31mb"),
        ("one\u{1b}[106;5utwo\u{1b}[105;5u\u{1b}[99;5u", "one\ntwo\t"),
        ("\u{1b}[201", "[201"),
    ] {
        let bytes = format!("\u{1b}[200~{bytes}\u{1b}[201~x");
        let inputs = decoded(bytes.as_bytes());
        assert_eq!(
            inputs,
            [
                Input::Paste(expected.to_owned()),
                Input::Key("x".parse().unwrap())
            ]
        );
    }
    // An end that never comes.
    assert_eq!(
        decoded(b"\x1b[200~abcdefgh"),
        [Input::Paste("abcdefgh".to_owned())]
    );
}

#[test]
fn a_paste_of_a_megabyte_is_one_input() {
    let text = "0123456789abcdef\n".repeat(64 << 10);
    let bytes = format!("\u{1b}[200~{text}\u{1b}[201~");
    let mut decoder = Decoder::new(Connection::Local);
    let inputs: Vec<Input> = bytes
        .as_bytes()
        .chunks(4096)
        .flat_map(|chunk| decoder.push(chunk))
        .collect();
    assert_eq!(inputs, [Input::Paste(text)]);
}

fn pieces() -> impl Strategy<Value = Vec<u8>> {
    let piece = prop_oneof![
        any::<Vec<u8>>().prop_map(|mut bytes| {
            bytes.truncate(6);
            bytes
        }),
        prop::sample::select(vec![
            "\u{1b}",
            "\u{1b}[",
            "\u{1b}[1;5A",
            "\u{1b}[200~",
            "\u{1b}[201~",
            "\u{1b}]11;rgb:1/2/3\u{7}",
            "\u{1b}[97;5u",
            "\u{1b}O",
            "漢",
            "👨\u{200d}👩",
            "\r",
            "x",
            "\u{1b}P>|x\u{1b}\\",
            "\u{1b}[?1;2c",
            ";",
            "5",
            "~",
        ])
        .prop_map(|text| text.as_bytes().to_vec()),
    ];
    prop::collection::vec(piece, 0..12).prop_map(|pieces| pieces.concat())
}

proptest! {
    #[test]
    fn any_split_gives_the_same_inputs(bytes in pieces(), cuts in prop::collection::vec(any::<prop::sample::Index>(), 0..6)) {
        let mut places: Vec<usize> = cuts.iter().map(|cut| cut.index(bytes.len() + 1)).collect();
        places.sort_unstable();
        places.push(bytes.len());
        let mut decoder = Decoder::new(Connection::Local);
        let mut inputs = Vec::new();
        let mut from = 0;
        for to in places {
            inputs.extend(decoder.push(&bytes[from..to]));
            from = to;
        }
        inputs.extend(decoder.expire());
        prop_assert_eq!(inputs, decoded(&bytes));
    }

    #[test]
    fn typed_text_comes_as_typed(text in "[a-zäöü漢字 ]{0,20}") {
        let typed: String = decoded(text.as_bytes()).into_iter().filter_map(|input| match input {
            Input::Key(key) => KeyPress::typed(key),
            Input::Paste(_) | Input::Focus(_) | Input::Reply(_) => None,
        }).collect();
        prop_assert_eq!(typed, text);
    }
}
