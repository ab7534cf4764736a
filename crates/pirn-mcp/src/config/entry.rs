//! A configured server: as it was written, and as it is meant after variables are filled in.

use std::ffi::OsString;
use std::fmt;
use std::path::PathBuf;
use std::time::Duration;

use pirn_sandbox::PolicySpec;
use pirn_tool::{Effects, matches_pattern};
use url::Url;

use crate::config::SandboxEntry;
use crate::secret::Secret;

/// How long a server may take to start: cold package runners need more than ten seconds.
pub(crate) const START_TIMEOUT: Duration = Duration::from_secs(30);
/// How long a request may take without progress.
pub(crate) const REQUEST_TIMEOUT: Duration = Duration::from_mins(1);
/// How long a request may take in all, whatever progress it reports.
pub(crate) const TOTAL_TIMEOUT: Duration = Duration::from_mins(10);

/// One server as it was written down, checked but with its variables not filled in.
#[derive(Debug, Clone, PartialEq)]
pub struct ServerEntry {
    /// Its name in the file: letters, digits, `_` and `-`.
    pub name: String,
    /// Where it was written.
    pub origin: ServerOrigin,
    /// Whether it is to be connected.
    pub enabled: bool,
    /// Who sees its tools, where `tool_exposures` says nothing else.
    pub exposure: McpExposure,
    /// Exposures of single tools that differ from the server's.
    pub tool_exposures: ToolExposures,
    /// What the user says its tools can do.
    pub effects: EffectRules,
    /// How long starting and requests may take.
    pub timeouts: Timeouts,
    /// When it is started.
    pub start: StartMode,
    /// After how long without calls it is stopped; `None` never.
    pub idle_timeout: Option<Duration>,
    /// One line for people, prompts and search.
    pub description: Option<String>,
    /// How it is reached.
    pub transport: TransportEntry,
}

/// Where an entry was written.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ServerOrigin {
    /// Whose file it was written in.
    pub scope: Scope,
    /// The file, where there is one.
    pub file: Option<PathBuf>,
    /// The line of its name in the file, from 1.
    pub line: Option<u32>,
    /// The project's file that changes it, where one does.
    pub overridden_in: Option<PathBuf>,
}

/// Whose an entry is. Of equal names the later scope wins.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Scope {
    /// Registered at run time by the embedding program.
    Runtime,
    /// The `mcp.json` in Pirn's own folder.
    User,
    /// The `mcp.json` of a trusted project.
    Project,
    /// A file named on the command line.
    CommandLine,
}

/// Who sees a server's tools.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash)]
pub enum McpExposure {
    /// Scripts see and call them. The default.
    #[default]
    Codemode,
    /// Only who searches for the tools finds them.
    Deferred,
    /// Declared to the model.
    Direct,
    /// Neither seen nor callable.
    Hidden,
}

/// Exposures of single tools: an exact name wins, then the first pattern (with `*`) that fits, in the order written.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ToolExposures(pub Vec<(String, McpExposure)>);

/// What the user says of the tools of a server. Without a word of theirs a tool can do anything, whatever its server says.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct EffectRules {
    /// Effects by tool: an exact name wins, then the first pattern (with `*`) that fits, in the order written.
    pub tools: Vec<(String, Effects)>,
    /// Whether what the server says of its tools can loosen rules.
    pub annotations: AnnotationTrust,
}

impl EffectRules {
    /// The effects of a tool, where the user says them.
    pub fn of(&self, tool: &str) -> Option<Effects> {
        let exact = self.tools.iter().find(|(name, _)| name == tool);
        exact
            .or_else(|| {
                let fits = |(pattern, _): &&(String, Effects)| matches_pattern(pattern, tool);
                self.tools.iter().find(fits)
            })
            .map(|(_, effects)| *effects)
    }
}

/// Whether the annotations of a server's tools count.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum AnnotationTrust {
    /// They can only make rules stricter.
    #[default]
    Stricter,
    /// The user believes them.
    Believed,
}

/// Time limits of one server.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Timeouts {
    /// For starting and the handshake; `startTimeout` in seconds.
    pub start: Duration,
    /// For a request without progress; `timeout` in seconds.
    pub request: Duration,
    /// For a request in all; `totalTimeout` in seconds.
    pub total: Duration,
}

impl Default for Timeouts {
    fn default() -> Self {
        Self {
            start: START_TIMEOUT,
            request: REQUEST_TIMEOUT,
            total: TOTAL_TIMEOUT,
        }
    }
}

/// When a server is started.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum StartMode {
    /// At once, in the background.
    #[default]
    Eager,
    /// When something first needs it.
    Lazy,
}

/// How a server is reached, as written. Strings may hold `${NAME}`, `${NAME:-default}`; values of `env` and `headers` also
/// `$NAME` and `!command`.
#[derive(Debug, Clone, PartialEq)]
pub enum TransportEntry {
    /// Over the standard streams of a child process.
    Stdio(StdioEntry),
    /// Over HTTP, at a URL.
    Http(HttpEntry),
}

/// A child process, as written.
#[derive(Clone, Default, PartialEq)]
pub struct StdioEntry {
    /// One program, no shell.
    pub command: String,
    /// The arguments of the program, each as one.
    pub args: Vec<String>,
    /// Variables it gets besides the allowed ones.
    pub env: Vec<(String, String)>,
    /// Its folder; relative to the session's.
    pub cwd: Option<String>,
    /// Whether it gets the whole environment.
    pub inherit_env: bool,
    /// Its confinement, where it is to have one.
    pub sandbox: Option<SandboxEntry>,
}

/// A URL, as written.
#[derive(Clone, PartialEq)]
pub struct HttpEntry {
    /// The address, with the scheme http or https.
    pub url: String,
    /// Which of the HTTP transports.
    pub kind: HttpKind,
    /// Headers of every request.
    pub headers: Vec<(String, String)>,
    /// How to sign in.
    pub oauth: OAuthSettings,
}

impl fmt::Debug for StdioEntry {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        // Variables, and often arguments, are secrets as they are written.
        formatter
            .debug_struct("StdioEntry")
            .field("command", &self.command)
            .field("cwd", &self.cwd)
            .field("inherit_env", &self.inherit_env)
            .field("sandbox", &self.sandbox)
            .finish_non_exhaustive()
    }
}

impl fmt::Debug for HttpEntry {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        // Headers, and often addresses, are secrets as they are written.
        formatter
            .debug_struct("HttpEntry")
            .field("kind", &self.kind)
            .field("oauth", &self.oauth)
            .finish_non_exhaustive()
    }
}

/// Which of the HTTP transports.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum HttpKind {
    /// Streamable HTTP, with a fall back to the one before it. The default.
    #[default]
    Auto,
    /// Streamable HTTP only: `http`, `streamable-http`.
    Streamable,
    /// HTTP with a stream of events, of 2024: `sse`.
    Sse,
}

/// How to sign in to an HTTP server. The secret may hold variables until it is resolved.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct OAuthSettings {
    /// A client registered beforehand.
    pub client_id: Option<String>,
    /// The secret of the client that was registered beforehand.
    pub client_secret: Option<Secret>,
    /// Scopes to ask for, separated by spaces.
    pub scope: Option<String>,
    /// The name the sign-in page shows.
    pub client_name: Option<String>,
    /// Fixed port of the redirect's listener.
    pub callback_port: Option<u16>,
    /// Fixed redirect URL on the loopback.
    pub callback_url: Option<String>,
    /// How a client comes to be known to the authorization server.
    pub client_registration: ClientRegistration,
    /// Where a client-id metadata document lies, which is then the client's id.
    pub client_metadata_url: Option<String>,
    /// Where the authorization server's metadata is, instead of looking for it.
    pub auth_server_metadata_url: Option<String>,
    /// Whether authorization servers on private addresses are accepted, as company sign-ons have.
    pub allow_private: bool,
}

/// How a client comes to be known to the authorization server.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum ClientRegistration {
    /// Whatever works, in the protocol's order.
    #[default]
    Auto,
    /// Only by dynamic registration with the authorization server.
    Dynamic,
    /// A client-id metadata document only.
    MetadataDocument,
}

/// One server with everything filled in: ready to be connected.
#[derive(Debug, Clone, PartialEq)]
pub struct ResolvedServer {
    /// The name of the server in the configuration.
    pub name: String,
    /// How it is reached.
    pub transport: Transport,
    /// How long starting and requests may take.
    pub timeouts: Timeouts,
}

/// How a server is reached, with everything filled in.
#[derive(Debug, Clone, PartialEq)]
pub enum Transport {
    /// Over the standard streams of a child process.
    Stdio(StdioServer),
    /// Over HTTP, at a URL.
    Http(HttpServer),
}

/// A child process, ready to be started.
#[derive(Clone, PartialEq)]
pub struct StdioServer {
    /// One program, no shell; without `/` it is looked up on the `PATH` of its environment.
    pub program: OsString,
    /// The arguments of the program, each as one.
    pub arguments: Vec<OsString>,
    /// The folder that the program starts in.
    pub directory: PathBuf,
    /// All variables that the program gets, with their values.
    pub environment: Vec<(OsString, OsString)>,
    /// Its confinement, where it is to have one.
    pub sandbox: Option<PolicySpec>,
}

impl fmt::Debug for StdioServer {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        // The environment holds secrets.
        formatter
            .debug_struct("StdioServer")
            .field("program", &self.program)
            .field("directory", &self.directory)
            .field("sandbox", &self.sandbox)
            .finish_non_exhaustive()
    }
}

/// A URL, ready to be asked.
#[derive(Debug, Clone, PartialEq)]
pub struct HttpServer {
    /// The address, with the scheme http or https.
    pub url: Url,
    /// Which of the HTTP transports.
    pub kind: HttpKind,
    /// Headers of every request.
    pub headers: Vec<(String, Secret)>,
    /// How to sign in; not used where `headers` has `Authorization`.
    pub oauth: OAuthSettings,
}
