//! Why a reply failed, and whether it is worth another try.

use std::time::Duration;

use serde_json::Value;

mod classes;

/// Why a reply failed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum FailureKind {
    /// The key or sign-in is missing, wrong or not enough.
    Authentication,
    /// What was paid for is used up.
    Quota,
    /// Too many requests, for now.
    RateLimit,
    /// The vendor has too much to do, or something failed there.
    Server,
    /// The server could not be reached, or the connection broke.
    Network,
    /// The reply broke off, or was no reply.
    Stream,
    /// Nothing came for too long.
    Timeout,
    /// The conversation is larger than the model can hold.
    Overflow,
    /// The vendor does not answer such questions.
    Refusal,
    /// The request is wrong.
    Invalid,
    /// The user stopped it.
    Aborted,
}

impl FailureKind {
    /// The name in machine-readable output.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Authentication => "authentication",
            Self::Quota => "quota",
            Self::RateLimit => "rate_limit",
            Self::Server => "server",
            Self::Network => "network",
            Self::Stream => "stream",
            Self::Timeout => "timeout",
            Self::Overflow => "overflow",
            Self::Refusal => "refusal",
            Self::Invalid => "invalid",
            Self::Aborted => "aborted",
        }
    }

    /// Whether the same request may succeed later. An overflow does not: the conversation has to become smaller first.
    pub fn is_retryable(self) -> bool {
        match self {
            Self::RateLimit | Self::Server | Self::Network | Self::Stream | Self::Timeout => true,
            Self::Authentication
            | Self::Quota
            | Self::Overflow
            | Self::Refusal
            | Self::Invalid
            | Self::Aborted => false,
        }
    }
}

/// Why a reply failed, for people and for whoever decides about another try.
#[derive(Debug, Clone, PartialEq)]
pub struct Failure {
    /// What kind of failure it is.
    pub kind: FailureKind,
    /// The HTTP status, where there was one.
    pub status: Option<u16>,
    /// What happened, for people.
    pub message: String,
    /// How long the server wants to be left alone.
    pub retry_after: Option<Duration>,
}

impl Failure {
    /// A failure without a status.
    pub fn new(kind: FailureKind, message: impl Into<String>) -> Self {
        Self {
            kind,
            status: None,
            message: message.into(),
            retry_after: None,
        }
    }

    /// A failure that the vendor described inside a stream that had begun well.
    pub fn from_vendor(text: impl Into<String>) -> Self {
        let message = text.into();
        let kind = classes::by_text(&message).unwrap_or(FailureKind::Server);
        Self::new(kind, message)
    }

    /// What an HTTP answer with a status of failure means.
    pub fn from_response(status: u16, body: &str, retry_after: Option<Duration>) -> Self {
        let text = error_text(body);
        let kind = classes::by_text(&text)
            .filter(|kind| classes::fits(*kind, status))
            .unwrap_or_else(|| classes::by_status(status));
        Self {
            kind,
            status: Some(status),
            message: if text.is_empty() {
                format!("HTTP status {status}")
            } else {
                format!("{text} (HTTP status {status})")
            },
            retry_after,
        }
    }
}

impl std::fmt::Display for Failure {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.write_str(&self.message)
    }
}

impl std::error::Error for Failure {}

/// Characters of an answer that is no JSON, in a message.
const BODY_CHARACTERS_MAX: usize = 500;

/// What a body says, in the shapes of the vendors: an object or a string at `error`, `message`, `detail`, or a list of those.
pub(crate) fn error_text(body: &str) -> String {
    let body = body.trim();
    if let Ok(value) = serde_json::from_str::<Value>(body)
        && let Some(text) = error_in(&value)
    {
        return text;
    }
    if body.starts_with('<') {
        return page_title(body);
    }
    cut(body)
}

/// The error that a JSON value describes.
pub(crate) fn error_in(value: &Value) -> Option<String> {
    let value = match value {
        Value::Array(items) => items.first()?,
        other => other,
    };
    let error = value.get("error").unwrap_or(value);
    let words = match error {
        Value::String(text) => text.clone(),
        Value::Object(members) => {
            let text = ["message", "detail", "error_description", "msg"]
                .iter()
                .find_map(|key| members.get(*key))?;
            let text = match text {
                Value::String(text) => text.clone(),
                other => other.to_string(),
            };
            let code = ["type", "code", "status"]
                .iter()
                .filter_map(|key| members.get(*key))
                .find_map(Value::as_str)
                .filter(|code| !text.contains(*code) && *code != "error");
            match code {
                Some(code) => format!("{text} ({code})"),
                None => text,
            }
        }
        _ => return None,
    };
    // Routers put what the vendor behind them said into `metadata.raw`.
    let behind = error.pointer("/metadata/raw").and_then(Value::as_str);
    Some(match behind {
        Some(raw) if !words.contains(raw) => format!("{words}: {}", cut(raw)),
        Some(_) | None => words,
    })
}

/// Proxies answer with pages for people.
fn page_title(page: &str) -> String {
    let between = |open: &str, close: &str| {
        let lower = page.to_ascii_lowercase();
        let start = lower.find(open)? + open.len();
        let end = start + lower.get(start..)?.find(close)?;
        page.get(start..end)
            .map(|title| title.split_whitespace().collect::<Vec<_>>().join(" "))
    };
    let title = between("<title>", "</title>").or_else(|| between("<h1>", "</h1>"));
    match title {
        Some(title) if !title.is_empty() => {
            format!("a web page came instead of an answer: {}", cut(&title))
        }
        Some(_) | None => "a web page came instead of an answer".to_owned(),
    }
}

fn cut(text: &str) -> String {
    text.chars().take(BODY_CHARACTERS_MAX).collect()
}

#[cfg(test)]
mod tests;
