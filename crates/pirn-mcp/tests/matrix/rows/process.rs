//! Servers that are processes, and how those end.

use std::time::Duration;

use pirn_testkit::{Act, On, Termination};
use serde_json::json;

use crate::row::{Call, Healthy, Row, STDIO, Saw, legacy};

fn row(name: &'static str, acts: Vec<Act>) -> Row {
    Row::new(name, STDIO, legacy().tool("odd").on(On::Tool("odd"), acts))
}

pub(super) fn rows() -> Vec<Row> {
    [ends(), leftovers(), pipes(), talk()].concat()
}

fn ends() -> Vec<Row> {
    vec![
        row(
            "exit_during_a_call",
            vec![Act::Complain("out of memory"), Act::Exit(9)],
        )
        .call(Call::error("odd", &["ended"]))
        .saw(Saw::Times("tools/list", 2, 2)),
        row("exit_during_every_call", vec![Act::Exit(9)])
            .call(Call::error("odd", &["exit code 9"]))
            .call(Call::error("odd", &["exit code 9"]))
            .call(Call::error("odd", &["not tried again"]))
            .healthy(Healthy::Fails("not tried again")),
        row(
            "exit_in_the_middle_of_an_answer",
            vec![
                Act::bytes(r#"{"jsonrpc":"2.0","id":$ID,"res"#),
                Act::Exit(0),
            ],
        )
        .call(Call::error("odd", &[])),
        row(
            "exit_right_after_the_answer",
            vec![Act::says("last words"), Act::Exit(0)],
        )
        .call(Call::text("odd", "last words"))
        // Not yet gone, it can take one more call with it, which is not repeated: it may have taken effect.
        .healthy(Healthy::Again),
        row(
            "output_closed_during_a_call",
            vec![Act::CloseOutput, Act::Never],
        )
        .call(Call::error("odd", &[])),
    ]
}

/// Whatever a server leaves behind is gone when it is closed.
fn leftovers() -> Vec<Row> {
    let termination = |name, termination| Row::new(name, STDIO, legacy().termination(termination));
    vec![
        termination("ignores_the_end_of_its_input", Termination::IgnoresEnd),
        termination(
            "ignores_the_end_and_sigterm",
            Termination::IgnoresEverything,
        ),
        Row::new("grandchild", STDIO, legacy().greeting([Act::Grandchild])),
        Row::new(
            "grandchild_of_a_stubborn_server",
            STDIO,
            legacy()
                .greeting([Act::Grandchild])
                .termination(Termination::IgnoresEverything),
        ),
        row(
            "grandchild_of_a_server_that_died",
            vec![Act::Grandchild, Act::Exit(1)],
        )
        .call(Call::error("odd", &[])),
        row("call_pending_at_the_end", vec![Act::Never])
            .short()
            .call(Call::error("odd", &["timeout"])),
    ]
}

fn pipes() -> Vec<Row> {
    vec![
        row(
            "flood_of_standard_error_during_a_call",
            vec![Act::Flood(20_000), Act::says("after the flood")],
        )
        .call(Call::text("odd", "after the flood")),
        Row::new(
            "does_not_read_any_more",
            STDIO,
            // discover, initialize, initialized, list, and the call that it reads and never answers.
            legacy()
                .tool("odd")
                .deaf_after(5)
                .on(On::Tool("odd"), [Act::Never]),
        )
        .short()
        .call(Call::error("odd", &["timeout"]))
        .call(Call::error("odd", &["timeout"]).padded(2_000_000))
        .healthy(Healthy::Fails("")),
        row("arguments_of_five_megabytes", vec![Act::says("swallowed")])
            .call(Call::text("odd", "swallowed").padded(5_000_000)),
        row("answer_before_all_was_read", vec![Act::says("already")])
            .call(Call::text("odd", "already").padded(100_000)),
    ]
}

/// What a server says without being asked.
fn talk() -> Vec<Row> {
    let message = |text: &str| Act::text(text);
    vec![
        row("unknown_notifications", vec![
            message(r#"{"jsonrpc":"2.0","method":"notifications/unheard-of","params":{"a":1}}"#),
            message(r#"{"jsonrpc":"2.0","method":"notifications/unheard-of","params":[1]}"#),
            message(r#"{"jsonrpc":"2.0","method":"notifications/unheard-of","params":null}"#),
            message(r#"{"jsonrpc":"2.0","method":7}"#),
            Act::says("after"),
        ])
        .call(Call::text("odd", "after")),
        row("notifications_with_wrong_params", vec![
            message(r#"{"jsonrpc":"2.0","method":"notifications/message"}"#),
            message(r#"{"jsonrpc":"2.0","method":"notifications/message","params":{"level":"loud","data":1}}"#),
            message(r#"{"jsonrpc":"2.0","method":"notifications/progress","params":{}}"#),
            message(r#"{"jsonrpc":"2.0","method":"notifications/progress","params":{"progressToken":"nobody","progress":"half"}}"#),
            message(r#"{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":424242}}"#),
            message(r#"{"jsonrpc":"2.0","method":"notifications/cancelled"}"#),
            message(r#"{"jsonrpc":"2.0","method":"notifications/resources/updated","params":{}}"#),
            Act::says("after"),
        ])
        .call(Call::text("odd", "after")),
        row("log_message_of_five_megabytes", vec![
            Act::Notify("notifications/message", json!({"level": "info", "data": "$X(5000000)"})),
            Act::says("after"),
        ])
        .call(Call::text("odd", "after")),
        row("server_cancels_the_call", vec![
            message(r#"{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":$ID,"reason":"tired"}}"#),
            Act::Never,
        ])
        .short()
        .call(Call::error("odd", &[])),
        row("server_pings", vec![Act::Ask("ping", json!({})), Act::says("after")]).call(Call::text("odd", "after")),
        row("server_pings_without_params", vec![
            message(r#"{"jsonrpc":"2.0","id":"question-0","method":"ping"}"#),
            Act::WaitFor("answer", 1),
            Act::says("after"),
        ])
        .call(Call::text("odd", "after")),
        row("server_asks_something_unknown", vec![Act::Ask("weather/today", json!({})), Act::says("after")])
            .call(Call::text("odd", "after"))
            .saw(Saw::That("an error", |seen| {
                seen.iter().any(|seen| seen.message.pointer("/error/code").is_some())
            })),
        row("server_asks_for_sampling", vec![
            Act::Ask("sampling/createMessage", json!({"messages": [], "maxTokens": 10})),
            Act::says("after"),
        ])
        .call(Call::text("odd", "after")),
        row("server_asks_for_roots", vec![Act::Ask("roots/list", json!({})), Act::says("after")])
            .call(Call::text("odd", "after")),
        row("server_asks_with_wrong_params", vec![Act::Ask("sampling/createMessage", json!([1])), Act::says("after")])
            .call(Call::text("odd", "after")),
        row("server_asks_with_the_id_of_the_call", vec![
            message(r#"{"jsonrpc":"2.0","id":$ID,"method":"ping","params":{}}"#),
            Act::WaitFor("answer", 1),
            Act::says("after"),
        ])
        .call(Call::text("odd", "after")),
        row("a_thousand_questions", vec![
            Act::bytes(
                (0..1000)
                    .map(|number| format!("{{\"jsonrpc\":\"2.0\",\"id\":\"q{number}\",\"method\":\"ping\"}}\n"))
                    .collect::<String>(),
            ),
            Act::Pause(Duration::from_millis(50)),
            Act::says("after"),
        ])
        .call(Call::text("odd", "after")),
    ]
}
