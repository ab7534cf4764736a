use std::io::Cursor;

use pirn_tool::Effects;
use proptest::prelude::*;
use serde_json::{Value, json};

use super::{
    EngineName, EvalContent, LineReader, Order, Report, Stream, encode_order, encode_report,
    parse_worker_frame, push_call_result, push_eval,
};
use crate::limits::FRAME_BYTES_MAX;
use crate::request::Capability;

/// The lines that a reader gives of these bytes, and whether it stopped at one that is too long.
fn lines(bytes: Vec<u8>) -> (Vec<usize>, bool) {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .build()
        .unwrap();
    runtime.block_on(async {
        let mut reader = LineReader::new(Cursor::new(bytes));
        let mut lengths = Vec::new();
        loop {
            let is_open = reader.fill().await.is_ok();
            loop {
                match reader.next_line() {
                    Ok(Some(line)) => lengths.push(line.len()),
                    Ok(None) => break,
                    Err(_) => return (lengths, true),
                }
            }
            if !is_open {
                return (lengths, false);
            }
        }
    })
}

#[test]
fn the_limit_counts_the_payload_after_splitting() {
    let line = |length: usize| {
        let mut line = vec![b'x'; length];
        line.push(b'\n');
        line
    };
    let longest = FRAME_BYTES_MAX;
    let pair = [line(longest - 1), line(longest)].concat();
    assert_eq!(lines(pair), (vec![longest, longest + 1], false));
    assert_eq!(lines(line(longest + 1)), (vec![], true));
    assert_eq!(lines(vec![b'x'; longest + 1]), (vec![], true));
    assert_eq!(lines(vec![b'x'; longest]), (vec![], false));
    assert_eq!(lines([line(0), line(1)].concat()), (vec![1, 2], false));
}

#[test]
fn shapes() {
    let good = [
        r#"{"type":"ready","runtime":"python","version":"3.11.7"}"#,
        r#"{"type":"ready","runtime":"python"}"#,
        r#"{"type":"capability_call","evalId":"a","callId":"b","name":"c","input":null}"#,
        r#"{"type":"capability_call","evalId":"a","callId":"b","name":"c","input":[1],"more":{"x":[]}}"#,
        r#"{"type":"display","evalId":"a","mimeType":"image/png","data":""}"#,
        r#"{"type":"eval_result","id":"a","ok":true}"#,
        r#"{"type":"eval_result","id":"a\n","ok":false,"elapsedMs":1.5,"value":1,"valueText":"x","error":{"name":"E"},"state":{},"lossy":["a"],"interruptHandled":true}"#,
        r#"{"type":"eval_complete","id":"a","token":"b"}"#,
    ];
    for line in good {
        assert!(parse_worker_frame(line.as_bytes()).is_ok(), "{line}");
    }
    let bad = [
        "",
        "null",
        "1",
        "[]",
        "{}",
        r#"{"type":null}"#,
        r#"{"type":"eval","id":"a"}"#,
        r#"{"type":"ready"}"#,
        r#"{"type":"ready","runtime":1}"#,
        r#"{"type":"capability_call","evalId":"a","callId":"b","name":"c"}"#,
        r#"{"type":"capability_call","evalId":"a","callId":"b","name":["c"],"input":1}"#,
        r#"{"type":"capability_call","evalId":"a","evalId":"a","callId":"b","name":"c","input":1}"#,
        r#"{"type":"eval_result","id":"a"}"#,
        r#"{"type":"eval_result","id":"a","ok":1}"#,
        r#"{"type":"eval_result","id":"a","ok":true,"elapsedMs":-1}"#,
        r#"{"type":"eval_result","id":"a","ok":true,"elapsedMs":"1"}"#,
        r#"{"type":"eval_result","id":"a","ok":true,"lossy":[1]}"#,
        r#"{"type":"eval_result","id":"a","ok":true,"error":"text"}"#,
        r#"{"type":"eval_complete","id":"a"}"#,
        r#"{"type":"ready","runtime":"python"} {}"#,
        r#"!{"report":"ended"}"#,
    ];
    for line in bad {
        assert!(parse_worker_frame(line.as_bytes()).is_err(), "{line}");
    }
    assert!(parse_worker_frame(b"{\"type\":\"\xff\"}").is_err());
}

#[test]
fn an_unknown_type_is_echoed_in_short() {
    let line = format!(r#"{{"type":"{}"}}"#, "x".repeat(1000));
    let problem = parse_worker_frame(line.as_bytes()).unwrap_err();
    assert!(problem.len() < 120, "{problem}");
}

#[test]
fn the_eval_frame_has_its_fields() {
    let capabilities = [Capability {
        name: "read_text".to_owned(),
        description: "Reads".to_owned(),
        effects: Effects::READ | Effects::PROCESS,
        input_schema: json!({"type": "object"}),
    }];
    let state: Box<serde_json::value::RawValue> =
        serde_json::from_str(r#"{"n":9007199254740993}"#).unwrap();
    let mut line = Vec::new();
    let content = EvalContent {
        id: "e1",
        code: "a\nb",
        cwd: "/srv",
        engine: EngineName::Fresh,
        capabilities: &capabilities,
        output_limit_bytes: 256,
        state: Some(&state),
    };
    push_eval(&mut line, &content).unwrap();
    assert_eq!(
        String::from_utf8(line).unwrap(),
        concat!(
            r#"{"type":"eval","id":"e1","code":"a\nb","cwd":"/srv","engine":"fresh","#,
            r#""capabilities":[{"name":"read_text","description":"Reads","effect":"read,process","parameters":{"type":"object"}}],"#,
            r#""outputLimitBytes":256,"state":{"n":9007199254740993}}"#,
            "\n"
        )
    );
}

#[test]
fn a_frame_above_the_limit_leaves_the_line_out() {
    let mut out = b"before\n".to_vec();
    let value = Value::from("x".repeat(FRAME_BYTES_MAX));
    let problem = push_call_result(&mut out, "1", Ok(&value), false).unwrap_err();
    assert!(problem.bytes > FRAME_BYTES_MAX);
    assert_eq!(out, b"before\n");
}

#[test]
fn orders_and_reports_come_back() {
    let mut line = Vec::new();
    let order = Order::Start {
        id: "1".to_owned(),
        branch: "b\n".to_owned(),
        engine: EngineName::Persistent,
        output_bytes_max: 5,
    };
    encode_order(&mut line, &order);
    assert!(line.starts_with(b"!{") && line.split(|byte| *byte == b'\n').count() == 2);
    let back: Order = serde_json::from_slice(&line[1..]).unwrap();
    assert_eq!(format!("{back:?}"), format!("{order:?}"));
    let mut line = Vec::new();
    let report = Report::Output {
        id: "1".to_owned(),
        stream: Stream::Stderr,
        text: "é\n".to_owned(),
    };
    encode_report(&mut line, &report);
    let back: Report = serde_json::from_slice(&line[1..]).unwrap();
    assert_eq!(format!("{back:?}"), format!("{report:?}"));
}

proptest! {
    #[test]
    fn no_line_of_a_worker_panics(line in prop::collection::vec(any::<u8>(), 0..200)) {
        drop(parse_worker_frame(&line));
    }
}
