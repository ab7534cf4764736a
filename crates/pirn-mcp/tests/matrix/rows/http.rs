//! Statuses, headers and bodies of HTTP servers, and the session.

use std::time::Duration;

use pirn_mcp::HttpKind;
use pirn_testkit::{Act, On, Seen};

use crate::row::{
    Call, Connect, Healthy, JSON, Kind, Place, Row, STREAMABLE, Saw, Tools, legacy, modern,
};

const POST: On = On::Http("POST");

/// A row whose every POST is answered like this.
fn always(name: &'static str, acts: Vec<Act>) -> Row {
    Row::new(name, JSON, legacy().on(POST, acts))
}

/// A row whose call of `odd` is answered like this.
fn on_call(name: &'static str, acts: Vec<Act>) -> Row {
    Row::new(name, JSON, legacy().tool("odd").on(On::Tool("odd"), acts))
}

/// A row whose first call of `ok` is answered like this.
fn once(name: &'static str, acts: Vec<Act>) -> Row {
    Row::new(name, STREAMABLE, legacy().first(1, On::Tool("ok"), acts))
}

fn page(status: u16) -> Vec<Act> {
    vec![
        Act::Status(status),
        Act::header("content-type", "text/html; charset=utf-8"),
        Act::text("<!doctype html><title>Error</title><h1>Something went wrong</h1>"),
    ]
}

fn count(seen: &[Seen], verb: &str) -> usize {
    seen.iter().filter(|seen| seen.verb == verb).count()
}

pub(super) fn rows() -> Vec<Row> {
    [
        sessions(),
        refusals(),
        statuses(),
        bodies(),
        redirects(),
        heads(),
        sockets(),
        streams(),
        ends(),
    ]
    .concat()
}

fn sessions() -> Vec<Row> {
    let lost = r#"{"jsonrpc":"2.0","id":null,"error":{"code":-32000,"message":"Bad Request: No valid session ID provided"}}"#;
    vec![
        once("session_lost_404", vec![Act::Status(404)])
            .call(Call::text("ok", "fine"))
            .saw(Saw::Times("initialize", 2, 2)),
        once("session_lost_404_with_a_body", vec![
            Act::Status(404),
            Act::text(r#"{"jsonrpc":"2.0","id":null,"error":{"code":-32001,"message":"Session not found"}}"#),
        ])
        .call(Call::text("ok", "fine"))
        .saw(Saw::Times("initialize", 2, 2)),
        once("session_lost_400_with_null_id", vec![Act::Status(400), Act::text(lost)])
            .call(Call::text("ok", "fine"))
            .saw(Saw::Times("initialize", 2, 2)),
        on_call("session_lost_again_and_again", vec![Act::Status(404)])
            .call(Call::error("odd", &[]))
            .saw(Saw::Times("initialize", 1, 4)),
        Row::new("session_of_its_own_for_each_handshake", JSON, legacy().first(1, On::Tool("ok"), [Act::Status(404)]))
            .call(Call::text("ok", "fine"))
            .saw(Saw::That("the second session in the last call", |seen| {
                seen.iter()
                    .rfind(|seen| seen.tool() == Some("ok"))
                    .is_some_and(|seen| seen.header("mcp-session-id") == Some("session-2"))
            })),
        Row::new("session_is_deleted_at_the_end", JSON, legacy())
            .saw(Saw::That("one DELETE", |seen| count(seen, "DELETE") == 1)),
        Row::new("version_header_after_the_handshake", STREAMABLE, legacy()).saw(Saw::That("it in every call", |seen| {
            seen.iter()
                .filter(|seen| seen.method == "tools/call")
                .all(|seen| seen.header("mcp-protocol-version") == Some("2025-11-25"))
        })),
    ]
}

/// Servers that want to know who asks.
fn refusals() -> Vec<Row> {
    let header = || {
        Act::header(
            "www-authenticate",
            r#"Bearer resource_metadata="$ORIGIN/metadata", scope="read""#,
        )
    };
    let step_up = || {
        Act::header(
            "www-authenticate",
            r#"Bearer error="insufficient_scope", scope="write""#,
        )
    };
    vec![
        always("status_401_with_header", vec![Act::Status(401), header()])
            .fails(Kind::NeedsAuthorization, &[]),
        always("status_401_without_header", vec![Act::Status(401)])
            .fails(Kind::NeedsAuthorization, &[]),
        always("status_401_with_a_page", page(401)).fails(Kind::NeedsAuthorization, &[]),
        always(
            "status_401_with_basic",
            vec![
                Act::Status(401),
                Act::header("www-authenticate", "Basic realm=\"x\""),
            ],
        )
        .fails(Kind::NeedsAuthorization, &[]),
        on_call("status_401_during_a_call", vec![Act::Status(401), header()])
            .call(Call::error("odd", &["sign in"])),
        always("status_403", vec![Act::Status(403)]).fails(Kind::Http(403), &[]),
        on_call("status_403_during_a_call", page(403)).call(Call::error("odd", &["403"])),
        on_call("status_403_for_a_scope", vec![Act::Status(403), step_up()])
            .call(Call::error("odd", &[])),
        always("status_407", vec![Act::Status(407)]).fails(Kind::Http(407), &[]),
    ]
}

fn statuses() -> Vec<Row> {
    let first =
        |name, times, acts: Vec<Act>| Row::new(name, JSON, legacy().first(times, POST, acts));
    vec![
        first("status_429_at_first", 1, vec![Act::Status(429), Act::header("retry-after", "1")]),
        always("status_429_always", vec![Act::Status(429), Act::header("retry-after", "86400")])
            .fails(Kind::Http(429), &[]),
        on_call("status_429_during_a_call", vec![Act::Status(429), Act::header("retry-after", "60")])
            .call(Call::error("odd", &["429"])),
        first("status_503_at_first", 1, page(503)),
        first("status_502_at_first", 1, page(502)),
        always("status_500_always", page(500)).fails(Kind::Http(500), &[]),
        always("status_501", vec![Act::Status(501)]).fails(Kind::Http(501), &[]),
        on_call("status_500_during_a_call", page(500))
            .call(Call::error("odd", &["500"]))
            .saw(Saw::That("no second attempt", |seen| {
                seen.iter().filter(|seen| seen.tool() == Some("odd")).count() == 1
            })),
        always("status_404_always", page(404)).fails(Kind::Http(404), &[]),
        always("status_405_always", vec![Act::Status(405), Act::header("allow", "GET")]).fails(Kind::Any, &[]),
        always("status_410", vec![Act::Status(410)]).fails(Kind::Http(410), &[]),
        on_call("status_400_with_an_error", vec![
            Act::Status(400),
            Act::text(r#"{"jsonrpc":"2.0","id":$ID,"error":{"code":-32602,"message":"the colour is missing"}}"#),
        ])
        .call(Call::error("odd", &["the colour is missing"])),
        on_call("status_400_with_words", vec![
            Act::Status(400),
            Act::header("content-type", "text/plain"),
            Act::text("the colour is missing"),
        ])
        .call(Call::error("odd", &["400"])),
        on_call("status_413", page(413)).call(Call::error("odd", &["413"])),
        on_call("status_415", page(415)).call(Call::error("odd", &["415"])),
        on_call("status_299", vec![Act::Status(299), Act::says("strange")]).call(Call::ends("odd")),
        on_call("status_999", vec![Act::Status(999), Act::says("strange")]).call(Call::ends("odd")),
        on_call("status_204_to_a_call", vec![Act::Status(204)]).call(Call::error("odd", &[])),
        on_call("status_202_to_a_call", vec![Act::Status(202)]).call(Call::error("odd", &[])),
        always("status_202_always", vec![Act::Status(202)]).short_start().fails(Kind::Any, &[]),
        Row::new(
            "status_200_to_a_notification",
            JSON,
            legacy().on(On::Method("notifications/initialized"), [Act::Status(200)]),
        ),
        Row::new(
            "status_500_to_a_notification",
            JSON,
            legacy().on(On::Method("notifications/initialized"), page(500)),
        )
        .connect(Connect::Ends)
        .tools(Tools::Any)
        .healthy_or_absent(),
        Row::new(
            "notification_is_never_answered",
            JSON,
            legacy().on(On::Method("notifications/initialized"), [Act::Never]),
        )
        .short()
        .connect(Connect::Ends)
        .tools(Tools::Any)
        .healthy_or_absent(),
    ]
}

fn bodies() -> Vec<Row> {
    let good =
        r#"{"jsonrpc":"2.0","id":$ID,"result":{"content":[{"type":"text","text":"found"}]}}"#;
    let typed = |name, kind: &'static str| {
        on_call(
            name,
            vec![Act::header("content-type", kind), Act::text(good)],
        )
    };
    vec![
        typed("content_type_is_plain_text", "text/plain").call(Call::ends("odd")),
        typed("content_type_is_odd_but_json", "application/vnd.api+json; charset=utf-8").call(Call::ends("odd")),
        typed("content_type_in_capitals", "Application/JSON;Charset=UTF-8").call(Call::text("odd", "found")),
        typed("content_type_is_empty", "").call(Call::ends("odd")),
        typed("content_type_is_a_picture", "image/png").call(Call::ends("odd")),
        on_call("page_instead_of_an_answer", page(200)).call(Call::error("odd", &[])),
        always("page_instead_of_everything", page(200)).fails(Kind::Any, &[]),
        on_call("empty_body", vec![Act::text("")]).call(Call::error("odd", &[])),
        on_call("body_shorter_than_promised", vec![
            Act::bytes("HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: 5000\r\n\r\n{\"jsonrpc\":"),
            Act::Cut,
        ])
        .call(Call::error("odd", &[])),
        on_call("body_in_broken_chunks", vec![Act::bytes(
            "HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ntransfer-encoding: chunked\r\n\r\nzz\r\n{}\r\n",
        )])
        .call(Call::error("odd", &[])),
        on_call("body_until_the_connection_closes", vec![Act::bytes(format!(
            "HTTP/1.0 200 OK\r\ncontent-type: application/json\r\n\r\n{good}"
        ))])
        .call(Call::text("odd", "found")),
        on_call("body_that_drips", vec![Act::Drip(good.as_bytes().to_vec(), Duration::from_millis(50))])
            .short()
            .call(Call::error("odd", &["timeout"])),
        on_call("body_that_stops", vec![
            Act::bytes("HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: 100\r\n\r\n{"),
            Act::Never,
        ])
        .short()
        .call(Call::error("odd", &["timeout"])),
        on_call("error_page_of_twenty_megabytes", vec![Act::Status(500), Act::text("$X(20000000)")])
            .call(Call::error("odd", &["500"])),
    ]
}

fn redirects() -> Vec<Row> {
    let to = |name, status, target: &str| {
        Row::new(
            name,
            JSON,
            legacy().on(
                On::Path("POST", "/mcp"),
                [Act::Status(status), Act::header("location", target)],
            ),
        )
    };
    let refused = |row: Row| {
        row.fails(Kind::Any, &[])
            .saw(Saw::That("nothing at the neighbour", |seen| {
                seen.iter()
                    .all(|seen| !seen.method.starts_with("neighbour"))
            }))
    };
    vec![
        to("redirect_307_on_the_same_server", 307, "/elsewhere"),
        to("redirect_308_on_the_same_server", 308, "$ORIGIN/elsewhere"),
        to("redirect_302_on_the_same_server", 302, "/elsewhere")
            .connect(Connect::Ends)
            .tools(Tools::Any)
            .healthy_or_absent(),
        refused(to("redirect_307_to_another_server", 307, "$NEIGHBOUR/mcp")),
        refused(to("redirect_301_to_another_server", 301, "$NEIGHBOUR/mcp")),
        to("redirect_to_itself", 307, "/mcp").fails(Kind::Any, &[]),
        to("redirect_to_nowhere", 307, "").fails(Kind::Any, &[]),
        Row::new(
            "redirect_without_a_target",
            JSON,
            legacy().on(POST, [Act::Status(307)]),
        )
        .fails(Kind::Any, &[]),
        to("redirect_to_a_file", 307, "file:///etc/passwd").fails(Kind::Any, &[]),
    ]
}

fn heads() -> Vec<Row> {
    let good =
        r#"{"jsonrpc":"2.0","id":$ID,"result":{"content":[{"type":"text","text":"found"}]}}"#;
    vec![
        on_call("header_of_a_megabyte", vec![Act::header("x-padding", "$X(1000000)"), Act::says("found")])
            .call(Call::ends("odd")),
        on_call("header_of_ten_kilobytes", vec![Act::header("x-padding", "$X(10000)"), Act::says("found")])
            .call(Call::text("odd", "found")),
        on_call(
            "a_thousand_headers",
            [vec![Act::header("x-padding", "x"); 1000], vec![Act::says("found")]].concat(),
        )
        .call(Call::ends("odd")),
        on_call("header_with_a_line_end", vec![Act::bytes(format!(
            "HTTP/1.1 200 OK\nContent-Type: application/json\nconnection: close\n\n{good}"
        ))])
        .call(Call::ends("odd")),
        on_call("head_that_drips", vec![Act::Drip(b"HTTP/1.1 200 OK\r\nx-padding: xxxxxxxxxxxxxxxxxxxx".to_vec(), Duration::from_millis(50))])
            .short()
            .call(Call::error("odd", &["timeout"])),
        on_call("two_hundred_early_hints", vec![
            Act::bytes("HTTP/1.1 103 Early Hints\r\nlink: </x>\r\n\r\n".repeat(200)),
            Act::bytes(format!(
                "HTTP/1.1 200 OK\r\ncontent-type: application/json\r\nconnection: close\r\n\r\n{good}"
            )),
        ])
        .call(Call::ends("odd")),
        on_call("session_changed_in_the_middle", vec![Act::header("mcp-session-id", "session-77"), Act::says("found")])
            .call(Call::text("odd", "found")),
        Row::new(
            "session_that_is_no_header",
            JSON,
            legacy().on(On::Method("initialize"), [Act::bytes(
                "HTTP/1.1 200 OK\r\ncontent-type: application/json\r\nmcp-session-id: caf\u{e9} \u{1}\r\nconnection: close\r\n\r\n{}",
            )]),
        )
        .fails(Kind::Any, &[]),
    ]
}

/// What is no HTTP at all.
fn sockets() -> Vec<Row> {
    vec![
        Row::at("connection_refused", JSON, Place::ClosedPort).fails(Kind::Start, &["127.0.0.1"]),
        always("accepts_and_closes", vec![Act::Cut]).fails(Kind::Any, &[]),
        always("accepts_and_says_nothing", vec![Act::Never])
            .short_start()
            .fails(Kind::Timeout, &["startTimeout"]),
        always(
            "speaks_another_protocol",
            vec![Act::bytes("SSH-2.0-OpenSSH_9.2\r\n"), Act::Cut],
        )
        .fails(Kind::Any, &[]),
        always("babbles_without_end", vec![Act::Repeat("x", 30_000_000)]).fails(Kind::Any, &[]),
        on_call("cut_during_a_call", vec![Act::Cut])
            .call(Call::error("odd", &[]))
            .saw(Saw::That("no second attempt", |seen| {
                seen.iter()
                    .filter(|seen| seen.tool() == Some("odd"))
                    .count()
                    == 1
            })),
        Row::new(
            "every_connection_closes_after_an_answer",
            STREAMABLE,
            legacy().tool("odd").on(
                On::Tool("odd"),
                [
                    Act::header("connection", "close"),
                    Act::says("found"),
                    Act::Cut,
                ],
            ),
        )
        .call(Call::text("odd", "found"))
        .call(Call::text("odd", "found")),
    ]
}

/// The stream of what the server says by itself.
fn streams() -> Vec<Row> {
    let get = |name, acts: Vec<Act>| Row::new(name, JSON, legacy().on(On::Http("GET"), acts));
    let seldom = || Saw::That("a GET now and then", |seen| count(seen, "GET") <= 6);
    vec![
        get("stream_405", vec![Act::Status(405)]).saw(seldom()),
        get("stream_404", page(404)).saw(seldom()),
        get("stream_500", page(500)).saw(seldom()),
        get("stream_401", vec![Act::Status(401)]).saw(seldom()),
        get("stream_is_never_answered", vec![Act::Never]),
        get("stream_is_a_page", page(200)).saw(seldom()),
        get("stream_ends_at_once", vec![Act::Stream]).saw(seldom()),
        get("stream_is_cut_at_once", vec![Act::Stream, Act::Cut]).saw(seldom()),
        get(
            "stream_of_garbage",
            vec![
                Act::Stream,
                Act::bytes("\u{0}\u{1}garbage\n\n:\n\ndata\n\n"),
                Act::Never,
            ],
        ),
        get(
            "stream_of_a_line_without_end",
            vec![Act::Stream, Act::Repeat("x", 20_000_000), Act::Never],
        ),
        get(
            "stream_with_a_retry_of_a_day",
            vec![Act::Stream, Act::Field("retry", "86400000"), Act::text("")],
        ),
        get(
            "stream_with_a_retry_of_nothing",
            vec![Act::Stream, Act::Field("retry", "0"), Act::text("")],
        )
        .saw(seldom()),
    ]
}

fn ends() -> Vec<Row> {
    let delete = |name, acts: Vec<Act>| Row::new(name, JSON, legacy().on(On::Http("DELETE"), acts));
    vec![
        delete("delete_405", vec![Act::Status(405)]),
        delete("delete_500", page(500)),
        delete("delete_is_never_answered", vec![Act::Never]),
        delete("delete_cut", vec![Act::Cut]),
        Row::new("forced_streamable", JSON, legacy()).kind(HttpKind::Streamable),
        Row::new("forced_sse_at_a_streamable_server", JSON, legacy())
            .kind(HttpKind::Sse)
            .fails(Kind::Any, &[]),
        Row::new(
            "modern_call_cut",
            STREAMABLE,
            modern().tool("odd").on(On::Tool("odd"), [Act::Cut]),
        )
        .call(Call::error("odd", &[])),
        Row::new(
            "modern_call_500",
            STREAMABLE,
            modern().tool("odd").on(On::Tool("odd"), page(500)),
        )
        .call(Call::error("odd", &["500"])),
        Row::new(
            "modern_call_404",
            STREAMABLE,
            modern().tool("odd").on(On::Tool("odd"), page(404)),
        )
        .call(Call::error("odd", &["404"]))
        .healthy(Healthy::Works),
    ]
}
