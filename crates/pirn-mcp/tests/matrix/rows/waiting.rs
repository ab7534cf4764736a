//! Limits, progress and cancelling.

use std::time::Duration;

use pirn_testkit::{Act, On};
use serde_json::json;

use crate::row::{
    ALL, Call, EVENTS, Healthy, OLD, Over, PIPE_AND_HTTP, Row, STDIO, STREAMABLE, Saw, legacy,
    modern,
};

fn row(name: &'static str, over: &'static [Over], acts: Vec<Act>) -> Row {
    Row::new(name, over, legacy().tool("odd").on(On::Tool("odd"), acts))
}

const STREAMS: &[Over] = &[Over::Stdio, Over::Events, Over::Old];

pub(super) fn rows() -> Vec<Row> {
    [limits(), progress(), cancelling()].concat()
}

fn limits() -> Vec<Row> {
    vec![
        row("never_answers_a_call", ALL, vec![Act::Never])
            .short()
            .call(Call::error("odd", &["timeout"]).within(Duration::from_millis(2300))),
        row("never_answers_three_calls", PIPE_AND_HTTP, vec![Act::Never])
            .short()
            .call(Call::error("odd", &["timeout"]))
            .call(Call::error("odd", &["timeout"]))
            .call(Call::error("odd", &["timeout"])),
        row(
            "answers_too_late",
            PIPE_AND_HTTP,
            vec![Act::Pause(Duration::from_millis(1300)), Act::says("late")],
        )
        .short()
        .call(Call::error("odd", &["timeout"]))
        .call(Call::error("odd", &["timeout"])),
        row(
            "the_server_is_told_of_the_limit",
            STDIO,
            vec![Act::WaitFor("notifications/cancelled", 1), Act::Never],
        )
        .short()
        .call(Call::error("odd", &["timeout"]))
        .saw(Saw::Times("notifications/cancelled", 1, 1)),
        row(
            "answers_just_in_time",
            ALL,
            vec![Act::Pause(Duration::from_millis(500)), Act::says("in time")],
        )
        .call(Call::text("odd", "in time")),
    ]
}

fn progress() -> Vec<Row> {
    let limits = |row: Row| {
        row.limits(
            Duration::from_secs(9),
            Duration::from_secs(1),
            Duration::from_secs(4),
        )
    };
    let message = |text: &str| Act::text(text);
    vec![
        limits(row(
            "progress_for_longer_than_the_limit",
            STREAMS,
            vec![Act::Progress(6, Duration::from_millis(300)), Act::says("at last")],
        ))
        .call(Call::text("odd", "at last")),
        limits(row(
            "progress_without_end",
            STREAMS,
            vec![Act::Progress(100, Duration::from_millis(200)), Act::says("never")],
        ))
        .call(Call::error("odd", &["totalTimeout"]).within(Duration::from_millis(5500))),
        row("progress_is_shown", STREAMS, vec![Act::Progress(2, Duration::from_millis(20)), Act::says("done")]).call(
            Call::result("odd", |called| {
                if called.updates.iter().any(|update| update.contains("step 1")) {
                    Ok(())
                } else {
                    Err(format!("the updates are {:?}", called.updates))
                }
            }),
        ),
        row("progress_that_goes_backwards", STREAMS, vec![
            message(r#"{"jsonrpc":"2.0","method":"notifications/progress","params":{"progressToken":$TOKEN,"progress":5,"total":1}}"#),
            message(r#"{"jsonrpc":"2.0","method":"notifications/progress","params":{"progressToken":$TOKEN,"progress":-3}}"#),
            Act::says("done"),
        ])
        .call(Call::text("odd", "done")),
        row("progress_with_strings", STREAMS, vec![
            message(r#"{"jsonrpc":"2.0","method":"notifications/progress","params":{"progressToken":$TOKEN,"progress":"50%","total":"100%","message":7}}"#),
            Act::says("done"),
        ])
        .call(Call::text("odd", "done")),
        row("progress_for_nobody", STREAMS, vec![
            message(r#"{"jsonrpc":"2.0","method":"notifications/progress","params":{"progressToken":"nobody","progress":1}}"#),
            message(r#"{"jsonrpc":"2.0","method":"notifications/progress","params":{"progressToken":null,"progress":1}}"#),
            Act::says("done"),
        ])
        .call(Call::text("odd", "done")),
        limits(row("progress_for_nobody_does_not_help", STDIO, vec![
            Act::Pause(Duration::from_millis(700)),
            message(r#"{"jsonrpc":"2.0","method":"notifications/progress","params":{"progressToken":"nobody","progress":1}}"#),
            Act::Pause(Duration::from_millis(700)),
            Act::says("too late"),
        ]))
        .call(Call::error("odd", &["timeout"])),
        row("progress_after_the_answer", STDIO, vec![
            Act::says("done"),
            message(r#"{"jsonrpc":"2.0","method":"notifications/progress","params":{"progressToken":$TOKEN,"progress":9}}"#),
        ])
        .call(Call::text("odd", "done")),
        row("progress_ten_thousand_times", STDIO, vec![
            Act::Progress(10_000, Duration::ZERO),
            Act::says("done"),
        ])
        .call(Call::text("odd", "done")),
    ]
}

fn cancelling() -> Vec<Row> {
    vec![
        row(
            "cancelled_in_the_middle",
            STREAMS,
            vec![Act::Progress(1, Duration::ZERO), Act::Never],
        )
        .call(Call::cancelled("odd").within(Duration::from_secs(2)))
        .saw(Saw::Times("notifications/cancelled", 1, 1)),
        row(
            "cancelled_and_answered_all_the_same",
            &[Over::Stdio, Over::Old],
            vec![
                Act::Progress(1, Duration::ZERO),
                Act::WaitFor("notifications/cancelled", 1),
                Act::says("too late"),
            ],
        )
        .call(Call::cancelled("odd").within(Duration::from_secs(2)))
        .saw(Saw::That("the id of the call", |seen| {
            let id = seen
                .iter()
                .find(|seen| seen.tool() == Some("odd"))
                .and_then(|seen| seen.message.get("id"));
            let cancelled = seen
                .iter()
                .find(|seen| seen.method == "notifications/cancelled")
                .and_then(|seen| seen.message.pointer("/params/requestId"));
            id.is_some() && id == cancelled
        })),
        row(
            "cancelled_while_the_server_floods",
            STDIO,
            vec![
                Act::Progress(1, Duration::ZERO),
                Act::Notify(
                    "notifications/message",
                    json!({"level": "info", "data": "$X(1000000)"}),
                ),
                Act::Never,
            ],
        )
        .call(Call::cancelled("odd").within(Duration::from_secs(2))),
        row(
            "cancel_kills_the_server",
            &[Over::Stdio, Over::Events],
            vec![
                Act::Progress(1, Duration::ZERO),
                Act::WaitFor("notifications/cancelled", 1),
                Act::Exit(1),
            ],
        )
        .call(Call::cancelled("odd").within(Duration::from_secs(2)))
        .healthy(Healthy::Again),
        Row::new(
            "modern_cancelled_over_pipes",
            STDIO,
            modern().tool("odd").on(
                On::Tool("odd"),
                [Act::Progress(1, Duration::ZERO), Act::Never],
            ),
        )
        .call(Call::cancelled("odd").within(Duration::from_secs(2)))
        // And perhaps one for the subscription at the end.
        .saw(Saw::Times("notifications/cancelled", 1, 2)),
        Row::new(
            "modern_cancelled_over_http",
            STREAMABLE,
            modern().tool("odd").on(
                On::Tool("odd"),
                [Act::Progress(1, Duration::ZERO), Act::Never],
            ),
        )
        .call(Call::cancelled("odd").within(Duration::from_secs(2)))
        .saw(Saw::Times("hang up", 1, 9)),
        row(
            "cancel_is_refused",
            EVENTS,
            vec![Act::Progress(1, Duration::ZERO), Act::Never],
        )
        .script(|script| script.on(On::Method("notifications/cancelled"), [Act::Status(500)]))
        .call(Call::cancelled("odd").within(Duration::from_secs(2))),
        row(
            "cancel_is_never_answered",
            &[Over::Events, Over::Old],
            vec![Act::Progress(1, Duration::ZERO), Act::Never],
        )
        .script(|script| script.on(On::Method("notifications/cancelled"), [Act::Never]))
        .call(Call::cancelled("odd").within(Duration::from_secs(2))),
        row(
            "cancelled_over_the_old_stream",
            OLD,
            vec![Act::Progress(1, Duration::ZERO), Act::Never],
        )
        .call(Call::cancelled("odd").within(Duration::from_secs(2))),
    ]
}
