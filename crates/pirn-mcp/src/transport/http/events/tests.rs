use proptest::prelude::*;

use super::*;

const LIMIT: usize = 1 << 20;

fn event(name: Option<&str>, data: Option<&str>, id: Option<&str>) -> Decoded {
    Decoded::Event(Sse {
        event: name.map(str::to_owned),
        data: data.map(str::to_owned),
        id: id.map(str::to_owned),
        retry: None,
    })
}

fn data(text: &str) -> Decoded {
    event(None, Some(text), None)
}

fn too_large(id: Option<&str>) -> Decoded {
    Decoded::TooLarge {
        id: id.map(str::to_owned),
    }
}

fn decode(limit: usize, pieces: &[&[u8]]) -> Vec<Decoded> {
    let mut decoder = EventDecoder::new(limit);
    pieces
        .iter()
        .flat_map(|piece| decoder.feed(piece))
        .collect()
}

fn check(stream: &[u8], expected: &[Decoded]) {
    assert_eq!(decode(LIMIT, &[stream]), expected, "in one piece");
    let bytes: Vec<_> = stream.chunks(1).collect();
    assert_eq!(decode(LIMIT, &bytes), expected, "byte by byte");
}

#[test]
fn streams_become_events() {
    check(b"data: a\n\n", &[data("a")]);
    check(
        b"data:a\r\n\r\ndata: b\r\rdata:  c\n\n",
        &[data("a"), data("b"), data(" c")],
    );
    check(b"data: a\ndata\ndata: b\n\n", &[data("a\n\nb")]);
    check(
        b": keep-alive\n\n\n:\n\ndata: a\n: in between\ndata: b\n\n",
        &[data("a\nb")],
    );
    check(
        b"event: ping\ndata: {}\nid: 7\n\ndata: x\n\n",
        &[event(Some("ping"), Some("{}"), Some("7")), data("x")],
    );
    // The id comes before the data in some servers, and alone in the first event of a stream that can be resumed.
    check(
        b"id: 1\ndata:\n\nid: 2\n\n",
        &[
            event(None, Some(""), Some("1")),
            event(None, None, Some("2")),
        ],
    );
    check(b"id: a\0b\ndata: x\n\n", &[data("x")]);
    check(
        "\u{feff}data: a\n\n\u{feff}data: b\n\n".as_bytes(),
        &[data("a")],
    );
    check("data: \u{1F600}é\n\n".as_bytes(), &[data("\u{1F600}é")]);
    check(b"data: \xff\n\n", &[data("\u{fffd}")]);
    check(b"data: unfinished\n", &[]);
    check(b"Data: a\nunknown: b\n\n", &[]);
}

#[test]
fn retry_is_digits_only() {
    for (value, expected) in [
        ("3000", Some(3000)),
        ("0", Some(0)),
        ("99999999999999999999999", Some(u64::MAX)),
        ("-1", None),
        ("3s", None),
        ("", None),
    ] {
        let stream = format!("retry: {value}\ndata: x\n\n");
        let decoded = decode(LIMIT, &[stream.as_bytes()]);
        let [Decoded::Event(event)] = decoded.as_slice() else {
            panic!("one event: {decoded:?}");
        };
        assert_eq!(event.retry, expected, "{value}");
    }
}

#[test]
fn an_oversize_event_is_left_out_and_keeps_its_id() {
    let long = "x".repeat(100);
    for (stream, expected) in [
        (
            format!("data: {long}\n\ndata: b\n\n"),
            vec![too_large(None), data("b")],
        ),
        (
            format!("id: 5\ndata: {long}\n\n"),
            vec![too_large(Some("5"))],
        ),
        (
            format!("data: {long}\nid: 5\n\n"),
            vec![too_large(Some("5"))],
        ),
        (
            format!(
                "data: {0}\ndata: {0}\ndata: {0}\n\ndata: b\n\n",
                "x".repeat(20)
            ),
            vec![too_large(None), data("b")],
        ),
        ("data\n".repeat(20) + "\n", vec![too_large(None)]),
        // Comments are not kept and cost nothing.
        (": comment\n".repeat(20) + "data: b\n\n", vec![data("b")]),
    ] {
        assert_eq!(decode(50, &[stream.as_bytes()]), expected, "{stream}");
        let bytes: Vec<_> = stream.as_bytes().chunks(1).collect();
        assert_eq!(decode(50, &bytes), expected, "byte by byte: {stream}");
    }
}

#[test]
fn an_oversize_event_is_not_kept() {
    let mut decoder = EventDecoder::new(1000);
    assert_eq!(decoder.feed(b"data: "), []);
    for _ in 0..1000 {
        assert_eq!(decoder.feed(&[b'x'; 1000]), []);
        assert!(decoder.line.len() <= 1000 + SKIPPED_LINE_BYTES_MAX);
    }
    assert_eq!(
        decoder.feed(b"\n\ndata: next\n\n"),
        [too_large(None), data("next")]
    );
}

#[test]
fn the_end_hands_out_what_only_lacks_its_blank_line() {
    for (stream, expected) in [
        ("data: a\n", Some("a")),
        ("data: a", Some("a")),
        ("data: a\n\n", None),
        ("id: 1\n", None),
        ("", None),
    ] {
        let mut decoder = EventDecoder::new(LIMIT);
        decoder.feed(stream.as_bytes());
        let last = decoder.finish().and_then(|event| event.data);
        assert_eq!(last.as_deref(), expected, "{stream:?}");
    }
}

#[derive(Debug, Clone)]
struct Written {
    name: Option<String>,
    lines: Vec<String>,
    id: Option<String>,
    comment: bool,
    line_end: &'static str,
}

fn written() -> impl Strategy<Value = Written> {
    let text = "[^\r\n\0]{0,12}";
    (
        proptest::option::of("[a-z]{1,8}"),
        proptest::collection::vec(text, 1..4),
        proptest::option::of("[a-z0-9]{1,8}"),
        any::<bool>(),
        prop_oneof![Just("\n"), Just("\r"), Just("\r\n")],
    )
        .prop_map(|(name, lines, id, comment, line_end)| Written {
            name,
            lines,
            id,
            comment,
            line_end,
        })
}

impl Written {
    fn text(&self) -> String {
        let mut lines = Vec::new();
        if self.comment {
            lines.push(": comment".to_owned());
        }
        lines.extend(self.name.iter().map(|name| format!("event: {name}")));
        lines.extend(self.lines.iter().map(|line| format!("data: {line}")));
        lines.extend(self.id.iter().map(|id| format!("id:{id}")));
        lines.push(String::new());
        lines.join(self.line_end) + self.line_end
    }

    fn decoded(&self) -> Decoded {
        event(
            self.name.as_deref(),
            Some(&self.lines.join("\n")),
            self.id.as_deref(),
        )
    }
}

fn cut(mut bytes: &[u8], cuts: &[usize]) -> Vec<Vec<u8>> {
    let mut pieces = Vec::new();
    for length in cuts {
        let (piece, rest) = bytes.split_at((*length).min(bytes.len()));
        pieces.push(piece.to_vec());
        bytes = rest;
    }
    pieces.push(bytes.to_vec());
    pieces
}

proptest! {
    #[test]
    fn what_is_written_is_read_however_it_is_cut(
        events in proptest::collection::vec(written(), 0..6),
        cuts in proptest::collection::vec(0_usize..9, 0..40),
    ) {
        // An event that ends in CR eats an LF after it, so events in a row share their line ends.
        let line_end = events.first().map_or("\n", |event| event.line_end);
        let events: Vec<_> = events.into_iter().map(|event| Written { line_end, ..event }).collect();
        let stream: String = events.iter().map(Written::text).collect();
        let expected: Vec<_> = events.iter().map(Written::decoded).collect();
        let pieces = cut(stream.as_bytes(), &cuts);
        let pieces: Vec<_> = pieces.iter().map(Vec::as_slice).collect();
        prop_assert_eq!(decode(LIMIT, &pieces), expected);
    }

    #[test]
    fn any_bytes_are_read_alike_however_they_are_cut(
        bytes in proptest::collection::vec(prop_oneof![
            Just(b'\n'), Just(b'\r'), Just(b':'), Just(b' '), Just(b'd'), Just(b'a'), Just(b't'), any::<u8>(),
        ], 0..400),
        words in proptest::collection::vec(prop_oneof![Just("data: "), Just("id: 1"), Just("\n\n"), Just("\r\n")], 0..10),
        cuts in proptest::collection::vec(0_usize..30, 0..60),
        limit in 1_usize..80,
    ) {
        let mut stream = words.concat().into_bytes();
        stream.extend(bytes);
        let pieces = cut(&stream, &cuts);
        let pieces: Vec<_> = pieces.iter().map(Vec::as_slice).collect();
        prop_assert_eq!(decode(limit, &pieces), decode(limit, &[&stream]));
    }
}
