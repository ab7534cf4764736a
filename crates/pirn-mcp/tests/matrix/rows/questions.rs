//! Questions of servers to the user.

use pirn_mcp::ElicitationAnswer;
use pirn_testkit::{Act, On, Seen};
use serde_json::{Value, json};

use crate::row::{Call, Over, PIPE_AND_HTTP, Row, Saw, legacy, modern};

/// Where a server can ask in the middle of a call.
const ASKING: &[Over] = &[Over::Stdio, Over::Events, Over::Old];

fn form() -> Value {
    json!({
        "mode": "form",
        "message": "What is your name?",
        "requestedSchema": {"type": "object", "properties": {"name": {"type": "string"}}, "required": ["name"]},
    })
}

/// A legacy row whose tool `odd` asks this.
fn asks(name: &'static str, question: Value) -> Row {
    Row::new(
        name,
        ASKING,
        legacy().tool("odd").on(
            On::Tool("odd"),
            [
                Act::Ask("elicitation/create", question),
                Act::says("thank you"),
            ],
        ),
    )
    .call(Call::text("odd", "thank you"))
}

/// A modern row whose tool `odd` wants this input before it answers.
fn wants(name: &'static str, requests: Value) -> Row {
    Row::new(
        name,
        PIPE_AND_HTTP,
        modern()
            .tool("odd")
            .first(
                1,
                On::Tool("odd"),
                [Act::Result(json!({
                    "resultType": "input_required", "inputRequests": requests, "requestState": "where we were",
                }))],
            )
            .on(On::Tool("odd"), [Act::says("thank you")]),
    )
}

fn accept() -> ElicitationAnswer {
    ElicitationAnswer::Accept(Some(json!({"name": "Ada"})))
}

/// The action that the client answered a question with.
fn action(seen: &[Seen]) -> Option<&Value> {
    seen.iter()
        .find(|seen| seen.method == "answer")?
        .message
        .pointer("/result/action")
}

pub(super) fn rows() -> Vec<Row> {
    [questions(), odd_questions(), inputs()].concat()
}

fn questions() -> Vec<Row> {
    vec![
        asks("form_accepted", form()).user(accept()).saw(Saw::That("the values", |seen| {
            seen.iter().any(|seen| {
                seen.message.pointer("/result/action") == Some(&json!("accept"))
                    && seen.message.pointer("/result/content/name") == Some(&json!("Ada"))
            })
        })),
        asks("form_declined", form())
            .user(ElicitationAnswer::Decline)
            .saw(Saw::That("a decline", |seen| action(seen) == Some(&json!("decline")))),
        asks("form_cancelled", form())
            .user(ElicitationAnswer::Cancel)
            .saw(Saw::That("a cancel", |seen| action(seen) == Some(&json!("cancel")))),
        asks("nobody_to_ask", form()).saw(Saw::That("a cancel or an error", |seen| {
            action(seen) == Some(&json!("cancel"))
                || seen.iter().any(|seen| seen.method == "answer" && seen.message.get("error").is_some())
        })),
        asks("nobody_to_ask_is_said_in_the_handshake", form()).saw(Saw::That("no elicitation among the capabilities", |seen| {
            seen.iter()
                .filter(|seen| seen.method == "initialize")
                .all(|seen| seen.message.pointer("/params/capabilities/elicitation").is_none())
        })),
        asks(
            "page_to_visit",
            json!({"mode": "url", "message": "Sign here", "url": "https://example.invalid/sign", "elicitationId": "7"}),
        )
        .user(ElicitationAnswer::Accept(None))
        .saw(Saw::That("an accept", |seen| action(seen) == Some(&json!("accept")))),
    ]
}

fn odd_questions() -> Vec<Row> {
    vec![
        asks("form_without_a_mode", json!({
            "message": "What is your name?",
            "requestedSchema": {"type": "object", "properties": {"name": {"type": "string"}}},
        }))
        .user(accept()),
        asks("form_without_a_schema", json!({"message": "What is your name?"})).user(accept()),
        asks("form_with_a_nested_schema", json!({
            "message": "Where?",
            "requestedSchema": {"type": "object", "properties": {"place": {"type": "object", "properties": {"x": {}}}}},
        }))
        .user(accept()),
        asks("form_without_a_message", json!({"requestedSchema": {"type": "object", "properties": {}}})).user(accept()),
        asks("page_without_an_address", json!({"mode": "url", "message": "Sign here", "elicitationId": "7"}))
            .user(ElicitationAnswer::Accept(None)),
        asks("page_that_is_a_script", json!({
            "mode": "url", "message": "Sign here", "url": "javascript:alert(1)", "elicitationId": "7",
        }))
        .user(ElicitationAnswer::Accept(None)),
        asks("question_of_an_unknown_mode", json!({"mode": "telepathy", "message": "Think!"})).user(accept()),
        asks("question_that_is_a_list", json!([1, 2])).user(accept()),
    ]
}

fn inputs() -> Vec<Row> {
    let ask = json!({"who": {"method": "elicitation/create", "params": form()}});
    vec![
        wants("input_required", ask.clone())
            .user(accept())
            .call(Call::text("odd", "thank you"))
            .saw(Saw::That(
                "the state and the values in the second call",
                |seen| {
                    seen.iter().any(|seen| {
                        seen.message.pointer("/params/requestState")
                            == Some(&json!("where we were"))
                            && seen
                                .message
                                .pointer("/params/inputResponses/who/content/name")
                                == Some(&json!("Ada"))
                    })
                },
            )),
        wants("input_required_and_declined", ask.clone())
            .user(ElicitationAnswer::Decline)
            .call(Call::ends("odd")),
        wants("input_required_and_nobody_to_ask", ask).call(Call::ends("odd")),
        wants(
            "input_required_of_an_unknown_kind",
            json!({"who": {"method": "weather/today", "params": {}}}),
        )
        .user(accept())
        .call(Call::ends("odd")),
        wants(
            "input_required_is_a_list",
            json!([{"method": "elicitation/create", "params": form()}]),
        )
        .user(accept())
        .call(Call::ends("odd")),
        wants(
            "input_required_for_sampling",
            json!({"draft": {
                "method": "sampling/createMessage", "params": {"messages": [], "maxTokens": 5},
            }}),
        )
        .user(accept())
        .call(Call::ends("odd")),
    ]
}
