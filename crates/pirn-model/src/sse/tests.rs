use super::*;

fn events(chunks: &[&[u8]]) -> (Vec<(String, String)>, Option<String>) {
    let mut decoder = SseDecoder::default();
    let mut events = Vec::new();
    let mut sink = |event: Event<'_>| {
        let data = String::from_utf8_lossy(event.data).into_owned();
        events.push((event.name.to_owned(), data));
    };
    for chunk in chunks {
        decoder.push(chunk, &mut sink).unwrap();
    }
    decoder.finish(&mut sink);
    (events, decoder.foreign_text())
}

#[test]
fn line_ends_marks_comments_and_a_missing_last_line_are_all_read() {
    let cases: &[(&str, &[(&str, &str)])] = &[
        ("data: a\n\ndata: b\n\n", &[("", "a"), ("", "b")]),
        ("data: a\r\n\r\ndata: b\r\n\r\n", &[("", "a"), ("", "b")]),
        ("data: a\r\rdata: b\r\r", &[("", "a"), ("", "b")]),
        ("\u{feff}data: a\n\n", &[("", "a")]),
        (": ping\n\n: ping\ndata:a\n\n", &[("", "a")]),
        (
            "event: x\ndata: 1\ndata: 2\nid: 3\nretry: 4\n\n",
            &[("x", "1\n2")],
        ),
        ("event: lost\n\ndata: a\n\n", &[("", "a")]),
        ("data: a", &[("", "a")]),
        ("data:\n\n", &[("", "")]),
        ("data\n\n", &[("", "")]),
        ("data: \u{1f600}\n\n", &[("", "\u{1f600}")]),
    ];
    for (text, expected) in cases {
        let expected: Vec<(String, String)> = expected
            .iter()
            .map(|(name, data)| ((*name).to_owned(), (*data).to_owned()))
            .collect();
        assert_eq!(events(&[text.as_bytes()]).0, expected, "{text:?}");
        let single: Vec<&[u8]> = text.as_bytes().chunks(1).collect();
        assert_eq!(events(&single).0, expected, "{text:?} byte by byte");
    }
}

#[test]
fn a_body_that_is_no_stream_is_kept_for_the_error() {
    let (found, foreign) = events(&[b"<html>\n<h1>502 Bad Gate", b"way</h1>\n</html>"]);
    assert_eq!(found, []);
    assert_eq!(
        foreign.as_deref(),
        Some("<html>\n<h1>502 Bad Gateway</h1>\n</html>")
    );
    assert_eq!(events(&[b"noise\ndata: a\n\n"]).1, None);
}
