//! The first words of a legacy server.

use std::time::Duration;

use pirn_testkit::{Act, On};
use serde_json::{Value, json};

use crate::row::{ALL, Connect, Healthy, Kind, PIPE_AND_HTTP, Row, STDIO, Tools, legacy};

const INITIALIZE: On = On::Method("initialize");

/// A row whose server introduces itself with this.
fn introduction(name: &'static str, result: Value) -> Row {
    Row::new(
        name,
        PIPE_AND_HTTP,
        legacy().on(
            INITIALIZE,
            [
                Act::header("mcp-session-id", "session-0"),
                Act::Result(result),
            ],
        ),
    )
}

/// The same, with one member of a good introduction replaced, or taken out.
fn with(name: &'static str, member: &str, value: Option<Value>) -> Row {
    let mut result = json!({
        "protocolVersion": "2025-11-25",
        "capabilities": {"tools": {}},
        "serverInfo": {"name": "fake", "version": "1"},
    });
    if let Value::Object(members) = &mut result {
        match value {
            Some(value) => members.insert(member.to_owned(), value),
            None => members.remove(member),
        };
    }
    introduction(name, result)
}

/// How much the client makes of it is its own affair, as long as it ends.
fn perhaps(row: Row) -> Row {
    row.connect(Connect::Ends)
        .tools(Tools::Any)
        .healthy_or_absent()
}

pub(super) fn rows() -> Vec<Row> {
    [introductions(), versions(), refusals(), starts()].concat()
}

fn introductions() -> Vec<Row> {
    vec![
        with(
            "server_info_without_version",
            "serverInfo",
            Some(json!({"name": "fake"})),
        ),
        with(
            "server_info_without_name",
            "serverInfo",
            Some(json!({"version": "1"})),
        ),
        with(
            "server_info_with_numbers",
            "serverInfo",
            Some(json!({"name": 7, "version": 1.0})),
        ),
        with("server_info_is_missing", "serverInfo", None),
        with("server_info_is_null", "serverInfo", Some(Value::Null)),
        with("server_info_is_a_string", "serverInfo", Some(json!("fake"))),
        with(
            "server_info_with_odd_icons",
            "serverInfo",
            Some(json!({"name": "fake", "version": "1", "icons": "none"})),
        ),
        with(
            "capability_tools_is_true",
            "capabilities",
            Some(json!({"tools": true})),
        ),
        with(
            "capability_tools_is_a_list",
            "capabilities",
            Some(json!({"tools": []})),
        ),
        with(
            "capability_list_changed_is_a_string",
            "capabilities",
            Some(json!({"tools": {"listChanged": "yes"}})),
        ),
        with(
            "capability_that_is_unknown",
            "capabilities",
            Some(json!({"tools": {}, "telepathy": {"range": 3}})),
        ),
        with(
            "capability_experimental_is_odd",
            "capabilities",
            Some(json!({"tools": {}, "experimental": true, "logging": null})),
        ),
        perhaps(with(
            "capability_tools_is_null",
            "capabilities",
            Some(json!({"tools": null})),
        )),
        perhaps(with(
            "capability_tools_is_false",
            "capabilities",
            Some(json!({"tools": false})),
        )),
        perhaps(with(
            "capabilities_are_null",
            "capabilities",
            Some(Value::Null),
        )),
        perhaps(with("capabilities_are_missing", "capabilities", None)),
    ]
}

fn versions() -> Vec<Row> {
    vec![
        with("instructions_are_null", "instructions", Some(Value::Null)),
        with("instructions_are_a_number", "instructions", Some(json!(7))),
        with(
            "instructions_of_a_megabyte",
            "instructions",
            Some(json!("$X(1000000)")),
        ),
        with(
            "version_of_2024",
            "protocolVersion",
            Some(json!("2024-11-05")),
        ),
        with(
            "version_of_march_2025",
            "protocolVersion",
            Some(json!("2025-03-26")),
        ),
        with(
            "version_of_june_2025",
            "protocolVersion",
            Some(json!("2025-06-18")),
        ),
        perhaps(with(
            "version_that_is_unknown",
            "protocolVersion",
            Some(json!("1.0")),
        )),
        perhaps(with(
            "version_of_the_future",
            "protocolVersion",
            Some(json!("2099-01-01")),
        )),
        perhaps(with(
            "version_of_the_modern_protocol",
            "protocolVersion",
            Some(json!("2026-07-28")),
        )),
        perhaps(with(
            "version_is_a_number",
            "protocolVersion",
            Some(json!(2025)),
        )),
        perhaps(with("version_is_missing", "protocolVersion", None)),
        with("introduction_with_odd_meta", "_meta", Some(json!("x"))),
        perhaps(introduction("introduction_is_empty", json!({}))),
        perhaps(introduction("introduction_is_null", Value::Null)),
        perhaps(introduction("introduction_is_a_string", json!("hello"))),
    ]
}

fn refusals() -> Vec<Row> {
    vec![
        Row::new(
            "initialize_is_refused",
            ALL,
            legacy().on(INITIALIZE, [Act::Error(-32000, "licence expired")]),
        )
        .fails(Kind::Any, &["licence expired"]),
        Row::new(
            "initialize_is_refused_by_a_server_that_ends",
            STDIO,
            legacy().on(INITIALIZE, [Act::Error(-32000, "licence expired"), Act::Exit(0)]),
        )
        .fails(Kind::Any, &["licence expired"]),
        Row::new(
            "initialize_is_not_known",
            PIPE_AND_HTTP,
            legacy().on(INITIALIZE, [Act::Error(-32601, "Method not found")]),
        )
        .fails(Kind::Any, &[]),
        Row::new("initialize_is_never_answered", ALL, legacy().on(INITIALIZE, [Act::Never]))
            .short_start()
            .fails(Kind::Timeout, &["startTimeout"]),
        Row::new("initialize_is_answered_with_garbage", PIPE_AND_HTTP, legacy().on(INITIALIZE, [Act::text("OK")]))
            .short_start()
            .fails(Kind::Any, &[]),
        Row::new("initialize_kills_the_server", ALL, legacy().on(INITIALIZE, [Act::Exit(3)])).fails(Kind::Any, &[]),
        Row::new(
            "initialized_is_answered_with_an_error",
            PIPE_AND_HTTP,
            legacy().on(
                On::Method("notifications/initialized"),
                [Act::text(r#"{"jsonrpc":"2.0","id":null,"error":{"code":-32600,"message":"no id"}}"#)],
            ),
        ),
        Row::new(
            "initialized_kills_the_server",
            STDIO,
            legacy().on(On::Method("notifications/initialized"), [Act::Exit(3)]),
        )
        .fails(Kind::Any, &[]),
        Row::new(
            "slow_start_within_the_limit",
            PIPE_AND_HTTP,
            legacy().first(
                1,
                INITIALIZE,
                [
                    Act::Pause(Duration::from_millis(1500)),
                    Act::header("mcp-session-id", "session-0"),
                    Act::Result(json!({
                        "protocolVersion": "2025-06-18",
                        "capabilities": {"tools": {}},
                        "serverInfo": {"name": "slow", "version": "1"},
                    })),
                ],
            ),
        ),
        Row::new(
            "initialize_with_invalid_utf8",
            ALL,
            legacy().on(
                INITIALIZE,
                [
                    Act::header("mcp-session-id", "session-0"),
                    Act::text(
                        b"{\"jsonrpc\":\"2.0\",\"id\":$ID,\"result\":{\"protocolVersion\":\"2025-11-25\",\"capabilities\":{\"tools\":{}},\"serverInfo\":{\"name\":\"caf\xff\",\"version\":\"1\"}}}",
                    ),
                ],
            ),
        ),
    ]
}

/// What a process does before it says anything.
fn starts() -> Vec<Row> {
    let greeting = |name, acts: Vec<Act>| Row::new(name, STDIO, legacy().greeting(acts));
    vec![
        greeting(
            "banner_on_standard_output",
            vec![
                Act::text("fake server 1.0"),
                Act::text(""),
                Act::text("ready."),
            ],
        ),
        greeting(
            "banner_on_standard_error",
            vec![Act::Complain("fake server 1.0"), Act::Complain("ready.")],
        ),
        greeting(
            "mark_before_the_first_message",
            vec![Act::bytes("\u{feff}")],
        ),
        greeting(
            "flood_of_standard_error_at_the_start",
            vec![Act::Flood(20_000)],
        ),
        greeting(
            "flood_of_standard_output_at_the_start",
            vec![Act::Repeat("noise\n", 200_000)],
        ),
        greeting(
            "dies_at_once_with_a_traceback",
            vec![
                Act::Complain("Traceback (most recent call last):"),
                Act::Complain("ModuleNotFoundError: No module named 'mcp'"),
                Act::Exit(1),
            ],
        )
        .fails(Kind::Closed, &["No module named 'mcp'", "exit code 1"]),
        greeting("ends_at_once_without_a_word", vec![Act::Exit(0)]).fails(Kind::Any, &[]),
        greeting("closes_its_output_at_once", vec![Act::CloseOutput]).fails(Kind::Any, &[]),
        Row::new(
            "never_says_anything",
            STDIO,
            legacy()
                .deaf_after(1)
                .on(On::Method("server/discover"), [Act::Never]),
        )
        .short_start()
        .fails(Kind::Timeout, &["startTimeout"]),
        Row::at(
            "program_does_not_exist",
            STDIO,
            crate::row::Place::Program("pirn-no-such-program"),
        )
        .fails(Kind::Start, &["pirn-no-such-program"]),
        Row::at(
            "program_is_a_folder",
            STDIO,
            crate::row::Place::Program("/"),
        )
        .fails(Kind::Start, &[]),
        Row::at(
            "program_is_no_program",
            STDIO,
            crate::row::Place::Program("/dev/null"),
        )
        .fails(Kind::Start, &[]),
        Row::at(
            "program_ends_at_once",
            STDIO,
            crate::row::Place::Program("true"),
        )
        .fails(Kind::Any, &[]),
        Row::at("program_echoes", STDIO, crate::row::Place::Program("cat"))
            .short_start()
            .fails(Kind::Any, &[])
            .healthy(Healthy::Absent),
        Row::at("program_babbles", STDIO, crate::row::Place::Program("yes"))
            .short_start()
            .fails(Kind::Any, &[]),
    ]
}
