//! What happens in a run, as front ends are told.

mod lines;

use std::sync::Arc;
use std::time::Duration;

use pirn_model::{
    AssistantMessage, Message, ReplyEvent, RequestUsage, ThinkingLevel, ToolCall,
    ToolResultMessage, UserMessage,
};
use pirn_session::Entry;
use pirn_tool::{Answer, ApprovalRequest, EventCall, EventKind, RuntimeEvent, ToolResult, Update};
use serde_json::Value;

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
        /// What was said, by whomever.
        message: Message,
    },
    /// A call of the model's begins.
    ToolStart {
        /// The call as the model made it.
        call: ToolCall,
    },
    /// A call has ended.
    ToolEnd {
        /// What the model is told of the call.
        result: Box<ToolResultMessage>,
    },
    /// A call that a script, a program or the user made begins.
    NestedStart {
        /// The call inside a script or a program.
        call: Arc<EventCall>,
    },
    /// A call of whatever depth goes on.
    ToolUpdate {
        /// The call that goes on.
        call: Arc<EventCall>,
        /// What there is to show now; it stands in place of what was told before.
        update: Update,
    },
    /// A call that a script, a program or the user made has ended.
    NestedEnd {
        /// The call that has ended.
        call: Arc<EventCall>,
        /// What the call gave its caller.
        result: Arc<ToolResult>,
        /// How long it took.
        duration: Duration,
    },
    /// The user is asked something.
    Question {
        /// What is asked, with all choices.
        request: Arc<ApprovalRequest>,
    },
    /// A question is over.
    QuestionEnd {
        /// The id of the question that is over.
        question_id: String,
        /// How the question ended, and for how long it holds.
        answer: Answer,
    },
    /// A server changed its state.
    Server {
        /// The name of the server in `mcp.json`.
        name: String,
        /// Its state, in one word.
        state: String,
        /// What a person should know of it.
        detail: Option<String>,
    },
    /// Something that a person should know.
    Note {
        /// A sentence for people, without a full stop.
        text: String,
    },
    /// What waits to be said has changed.
    QueueUpdate {
        /// What is said before the model is asked again.
        steering: Vec<UserMessage>,
        /// What is said when the model would stop.
        follow_up: Vec<UserMessage>,
    },
    /// An entry that is no message was added to the session.
    EntryAppended {
        /// The entry as it was written.
        entry: Box<Entry>,
    },
    /// The session has another name.
    SessionInfoChanged {
        /// The name; `None` where it has none any more.
        name: Option<String>,
    },
    /// The model thinks more or less from here on.
    ThinkingLevelChanged {
        /// How much the model thinks from here on.
        level: ThinkingLevel,
    },
    /// The conversation is about to become shorter.
    CompactionStart {
        /// Why it is made shorter.
        reason: CompactionReason,
    },
    /// The conversation is shorter, or as it was.
    CompactionEnd {
        /// Why it was tried.
        reason: CompactionReason,
        /// What came of it.
        outcome: Result<CompactionReport, String>,
        /// Whether the user stopped it.
        aborted: bool,
        /// Whether the request that was too large is asked again.
        will_retry: bool,
    },
    /// A command of the user's own printed something.
    CommandOutput {
        /// The id that the user's program gave the command.
        id: Option<String>,
        /// What the command printed since the last one.
        delta: String,
    },
    /// A reply failed and is asked for again.
    RetryStart {
        /// Which try comes next, counted from 1.
        attempt: u32,
        /// How many there are at most.
        attempts_max: u32,
        /// How long it is waited.
        delay_ms: u64,
        /// What failed the time before, for people.
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

/// Why a conversation is made shorter.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum CompactionReason {
    /// The user asked for it.
    Manual,
    /// It is about to be too large.
    Threshold,
    /// It was too large.
    Overflow,
}

impl CompactionReason {
    /// The name in events.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Manual => "manual",
            Self::Threshold => "threshold",
            Self::Overflow => "overflow",
        }
    }
}

/// What a compaction did.
#[derive(Debug, Clone, PartialEq, serde::Serialize)]
#[serde(rename_all = "camelCase")]
pub struct CompactionReport {
    /// What stands for the beginning of the conversation.
    pub summary: String,
    /// The first entry that stays as it is.
    pub first_kept_entry_id: String,
    /// Tokens of the conversation before.
    pub tokens_before: u64,
    /// Tokens of the conversation now, estimated.
    pub estimated_tokens_after: u64,
    /// What the summary cost.
    pub usage: Option<RequestUsage>,
    /// The files that were read and changed.
    pub details: Value,
}

/// What front ends are told of something that happened in the runtime; `None` for what they are told otherwise.
pub(crate) fn of_runtime(event: RuntimeEvent) -> Option<AgentEvent> {
    let RuntimeEvent { call, kind, .. } = event;
    match kind {
        // The turn tells the calls of the model itself.
        EventKind::Started => {
            let call = call.filter(|call| call.parent_call_id.is_some())?;
            Some(AgentEvent::NestedStart { call })
        }
        EventKind::Ended {
            result, duration, ..
        } => {
            let call = call.filter(|call| call.parent_call_id.is_some())?;
            Some(AgentEvent::NestedEnd {
                call,
                result,
                duration,
            })
        }
        EventKind::Updated(update) => Some(AgentEvent::ToolUpdate {
            call: call?,
            update,
        }),
        // The updates of a call carry the end of its output.
        EventKind::Output(_) => None,
        EventKind::Asked(request) => Some(AgentEvent::Question { request }),
        EventKind::Answered {
            question_id,
            answer,
        } => Some(AgentEvent::QuestionEnd {
            question_id,
            answer,
        }),
        EventKind::Server {
            name,
            state,
            detail,
        } => Some(AgentEvent::Server {
            name,
            state,
            detail,
        }),
        EventKind::Note(text) => Some(AgentEvent::Note { text }),
    }
}
