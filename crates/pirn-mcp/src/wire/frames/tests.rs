use proptest::prelude::*;
use rmcp::model::RequestId;

use crate::wire::fuzzing;

use super::{Frame, FrameDecoder, MESSAGE_BYTES_MAX};

fn decode<'a>(pieces: impl IntoIterator<Item = &'a [u8]>) -> Vec<Frame> {
    let mut decoder = FrameDecoder::new();
    let mut frames = Vec::new();
    for piece in pieces {
        decoder.push(piece);
        frames.extend(std::iter::from_fn(|| decoder.pop()));
    }
    decoder.finish();
    frames.extend(std::iter::from_fn(|| decoder.pop()));
    frames
}

fn describe(frames: &[Frame]) -> Vec<String> {
    frames
        .iter()
        .map(|frame| match frame {
            Frame::Message(bytes) => format!("M {}", String::from_utf8_lossy(bytes)),
            Frame::Noise(bytes) => format!("N {}", String::from_utf8_lossy(bytes)),
            Frame::TooLong { id, bytes } => format!("L {id:?} {bytes}"),
        })
        .collect()
}

#[test]
fn streams() {
    const ONE: &str = r#"{"jsonrpc":"2.0","id":1,"result":{}}"#;
    const TWO: &str = r#"{"jsonrpc":"2.0","id":2,"result":{"a":["}\"]",1.5e-3,true]}}"#;
    let m = |text: &str| format!("M {text}");
    let n = |text: &str| format!("N {text}");
    let pretty = "{\n  \"id\": 1,\n\n  \"result\": {\n    \"a\": [\n      {},\n      {\"b\": 1}\n    ]\n  }\n}";
    let cases: Vec<(String, Vec<String>)> = vec![
        (format!("{ONE}\n{TWO}\n"), vec![m(ONE), m(TWO)]),
        (format!("{ONE}\r\n\r\n{TWO}"), vec![m(ONE), m(TWO)]),
        (
            format!("\u{feff}{ONE}\n"),
            vec![m(&format!("\u{feff}{ONE}"))],
        ),
        (format!("{ONE}{TWO}\n"), vec![m(ONE), m(TWO)]),
        (format!("{pretty}\n{ONE}\n"), vec![m(pretty), m(ONE)]),
        (
            format!("{}\n", pretty.replace('\n', "\r\n")),
            vec![m(&pretty.replace('\n', "\r\n"))],
        ),
        (
            format!("Server started\n{ONE}\n"),
            vec![n("Server started"), m(ONE)],
        ),
        (
            format!("Starting... {ONE}\n{TWO}\n"),
            vec![n("Starting... "), m(ONE), m(TWO)],
        ),
        (
            format!("[INFO] started\n{ONE}\n"),
            vec![n("[INFO] started"), m(ONE)],
        ),
        (
            format!("[2026-01-01 12:00:00] x\n{ONE}\n"),
            vec![n("[2026-01-01 12:00:00] x"), m(ONE)],
        ),
        (
            format!("[INFO started\n{ONE}\n"),
            vec![n("[INFO started"), m(ONE)],
        ),
        (
            format!("{{\n{ONE}\n{TWO}\n"),
            vec![n("{\n"), m(ONE), m(TWO)],
        ),
        (format!("[\n{ONE}\n{TWO}\n"), vec![n("[\n"), m(ONE), m(TWO)]),
        (format!("{{\"half\n{ONE}\n"), vec![n("{\"half\n"), m(ONE)]),
        (
            format!("[\n{ONE},\n{TWO}\n]\n"),
            vec![n("[\n"), m(ONE), n(","), m(TWO), n("]")],
        ),
        (
            format!("{{\"a\": tru\n{ONE}\n"),
            vec![n("{\"a\": tru"), m(ONE)],
        ),
        (
            format!("{{\n  \"id\": 1,\n{TWO}\n"),
            vec![m("{\n  \"id\": 1,\n"), m(TWO)],
        ),
        (
            "{\"id\":1,\"result\":\"say \"hi\"\"}\n".to_owned(),
            vec![m("{\"id\":1,\"result\":\"say \"hi\"\"}")],
        ),
        (
            "{\"id\":1,\"result\":NaN,\"x\":-Infinity}\n".to_owned(),
            vec![m("{\"id\":1,\"result\":NaN,\"x\":-Infinity}")],
        ),
        (
            "{\"id\":1,\"result\":\"a\nb\"}\n".to_owned(),
            vec![m("{\"id\":1,\"result\":\"a\nb\"}")],
        ),
        (
            "{\"level\":\"info\"}\n".to_owned(),
            vec![m("{\"level\":\"info\"}")],
        ),
        ("a\n\n  b\r\n".to_owned(), vec![n("a"), n("  b\r")]),
        (
            "{\"jsonrpc\":\"2.0\",\n\"id\":1".to_owned(),
            vec![m("{\"jsonrpc\":\"2.0\",\n\"id\":1\n")],
        ),
        (String::new(), vec![]),
    ];
    for (stream, expected) in cases {
        assert_eq!(
            describe(&decode([stream.as_bytes()])),
            expected,
            "{stream:?}"
        );
        let bytes = stream.as_bytes().chunks(1);
        assert_eq!(
            describe(&decode(bytes)),
            expected,
            "{stream:?} byte by byte"
        );
    }
}

#[test]
fn a_message_does_not_wait_for_its_line_to_end() {
    let mut decoder = FrameDecoder::new();
    decoder.push(br#"{"id":1,"result":{}}"#);
    assert!(matches!(decoder.pop(), Some(Frame::Message(_))));
    decoder.push(b"{\n{\"id\":2,\"result\":{}}");
    assert!(matches!(decoder.pop(), Some(Frame::Noise(_))));
    assert!(matches!(decoder.pop(), Some(Frame::Message(_))));
}

#[test]
fn what_is_too_long_is_reported_with_its_id() {
    let long = "x".repeat(usize::try_from(MESSAGE_BYTES_MAX).expect("small"));
    let after = "{\"id\":9,\"result\":1}";
    let first = format!("{{\"id\":\"a\",\"result\":\"{long}\"}}\n{after}\n");
    let last = format!("{{\"result\":[\"{long}\"],\"id\":7}}\n{after}\n");
    let spread = format!("{{\n\"result\":\n[\"{long}\"],\n\"id\":7\n}}\n{after}\n");
    let noise = format!("{long}{long}\n{after}\n");
    let cases = [
        (&first, Some(RequestId::String("a".into()))),
        (&last, Some(RequestId::Number(7))),
        (&spread, Some(RequestId::Number(7))),
        (&noise, None),
    ];
    for (stream, expected) in cases {
        let frames = decode(stream.as_bytes().chunks(60_000));
        let [Frame::TooLong { id, bytes }, Frame::Message(message)] = &*frames else {
            panic!("two frames, not {}", frames.len());
        };
        assert_eq!(*id, expected);
        let line = stream.len() - after.len() - 2;
        assert_eq!(*bytes, line as u64);
        assert_eq!(message, after.as_bytes());
    }
    let mut decoder = FrameDecoder::new();
    decoder.push(first.as_bytes());
    assert_eq!(decoder.line.kept.capacity(), 0);
}

/// Streams with the characters that matter.
fn any_stream() -> impl Strategy<Value = Vec<u8>> {
    let part = prop::sample::select(vec![
        &b"\n"[..],
        b"{\"jsonrpc\":\"2.0\",\"id\":1,\"result\":{}}",
        b"{\"id\":2,\"result\":[1,2]}",
        b"{\"id\":",
        b"\"",
        b"\\",
        b"{",
        b"}",
        b"[",
        b"]",
        b",",
        b":",
        b"1",
        b"-",
        b"true",
        b"N",
        b"aN",
        b" ",
        b"\r\n",
        b"\xEF\xBB\xBF",
        b"\xff",
        b"text",
        b"\"error\":1",
    ]);
    prop::collection::vec(part, 0..40).prop_map(|parts| parts.concat())
}

proptest! {
    #[test]
    fn any_split_gives_the_same_frames(stream in any_stream(), sizes in prop::collection::vec(1_usize..9, 1..40)) {
        let whole = decode([stream.as_slice()]);
        let mut rest = stream.as_slice();
        let mut pieces = Vec::new();
        for size in sizes.iter().cycle() {
            if rest.is_empty() {
                break;
            }
            let (piece, after) = rest.split_at((*size).min(rest.len()));
            pieces.push(piece);
            rest = after;
        }
        prop_assert_eq!(decode(pieces), whole);
    }

    #[test]
    fn any_stream_is_survived(stream in any_stream()) {
        fuzzing::check(&stream);
    }

    #[test]
    fn a_message_on_its_line_is_never_lost(before in any_stream(), after in any_stream()) {
        const MESSAGE: &[u8] = b"{\"jsonrpc\":\"2.0\",\"id\":77,\"result\":{}}";
        let stream = [before.as_slice(), b"\n", MESSAGE, b"\n", after.as_slice()].concat();
        let frames = decode([stream.as_slice()]);
        let found = frames.iter().any(|frame| matches!(frame, Frame::Message(bytes) if bytes.ends_with(MESSAGE)));
        prop_assert!(found, "{:?}", describe(&frames));
    }
}
