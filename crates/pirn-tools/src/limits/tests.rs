use super::{BYTES_MAX, CutBy, LINES_MAX, format_size, keep_tail};

#[test]
fn sizes() {
    for (bytes, text) in [
        (0, "0B"),
        (1_023, "1023B"),
        (1_024, "1.0KB"),
        (51_200, "50.0KB"),
        (1_048_576, "1.0MB"),
        (5 << 30, "5120.0MB"),
    ] {
        assert_eq!(format_size(bytes), text);
    }
}

#[test]
fn tails() {
    let many = "x\n".repeat(LINES_MAX + 5);
    let wide = format!("{}\n{}\n", "a".repeat(30_000), "b".repeat(30_000));
    let long = "ä".repeat(BYTES_MAX);
    for (name, text, lines, cut_by, partial, bytes) in [
        ("empty", "", 0, None, false, 0),
        ("one", "a\n", 1, None, false, 2),
        ("open", "a\nb", 2, None, false, 3),
        ("blank", "\n", 1, None, false, 1),
        (
            "many",
            &many,
            LINES_MAX,
            Some(CutBy::Lines),
            false,
            LINES_MAX * 2 - 1,
        ),
        ("wide", &wide, 1, Some(CutBy::Bytes), false, 30_000),
        ("long", &long, 1, Some(CutBy::Bytes), true, BYTES_MAX),
        (
            "long odd",
            &format!("{long}x"),
            1,
            Some(CutBy::Bytes),
            true,
            BYTES_MAX - 1,
        ),
    ] {
        let tail = keep_tail(text.as_bytes());
        assert_eq!(
            (tail.lines, tail.cut_by, tail.partial_line, tail.text.len()),
            (lines, cut_by, partial, bytes),
            "{name}"
        );
        assert!(std::str::from_utf8(tail.text).is_ok(), "{name}");
    }
}
