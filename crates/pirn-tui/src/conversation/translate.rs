//! What happens in a conversation, as the interface is told.

use std::path::Path;
use std::time::Duration;

use pirn_agent::{Agent, AgentEvent};
use pirn_model::{Block, Message, ReplyEvent, ToolResultMessage, UserMessage, joined_text};
use pirn_tool::ToolResult;
use serde_json::Value;

use crate::event::{Activity, CallOutcome, Figures, UiEvent};

/// What is kept to be looked at of one call: programs get much that nobody reads.
const CALL_TEXT_BYTES_MAX: usize = 1024 * 1024;

pub(super) fn events(event: AgentEvent) -> Vec<UiEvent> {
    match event {
        AgentEvent::AgentStart => vec![UiEvent::RunStarted],
        AgentEvent::AgentSettled { .. } => vec![UiEvent::RunSettled],
        AgentEvent::MessageStart {
            message: Message::Assistant(_),
        } => vec![UiEvent::ReplyStarted],
        AgentEvent::MessageUpdate { event, .. } => reply(event),
        AgentEvent::MessageEnd { message } => ended(message),
        AgentEvent::ToolStart { call } => vec![UiEvent::CallStarted {
            id: call.id,
            parent: None,
            name: call.name,
            arguments: call.arguments,
        }],
        AgentEvent::ToolEnd { result } => vec![call_ended(&result)],
        AgentEvent::NestedStart { call } => vec![UiEvent::CallStarted {
            id: call.call_id.clone(),
            parent: call.parent_call_id.clone(),
            name: call.tool_name.clone(),
            arguments: call.arguments.clone(),
        }],
        AgentEvent::ToolUpdate { call, update } => vec![UiEvent::CallUpdated {
            id: call.call_id.clone(),
            text: update.text,
        }],
        AgentEvent::NestedEnd {
            call,
            result,
            duration,
        } => vec![UiEvent::CallEnded {
            id: call.call_id.clone(),
            outcome: outcome(text_for_program(&result), result.is_error, duration),
        }],
        AgentEvent::Note { text } => vec![UiEvent::Note(text)],
        AgentEvent::Server {
            name,
            state,
            detail: Some(detail),
        } => vec![UiEvent::Note(format!("server {name} is {state}: {detail}"))],
        AgentEvent::QueueUpdate {
            steering,
            follow_up,
        } => vec![UiEvent::Queue {
            steering: texts(&steering),
            follow_up: texts(&follow_up),
        }],
        AgentEvent::CompactionStart { .. } => vec![UiEvent::Compacting(Activity::Begins)],
        AgentEvent::CompactionEnd {
            outcome, aborted, ..
        } => vec![
            UiEvent::Compacting(Activity::Ends),
            match outcome {
                Ok(report) => UiEvent::Note(format!(
                    "the conversation is shorter: {} tokens before, about {} now",
                    report.tokens_before, report.estimated_tokens_after
                )),
                Err(_) if aborted => UiEvent::Note("the conversation stays as it was".to_owned()),
                Err(why) => {
                    UiEvent::Failure(format!("the conversation could not be made shorter: {why}"))
                }
            },
        ],
        AgentEvent::RetryStart {
            attempt,
            attempts_max,
            delay_ms,
            error,
        } => vec![UiEvent::Retry {
            attempt: (attempt, attempts_max),
            delay: Duration::from_millis(delay_ms),
            error,
        }],
        AgentEvent::CommandOutput { delta, .. } => vec![UiEvent::CommandOutput(delta)],
        // Told otherwise, or nothing that is seen.
        _ => Vec::new(),
    }
}

fn call_ended(result: &ToolResultMessage) -> UiEvent {
    UiEvent::CallEnded {
        id: result.tool_call_id.clone(),
        outcome: outcome(
            joined_text(&result.content),
            result.is_error,
            Duration::from_millis(result.duration_ms.unwrap_or_default()),
        ),
    }
}

/// What a program got, of which the content of the result is only a notice where there is structured data.
fn text_for_program(result: &ToolResult) -> String {
    match &result.structured {
        Some(Value::String(text)) => text.clone(),
        Some(value) => format!("{value:#}"),
        None => result.joined_text(),
    }
}

fn outcome(mut text: String, is_error: bool, duration: Duration) -> CallOutcome {
    let size_bytes = text.len();
    text.truncate(text.floor_char_boundary(CALL_TEXT_BYTES_MAX));
    if text.len() < size_bytes {
        text.push_str("\n…");
    }
    CallOutcome {
        text,
        size_bytes,
        is_error,
        duration,
    }
}

fn texts(messages: &[UserMessage]) -> Vec<String> {
    messages
        .iter()
        .map(|message| message.content.joined_text())
        .collect()
}

fn reply(event: ReplyEvent) -> Vec<UiEvent> {
    match event {
        ReplyEvent::TextDelta { delta, .. } => vec![UiEvent::ReplyText(delta)],
        ReplyEvent::ThinkingDelta { delta, .. } => vec![UiEvent::ReplyThinking(delta)],
        ReplyEvent::TextStart { .. }
        | ReplyEvent::TextEnd { .. }
        | ReplyEvent::ThinkingStart { .. }
        | ReplyEvent::ThinkingEnd { .. }
        | ReplyEvent::ToolCallStart { .. }
        | ReplyEvent::ToolCallDelta { .. }
        | ReplyEvent::ToolCallEnd { .. } => Vec::new(),
    }
}

fn ended(message: Message) -> Vec<UiEvent> {
    match message {
        Message::User(user) => vec![UiEvent::UserSaid(user.content.joined_text())],
        Message::Assistant(reply) => vec![UiEvent::ReplyEnded(reply.error_message.clone())],
        Message::System(_)
        | Message::ToolResult(_)
        | Message::BashExecution(_)
        | Message::Custom(_)
        | Message::BranchSummary(_)
        | Message::CompactionSummary(_) => Vec::new(),
    }
}

/// What was said in a session that goes on, as if it happened now.
pub(super) fn replay(messages: &[Message]) -> Vec<UiEvent> {
    let mut events = Vec::new();
    for message in messages {
        match message {
            Message::User(user) => events.push(UiEvent::UserSaid(user.content.joined_text())),
            Message::Assistant(reply) => {
                events.push(UiEvent::ReplyStarted);
                for block in &reply.content {
                    match block {
                        Block::Text { text, .. } => events.push(UiEvent::ReplyText(text.clone())),
                        Block::ToolCall(_) | Block::Image { .. } | Block::Thinking { .. } => {}
                    }
                }
                events.push(UiEvent::ReplyEnded(reply.error_message.clone()));
                for block in &reply.content {
                    if let Block::ToolCall(call) = block {
                        events.push(UiEvent::CallStarted {
                            id: call.id.clone(),
                            parent: None,
                            name: call.name.clone(),
                            arguments: call.arguments.clone(),
                        });
                    }
                }
            }
            Message::ToolResult(result) => events.push(call_ended(result)),
            Message::CompactionSummary(_) => {
                events.push(UiEvent::Note(
                    "what was said before was made shorter".to_owned(),
                ));
            }
            Message::System(_)
            | Message::BashExecution(_)
            | Message::Custom(_)
            | Message::BranchSummary(_) => {}
        }
    }
    events.push(UiEvent::RunSettled);
    events
}

/// The session in figures.
pub(super) fn figures(agent: &Agent, cwd: &Path) -> Figures {
    let state = agent.state();
    let usage = state.usage;
    let is_priced = state.choice.model.cost != pirn_model::Prices::default();
    Figures {
        model: state.choice.model.full_name(),
        thinking: state.choice.thinking.as_str().to_owned(),
        input: usage.input + usage.cache_write,
        output: usage.output,
        cached: usage.cache_read,
        cost: (is_priced || usage.cost > 0.0).then_some(usage.cost),
        context: state.context.tokens,
        window: Some(state.context.window).filter(|window| *window > 0),
        name: state.session_name,
        branch: branch(cwd),
    }
}

/// The branch that is checked out, where one is.
fn branch(cwd: &Path) -> Option<String> {
    /// The file has one short line.
    const HEAD_BYTES_MAX: u64 = 4 << 10;
    let git = cwd
        .ancestors()
        .map(|folder| folder.join(".git"))
        .find(|git| git.exists())?;
    let head = pirn_jsonc::read_bounded(&git.join("HEAD"), HEAD_BYTES_MAX).ok()?;
    head.trim()
        .strip_prefix("ref: refs/heads/")
        .map(str::to_owned)
}
