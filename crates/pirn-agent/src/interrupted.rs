//! Calls whose process ended before they did.

use pirn_model::{Message, StopReason, ToolCall};

/// What such a call gets when the conversation goes on.
pub(crate) const CALL_INTERRUPTED: &str =
    "Pirn ended before this call had a result: whether it took effect is not known";

/// The calls at the end of a conversation that have no result.
pub(crate) fn unanswered(messages: &[Message]) -> Vec<ToolCall> {
    let mut answered = Vec::new();
    for message in messages.iter().rev() {
        match message {
            Message::ToolResult(result) => answered.push(result.tool_call_id.as_str()),
            Message::Assistant(reply) => {
                let is_whole = matches!(
                    reply.stop_reason,
                    StopReason::Stop | StopReason::Length | StopReason::ToolUse
                );
                let open = reply
                    .tool_calls()
                    .filter(|call| is_whole && !answered.contains(&call.id.as_str()));
                return open.cloned().collect();
            }
            // What was said since stands behind the calls; requests give these a result of their own.
            Message::System(_)
            | Message::User(_)
            | Message::Custom(_)
            | Message::BashExecution(_)
            | Message::BranchSummary(_)
            | Message::CompactionSummary(_) => return Vec::new(),
        }
    }
    Vec::new()
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;

    #[test]
    fn only_the_last_reply_has_calls_that_wait() {
        let user = json!({"role": "user", "content": "Go", "timestamp": 1});
        let reply = |stop: &str, ids: &[&str]| {
            let calls: Vec<Value> = ids
                .iter()
                .map(|id| json!({"type": "toolCall", "id": id, "name": "ls", "arguments": {}}))
                .collect();
            json!({
                "role": "assistant", "api": "a", "provider": "p", "model": "m", "stopReason": stop,
                "content": calls, "timestamp": 2,
            })
        };
        let result = |id: &str| json!({"role": "toolResult", "toolCallId": id, "toolName": "ls", "content": [], "timestamp": 3});
        for (messages, expected) in [
            (json!([]), vec![]),
            (json!([user]), vec![]),
            (json!([user, reply("toolUse", &["a", "b"])]), vec!["a", "b"]),
            (
                json!([user, reply("toolUse", &["a", "b"]), result("b")]),
                vec!["a"],
            ),
            (json!([user, reply("toolUse", &["a"]), result("a")]), vec![]),
            (json!([user, reply("aborted", &["a"])]), vec![]),
            (json!([user, reply("toolUse", &["a"]), user]), vec![]),
        ] {
            let messages: Vec<Message> = serde_json::from_value(messages).unwrap();
            let found = unanswered(&messages);
            let ids: Vec<&str> = found.iter().map(|call| call.id.as_str()).collect();
            assert_eq!(ids, expected, "{messages:?}");
        }
    }
}
