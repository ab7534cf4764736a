//! The token endpoint: what a client sends with its identity, and what comes back.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde_json::Value;
use url::{Url, form_urlencoded};

use super::account::Account;
use super::fetch::{Answer, FetchError, Fetcher};
use super::metadata::{Discovery, Endpoint, Metadata};
use super::store::{ClientInformation, Tokens};
use crate::secret::Secret;

/// Longest description of an error that is shown.
const DESCRIPTION_CHARS_MAX: usize = 300;

/// A client with what proves its identity.
#[derive(Debug, Clone)]
pub(super) struct Client {
    pub(super) id: String,
    secret: Option<Secret>,
    method: AuthMethod,
}

/// How a client proves its identity to a token endpoint.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum AuthMethod {
    /// Its id is all there is.
    None,
    Basic,
    Post,
}

/// Why there are no tokens. Shows nothing that was sent.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum TokenFailure {
    /// The server said no: the error's code, and its words.
    Refused { code: String, text: String },
    /// Nothing is known about the request: not reached, in trouble, or not understood.
    Unclear {
        text: String,
        /// The endpoint is not where it was thought to be.
        is_moved: bool,
    },
}

impl AuthMethod {
    /// The name in metadata and registrations.
    pub(super) fn name(self) -> &'static str {
        match self {
            Self::None => "none",
            Self::Basic => "client_secret_basic",
            Self::Post => "client_secret_post",
        }
    }

    /// What to register with: a program on a person's machine keeps no secret, so none where that is possible. Else the form
    /// before the header, because there are servers that list both and look for the id in the form alone.
    pub(super) fn to_register(metadata: Option<&Metadata>) -> Self {
        let supported = supported(metadata);
        [Self::None, Self::Post, Self::Basic]
            .into_iter()
            .find(|method| supported.iter().any(|name| name == method.name()))
            .unwrap_or(Self::None)
    }

    /// What to use: what the client was registered with, where the server knows it, else the first that works. A secret that
    /// was given is sent, even where the registration repeats a wish for none.
    fn to_use(has_secret: bool, registered: Option<&str>, metadata: Option<&Metadata>) -> Self {
        let candidates: &[Self] = if has_secret {
            &[Self::Basic, Self::Post, Self::None]
        } else {
            &[Self::None]
        };
        let supported = supported(metadata);
        let is_supported = |method: &Self| {
            supported.is_empty() || supported.iter().any(|name| name == method.name())
        };
        candidates
            .iter()
            .copied()
            .filter(|method| !has_secret || *method != Self::None)
            .find(|method| registered == Some(method.name()) && is_supported(method))
            .or_else(|| candidates.iter().copied().find(is_supported))
            .unwrap_or(if has_secret { Self::Post } else { Self::None })
    }
}

fn supported(metadata: Option<&Metadata>) -> &[String] {
    metadata
        .and_then(|metadata| metadata.token_endpoint_auth_methods_supported.as_deref())
        .unwrap_or_default()
}

impl Client {
    pub(super) fn new(information: &ClientInformation, metadata: Option<&Metadata>) -> Self {
        let secret = information.client_secret.clone();
        let registered = information.token_endpoint_auth_method.as_deref();
        Self {
            id: information.client_id.clone(),
            method: AuthMethod::to_use(secret.is_some(), registered, metadata),
            secret,
        }
    }

    /// Posts a form as this client.
    pub(super) async fn post(
        &self,
        fetcher: &Fetcher,
        url: &Url,
        form: &[(&str, &str)],
    ) -> Result<Answer, FetchError> {
        let mut form = form.to_vec();
        let secret = self.secret.as_ref().map_or("", Secret::expose);
        let mut authorization = None;
        match self.method {
            AuthMethod::None => form.push(("client_id", &self.id)),
            AuthMethod::Post => {
                form.push(("client_id", &self.id));
                form.push(("client_secret", secret));
            }
            AuthMethod::Basic => {
                // RFC 6749, 2.3.1: both are encoded like a form before they are joined.
                let encode = |text: &str| {
                    form_urlencoded::byte_serialize(text.as_bytes()).collect::<String>()
                };
                let pair = format!("{}:{}", encode(&self.id), encode(secret));
                authorization = Some(Secret::new(format!("Basic {}", STANDARD.encode(pair))));
            }
        }
        fetcher.post_form(url, &form, authorization.as_ref()).await
    }

    pub(super) fn secret(&self) -> Option<&Secret> {
        self.secret.as_ref()
    }
}

/// Asks for tokens. `secrets` are those of the form, which a server may repeat in its error.
pub(super) async fn request(
    account: &Account,
    discovery: &Discovery,
    client: &Client,
    form: &[(&str, &str)],
    secrets: &[&Secret],
) -> Result<Tokens, TokenFailure> {
    let Some(endpoint) = discovery.endpoint(Endpoint::Token) else {
        return Err(unclear("the authorization server has no token endpoint"));
    };
    let fetcher = &account.fetcher;
    let url = fetcher.allow(&endpoint).map_err(|why| {
        unclear(format!(
            "the token endpoint {endpoint} must not be asked: {why}"
        ))
    })?;
    let answer = client.post(fetcher, &url, form).await.map_err(|why| {
        unclear(format!(
            "the token endpoint {url} could not be asked: {why}"
        ))
    })?;
    let secrets: Vec<&Secret> = secrets.iter().copied().chain(client.secret()).collect();
    read(&url, &answer, &secrets)
}

fn read(url: &Url, answer: &Answer, secrets: &[&Secret]) -> Result<Tokens, TokenFailure> {
    let status = answer.status;
    let body = answer.json();
    if let Some((code, text)) = body.as_ref().and_then(|body| refusal(body, secrets)) {
        let text = format!("{url}: {text}");
        return Err(TokenFailure::Refused { code, text });
    }
    if !status.is_success() {
        return Err(TokenFailure::Unclear {
            text: format!("the token endpoint {url} answered with status {status}"),
            is_moved: matches!(status.as_u16(), 301 | 302 | 307 | 308 | 404 | 405 | 410),
        });
    }
    let tokens: Option<Tokens> = body.and_then(|body| serde_json::from_value(body).ok());
    tokens
        .filter(|tokens| !tokens.access_token.expose().is_empty())
        .map(|mut tokens| {
            tokens.scope = tokens.scope.filter(|scope| !scope.trim().is_empty());
            tokens
        })
        .ok_or_else(|| unclear(format!("the token endpoint {url} answered without a token")))
}

/// The error of an answer, also of one that calls itself a success.
pub(super) fn refusal(body: &Value, secrets: &[&Secret]) -> Option<(String, String)> {
    let code = clean(body.get("error")?.as_str()?, secrets);
    if code.is_empty() {
        return None;
    }
    let text = match body.get("error_description").and_then(Value::as_str) {
        Some(description) => format!("{code}: {}", clean(description, secrets)),
        None => code.clone(),
    };
    Some((code, text))
}

/// A server's words on one line, bounded, and without what was sent to it.
pub(super) fn clean(text: &str, secrets: &[&Secret]) -> String {
    let mut text = text.to_owned();
    for secret in secrets {
        if !secret.expose().is_empty() {
            text = text.replace(secret.expose(), "…");
        }
    }
    let words: Vec<&str> = text
        .split(|letter: char| letter.is_whitespace() || letter.is_control())
        .filter(|word| !word.is_empty())
        .collect();
    words
        .join(" ")
        .chars()
        .take(DESCRIPTION_CHARS_MAX)
        .collect()
}

fn unclear(text: impl Into<String>) -> TokenFailure {
    TokenFailure::Unclear {
        text: text.into(),
        is_moved: false,
    }
}

#[cfg(test)]
mod tests;
