//! What the words and numbers of vendors mean.

use super::FailureKind;

/// Words that say what a failure is, in lower case, the first match counts. Spaces stand for one blank, `_` or `-`.
const WORDS: &[(FailureKind, &[&str])] = &[
    (
        FailureKind::Quota,
        &[
            "gousagelimiterror",
            "freeusagelimiterror",
            "insufficient quota",
            "insufficient balance",
            "insufficient credits",
            "out of budget",
            "quota exceeded",
            "exceeded your current quota",
            "monthly usage limit",
            "usage limit exceeded",
            "available balance",
            "credit balance is too low",
            "billing",
        ],
    ),
    (
        FailureKind::Authentication,
        &[
            "invalid api key",
            "incorrect api key",
            "invalid x api key",
            "authentication error",
            "api key not valid",
            "unauthenticated",
        ],
    ),
    // Before overflow: rate limits speak of tokens too.
    (
        FailureKind::RateLimit,
        &[
            "rate limit",
            "too many requests",
            "throttl",
            "resourceexhausted",
            "resource exhausted",
            "tokens per minute",
        ],
    ),
    (
        FailureKind::Overflow,
        &[
            "prompt is too long",
            "prompt too long",
            "context length exceeded",
            "maximum context length",
            "exceeds the context window",
            "exceed context window",
            "exceeds the available context size",
            "exceeds available context",
            "context size exceeded",
            "context window exceeded",
            "exceed context limit",
            "input is too long",
            "input length and max tokens exceed",
            "input token count",
            "maximum prompt length",
            "reduce the length of the messages",
            "too large for model with",
            "request too large",
            "request entity too large",
            "token limit exceeded",
            "greater than the context length",
            "longer than the model s context length",
            "exceeded model token limit",
            "model length",
        ],
    ),
    (
        FailureKind::Refusal,
        &[
            "content policy",
            "content filter",
            "content management policy",
            "safety system",
            "prohibited content",
            "usage policy",
        ],
    ),
    (
        FailureKind::Server,
        &[
            "overloaded",
            "server busy",
            "high demand",
            "at capacity",
            "service unavailable",
            "service temporarily unavailable",
            "temporarily unavailable",
            "server error",
            "internal error",
            "provider returned error",
            "provider returned an error",
            "upstream connect",
            "upstream request failed",
            "unable to forward upstream",
            "loading model",
            "you can retry",
            "try your request again",
        ],
    ),
    (
        FailureKind::Network,
        &[
            "connection error",
            "network error",
            "connection refused",
            "connection reset",
            "connection lost",
            "connection closed",
            "reset by peer",
            "socket hang up",
            "econnreset",
            "econnrefused",
            "etimedout",
            "fetch failed",
        ],
    ),
    (
        FailureKind::Stream,
        &[
            "ended without",
            "disconnected before",
            "cut short",
            "was interrupted",
            "terminated",
        ],
    ),
    (FailureKind::Timeout, &["timeout", "timed out"]),
];

/// What the text of an error says of its kind.
pub(super) fn by_text(text: &str) -> Option<FailureKind> {
    let words: String = text
        .chars()
        .map(|letter| match letter {
            '_' | '-' | '\'' | '\u{2019}' => ' ',
            other => other.to_ascii_lowercase(),
        })
        .collect();
    WORDS
        .iter()
        .find(|(_, phrases)| phrases.iter().any(|phrase| words.contains(phrase)))
        .map(|(kind, _)| *kind)
}

/// What a status says.
pub(super) fn by_status(status: u16) -> FailureKind {
    match status {
        401 | 403 => FailureKind::Authentication,
        402 => FailureKind::Quota,
        408 | 504 => FailureKind::Timeout,
        413 => FailureKind::Overflow,
        409 | 425 => FailureKind::Server,
        429 => FailureKind::RateLimit,
        400..=499 => FailureKind::Invalid,
        _ => FailureKind::Server,
    }
}

/// Whether what the words say can be true of the status: a wrong request stays wrong, whatever it mentions.
pub(super) fn fits(kind: FailureKind, status: u16) -> bool {
    match kind {
        FailureKind::RateLimit
        | FailureKind::Server
        | FailureKind::Network
        | FailureKind::Stream
        | FailureKind::Timeout => by_status(status).is_retryable(),
        // A rate limit in tokens speaks of lengths.
        FailureKind::Overflow | FailureKind::Refusal | FailureKind::Invalid => status != 429,
        FailureKind::Authentication | FailureKind::Quota | FailureKind::Aborted => true,
    }
}
