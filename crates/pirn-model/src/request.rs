//! One request to a model, and the same as HTTP.

use serde_json::Value;

use crate::message::{Message, ToolDeclaration};
use crate::model::{Model, ThinkingLevel};
use crate::secret::Secret;

/// How long a vendor keeps the beginning of a conversation for the next request.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum CacheRetention {
    /// Not at all: the request stands alone.
    None,
    /// Some minutes, as the provider has it.
    #[default]
    Short,
    /// An hour or longer.
    Long,
}

/// One request to a model.
#[derive(Debug, Clone, Copy)]
pub struct Request<'a> {
    /// The model that is asked.
    pub model: &'a Model,
    /// The system prompt in full.
    pub system: &'a str,
    /// The tools that the model may call.
    pub tools: &'a [ToolDeclaration],
    /// The conversation. System messages among them are left out; see [`crate::Instructions`].
    pub messages: &'a [Message],
    /// How much to think.
    pub thinking: ThinkingLevel,
    /// Tokens of the answer at most; the model's own limit without.
    pub max_tokens: Option<u64>,
    /// Names the conversation to caches.
    pub session_id: Option<&'a str>,
    /// How long the beginning is kept.
    pub retention: CacheRetention,
}

impl<'a> Request<'a> {
    /// A request of these messages alone.
    pub fn new(model: &'a Model, messages: &'a [Message]) -> Self {
        Self {
            model,
            system: "",
            tools: &[],
            messages,
            thinking: ThinkingLevel::Off,
            max_tokens: None,
            session_id: None,
            retention: CacheRetention::default(),
        }
    }

    /// Tokens of the answer at most.
    pub(crate) fn output_limit(&self) -> u64 {
        self.max_tokens.unwrap_or(self.model.max_tokens)
    }
}

/// A request as HTTP, all but the credentials. Always a POST of JSON.
#[derive(Debug, Clone, PartialEq)]
pub struct HttpRequest {
    /// Where the request is sent.
    pub url: String,
    /// Headers besides those of credentials and content.
    pub headers: Vec<(String, String)>,
    /// The body, still as JSON.
    pub body: Value,
}

/// What lets a request in.
#[derive(Debug, Clone, Default)]
pub enum Credential {
    /// The provider wants no credential.
    #[default]
    None,
    /// A key, sent as the provider wants it.
    ApiKey(Secret),
    /// A token of a sign-in.
    Bearer(Secret),
}
