//! The HTTP of 2024: a stream of events, and POSTs to the place that its first event names.

use std::time::Duration;

use pirn_mcp::HttpKind;
use pirn_testkit::{Act, On, Seen};
use serde_json::json;

use crate::row::{Call, Connect, Kind, OLD, Row, Saw, Tools, legacy};

fn row(name: &'static str) -> Row {
    Row::new(name, OLD, legacy())
}

fn endpoint(name: &'static str, endpoint: &'static str) -> Row {
    Row::new(name, OLD, legacy().endpoint(endpoint))
}

/// A row whose call of `odd` is answered like this on the stream.
fn on_call(name: &'static str, acts: Vec<Act>) -> Row {
    Row::new(name, OLD, legacy().tool("odd").on(On::Tool("odd"), acts))
}

/// A row whose POSTs of messages are answered like this.
fn on_post(name: &'static str, times: usize, acts: Vec<Act>) -> Row {
    Row::new(
        name,
        OLD,
        legacy()
            .tool("odd")
            .first(times, On::Path("POST", "/messages"), acts),
    )
}

/// A row whose stream goes like this.
fn on_get(name: &'static str, acts: Vec<Act>) -> Row {
    Row::new(name, OLD, legacy().on(On::Http("GET"), acts))
}

fn at_the_neighbour(seen: &[Seen]) -> bool {
    seen.iter().any(|seen| seen.method.starts_with("neighbour"))
}

pub(super) fn rows() -> Vec<Row> {
    [endpoints(), streams(), posts()].concat()
}

fn endpoints() -> Vec<Row> {
    vec![
        row("old_server_is_found"),
        row("old_server_is_named").kind(HttpKind::Sse),
        row("old_server_where_streamable_is_forced")
            .kind(HttpKind::Streamable)
            .fails(Kind::Any, &[]),
        endpoint("endpoint_relative_with_a_query", "/messages?session=7"),
        endpoint("endpoint_relative_without_a_slash", "messages?session=7"),
        endpoint("endpoint_absolute", "$ORIGIN/messages?session=7"),
        endpoint("endpoint_elsewhere", "$NEIGHBOUR/messages")
            .fails(Kind::Any, &[])
            .saw(Saw::That("nothing at the neighbour", |seen| {
                !at_the_neighbour(seen)
            })),
        endpoint("endpoint_without_a_scheme", "//example.invalid/messages").fails(Kind::Any, &[]),
        endpoint("endpoint_is_a_file", "file:///etc/passwd").fails(Kind::Any, &[]),
        endpoint("endpoint_is_nonsense", "http://[").fails(Kind::Any, &[]),
        endpoint("endpoint_with_blanks_around", "  /messages  ")
            .connect(Connect::Ends)
            .tools(Tools::Any)
            .healthy_or_absent(),
        endpoint("endpoint_is_empty", "")
            .connect(Connect::Ends)
            .tools(Tools::Any)
            .healthy_or_absent(),
    ]
}

fn streams() -> Vec<Row> {
    vec![
        on_get("endpoint_never_comes", vec![Act::Stream, Act::Never])
            .short_start()
            .fails(Kind::Timeout, &["startTimeout"]),
        on_get(
            "endpoint_as_a_plain_event",
            vec![Act::Stream, Act::text("/messages"), Act::Never],
        )
        .short_start()
        .fails(Kind::Any, &[]),
        on_get("stream_ends_before_the_endpoint", vec![Act::Stream]).fails(Kind::Any, &[]),
        on_get(
            "stream_is_no_stream",
            vec![
                Act::header("content-type", "text/html"),
                Act::text("<html></html>"),
            ],
        )
        .fails(Kind::Any, &[]),
        on_get("stream_is_refused", vec![Act::Status(403)]).fails(Kind::Any, &[]),
        on_get("stream_wants_a_sign_in", vec![Act::Status(401)])
            .kind(HttpKind::Sse)
            .fails(Kind::NeedsAuthorization, &[]),
        on_get(
            "stream_goes_elsewhere",
            vec![Act::Status(307), Act::header("location", "$NEIGHBOUR/sse")],
        )
        .kind(HttpKind::Sse)
        .fails(Kind::Any, &[])
        .saw(Saw::That("nothing at the neighbour", |seen| {
            !at_the_neighbour(seen)
        })),
        on_call("old_stream_cut_during_a_call", vec![Act::Cut])
            .call(Call::error("odd", &[]))
            // Each time once over streamable HTTP, which is not there.
            .saw(Saw::Times("initialize", 2, 4)),
        on_call(
            "old_stream_with_a_second_endpoint",
            vec![
                Act::Field("event", "endpoint"),
                Act::text("$NEIGHBOUR/messages"),
                Act::says("found"),
            ],
        )
        .call(Call::text("odd", "found"))
        .saw(Saw::That("nothing at the neighbour", |seen| {
            !at_the_neighbour(seen)
        })),
        on_call(
            "old_stream_with_pings",
            vec![
                Act::bytes(": ping\r\n\r\n"),
                Act::Ask("ping", json!({})),
                Act::says("found"),
            ],
        )
        .call(Call::text("odd", "found")),
        on_call(
            "old_stream_with_a_change",
            vec![
                Act::Notify("notifications/tools/list_changed", json!({})),
                Act::says("found"),
            ],
        )
        .call(Call::text("odd", "found")),
    ]
}

fn posts() -> Vec<Row> {
    vec![
        on_post("old_post_500", usize::MAX, vec![Act::Status(500)]).fails(Kind::Any, &[]),
        on_post("old_post_404", usize::MAX, vec![Act::Status(404)]).fails(Kind::Any, &[]),
        on_post("old_post_cut", usize::MAX, vec![Act::Cut]).fails(Kind::Any, &[]),
        on_post("old_post_never_answered", usize::MAX, vec![Act::Never])
            .short_start()
            .fails(Kind::Any, &[]),
        Row::new(
            "old_post_of_a_call_500",
            OLD,
            legacy()
                .tool("odd")
                .first(1, On::Post("tools/call"), [Act::Status(500)]),
        )
        .call(Call::error("odd", &[]))
        .call(Call::text("odd", "called odd")),
        Row::new(
            "old_post_of_a_call_never_answered",
            OLD,
            legacy()
                .tool("odd")
                .first(1, On::Post("tools/call"), [Act::Never]),
        )
        .short()
        .call(Call::error("odd", &["timeout"]))
        .call(Call::text("odd", "called odd")),
        on_call(
            "old_answer_late",
            vec![Act::Pause(Duration::from_millis(300)), Act::says("found")],
        )
        .call(Call::text("odd", "found")),
    ]
}
