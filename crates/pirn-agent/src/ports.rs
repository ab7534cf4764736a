//! What a conversation needs from outside: models and tools.

use std::future::ready;

use futures_util::future::BoxFuture;
use pirn_model::{
    AssistantMessage, BashExecutionMessage, Instructions, Message, Model, Reply, ReplyDecoder,
    ReplySink, StopReason, StreamEnd, ThinkingLevel, ToolCall, ToolResultMessage,
};
use pirn_session::now_ms;
use tokio_util::sync::CancellationToken;

use crate::declare::Declarations;

/// A model, and how much it is to think.
#[derive(Debug, Clone, PartialEq)]
pub struct ModelChoice {
    /// The model that is asked.
    pub model: Model,
    /// How much it thinks; clamped to what the model has.
    pub thinking: ThinkingLevel,
}

impl ModelChoice {
    /// A choice whose level the model has.
    pub fn new(model: Model, wanted: ThinkingLevel) -> Self {
        let thinking = model.clamp(wanted);
        Self { model, thinking }
    }

    /// A message of the model with nothing in it yet.
    pub(crate) fn blank(&self) -> AssistantMessage {
        let decoder = ReplyDecoder::new(&self.model, self.thinking, now_ms());
        let (_, reply) = decoder.finish(StreamEnd::Closed);
        AssistantMessage {
            stop_reason: StopReason::Pending,
            error_message: None,
            ..reply.message
        }
    }
}

/// A conversation as a model is asked to go on with it.
#[derive(Debug)]
pub struct Conversation {
    /// The system prompt and the tools.
    pub instructions: Instructions,
    /// All messages that the model reads, the oldest first.
    pub messages: Vec<Message>,
    /// The session's id; `None` for a request that stands alone, such as one for a summary.
    pub session_id: Option<String>,
}

/// The way to models.
pub trait Models: Send + Sync {
    /// Asks once, one request and one streamed reply. A failure is a reply too, and so is an abort.
    fn reply<'a>(
        &'a self,
        choice: &'a ModelChoice,
        conversation: &'a Conversation,
        cancel: &'a CancellationToken,
        sink: ReplySink<'a>,
    ) -> BoxFuture<'a, Reply>;

    /// The models that can be asked: there is a key for them, or none is needed.
    fn available(&self) -> BoxFuture<'_, Vec<Model>> {
        Box::pin(ready(Vec::new()))
    }
}

/// The tools of a conversation: what the model is told of them, and how their calls are made.
pub trait Tools: Send + Sync {
    /// What the model is to know now.
    fn declarations(&self) -> Declarations;

    /// Called before what the user says is kept: waits for what the model should know from the beginning, for a bounded time.
    fn before_prompt<'a>(&'a self, _cancel: &'a CancellationToken) -> BoxFuture<'a, ()> {
        Box::pin(ready(()))
    }

    /// Called when the conversation goes on at another place: `declared` are the tools that the model was told of there. Those
    /// that it had loaded are to be declared again.
    fn restore(&self, _declared: &[String]) {}

    /// Makes one call. When `cancel` fires it ends soon, and has a result even so.
    fn call<'a>(
        &'a self,
        call: &'a ToolCall,
        cancel: &'a CancellationToken,
    ) -> BoxFuture<'a, ToolResultMessage>;

    /// Waits for the end of a script that goes on by itself, and says what it gave; `None` where none goes on. When `cancel`
    /// fires it ends soon, and nothing is lost.
    fn script_end<'a>(&'a self, _cancel: &'a CancellationToken) -> BoxFuture<'a, Option<String>> {
        Box::pin(ready(None))
    }

    /// Runs a command of the user's own.
    fn run_command<'a>(
        &'a self,
        command: &'a str,
        _cancel: &'a CancellationToken,
    ) -> BoxFuture<'a, BashExecutionMessage> {
        Box::pin(ready(BashExecutionMessage {
            command: command.to_owned(),
            output: "there is no shell here".to_owned(),
            exit_code: None,
            cancelled: false,
            truncated: false,
            full_output_path: None,
            exclude_from_context: None,
            timestamp: now_ms(),
            other: serde_json::Map::new(),
        }))
    }
}
