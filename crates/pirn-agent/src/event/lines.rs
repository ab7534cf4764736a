//! Events as lines of JSON mode and RPC.

use pirn_model::{Message, ReplyEvent, ToolResultMessage, UserMessage};
use pirn_tool::EventCall;
use serde::ser::{Serialize, SerializeMap, Serializer};
use serde_json::{Value, json};

use super::AgentEvent;

impl Serialize for AgentEvent {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let (kind, members) = self.parts();
        let mut map = serializer.serialize_map(None)?;
        map.serialize_entry("type", kind)?;
        if let Value::Object(members) = members {
            for (key, value) in members {
                map.serialize_entry(&key, &value)?;
            }
        }
        map.end()
    }
}

impl AgentEvent {
    #[expect(clippy::too_many_lines, reason = "one row for each event")]
    fn parts(&self) -> (&'static str, Value) {
        match self {
            Self::AgentStart => ("agent_start", json!({})),
            Self::AgentEnd {
                messages,
                will_retry,
            } => (
                "agent_end",
                json!({"messages": messages, "willRetry": will_retry}),
            ),
            Self::AgentSettled { aborted } => ("agent_settled", json!({"aborted": aborted})),
            Self::TurnStart => ("turn_start", json!({})),
            Self::TurnEnd {
                message,
                tool_results,
            } => {
                let message = Message::Assistant(message.clone());
                let results: Vec<Message> = tool_results.iter().map(result_message).collect();
                (
                    "turn_end",
                    json!({"message": message, "toolResults": results}),
                )
            }
            Self::MessageStart { message } => ("message_start", json!({"message": message})),
            Self::MessageEnd { message } => ("message_end", json!({"message": message})),
            Self::MessageUpdate { usage, event } => (
                "message_update",
                json!({"usage": usage, "assistantMessageEvent": reply_event(event)}),
            ),
            Self::ToolStart { call } => (
                "tool_execution_start",
                json!({"toolCallId": call.id, "toolName": call.name, "args": call.arguments}),
            ),
            Self::ToolEnd { result } => {
                let mut members = json!({
                    "toolCallId": result.tool_call_id,
                    "toolName": result.tool_name,
                    "result": {"content": result.content, "details": result.details},
                    "isError": result.is_error,
                });
                if let Some(duration) = result.duration_ms {
                    members["durationMs"] = json!(duration);
                }
                ("tool_execution_end", members)
            }
            Self::NestedStart { call } => ("tool_execution_start", call_members(call)),
            Self::ToolUpdate { call, update } => {
                let mut members = call_members(call);
                let content = json!([{"type": "text", "text": update.text}]);
                members["partialResult"] = json!({"content": content, "details": update.details});
                ("tool_execution_update", members)
            }
            Self::NestedEnd {
                call,
                result,
                duration,
            } => {
                let mut members = call_members(call);
                members["result"] = json!({"content": result.content, "details": result.details});
                members["isError"] = json!(result.is_error);
                members["durationMs"] =
                    json!(u64::try_from(duration.as_millis()).unwrap_or(u64::MAX));
                if let Some(members) = members.as_object_mut() {
                    members.remove("args");
                }
                ("tool_execution_end", members)
            }
            Self::Question { request } => ("question_start", json!({"question": request})),
            Self::QuestionEnd {
                question_id,
                answer,
            } => (
                "question_end",
                json!({"questionId": question_id, "answer": answer}),
            ),
            Self::Server {
                name,
                state,
                detail,
            } => (
                "server_state",
                json!({"name": name, "state": state, "detail": detail}),
            ),
            Self::Note { text } => ("note", json!({"text": text})),
            Self::QueueUpdate {
                steering,
                follow_up,
            } => (
                "queue_update",
                json!({"steering": texts(steering), "followUp": texts(follow_up)}),
            ),
            Self::EntryAppended { entry } => ("entry_appended", json!({"entry": entry})),
            Self::SessionInfoChanged { name } => ("session_info_changed", json!({"name": name})),
            Self::ThinkingLevelChanged { level } => {
                ("thinking_level_changed", json!({"level": level}))
            }
            Self::CompactionStart { reason } => {
                ("compaction_start", json!({"reason": reason.as_str()}))
            }
            Self::CompactionEnd {
                reason,
                outcome,
                aborted,
                will_retry,
            } => {
                let mut members = json!({
                    "reason": reason.as_str(), "aborted": aborted, "willRetry": will_retry,
                });
                match outcome {
                    Ok(report) => members["result"] = json!(report),
                    Err(why) => members["errorMessage"] = json!(why),
                }
                ("compaction_end", members)
            }
            Self::CommandOutput { id, delta } => {
                let mut members = json!({"delta": delta});
                if let Some(id) = id {
                    members["id"] = json!(id);
                }
                ("bash_execution_update", members)
            }
            Self::RetryStart {
                attempt,
                attempts_max,
                delay_ms,
                error,
            } => (
                "auto_retry_start",
                json!({"attempt": attempt, "maxAttempts": attempts_max, "delayMs": delay_ms, "errorMessage": error}),
            ),
            Self::RetryEnd {
                success,
                attempt,
                error,
            } => {
                let mut members = json!({"success": success, "attempt": attempt});
                if let Some(error) = error {
                    members["finalError"] = json!(error);
                }
                ("auto_retry_end", members)
            }
        }
    }
}

/// The texts of messages that wait.
fn texts(messages: &[UserMessage]) -> Vec<String> {
    messages
        .iter()
        .map(|message| message.content.joined_text())
        .collect()
}

fn call_members(call: &EventCall) -> Value {
    let mut members =
        json!({"toolCallId": call.call_id, "toolName": call.tool_name, "args": call.arguments});
    if let Some(parent) = &call.parent_call_id {
        members["parentToolCallId"] = json!(parent);
    }
    members
}

fn result_message(result: &ToolResultMessage) -> Message {
    Message::ToolResult(Box::new(result.clone()))
}

fn reply_event(event: &ReplyEvent) -> Value {
    let start = |kind: &str, index: &usize| json!({"type": kind, "contentIndex": index});
    let delta = |kind: &str, index: &usize, delta: &str| json!({"type": kind, "contentIndex": index, "delta": delta});
    let end = |kind: &str, index: &usize, content: &str| json!({"type": kind, "contentIndex": index, "content": content});
    match event {
        ReplyEvent::TextStart { index } => start("text_start", index),
        ReplyEvent::TextDelta { index, delta: new } => delta("text_delta", index, new),
        ReplyEvent::TextEnd { index, content } => end("text_end", index, content),
        ReplyEvent::ThinkingStart { index } => start("thinking_start", index),
        ReplyEvent::ThinkingDelta { index, delta: new } => delta("thinking_delta", index, new),
        ReplyEvent::ThinkingEnd { index, content } => end("thinking_end", index, content),
        ReplyEvent::ToolCallStart { index, id, name } => {
            json!({"type": "toolcall_start", "contentIndex": index, "id": id, "toolName": name})
        }
        ReplyEvent::ToolCallDelta { index, delta: new } => delta("toolcall_delta", index, new),
        ReplyEvent::ToolCallEnd { index, call } => {
            json!({"type": "toolcall_end", "contentIndex": index, "toolCall": call})
        }
    }
}
