use super::{JsString, JsonText};
use serde_json::json;

#[test]
fn lone_surrogates_survive_as_code_units_and_show_as_replacement() {
    let half = JsString::from_guest(&[b'a', 0xED, 0xA0, 0x80, b'b']);
    assert_eq!(half.as_str(), None);
    assert_eq!(half.utf16().collect::<Vec<_>>(), [97, 0xD800, 98]);
    assert_eq!(half.to_string(), "a\u{fffd}b");
    assert_eq!(half.into_string_lossy(), "a\u{fffd}b");
}

#[test]
fn any_bytes_are_read_without_panic() {
    for bytes in [
        &[0xE0, 0x80, 0x80][..],
        &[0xF0, 0x80, 0x80, 0x80],
        &[0xFF, 0xC2],
        &[0xF4, 0x90, 0x80, 0x80],
        &[0xE0],
        &[0x80, 0x80],
        &[0xF0, 0x9F, 0x98],
    ] {
        let text = JsString::from_guest(bytes);
        assert!(text.to_string().contains('\u{fffd}'), "{bytes:x?}");
        assert!(text.utf16_length() > 0);
    }
}

#[test]
fn astral_characters_count_twice() {
    assert_eq!(JsString::from("a😀").utf16_length(), 3);
}

#[test]
fn json_with_lone_surrogates_parses() {
    for (text, expected) in [
        (r#""\ud800""#, json!("\u{fffd}")),
        (r#"{"\udc00x":"\\ud800"}"#, json!({"\u{fffd}x": "\\ud800"})),
        (r#"["\ud83d\ude00","\ud83d"]"#, json!(["😀", "\u{fffd}"])),
        (r"[1,2]", json!([1, 2])),
    ] {
        assert_eq!(JsonText::new(text).parse().unwrap(), expected, "{text}");
    }
    assert!(JsonText::new(r#"{"\u":1}"#).parse().is_err());
}

#[test]
fn json_literals_are_read_without_loss() {
    for (literal, expected) in [
        (
            r#""a\"b\\\u0000""#,
            Some("a\"b\\\0".encode_utf16().collect()),
        ),
        (r#""\ud83d\ude00""#, Some(vec![0xD83D, 0xDE00])),
        (
            r#""\ud83d\ud83d\ude00\ude00""#,
            Some(vec![0xD83D, 0xD83D, 0xDE00, 0xDE00]),
        ),
        (
            r#""\\ud800\udFFFé""#,
            Some([92, 117, 100, 56, 48, 48, 0xDFFF, 233].to_vec()),
        ),
        (r#""\ud800"#, None),
        (r#"\ud800""#, None),
        (r#""\ud800"x""#, None),
        (r#""\ud800\u+d00""#, None),
        ("\"\\ud800\n\"", None),
        ("1", None),
        ("\"", None),
    ] {
        let text =
            JsString::from_json_literal(literal).map(|text| text.utf16().collect::<Vec<_>>());
        assert_eq!(text, expected, "{literal}");
    }
}

#[test]
fn lengths_agree_with_the_code_units() {
    for bytes in ["", "plain", "h\u{e9}\u{20ac}\u{1f600}x\u{10ffff}"]
        .map(str::as_bytes)
        .into_iter()
        .chain([&[0xED, 0xA0, 0x80, b'x'][..]])
    {
        let text = JsString::from_guest(bytes);
        assert_eq!(text.utf16_length(), text.utf16().count(), "{text:?}");
    }
}
