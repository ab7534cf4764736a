//! What an HTTP exchange came to when it did not come to an answer.

use std::fmt;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use rmcp::transport::streamable_http_client::StreamableHttpError;
use url::Url;

use super::redirect::{RedirectProblem, shown};
use crate::error::{Error, ErrorKind};

/// How much of an error's body is shown.
const BODY_CHARACTERS_MAX: usize = 500;

/// Why a request got no answer. Cheap to clone; holds no secrets.
#[derive(Debug, Clone)]
pub(crate) struct HttpFailure {
    url: String,
    cause: Arc<FailureCause>,
}

#[derive(Debug)]
pub(crate) enum FailureCause {
    /// The host could not be reached.
    Unreachable {
        /// In the words of the network.
        reason: String,
    },
    Broken {
        /// In the words of the network.
        reason: String,
    },
    /// No answer began within the limit.
    Late { limit: Duration },
    /// A status that says no.
    Refused(Refusal),
    /// A status that says yes, and nothing that could be an answer.
    NoAnswer {
        status: u16,
        content_type: Option<String>,
        /// The beginning of the body, for people.
        body: String,
    },
    /// A body beyond the limit.
    TooLarge { bytes_max: usize },
    /// A redirect that is not followed.
    Redirected(RedirectProblem),
    /// The endpoint that the server named is somewhere else.
    ForeignEndpoint { endpoint: String },
    /// Whoever has the tokens could not give one.
    Authorization {
        kind: ErrorKind,
        message: String,
        hints: Vec<String>,
    },
    /// This side has closed the connection.
    Closed,
}

/// A status that says no.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Refusal {
    pub(crate) status: u16,
    /// The header of that name.
    pub(crate) www_authenticate: Option<String>,
    /// How long to wait, where the server said so in seconds.
    pub(crate) retry_after: Option<Duration>,
    /// The beginning of the body, for people.
    pub(crate) body: String,
    /// What the request carried.
    pub(crate) credentials: Credentials,
}

/// How a request said who it comes from.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Credentials {
    /// By nothing, or by the token of whoever has the tokens.
    Authorizer,
    /// By a configured `Authorization` header.
    ConfiguredHeader,
    /// By nothing, and nobody has tokens.
    None,
}

impl HttpFailure {
    /// A failure of a request to `url`.
    pub(crate) fn new(url: &Url, cause: FailureCause) -> Self {
        Self {
            url: shown(url),
            cause: Arc::new(cause),
        }
    }

    /// This side has closed the connection.
    pub(crate) fn closed(url: &Url) -> Self {
        Self::new(url, FailureCause::Closed)
    }

    /// What the HTTP client had to say.
    pub(crate) fn of_client(url: &Url, error: &reqwest::Error) -> Self {
        let reason = innermost(error);
        let cause = if error.is_connect() {
            FailureCause::Unreachable { reason }
        } else {
            FailureCause::Broken { reason }
        };
        Self::new(url, cause)
    }

    /// What whoever has the tokens had to say.
    pub(crate) fn of_authorizer(url: &Url, error: &Error) -> Self {
        let cause = FailureCause::Authorization {
            kind: error.kind().clone(),
            message: error.message().to_owned(),
            hints: error.hints().to_vec(),
        };
        Self::new(url, cause)
    }

    /// The refusal, if it is one.
    pub(crate) fn refusal(&self) -> Option<&Refusal> {
        match &*self.cause {
            FailureCause::Refused(refusal) => Some(refusal),
            FailureCause::Unreachable { .. }
            | FailureCause::Broken { .. }
            | FailureCause::Late { .. }
            | FailureCause::NoAnswer { .. }
            | FailureCause::TooLarge { .. }
            | FailureCause::Redirected(_)
            | FailureCause::ForeignEndpoint { .. }
            | FailureCause::Authorization { .. }
            | FailureCause::Closed => None,
        }
    }

    /// The status, if it was one that says no.
    pub(crate) fn status(&self) -> Option<u16> {
        self.refusal().map(|refusal| refusal.status)
    }

    /// Whether nothing came in time.
    pub(crate) fn is_late(&self) -> bool {
        matches!(&*self.cause, FailureCause::Late { .. })
    }

    /// Whether a server that refuses the handshake so may speak the transport of 2024
    /// (<https://modelcontextprotocol.io/specification/2025-11-25/basic/transports>, backwards compatibility).
    pub(crate) fn suggests_events(&self) -> bool {
        matches!(self.status(), Some(400 | 404 | 405))
    }

    /// The failure inside an error of rmcp, wherever rmcp put it.
    pub(crate) fn inside<'a>(error: &'a (dyn std::error::Error + 'static)) -> Option<&'a Self> {
        let mut current = Some(error);
        while let Some(error) = current {
            if let Some(failure) = error.downcast_ref::<Self>() {
                return Some(failure);
            }
            if let Some(StreamableHttpError::Client(failure)) =
                error.downcast_ref::<StreamableHttpError<Self>>()
            {
                return Some(failure);
            }
            current = error.source();
        }
        None
    }

    /// The failure as an error of `server`.
    pub(crate) fn explain(&self, server: &str) -> Error {
        let mut error = Error::new(self.kind(), server, self.to_string());
        for hint in self.hints(server) {
            error = error.with_hint(hint);
        }
        error
    }

    fn kind(&self) -> ErrorKind {
        match &*self.cause {
            FailureCause::Unreachable { .. } => ErrorKind::Start,
            FailureCause::Broken { .. } | FailureCause::Closed => ErrorKind::Closed,
            FailureCause::Late { .. } => ErrorKind::Timeout,
            FailureCause::Refused(refusal) if refusal.needs_authorization() => {
                ErrorKind::NeedsAuthorization
            }
            FailureCause::Refused(refusal) => ErrorKind::Http {
                status: refusal.status,
            },
            FailureCause::NoAnswer { .. }
            | FailureCause::TooLarge { .. }
            | FailureCause::Redirected(_)
            | FailureCause::ForeignEndpoint { .. } => ErrorKind::Protocol,
            FailureCause::Authorization { kind, .. } => kind.clone(),
        }
    }

    fn hints(&self, server: &str) -> Vec<String> {
        let url_hint = "Set \"url\" in mcp.json to the address of the server's MCP endpoint.";
        match &*self.cause {
            FailureCause::Unreachable { .. } => {
                vec!["Check \"url\" in mcp.json and the network.".to_owned()]
            }
            FailureCause::Late { .. } => {
                vec!["A larger \"timeout\" in mcp.json waits longer, in seconds.".to_owned()]
            }
            FailureCause::Refused(refusal) => refusal.hints(server),
            FailureCause::NoAnswer { .. } => vec![url_hint.to_owned()],
            FailureCause::Redirected(problem) => match problem {
                RedirectProblem::OtherOrigin { target } | RedirectProblem::SeeOther { target } => {
                    vec![format!(
                        "If {target} is the server you mean, set it as \"url\" in mcp.json."
                    )]
                }
                RedirectProblem::NoTarget | RedirectProblem::TooMany => vec![url_hint.to_owned()],
            },
            FailureCause::Authorization { hints, .. } => hints.clone(),
            FailureCause::Broken { .. }
            | FailureCause::TooLarge { .. }
            | FailureCause::ForeignEndpoint { .. }
            | FailureCause::Closed => Vec::new(),
        }
    }
}

impl Refusal {
    /// Whether signing in could help.
    fn needs_authorization(&self) -> bool {
        self.credentials != Credentials::ConfiguredHeader
            && (self.status == 401 || (self.status == 403 && self.wants_more_scope()))
    }

    /// Whether the server said `insufficient_scope` (RFC 6750, section 3.1).
    pub(crate) fn wants_more_scope(&self) -> bool {
        self.www_authenticate
            .as_deref()
            .is_some_and(names_insufficient_scope)
    }

    fn hints(&self, server: &str) -> Vec<String> {
        let mut hints = Vec::new();
        if self.needs_authorization() {
            hints.push(format!("Sign in with `pirn mcp login {server}`."));
        } else if matches!(self.status, 401 | 403)
            && self.credentials == Credentials::ConfiguredHeader
        {
            hints.push("Check the Authorization header of this server in mcp.json.".to_owned());
        } else if matches!(self.status, 404 | 405) {
            hints.push("Check \"url\" in mcp.json.".to_owned());
        }
        if let Some(retry_after) = self.retry_after {
            hints.push(format!(
                "The server asks to wait {} s.",
                retry_after.as_secs()
            ));
        }
        hints
    }
}

impl fmt::Display for HttpFailure {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let url = &self.url;
        match &*self.cause {
            FailureCause::Unreachable { reason } => {
                write!(formatter, "{url} cannot be reached: {reason}")
            }
            FailureCause::Broken { reason } => {
                write!(formatter, "the connection to {url} broke: {reason}")
            }
            FailureCause::Late { limit } => {
                write!(formatter, "{url} did not answer within {limit:?}")
            }
            FailureCause::Refused(refusal) => {
                if refusal.needs_authorization() {
                    let what = if refusal.status == 401 {
                        "a sign-in"
                    } else {
                        "a sign-in with more scopes"
                    };
                    return write!(formatter, "{url} wants {what} (HTTP {})", refusal.status);
                }
                write!(formatter, "{url} answered HTTP {}", refusal.status)?;
                with_body(formatter, &refusal.body)
            }
            FailureCause::NoAnswer {
                status,
                content_type,
                body,
            } => {
                let content_type = content_type.as_deref().unwrap_or("no content type");
                write!(
                    formatter,
                    "{url} answered HTTP {status} ({content_type}) without a message of the protocol"
                )?;
                with_body(formatter, body)
            }
            FailureCause::TooLarge { bytes_max } => {
                write!(formatter, "the answer of {url} is over {bytes_max} bytes")
            }
            FailureCause::Redirected(RedirectProblem::OtherOrigin { target }) => write!(
                formatter,
                "{url} redirects to {target}, which is another origin and must not see this server's credentials"
            ),
            FailureCause::Redirected(RedirectProblem::SeeOther { target }) => {
                write!(
                    formatter,
                    "{url} answers a POST with a redirect to {target}"
                )
            }
            FailureCause::Redirected(RedirectProblem::NoTarget) => {
                write!(formatter, "{url} redirects to nowhere")
            }
            FailureCause::Redirected(RedirectProblem::TooMany) => {
                write!(formatter, "{url} redirects too often")
            }
            FailureCause::ForeignEndpoint { endpoint } => write!(
                formatter,
                "{url} names {endpoint} for messages, which is not an address of the same origin"
            ),
            FailureCause::Authorization { message, .. } => formatter.write_str(message),
            FailureCause::Closed => write!(formatter, "the connection to {url} was closed"),
        }
    }
}

impl std::error::Error for HttpFailure {}

/// The last failure of a connection, for whoever gets an error of rmcp that no longer tells. Clones share it.
#[derive(Debug, Clone, Default)]
pub(crate) struct LastFailure {
    failure: Arc<Mutex<Option<HttpFailure>>>,
}

impl LastFailure {
    /// The failure of the last message sent; `None` after one that was accepted.
    pub(crate) fn get(&self) -> Option<HttpFailure> {
        self.failure
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .clone()
    }

    /// Notes how the last message went.
    pub(crate) fn set(&self, failure: Option<HttpFailure>) {
        *self.failure.lock().unwrap_or_else(PoisonError::into_inner) = failure;
    }
}

/// Whether a `WWW-Authenticate` header asks for more scopes.
pub(crate) fn names_insufficient_scope(www_authenticate: &str) -> bool {
    www_authenticate
        .to_ascii_lowercase()
        .contains("insufficient_scope")
}

/// The beginning of a body, for people: one line, without control characters.
pub(crate) fn body_head(body: &[u8]) -> String {
    let text = String::from_utf8_lossy(body);
    let words = text.split(|character: char| character.is_whitespace() || character.is_control());
    let mut head = String::new();
    let mut characters = 0;
    for word in words.filter(|word| !word.is_empty()) {
        if !head.is_empty() {
            head.push(' ');
            characters += 1;
        }
        for character in word.chars() {
            if characters >= BODY_CHARACTERS_MAX {
                head.push('…');
                return head;
            }
            head.push(character);
            characters += 1;
        }
    }
    head
}

fn with_body(formatter: &mut fmt::Formatter<'_>, body: &str) -> fmt::Result {
    if body.is_empty() {
        Ok(())
    } else {
        write!(formatter, ": {body}")
    }
}

/// The cause of causes: what the HTTP client says on top names the URL with its query, and says little.
fn innermost(error: &reqwest::Error) -> String {
    let mut current: &dyn std::error::Error = error;
    while let Some(source) = current.source() {
        current = source;
    }
    if std::ptr::addr_eq(current, error) {
        return "the request could not be sent".to_owned();
    }
    current.to_string()
}
