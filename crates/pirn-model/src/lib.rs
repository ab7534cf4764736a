//! Talking to language models: messages that belong to no vendor, what they cost, and the wires that carry them.
//!
//! A [`Message`] is what a session keeps. [`build`] makes the HTTP request of a [`Request`] to a [`Model`], for whichever
//! [`Api`] the model speaks; [`ReplyDecoder`] reads the bytes that come back, however they are cut, as [`ReplyEvent`]s and at
//! the end as an [`AssistantMessage`], or a [`Failure`] that says whether another try is worth it. What a vendor wants back
//! untouched, such as signatures of thoughts, is kept in the message, and left out when another vendor's model goes on.
//!
//! [`ModelClient`] sends a request and reads its reply, once: trying again is for whoever knows what has been done since.
//!
//! The crate has no tools, keeps no sessions and does not run turns. It reads no environment.
//!
//! ```
//! use pirn_model::{Api, Message, Model, ReplyDecoder, Request, StreamEnd, ThinkingLevel, UserMessage, build};
//!
//! let model = Model::new("local", "tiny", Api::OpenAiCompletions, "http://127.0.0.1:8080/v1");
//! let messages = [Message::User(UserMessage::text("Say hello.", 0))];
//! let http = build(&Request::new(&model, &messages));
//! assert_eq!(http.url, "http://127.0.0.1:8080/v1/chat/completions");
//! assert_eq!(http.body["messages"][0]["content"], "Say hello.");
//!
//! let mut decoder = ReplyDecoder::new(&model, ThinkingLevel::Off, 0);
//! decoder.push(b"data: {\"choices\":[{\"delta\":{\"content\":\"Hello\"}}]}\n\n");
//! decoder.push(b"data: {\"choices\":[{\"delta\":{},\"finish_reason\":\"stop\"}]}\n\ndata: [DONE]\n\n");
//! let (_, reply) = decoder.finish(StreamEnd::Closed);
//! assert_eq!(reply.message.joined_text(), "Hello");
//! assert_eq!(reply.failure, None);
//! ```

#![cfg_attr(
    test,
    allow(
        clippy::disallowed_methods,
        reason = "tests prepare and inspect what they test"
    )
)]

mod arguments;
mod auth_file;
mod catalog;
mod client;
mod config_value;
mod credentials;
mod decoder;
mod draft;
mod failure;
mod files;
mod http_date;
mod local;
mod message;
mod model;
mod provider;
mod replay;
mod request;
mod secret;
mod sse;
mod task;
mod usage;
mod wire;

pub use auth_file::{AuthEntry, AuthFile};
pub use catalog::{Catalog, Found, ModelPattern};
pub use client::{ClientLimits, IDLE_TIMEOUT_DEFAULT, ModelClient, ReplySink};
pub use config_value::{ConfigSource, ConfigValue};
pub use credentials::{CredentialError, CredentialSource, Credentials, KeyCommand, NoKeyCommands};
pub use decoder::{Progress, Reply, ReplyDecoder, StreamEnd};
pub use draft::ReplyEvent;
pub use failure::{Failure, FailureKind};
pub use files::{ModelsFile, read_models_file};
pub use local::{LocalServer, find_local_models, usual_servers};
pub use message::{
    AssistantMessage, BashExecutionMessage, Block, BranchSummaryMessage, CompactionSummaryMessage,
    CustomMessage, Instructions, Message, StopReason, SystemMessage, ToolCall, ToolDeclaration,
    ToolName, ToolResultMessage, UserContent, UserMessage, joined_text,
};
pub use model::{Api, Input, Model, ThinkingLevel};
pub use provider::{PROVIDERS, Provider};
pub use request::{CacheRetention, Credential, HttpRequest, Request};
pub use secret::Secret;
pub use task::{
    Classification, Picture, Question, Questions, TaskAnswer, TaskApi, TaskClient, TaskKind,
    TaskModel,
};
pub use usage::{ContextUsage, Cost, PriceTier, Prices, RequestUsage, SessionUsage};
pub use wire::{build, credential_headers};
