use serde_json::json;

use super::*;
use crate::model::Api;

const ANTHROPIC: IdRule = IdRule {
    length_max: 64,
    is_exact: false,
};
const MISTRAL: IdRule = IdRule {
    length_max: 9,
    is_exact: true,
};

fn model() -> Model {
    Model::new("p", "m", Api::AnthropicMessages, "http://localhost")
}

fn assistant(model: &str, stop: &str, content: &serde_json::Value) -> Message {
    serde_json::from_value(json!({
        "role": "assistant", "content": content, "api": "anthropic-messages", "provider": "p", "model": model,
        "stopReason": stop, "timestamp": 1,
    }))
    .unwrap()
}

fn call(id: &str) -> serde_json::Value {
    json!({"type": "toolCall", "id": id, "name": "read", "arguments": {}})
}

fn result(id: &str) -> Message {
    serde_json::from_value(json!({
        "role": "toolResult", "toolCallId": id, "toolName": "read", "content": [{"type": "text", "text": "ok"}],
    }))
    .unwrap()
}

fn user(text: &str) -> Message {
    serde_json::from_value(json!({"role": "user", "content": text})).unwrap()
}

/// The steps in a few words.
fn shape(messages: &[Message], rule: IdRule) -> String {
    turns(messages, &model(), rule)
        .iter()
        .map(|turn| match turn {
            Turn::User(blocks) => format!("user({})", blocks.len()),
            Turn::Assistant(blocks) => {
                let kinds: Vec<String> = blocks
                    .iter()
                    .map(|block| match block.as_ref() {
                        Block::Text { .. } => "text".to_owned(),
                        Block::Thinking { .. } => "thinking".to_owned(),
                        Block::Image { .. } => "image".to_owned(),
                        Block::ToolCall(call) => format!("call {}", call.id),
                    })
                    .collect();
                format!("assistant({})", kinds.join(" "))
            }
            Turn::Result { id, is_error, .. } => {
                format!("{}({id})", if *is_error { "error" } else { "result" })
            }
        })
        .collect::<Vec<_>>()
        .join(" ")
}

#[test]
fn every_call_has_one_result_and_every_result_its_call() {
    for (messages, expected) in [
        (
            vec![
                user("a"),
                assistant("m", "toolUse", &json!([call("1"), call("2")])),
                result("2"),
                user("b"),
            ],
            "user(1) assistant(call 1 call 2) result(2) error(1) user(1)",
        ),
        (
            vec![assistant("m", "toolUse", &json!([call("1")]))],
            "assistant(call 1) error(1)",
        ),
        (
            vec![
                assistant("m", "aborted", &json!([call("1")])),
                result("1"),
                user("a"),
            ],
            "user(1)",
        ),
        (
            vec![
                assistant("m", "toolUse", &json!([call("1")])),
                result("1"),
                result("1"),
                result("9"),
            ],
            "assistant(call 1) result(1)",
        ),
        (
            vec![
                assistant("m", "toolUse", &json!([call("1")])),
                result("1"),
                assistant("m", "toolUse", &json!([call("1")])),
                result("1"),
            ],
            "assistant(call 1) result(1) assistant(call 1_wjwk8xw00) result(1_wjwk8xw00)",
        ),
    ] {
        let found = shape(&messages, ANTHROPIC);
        // The mark is a hash: what counts is that both places have the same.
        let expected = match found.split("call 1_").nth(1) {
            Some(rest) => expected.replace("wjwk8xw00", rest.split(')').next().unwrap()),
            None => expected.to_owned(),
        };
        assert_eq!(found, expected);
    }
}

#[test]
fn ids_take_the_form_that_the_vendor_wants() {
    for id in ["call_abc|fc_1234", "", "x y", &"long".repeat(30)] {
        for rule in [ANTHROPIC, MISTRAL] {
            let messages = [assistant("m", "toolUse", &json!([call(id)])), result(id)];
            let found = turns(&messages, &model(), rule);
            let [
                Turn::Assistant(_),
                Turn::Result {
                    id: wire, is_error, ..
                },
            ] = &found[..]
            else {
                panic!("{found:?}");
            };
            assert!(!is_error);
            assert!((1..=rule.length_max).contains(&wire.len()), "{wire}");
            assert!(wire.chars().all(|letter| letter.is_ascii_alphanumeric() || letter == '_' && !rule.is_exact));
            assert!(!rule.is_exact || wire.len() == rule.length_max, "{wire}");
        }
    }
}

#[test]
fn what_another_model_thought_stays_behind() {
    let content = json!([
        {"type": "thinking", "thinking": "hm", "thinkingSignature": "s"},
        {"type": "text", "text": "hello"},
        {"type": "text", "text": " "},
    ]);
    let own = [assistant("m", "stop", &content)];
    assert_eq!(shape(&own, ANTHROPIC), "assistant(thinking text)");
    let foreign = [assistant("other", "stop", &content)];
    assert_eq!(shape(&foreign, ANTHROPIC), "assistant(text)");
}
