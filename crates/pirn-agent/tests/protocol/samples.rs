//! One event of each kind, for the page and for the schemas.

use std::sync::Arc;
use std::time::Duration;

use pirn_agent::{AgentEvent, CompactionReason, CompactionReport};
use pirn_model::{
    AssistantMessage, Message, ReplyEvent, RequestUsage, ThinkingLevel, ToolCall,
    ToolResultMessage, UserMessage,
};
use pirn_session::{Entry, EntryBody};
use pirn_tool::{Answer, ApprovalRequest, Effects, EventCall, Origin, Subject, ToolResult, Update};
use serde_json::json;

/// When the samples happened.
const NOW: u64 = 1_767_225_600_000;

/// The events, in the order of the table.
#[expect(clippy::too_many_lines, reason = "one row for each event")]
pub(super) fn events() -> Vec<AgentEvent> {
    let user = Message::User(UserMessage::text("What is here?", NOW));
    let reply = reply();
    let result = result();
    let nested = Arc::new(EventCall {
        call_id: "1/1".to_owned(),
        parent_call_id: Some("1".to_owned()),
        tool_name: "ls".to_owned(),
        arguments: json!({}),
        origin: Origin::Nested,
    });
    let mut question = ApprovalRequest::new(Subject::Host, Effects::NETWORK, json!({}));
    "q1".clone_into(&mut question.id);
    let waiting = vec![UserMessage::text("Only Rust files", NOW)];
    vec![
        AgentEvent::AgentStart,
        AgentEvent::AgentEnd {
            messages: vec![user.clone()],
            will_retry: false,
        },
        AgentEvent::AgentSettled { aborted: false },
        AgentEvent::TurnStart,
        AgentEvent::TurnEnd {
            message: Box::new(reply),
            tool_results: vec![result.clone()],
        },
        AgentEvent::MessageStart {
            message: user.clone(),
        },
        AgentEvent::MessageUpdate {
            usage: RequestUsage::default(),
            event: ReplyEvent::TextDelta {
                index: 0,
                delta: "Nothing".to_owned(),
            },
        },
        AgentEvent::MessageUpdate {
            usage: RequestUsage::default(),
            event: ReplyEvent::ToolCallEnd {
                index: 1,
                call: call(),
            },
        },
        AgentEvent::MessageEnd { message: user },
        AgentEvent::ToolStart { call: call() },
        AgentEvent::NestedStart {
            call: Arc::clone(&nested),
        },
        AgentEvent::ToolUpdate {
            call: Arc::clone(&nested),
            update: Update {
                text: "src".to_owned(),
                details: None,
            },
        },
        AgentEvent::NestedEnd {
            call: nested,
            result: Arc::new(ToolResult::text("src\n")),
            duration: Duration::from_millis(2),
        },
        AgentEvent::ToolEnd {
            result: Box::new(result),
        },
        AgentEvent::Question {
            request: Arc::new(question),
        },
        AgentEvent::QuestionEnd {
            question_id: "q1".to_owned(),
            answer: Answer::deny(),
        },
        AgentEvent::Server {
            name: "files".to_owned(),
            state: "connected".to_owned(),
            detail: None,
        },
        AgentEvent::Note {
            text: "the server `files` has 3 tools".to_owned(),
        },
        AgentEvent::QueueUpdate {
            steering: waiting,
            follow_up: Vec::new(),
        },
        AgentEvent::EntryAppended {
            entry: Box::new(Entry {
                id: "0a1b2c3d".to_owned(),
                parent_id: None,
                timestamp: pirn_session::iso_time(NOW),
                body: EntryBody::SessionInfo {
                    name: Some("parser work".to_owned()),
                },
            }),
        },
        AgentEvent::SessionInfoChanged {
            name: Some("parser work".to_owned()),
        },
        AgentEvent::ThinkingLevelChanged {
            level: ThinkingLevel::High,
        },
        AgentEvent::CompactionStart {
            reason: CompactionReason::Threshold,
        },
        AgentEvent::CompactionEnd {
            reason: CompactionReason::Threshold,
            outcome: Ok(CompactionReport {
                summary: "To count.".to_owned(),
                first_kept_entry_id: "0a1b2c3d".to_owned(),
                tokens_before: 41_000,
                estimated_tokens_after: 21_000,
                usage: None,
                details: json!({"readFiles": [], "modifiedFiles": []}),
            }),
            aborted: false,
            will_retry: false,
        },
        AgentEvent::CompactionEnd {
            reason: CompactionReason::Manual,
            outcome: Err("there is nothing to shorten".to_owned()),
            aborted: false,
            will_retry: false,
        },
        AgentEvent::CommandOutput {
            id: Some("3".to_owned()),
            delta: "from the user\n".to_owned(),
        },
        AgentEvent::RetryStart {
            attempt: 1,
            attempts_max: 3,
            delay_ms: 2_000,
            error: "the server is overloaded".to_owned(),
        },
        AgentEvent::RetryEnd {
            success: true,
            attempt: 1,
            error: None,
        },
    ]
}

fn call() -> ToolCall {
    serde_json::from_value(
        json!({"id": "1", "name": "exec", "arguments": {"code": "return await tools.ls({})"}}),
    )
    .expect("a call is read")
}

fn reply() -> AssistantMessage {
    let reply = json!({
        "content": [{"type": "text", "text": "Nothing is here."}],
        "api": "openai-completions", "provider": "desk", "model": "scripted",
        "usage": RequestUsage::default(), "stopReason": "stop", "durationMs": 900, "timestamp": NOW,
    });
    serde_json::from_value(reply).expect("a reply is read")
}

fn result() -> ToolResultMessage {
    let result = json!({
        "toolCallId": "1", "toolName": "exec", "content": [{"type": "text", "text": "Script completed"}],
        "isError": false, "durationMs": 12, "timestamp": NOW,
    });
    serde_json::from_value(result).expect("a result is read")
}
