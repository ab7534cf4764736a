//! What is known of a server at a moment, for lists and front ends.

use std::sync::Arc;

use tokio::time::Instant;

use crate::config::{
    HttpKind, McpExposure, SandboxEntry, ServerEntry, ServerOrigin, StartMode, ToolExposures,
    TransportEntry,
};
use crate::connection::ServerFacts;
use crate::error::{Error, ErrorKind};
use crate::tools::{ServerSummary, exposures_used};

/// Where a server is in its life.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum ServerState {
    /// It is being started or asked.
    Connecting,
    /// It is connected, and calls reach it.
    Connected,
    /// It is not connected: not needed yet, stopped because it was idle, or it ended by itself. The next call connects.
    Disconnected,
    /// The user has to sign in first.
    NeedsAuth,
    /// The last attempt to connect failed.
    Failed,
    /// It is switched off.
    Disabled,
}

impl ServerState {
    /// The state's name in lists and JSON.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Connecting => "connecting",
            Self::Connected => "connected",
            Self::Disconnected => "disconnected",
            Self::NeedsAuth => "needs-auth",
            Self::Failed => "failed",
            Self::Disabled => "disabled",
        }
    }
}

/// Whether a server may be connected.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Enablement {
    /// It is connected when something needs it.
    Enabled,
    /// It is switched off: its tools are hidden and it is not connected.
    Disabled,
}

impl Enablement {
    pub(super) fn of(entry: &ServerEntry) -> Self {
        if entry.enabled {
            Self::Enabled
        } else {
            Self::Disabled
        }
    }
}

/// The last failure of a server. Unlike an [`Error`] it can be kept and shown many times.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Problem {
    /// What kind of failure it is.
    pub kind: ErrorKind,
    /// What happened with its causes, without the server's name.
    pub message: String,
    /// What the reader can do about it.
    pub hints: Vec<String>,
}

impl Problem {
    /// The error once more, for somebody else who waits for the same server.
    pub(super) fn to_error(&self, server: &str) -> Error {
        self.hints.iter().fold(
            Error::new(self.kind.clone(), server, self.message.clone()),
            |error, hint| error.with_hint(hint.clone()),
        )
    }
}

impl From<&Error> for Problem {
    fn from(error: &Error) -> Self {
        let mut message = error.message().to_owned();
        let mut source = std::error::Error::source(error);
        while let Some(cause) = source {
            let cause_text = cause.to_string();
            // Some errors repeat their cause in their own words.
            if !message.contains(&cause_text) {
                message.push_str(": ");
                message.push_str(&cause_text);
            }
            source = cause.source();
        }
        Self {
            kind: error.kind().clone(),
            message,
            hints: error.hints().to_vec(),
        }
    }
}

/// How a server is reached.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum TransportKind {
    /// Over the standard streams of a child process.
    Stdio,
    /// Streamable HTTP, or what it falls back to.
    Http,
    /// The HTTP with events of 2024.
    Sse,
}

impl TransportKind {
    /// The name as in `type` of the configuration.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Stdio => "stdio",
            Self::Http => "http",
            Self::Sse => "sse",
        }
    }
}

/// How a server is reached, for people: as written, with its variables not filled in.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TransportSummary {
    /// By which transport it is reached.
    pub kind: TransportKind,
    /// The command with its arguments, or the URL without user, password, query and fragment.
    pub target: String,
    /// The confinement that is wanted for its process.
    pub sandbox: Option<SandboxEntry>,
}

impl From<&TransportEntry> for TransportSummary {
    fn from(entry: &TransportEntry) -> Self {
        match entry {
            TransportEntry::Stdio(stdio) => {
                let words: Vec<&str> = std::iter::once(&stdio.command)
                    .chain(&stdio.args)
                    .map(String::as_str)
                    .collect();
                Self {
                    kind: TransportKind::Stdio,
                    target: words.join(" "),
                    sandbox: stdio.sandbox.clone(),
                }
            }
            TransportEntry::Http(http) => Self {
                kind: match http.kind {
                    HttpKind::Auto | HttpKind::Streamable => TransportKind::Http,
                    HttpKind::Sse => TransportKind::Sse,
                },
                target: shown_url(&http.url),
                sandbox: None,
            },
        }
    }
}

/// The parts of a URL that hold no secrets. It may hold variables, so it is not parsed.
fn shown_url(url: &str) -> String {
    let end = url.find(['?', '#']).unwrap_or(url.len());
    let url = url.get(..end).unwrap_or(url);
    let Some((scheme, rest)) = url.split_once("://") else {
        return url.to_owned();
    };
    let (authority, path) = match rest.find('/') {
        Some(slash) => rest.split_at(slash),
        None => (rest, ""),
    };
    let host = authority
        .rsplit_once('@')
        .map_or(authority, |(_, host)| host);
    format!("{scheme}://{host}{path}")
}

/// One tool of a server under both of its names.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ToolName {
    /// Its name in the registry.
    pub registry: String,
    /// The server's own name for it.
    pub server: String,
    /// Who sees the tool.
    pub exposure: McpExposure,
}

/// All that is known of a server at a moment.
#[derive(Debug, Clone)]
pub struct ServerStatus {
    /// The name of the server in the configuration.
    pub name: String,
    /// Where it was written.
    pub origin: ServerOrigin,
    /// How it is reached.
    pub transport: TransportSummary,
    /// Where it is in its life.
    pub state: ServerState,
    /// The last failure. A connected server has one where only its tools could not be listed.
    pub problem: Option<Problem>,
    /// The end of what its process wrote to standard error.
    pub stderr_tail: String,
    /// Its tools, in its own order. They stay known while it is not connected.
    pub tools: Vec<ToolName>,
    /// What was repaired in its messages or left out of them, such as a tool without a name: sentences for people, without the
    /// server's name.
    pub warnings: Vec<String>,
    /// Whether it has resources.
    pub has_resources: bool,
    /// Whether it has prompts.
    pub has_prompts: bool,
    /// What it said about itself when it was last connected.
    pub facts: Option<ServerFacts>,
    /// Who sees its tools.
    pub exposure: McpExposure,
    /// Exposures of single tools that differ from the server's.
    pub tool_exposures: ToolExposures,
    /// Whether it may be connected.
    pub enablement: Enablement,
    /// When it is started.
    pub start: StartMode,
    /// One line, from the configuration.
    pub description: Option<String>,
    /// When it is connected again without being asked to.
    pub retry_at: Option<Instant>,
}

impl ServerStatus {
    /// What a prompt says about the server.
    pub fn summary(&self) -> ServerSummary {
        ServerSummary {
            name: self.name.clone(),
            description: self.description.clone(),
            instructions: self
                .facts
                .as_ref()
                .and_then(|facts| facts.instructions.clone()),
            exposures: exposures_used(self.exposure, &self.tool_exposures).collect(),
        }
    }
}

/// What happened to the servers of a session. A receiver that lags behind missed some and should look at
/// [`McpManager::servers`](crate::McpManager::servers).
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum ServerEvent {
    /// A server came into another state.
    StateChanged {
        /// The name of the server that it is about.
        server: String,
        /// The state that it is in now.
        state: ServerState,
    },
    /// A server's tools were registered anew or withdrawn.
    ToolsChanged {
        /// The name of the server that it is about.
        server: String,
    },
    /// A server said that its resources changed.
    ResourcesChanged {
        /// The name of the server that it is about.
        server: String,
    },
    /// A server said that its prompts changed.
    PromptsChanged {
        /// The name of the server that it is about.
        server: String,
    },
    /// Something is wrong with a server that works all the same, such as a tool that had to be left out.
    Warning {
        /// The name of the server that it is about.
        server: String,
        /// What is wrong, as a sentence for people.
        message: String,
    },
    /// The set of configured servers, or what is written about them, changed.
    ConfigurationChanged,
    /// A registration at run time was added, replaced, taken back, or came under a file's entry.
    RegistrationsChanged,
}

/// The part of a status that the server's own task knows.
#[derive(Debug, Clone)]
pub(super) struct Snapshot {
    pub(super) state: ServerState,
    pub(super) problem: Option<Problem>,
    pub(super) tools: Arc<[ToolName]>,
    pub(super) warnings: Arc<[String]>,
    pub(super) facts: Option<Arc<ServerFacts>>,
    pub(super) retry_at: Option<Instant>,
    /// Whether its tools are known, from this connection or one before.
    pub(super) listing: Listing,
}

/// Whether a server's tools are known.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Listing {
    /// It was never connected.
    Unknown,
    /// They were listed at least once.
    Known,
}

impl Snapshot {
    pub(super) fn new(enablement: Enablement) -> Self {
        Self {
            state: match enablement {
                Enablement::Enabled => ServerState::Disconnected,
                Enablement::Disabled => ServerState::Disabled,
            },
            problem: None,
            tools: Arc::default(),
            warnings: Arc::default(),
            facts: None,
            retry_at: None,
            listing: Listing::Unknown,
        }
    }
}
