//! The wires: a request as HTTP, and a stream of bytes as a reply. Pure: no wire sends anything itself.

mod anthropic;
mod completions;
mod google;
mod responses;

use serde_json::Value;

use crate::draft::Draft;
use crate::model::{Api, Model};
use crate::request::{Credential, HttpRequest, Request};
use crate::secret::Secret;

/// Reads the events of one reply.
pub(crate) trait Wire: Send {
    /// Reads the commonest event, a piece of a text that goes on, straight from its bytes. Says whether it was one: whatever has a
    /// member that is not expected there is left to [`Wire::event`].
    fn piece(&mut self, data: &[u8], draft: &mut Draft) -> bool;

    /// Reads one event into the draft of the reply.
    fn event(&mut self, name: &str, value: Value, draft: &mut Draft);

    /// Reads an answer that came at once and not as a stream. Says whether it was one.
    fn whole(&mut self, value: Value, draft: &mut Draft) -> bool;

    /// Whether the vendor's own last event was read; nothing is lost if the connection breaks now.
    fn is_complete(&self, draft: &Draft) -> bool {
        draft.ending.is_complete
    }
}

/// The request as HTTP, all but the credentials.
pub fn build(request: &Request<'_>) -> HttpRequest {
    let mut http = match request.model.api {
        Api::OpenAiCompletions => completions::build(request),
        Api::AnthropicMessages => anthropic::build(request),
        Api::OpenAiResponses => responses::build(request),
        Api::GoogleGenerativeAi => google::build(request),
    };
    let own = request.model.headers.iter();
    http.headers
        .extend(own.map(|(name, value)| (name.clone(), value.clone())));
    http
}

/// The headers that let a request in.
pub fn credential_headers(api: Api, credential: &Credential) -> Vec<(&'static str, Secret)> {
    match (api, credential) {
        (_, Credential::None) => Vec::new(),
        (Api::AnthropicMessages, Credential::ApiKey(key)) => vec![("x-api-key", key.clone())],
        (Api::GoogleGenerativeAi, Credential::ApiKey(key)) => vec![("x-goog-api-key", key.clone())],
        (Api::OpenAiCompletions | Api::OpenAiResponses, Credential::ApiKey(token))
        | (_, Credential::Bearer(token)) => {
            vec![bearer(token)]
        }
    }
}

/// The header of APIs that take keys and tokens alike.
pub(crate) fn bearer_header(credential: &Credential) -> Option<(&'static str, Secret)> {
    match credential {
        Credential::None => None,
        Credential::ApiKey(token) | Credential::Bearer(token) => Some(bearer(token)),
    }
}

fn bearer(token: &Secret) -> (&'static str, Secret) {
    let value = format!("Bearer {}", token.expose());
    ("authorization", Secret::new(value))
}

pub(crate) fn decoder(model: &Model) -> Box<dyn Wire> {
    match model.api {
        Api::OpenAiCompletions => Box::new(completions::Completions::new(model)),
        Api::AnthropicMessages => Box::new(anthropic::Anthropic::default()),
        Api::OpenAiResponses => Box::new(responses::Responses::default()),
        Api::GoogleGenerativeAi => Box::new(google::Google::default()),
    }
}

/// Joins a base and a path, whichever way the base ends.
pub(crate) fn join(base: &str, path: &str) -> String {
    format!("{}{path}", base.trim_end_matches('/'))
}

/// A count of tokens.
fn count(value: &Value, pointer: &str) -> Option<u64> {
    let value = value.pointer(pointer)?;
    value.as_u64().or_else(|| {
        let number = value.as_f64().filter(|number| *number >= 0.0)?;
        #[expect(
            clippy::cast_possible_truncation,
            clippy::cast_sign_loss,
            reason = "no count of tokens comes near the bound"
        )]
        Some(number as u64)
    })
}
