use super::Encoding::{self, Base64, Latin1, Utf8, Utf16Be, Utf16Le};

#[test]
fn decodes_and_encodes() {
    for (encoding, bytes, text) in [
        (Utf8, &b"\xEF\xBB\xBFa\r\n"[..], "\u{FEFF}a\r\n"),
        (Utf16Le, b"\xFF\xFEa\0\xAC\x20", "a\u{20AC}"),
        (Utf16Be, b"\xFE\xFF\0a\xD8\x3D\xDE\0", "a\u{1F600}"),
        (Utf16Le, b"\xFF\xFE", ""),
        (Latin1, b"caf\xE9\x80\0", "caf\u{E9}\u{80}\0"),
        (Base64, b"\xFF\0\xFE", "/wD+"),
    ] {
        assert_eq!(encoding.decode(bytes.to_vec()).as_deref(), Ok(text));
        assert_eq!(encoding.encode(text).as_deref(), Ok(bytes));
    }
}

#[test]
fn refuses_what_it_could_not_give_back() {
    for (encoding, bytes, at) in [
        (Utf8, &b"ab\xFF"[..], 2),
        (Utf16Le, b"\xFF\xFEa\0b", 4),
        (Utf16Le, b"\xFF\xFE\0\xD8a\0", 2),
    ] {
        let error = encoding.decode(bytes.to_vec()).unwrap_err().to_string();
        assert!(error.contains(&format!("(byte {at})")), "{error}");
        assert!(error.contains("{encoding: \"latin1\"}"), "{error}");
    }
    assert!(Latin1.encode("\u{20AC}").is_err());
    assert!(Base64.encode("no base64!").is_err());
}

#[test]
fn knows_marks() {
    for (head, encoding) in [
        (&b""[..], Utf8),
        (b"\xEF\xBB\xBFa", Utf8),
        (b"\xFF\xFEa\0", Utf16Le),
        (b"\xFE\xFF\0a", Utf16Be),
        (b"\xFF\xFE\0\0a\0\0\0", Utf8),
        (b"\xFF\xFE", Utf16Le),
    ] {
        assert_eq!(Encoding::of_mark(head), encoding, "{head:?}");
    }
}

proptest::proptest! {
    #[test]
    fn any_text_comes_back(text in ".*", index in 0..3_usize) {
        let encoding = [Utf8, Utf16Le, Utf16Be][index];
        let bytes = encoding.encode(&text).unwrap();
        proptest::prop_assert_eq!(encoding.decode(bytes).unwrap(), text);
    }

    #[test]
    fn any_bytes_come_back(bytes in proptest::collection::vec(proptest::num::u8::ANY, 0..60)) {
        for encoding in [Latin1, Base64, Utf8, Utf16Le, Encoding::of_mark(&bytes)] {
            if let Ok(text) = encoding.decode(bytes.clone()) {
                let marked = encoding != Utf16Le || bytes.starts_with(b"\xFF\xFE");
                if marked {
                    proptest::prop_assert_eq!(encoding.encode(&text).unwrap(), bytes.clone());
                }
            }
        }
    }
}
