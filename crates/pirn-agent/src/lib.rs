//! Turns of a coding agent: what to ask a model, which calls to make, when to try again, when to stop.
//!
//! [`Machine`] decides; it is a state machine without a clock, network or tools, which says the next [`Step`] and is told what
//! came of it. [`Agent`] carries the steps out over a [`pirn_session::Session`], a model behind [`Models`] and tools behind
//! [`Tools`], and tells front ends what happens as [`AgentEvent`]s. Whatever happens, every call of a reply has a result in the
//! session before the model is asked again.
//!
//! ```
//! use pirn_agent::{End, Machine, MachineOptions, Step};
//! use pirn_model::{Api, Model, ReplyDecoder, StreamEnd, ThinkingLevel, UserMessage};
//!
//! let mut machine = Machine::new(MachineOptions::default());
//! machine.prompt(UserMessage::text("Hello", 0))?;
//! assert!(matches!(machine.next_step(), Step::Append(_)));
//! assert_eq!(machine.next_step(), Step::Ask);
//! let model = Model::new("local", "tiny", Api::OpenAiCompletions, "http://127.0.0.1:8080/v1");
//! let mut decoder = ReplyDecoder::new(&model, ThinkingLevel::Off, 0);
//! decoder.push(b"data: {\"choices\":[{\"delta\":{\"content\":\"Hi\"},\"finish_reason\":\"stop\"}]}\n\n");
//! machine.replied(decoder.finish(StreamEnd::Closed).1);
//! assert!(matches!(machine.next_step(), Step::Append(_)));
//! assert_eq!(machine.next_step(), Step::Settled(End::Done));
//! # Ok::<(), pirn_agent::QueueFull>(())
//! ```

mod declare;
mod drive;
mod event;
mod machine;
mod result;
mod retry;

pub use declare::{Declarations, declared};
pub use drive::{Agent, AgentHandle, Conversation, EventSink, Models, Tools};
pub use event::AgentEvent;
pub use machine::{
    CALL_ABORTED, End, Machine, MachineOptions, QUEUE_MESSAGES_MAX, QueueFull, QueueMode, Step,
};
pub use result::result_message;
pub use retry::RetryOptions;
