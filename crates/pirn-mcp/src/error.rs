//! What can go wrong between Pirn and a server, for people.

use std::fmt;

use serde_json::Value;

/// Bytes of an error's data in its message: a reason fits, a stack trace is cut.
const DATA_BYTES_MAX: usize = 2_048;

/// Why something about a server did not work. The message names the server and says what to do.
#[derive(Debug)]
pub struct Error {
    kind: ErrorKind,
    server: String,
    message: String,
    hints: Vec<String>,
    is_unsent: bool,
    data: Option<Box<Value>>,
    source: Option<Box<dyn std::error::Error + Send + Sync>>,
}

/// Kinds of failure, where a caller decides by them.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum ErrorKind {
    /// The configuration is wrong: a bad value, an unset variable, a failed command.
    Config,
    /// No server of that name is configured or registered.
    UnknownServer,
    /// The server is switched off.
    Disabled,
    /// The server's process could not be started, or its host could not be reached.
    Start,
    /// A time limit passed. The setting that names it is in the message.
    Timeout,
    /// The connection ended before the answer.
    Closed,
    /// The server's answer could not be understood.
    Protocol,
    /// The server answered with a JSON-RPC error.
    Server {
        /// The JSON-RPC error code.
        code: i64,
    },
    /// The server answered with an HTTP status that says no.
    Http {
        /// The status code of the answer.
        status: u16,
    },
    /// The user has to sign in first.
    NeedsAuthorization,
    /// Signing in or refreshing failed.
    Authorization,
    /// Whoever waited cancelled before there was an outcome.
    Cancelled,
}

impl Error {
    /// A failure of `server`; the message starts in lower case and does not repeat the server's name.
    pub fn new(kind: ErrorKind, server: impl Into<String>, message: impl Into<String>) -> Self {
        Self {
            kind,
            server: server.into(),
            message: message.into(),
            hints: Vec::new(),
            is_unsent: false,
            data: None,
            source: None,
        }
    }

    /// Adds what the reader can do about it, one sentence.
    #[must_use]
    pub fn with_hint(mut self, hint: impl Into<String>) -> Self {
        self.hints.push(hint.into());
        self
    }

    /// Adds the `data` of the server's error, which often holds the only real reason: in words to the message, and as it is.
    #[must_use]
    pub(crate) fn with_data(mut self, data: Option<Value>) -> Self {
        if let Some(data) = data.filter(|data| !data.is_null()) {
            self.message = format!("{}: {}", self.message, in_words(&data));
            self.data = Some(Box::new(data));
        }
        self
    }

    /// Keeps the error below this one, for the chain of causes.
    #[must_use]
    pub fn because(mut self, source: impl Into<Box<dyn std::error::Error + Send + Sync>>) -> Self {
        self.source = Some(source.into());
        self
    }

    /// Says that the request never left: sending it again cannot do anything twice.
    #[must_use]
    pub(crate) fn unsent(mut self) -> Self {
        self.is_unsent = true;
        self
    }

    /// Whether the request never left.
    pub(crate) fn is_unsent(&self) -> bool {
        self.is_unsent
    }

    /// The `data` of the server's error, as it sent it.
    pub fn data(&self) -> Option<&Value> {
        self.data.as_deref()
    }

    /// What kind of failure it is.
    pub fn kind(&self) -> &ErrorKind {
        &self.kind
    }

    /// The server it is about.
    pub fn server(&self) -> &str {
        &self.server
    }

    /// What happened, without the server's name.
    pub fn message(&self) -> &str {
        &self.message
    }

    /// What the reader can do about it.
    pub fn hints(&self) -> &[String] {
        &self.hints
    }
}

/// A text as it is, anything else as JSON; cut where it is longer than a person reads.
fn in_words(data: &Value) -> String {
    let text = match data {
        Value::String(text) => text.clone(),
        other => other.to_string(),
    };
    match text.get(..text.floor_char_boundary(DATA_BYTES_MAX)) {
        Some(start) if start.len() < text.len() => format!("{start}…"),
        Some(_) | None => text,
    }
}

impl fmt::Display for Error {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            formatter,
            "MCP server \"{}\": {}",
            self.server, self.message
        )
    }
}

impl std::error::Error for Error {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        self.source
            .as_deref()
            .map(|source| source as &(dyn std::error::Error + 'static))
    }
}

/// Whether a failure lies in the network or a busy server, so that the same request may succeed a moment later.
pub(crate) fn is_transient(kind: &ErrorKind) -> bool {
    match kind {
        ErrorKind::Start | ErrorKind::Closed => true,
        ErrorKind::Http { status } => is_transient_status(*status),
        ErrorKind::Timeout
        | ErrorKind::Protocol
        | ErrorKind::Server { .. }
        | ErrorKind::Config
        | ErrorKind::UnknownServer
        | ErrorKind::Disabled
        | ErrorKind::NeedsAuthorization
        | ErrorKind::Authorization
        | ErrorKind::Cancelled => false,
    }
}

/// 408, 429 and the server's own failures; 501 says that it will never work.
pub(crate) fn is_transient_status(status: u16) -> bool {
    matches!(status, 408 | 429) || ((500..=599).contains(&status) && status != 501)
}
