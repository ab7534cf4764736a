//! Replies of a model that is a script, in the form of chat completions.

use serde_json::{Value, json};

use crate::script::{Act, On, Script, Speaks};

/// A model behind `/chat/completions`: each request gets the next reply; one too many gets status 500.
pub fn model_script(replies: impl IntoIterator<Item = Vec<Act>>) -> Script {
    let script = replies
        .into_iter()
        .fold(Script::new(Speaks::Legacy), |script, acts| {
            script.first(1, On::Path("POST", "/v1/chat/completions"), acts)
        });
    script.on(
        On::Http("POST"),
        [
            Act::Status(500),
            Act::text(r#"{"error":{"message":"the script has no reply left"}}"#),
        ],
    )
}

/// A reply of text.
pub fn says(text: &str) -> Vec<Act> {
    let mut acts = begun();
    acts.push(event(json!({"content": text}), None));
    acts.extend(ended("stop"));
    acts
}

/// A reply that calls tools: id, name and arguments of each.
pub fn calls(calls: &[(&str, &str, Value)]) -> Vec<Act> {
    let calls: Vec<Value> = calls
        .iter()
        .enumerate()
        .map(|(index, (id, name, arguments))| {
            let function = json!({"name": name, "arguments": arguments.to_string()});
            json!({"index": index, "id": id, "type": "function", "function": function})
        })
        .collect();
    let mut acts = begun();
    acts.push(event(json!({"tool_calls": calls}), None));
    acts.extend(ended("tool_calls"));
    acts
}

/// The head of a reply whose events follow.
pub fn begun() -> Vec<Act> {
    vec![
        Act::Stream,
        event(json!({"role": "assistant", "content": ""}), None),
    ]
}

/// One event of a reply.
pub fn event(delta: impl Into<Value>, finish_reason: Option<&str>) -> Act {
    let choice = json!({"index": 0, "delta": delta.into(), "finish_reason": finish_reason});
    Act::text(json!({"id": "reply", "model": "scripted", "choices": [choice]}).to_string())
}

/// The end of a reply: ten tokens were read, two written.
fn ended(reason: &str) -> [Act; 3] {
    [
        event(json!({}), Some(reason)),
        Act::text(
            json!({"choices": [], "usage": {"prompt_tokens": 10, "completion_tokens": 2, "total_tokens": 12}})
                .to_string(),
        ),
        Act::text("[DONE]"),
    ]
}
