//! Turns of a coding agent: what to ask a model, which calls to make, when to try again, when to stop.
//!
//! [`Machine`] decides; it is a state machine without a clock, network or tools, which says the next [`Step`] and is told what
//! came of it. [`Agent`] is one conversation: it carries the steps out over a [`pirn_session::Session`], models behind [`Models`]
//! and tools behind [`Tools`], and tells its front end what happens as [`AgentEvents`], in which calls of scripts and questions of
//! the runtime stand in their places. [`ClientTools`] are the tools of a runtime's client. Whatever happens, every call of a reply
//! has a result in the session before the model is asked again.
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

#![cfg_attr(
    test,
    allow(
        clippy::disallowed_methods,
        clippy::unwrap_used,
        reason = "tests prepare and inspect what they test"
    )
)]

mod agent;
mod catalog_models;
mod client_tools;
mod compaction;
mod declare;
mod error;
mod estimate;
mod event;
mod feed;
mod hooks;
mod instructions;
mod interrupted;
mod machine;
mod options;
mod ports;
mod resources;
mod result;
mod retry;
mod rpc;
mod run;
mod script_ends;
mod script_models;
mod session_page;
mod state;
mod worker;

pub use agent::{Agent, AgentEvents, AgentParts, CommandAudience, Disposition, WhileBusy};
pub use catalog_models::CatalogModels;
pub use client_tools::ClientTools;
pub use declare::{Declarations, declared};
pub use error::AgentError;
pub use event::{AgentEvent, CompactionReason, CompactionReport};
pub use hooks::AgentHook;
pub use instructions::{ContextFiles, Prompt, PromptError};
pub use machine::{
    CALL_ABORTED, Compacted, End, Machine, MachineOptions, QUEUE_MESSAGES_MAX, QueueFull,
    QueueMode, SCRIPT_END_TYPE, Step, WAKES_MAX,
};
pub use options::{AgentOptions, CompactionOptions, Wakes};
pub use ports::{Conversation, ModelChoice, Models, Tools};
pub use resources::{PromptTemplate, ResourcePlaces, Resources, Skill, UnknownSkill};
pub use result::result_message;
pub use retry::RetryOptions;
pub use rpc::{RPC_COMMANDS, RpcError, RpcServer};
pub use script_models::ScriptModels;
pub use session_page::{private_words, session_page_path, write_session_page};
pub use state::AgentState;
// What the functions above take and give, for front ends.
pub use pirn_model as model;
pub use pirn_session as session;
