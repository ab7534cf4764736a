//! Answers that come as server-sent events.

use pirn_testkit::{Act, On};
use serde_json::json;

use crate::row::{Call, EVENTS, JSON, Row, Saw, legacy};

/// A row whose call of `odd` is answered by a stream that goes like this.
fn stream(name: &'static str, acts: Vec<Act>) -> Row {
    let acts = [vec![Act::Stream], acts].concat();
    Row::new(name, EVENTS, legacy().tool("odd").on(On::Tool("odd"), acts))
}

const GOOD: &str =
    r#"{"jsonrpc":"2.0","id":$ID,"result":{"content":[{"type":"text","text":"found"}]}}"#;

fn found() -> Call {
    Call::text("odd", "found")
}

pub(super) fn rows() -> Vec<Row> {
    [lines(), cuts(), messages()].concat()
}

fn lines() -> Vec<Row> {
    let raw = |name, text: String| stream(name, vec![Act::bytes(text)]);
    vec![
        raw(
            "event_with_crlf",
            format!("event: message\r\ndata: {GOOD}\r\n\r\n"),
        )
        .call(found()),
        raw("event_with_cr", format!("event: message\rdata: {GOOD}\r\r")).call(found()),
        raw(
            "event_after_a_byte_order_mark",
            format!("\u{feff}data: {GOOD}\n\n"),
        )
        .call(found()),
        raw("event_without_a_blank", format!("data:{GOOD}\n\n")).call(found()),
        raw(
            "event_after_comments",
            format!(": keep-alive\n\n:\n\ndata: {GOOD}\n\n"),
        )
        .call(found()),
        raw(
            "event_with_unknown_fields",
            format!("colour: red\nid\ndata: {GOOD}\nretry: soon\n\n"),
        )
        .call(found()),
        raw(
            "event_of_another_name_before",
            format!("event: ping\ndata: {{}}\n\ndata: {GOOD}\n\n"),
        )
        .call(found()),
        raw(
            "event_of_another_name_with_the_answer",
            format!("event: result\ndata: {GOOD}\n\n"),
        )
        .short()
        .call(Call::ends("odd")),
        raw("event_in_several_lines", {
            let (head, tail) = GOOD.split_once(',').unwrap_or_default();
            format!("data: {head},\ndata: {tail}\n\n")
        })
        .call(found()),
        stream(
            "event_byte_by_byte",
            vec![Act::Drip(
                format!("data: {GOOD}\n\n").into_bytes(),
                std::time::Duration::from_micros(500),
            )],
        )
        .call(found()),
        raw("event_without_its_end", format!("data: {GOOD}\n")).call(Call::ends("odd")),
        stream("event_of_twenty_megabytes", vec![Act::says("$X(20000000)")])
            .call(Call::error("odd", &["16"])),
        stream(
            "comment_of_twenty_megabytes",
            vec![
                Act::Repeat(":", 20_000_000),
                Act::bytes("\n\n"),
                Act::text(GOOD),
            ],
        )
        .call(Call::ends("odd")),
        Row::new(
            "event_stream_in_capitals",
            JSON,
            legacy().tool("odd").on(
                On::Tool("odd"),
                [
                    Act::header("content-type", "Text/Event-Stream; charset=UTF-8"),
                    Act::Stream,
                    Act::text(GOOD),
                ],
            ),
        )
        .call(found()),
        Row::new(
            "event_stream_that_says_json",
            JSON,
            legacy().tool("odd").on(
                On::Tool("odd"),
                [
                    Act::header("content-type", "application/json"),
                    Act::Stream,
                    Act::text(GOOD),
                ],
            ),
        )
        .call(Call::ends("odd")),
    ]
}

fn cuts() -> Vec<Row> {
    vec![
        stream("cut_before_the_answer", vec![Act::Cut]).call(Call::error("odd", &[])),
        stream("ended_before_the_answer", vec![]).call(Call::error("odd", &[])),
        stream(
            "cut_in_an_event",
            vec![Act::bytes("data: {\"jsonrpc\""), Act::Cut],
        )
        .call(Call::error("odd", &[])),
        stream("cut_after_the_answer", vec![Act::text(GOOD), Act::Cut]).call(found()),
        stream(
            "cut_after_an_event_without_id",
            vec![
                Act::Notify("notifications/message", json!({"level": "info", "data": 1})),
                Act::Cut,
            ],
        )
        .call(Call::error("odd", &[])),
        stream(
            "cut_and_resumed",
            vec![
                Act::Field("id", "event-7"),
                Act::Field("retry", "50"),
                Act::text(""),
                Act::Cut,
            ],
        )
        .script(|script| {
            script.on(
                On::Having("GET", "last-event-id"),
                [Act::Stream, Act::text(RESUMED)],
            )
        })
        .call(found())
        .saw(Saw::That("the id of the last event", |seen| {
            seen.iter()
                .any(|seen| seen.header("last-event-id") == Some("event-7"))
        })),
        stream(
            "cut_and_never_resumed",
            vec![
                Act::Field("id", "event-7"),
                Act::Field("retry", "50"),
                Act::text(""),
                Act::Cut,
            ],
        )
        .script(|script| script.on(On::Having("GET", "last-event-id"), [Act::Status(500)]))
        .limits(
            std::time::Duration::from_secs(9),
            std::time::Duration::from_secs(3),
            std::time::Duration::from_secs(4),
        )
        .call(Call::error("odd", &[])),
        stream(
            "cut_and_resumed_and_cut_again",
            vec![
                Act::Field("id", "event-7"),
                Act::Field("retry", "50"),
                Act::text(""),
                Act::Cut,
            ],
        )
        .script(|script| {
            script.on(
                On::Having("GET", "last-event-id"),
                [
                    Act::Stream,
                    Act::Field("retry", "50"),
                    Act::text(""),
                    Act::Cut,
                ],
            )
        })
        .limits(
            std::time::Duration::from_secs(9),
            std::time::Duration::from_secs(3),
            std::time::Duration::from_secs(4),
        )
        .call(Call::error("odd", &[])),
    ]
}

/// A stream that is resumed has no request of its own.
const RESUMED: &str =
    r#"{"jsonrpc":"2.0","id":$CALL_ID,"result":{"content":[{"type":"text","text":"found"}]}}"#;

fn messages() -> Vec<Row> {
    vec![
        stream(
            "answer_of_somebody_else_before",
            vec![
                Act::text(r#"{"jsonrpc":"2.0","id":424242,"result":{"content":[]}}"#),
                Act::text(GOOD),
            ],
        )
        .call(found()),
        stream("answer_never_comes", vec![Act::Never])
            .short()
            .call(Call::error("odd", &["timeout"])),
        stream(
            "comments_do_not_help",
            vec![
                Act::Drip(
                    b":\n\n:\n\n:\n\n:\n\n:\n\n:\n\n:\n\n:\n\n".to_vec(),
                    std::time::Duration::from_millis(100),
                ),
                Act::Never,
            ],
        )
        .short()
        .call(Call::error("odd", &["timeout"])),
        stream(
            "pings_in_the_stream",
            vec![Act::Ask("ping", json!({})), Act::text(GOOD)],
        )
        .call(found()),
        stream(
            "stream_stays_open_after_the_answer",
            vec![Act::text(GOOD), Act::Never],
        )
        .call(found())
        .call(found()),
        stream(
            "answer_is_in_the_second_batch",
            vec![Act::text("[]"), Act::text(format!("[{GOOD}]"))],
        )
        .call(found()),
    ]
}
