//! What happens in a run, as front ends are told.

use pirn_model::{
    AssistantMessage, Message, ReplyEvent, RequestUsage, ToolCall, ToolResultMessage,
};
use serde::ser::{Serialize, SerializeMap, Serializer};
use serde_json::{Value, json};

/// What happens in a run. Serialised as one line of JSON mode and RPC.
#[derive(Debug, Clone, PartialEq)]
pub enum AgentEvent {
    /// A run begins: a prompt, or the next try after a failure.
    AgentStart,
    /// A run ends, with an answer, a failure or an abort.
    AgentEnd {
        /// What was said in it.
        messages: Vec<Message>,
        /// Whether another run follows by itself.
        will_retry: bool,
    },
    /// Nothing more happens by itself.
    AgentSettled {
        /// Whether the user stopped it.
        aborted: bool,
    },
    /// A turn begins: one reply with its calls.
    TurnStart,
    /// A turn ends: the reply is whole and its calls have results.
    TurnEnd {
        /// The reply as it is kept.
        message: Box<AssistantMessage>,
        /// What its calls gave.
        tool_results: Vec<ToolResultMessage>,
    },
    /// A message begins, of whatever role.
    MessageStart {
        /// The message, as far as it is known.
        message: Message,
    },
    /// A reply goes on: a piece of it has come.
    MessageUpdate {
        /// What was used so far.
        usage: RequestUsage,
        /// The piece of text, thinking or call that came last.
        event: ReplyEvent,
    },
    /// A message is complete.
    MessageEnd {
        /// The message.
        message: Message,
    },
    /// A call of the model's begins.
    ToolStart {
        /// The call.
        call: ToolCall,
    },
    /// A call has ended.
    ToolEnd {
        /// What it gave.
        result: Box<ToolResultMessage>,
    },
    /// A reply failed and is asked for again.
    RetryStart {
        /// Which try comes.
        attempt: u32,
        /// How many there are at most.
        attempts_max: u32,
        /// How long it is waited.
        delay_ms: u64,
        /// What failed.
        error: String,
    },
    /// The tries are over.
    RetryEnd {
        /// Whether a reply came.
        success: bool,
        /// Which try was the last.
        attempt: u32,
        /// What failed in the end.
        error: Option<String>,
    },
}

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
