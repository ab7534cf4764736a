//! Running servers, for as long as one command needs them.

use std::path::Path;
use std::sync::Arc;

use pirn_mcp::{
    Clock, ConfigProblem, ConfigSurroundings, Elicitor, ManagerFolders, ManagerOptions, McpManager,
    OAuth, OAuthOptions, RESOURCE_TOOL_NAMES, ServerOrigin, ServerState, ServerStatus, SpillFolder,
    Tracing, Waiting,
};
use pirn_tool::{Registry, matches_pattern, mcp_namespace};
use tokio_util::sync::CancellationToken;

use super::browser::Browser;
use super::configuration::Configuration;
use super::elicitor::TerminalElicitor;
use super::progress;
use crate::confinement::server_confinement;
use crate::consent::Asking;
use crate::event_loop;
use crate::exec::Questions;
use crate::failure::{Exit, Failure};
use crate::interrupt;
use crate::invocation::{Display, Invocation};
use crate::standard;
use crate::variables::PIRN_MCP_TRACE;
use pirn_settings::Settings;
use pirn_terminal::{cut, on_one_line};

/// How Pirn calls itself towards servers.
const CLIENT_NAME: &str = "Pirn";
/// What signs in; a server's name follows.
const LOGIN_COMMAND: &str = "pirn mcp login";
/// Credentials, in Pirn's folder.
const AUTH_FILE: &str = "mcp-auth.json";
/// Which way of speaking each server understands, in Pirn's folder.
const ERAS_FILE: &str = "mcp-eras.json";
/// Logs of servers, in Pirn's folder.
const LOG_FOLDER: &str = "logs/mcp";
/// How much is shown of what a server wrote last; the rest is in its log.
const LAST_WORDS_COLUMNS_MAX: usize = 200;

/// What servers are started for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Occasion {
    /// To see how they do: what goes over the wire is written down.
    Trial,
    /// To be used: it is written down where the user wants that.
    Work,
}

/// Running servers. Dropping them ends them at once; [`Servers::shutdown`] lets them close.
pub(crate) struct Servers {
    /// Their life cycle.
    pub(super) manager: McpManager,
    /// Where their tools are registered.
    pub(super) registry: Registry,
    oauth: Option<OAuth>,
    elicitor: Option<Arc<TerminalElicitor>>,
    /// What costs an entry or a file.
    problems: Vec<ConfigProblem>,
}

impl Servers {
    /// Makes the servers ready to be started, which waiting for them does; their tools appear in `registry` then. Must be
    /// called inside a runtime.
    pub(crate) fn prepare(
        configuration: Configuration,
        registry: &Registry,
        folder: &Path,
        occasion: Occasion,
        invocation: &Invocation,
    ) -> Result<Self, Failure> {
        let elicitor = match invocation.asking() {
            Asking::Possible => Some(Arc::new(TerminalElicitor::new(Browser::new(invocation)))),
            Asking::Impossible => None,
        };
        let http = if configuration.reaches_hosts() {
            http_client()?
        } else {
            local_client()?
        };
        let oauth = oauth(http.clone(), invocation);
        let home = invocation.host.pirn_home.as_ref();
        let manager = McpManager::new(ManagerOptions {
            registry: registry.clone(),
            surroundings: config_surroundings(folder, &configuration.settings, invocation),
            folders: ManagerFolders {
                logs: home.map(|home| home.join(LOG_FOLDER)),
                era_cache: home.map(|home| home.join(ERAS_FILE)),
                spill: SpillFolder::new(&invocation.host.temp_dir),
            },
            client_name: CLIENT_NAME.to_owned(),
            client_version: env!("CARGO_PKG_VERSION").to_owned(),
            elicitor: elicitor
                .clone()
                .map(|elicitor| elicitor as Arc<dyn Elicitor>),
            oauth: oauth.clone(),
            interaction: None,
            http,
            tracing: match (occasion, PIRN_MCP_TRACE.read()) {
                (Occasion::Trial, _) | (Occasion::Work, Some(_)) => Tracing::On,
                (Occasion::Work, None) => Tracing::Off,
            },
        });
        let problems = configuration.errors().cloned().collect();
        // Nothing is started beforehand: a command needs only the servers it waits for.
        manager.set_configuration(configuration.loaded.servers);
        Ok(Self {
            manager,
            registry: registry.clone(),
            oauth,
            elicitor,
            problems,
        })
    }

    /// From now on questions of servers are announced there.
    pub(crate) fn announce_at(&self, questions: Questions) {
        if let Some(elicitor) = &self.elicitor {
            elicitor.announce_at(questions);
        }
    }

    /// Whether a tool of one of the servers may match the pattern; which tools they have is not known before they are connected.
    pub(crate) fn may_have(&self, pattern: &str) -> bool {
        let fixed = pattern.split('*').next().unwrap_or_default();
        RESOURCE_TOOL_NAMES
            .iter()
            .any(|name| matches_pattern(pattern, name))
            || self.manager.servers().iter().any(|server| {
                let prefix = format!("{}__", mcp_namespace(&server.name));
                fixed.starts_with(&prefix) || (pattern.contains('*') && prefix.starts_with(fixed))
            })
    }

    /// Waits until these servers have connected or failed, and shows how they are doing.
    pub(crate) async fn settle(
        &self,
        waiting: Waiting<'_>,
        cancel: &CancellationToken,
        display: Display,
    ) {
        progress::settle(&self.manager, waiting, cancel, display).await;
    }

    /// Those of the servers that are enabled but not connected.
    pub(crate) fn missing(&self, waiting: Waiting<'_>) -> Vec<ServerStatus> {
        let mut servers = self.manager.servers();
        servers.retain(|server| waiting.includes(&server.name) && is_missing(server));
        servers
    }

    /// Waits for these servers, and tells which of them are not there and why.
    pub(crate) async fn settle_and_tell(
        &self,
        waiting: Waiting<'_>,
        cancel: &CancellationToken,
        display: Display,
    ) {
        for problem in &self.problems {
            let server = problem.server.as_deref();
            if server.is_none_or(|server| waiting.includes(server)) {
                standard::note(&on_one_line(&problem.to_string()));
            }
        }
        self.settle(waiting, cancel, display).await;
        if cancel.is_cancelled() {
            return;
        }
        for server in self.missing(waiting) {
            standard::note(&missing_note(&server));
        }
    }

    /// Lets the servers close.
    pub(crate) async fn shutdown(&self) {
        self.manager.shutdown().await;
        if let Some(oauth) = &self.oauth {
            oauth.close().await;
        }
    }
}

impl std::fmt::Debug for Servers {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.debug_struct("Servers").finish_non_exhaustive()
    }
}

/// Whether a server should be connected and is not.
pub(super) fn is_missing(server: &ServerStatus) -> bool {
    match server.state {
        ServerState::Connected | ServerState::Disabled => false,
        ServerState::Connecting
        | ServerState::Disconnected
        | ServerState::NeedsAuth
        | ServerState::Failed => true,
    }
}

/// Why a server is not connected, on one line.
pub(super) fn problem_text(server: &ServerStatus) -> String {
    match (&server.problem, server.state) {
        (Some(problem), _) => match last_words(server) {
            Some(words) => format!("{} (last words: {words})", on_one_line(&problem.message)),
            None => on_one_line(&problem.message),
        },
        (None, ServerState::NeedsAuth) => "it wants a sign-in".to_owned(),
        (None, ServerState::Connecting) => "it is still starting".to_owned(),
        (
            None,
            ServerState::Failed
            | ServerState::Disconnected
            | ServerState::Connected
            | ServerState::Disabled,
        ) => "it is not connected".to_owned(),
    }
}

/// The last line that the process of a server wrote to standard error: most say there why they end.
fn last_words(server: &ServerStatus) -> Option<String> {
    let line = server
        .stderr_tail
        .lines()
        .rev()
        .find(|line| !line.trim().is_empty())?;
    Some(cut(&on_one_line(line.trim()), LAST_WORDS_COLUMNS_MAX))
}

/// What to do about a server that is not connected.
pub(super) fn remedies(server: &ServerStatus) -> Vec<String> {
    let mut hints = match &server.problem {
        Some(problem) => problem.hints.clone(),
        None => Vec::new(),
    };
    if hints.is_empty() && server.state == ServerState::NeedsAuth {
        hints.push(format!("sign in with: {LOGIN_COMMAND} {}", server.name));
    }
    hints
}

/// What to tell about a server that a command needs and does not get.
pub(super) fn missing_note(server: &ServerStatus) -> String {
    let place = place(&server.origin)
        .map(|place| format!(" ({place})"))
        .unwrap_or_default();
    let mut note = format!(
        "MCP server \"{}\"{place} is not there: {}",
        server.name,
        problem_text(server)
    );
    for remedy in remedies(server) {
        note.push_str("; ");
        note.push_str(&on_one_line(&remedy));
    }
    note
}

/// `FILE:LINE` of an entry.
pub(super) fn place(origin: &ServerOrigin) -> Option<String> {
    let file = origin.file.as_ref()?;
    let file = on_one_line(&file.to_string_lossy());
    Some(match origin.line {
        Some(line) => format!("{file}:{line}"),
        None => file,
    })
}

/// A server's failure, with where the server is defined.
pub(super) fn failure(error: pirn_mcp::Error, origin: Option<&ServerOrigin>) -> Failure {
    let hints = error.hints().to_vec();
    let mut failure = Failure::from(anyhow::Error::from(error));
    if let Some(place) = origin.and_then(place) {
        failure = failure.detail(format!("The server is defined in {place}."));
    }
    hints.into_iter().fold(failure, Failure::hint)
}

/// What entries are filled in from.
pub(super) fn config_surroundings(
    folder: &Path,
    settings: &Settings,
    invocation: &Invocation,
) -> ConfigSurroundings {
    ConfigSurroundings {
        confinement: Some(server_confinement(&settings.sandbox, invocation)),
        ..ConfigSurroundings::new(
            invocation.host.environment.clone(),
            invocation.host.home.clone(),
            folder.to_owned(),
        )
    }
}

/// How Pirn calls itself in HTTP.
const USER_AGENT: &str = concat!("pirn/", env!("CARGO_PKG_VERSION"));

/// The client of all requests.
pub(super) fn http_client() -> Result<reqwest::Client, Failure> {
    pirn_mcp::http_client(USER_AGENT).map_err(no_client)
}

/// The client of sessions without hosts, which is made in no time.
fn local_client() -> Result<reqwest::Client, Failure> {
    pirn_mcp::http_client_without_certificates(USER_AGENT).map_err(no_client)
}

fn no_client(error: Box<dyn std::error::Error + Send + Sync>) -> Failure {
    Failure::from(anyhow::Error::from_boxed(error).context("the HTTP client cannot start"))
}

/// Signing in, for all servers. `None` without a folder for credentials.
pub(super) fn oauth(http: reqwest::Client, invocation: &Invocation) -> Option<OAuth> {
    let home = invocation.host.pirn_home.as_ref()?;
    Some(OAuth::new(OAuthOptions {
        store: home.join(AUTH_FILE),
        http,
        client_name: CLIENT_NAME.to_owned(),
        login_command: LOGIN_COMMAND.to_owned(),
        clock: Clock::system(),
    }))
}

/// The trace of a server, in Pirn's folder.
pub(super) fn trace_file(name: &str, invocation: &Invocation) -> Option<std::path::PathBuf> {
    let home = invocation.host.pirn_home.as_ref()?;
    Some(home.join(LOG_FOLDER).join(format!("{name}.trace.jsonl")))
}

/// Does work that Ctrl-C stops. What is still waiting afterwards, like a question, is left behind.
pub(super) fn interruptible<T>(
    work: impl AsyncFnOnce(CancellationToken) -> Result<T, Failure>,
) -> Result<T, Failure> {
    let runtime = event_loop::beside_main_thread()?;
    let stopped = CancellationToken::new();
    let interrupts = interrupt::watch(stopped.clone(), || {})?;
    let result = runtime.block_on(work(stopped.clone()));
    interrupts.work_ended();
    runtime.shutdown_background();
    if stopped.is_cancelled() {
        return Err(Failure::new(Exit::Interrupted, "interrupted"));
    }
    result
}

/// Does work with running servers, which are closed afterwards.
pub(super) fn with_servers<T>(
    configuration: Configuration,
    invocation: &Invocation,
    work: impl AsyncFnOnce(&Servers, CancellationToken) -> Result<T, Failure>,
) -> Result<T, Failure> {
    with_servers_in(
        &Registry::new(),
        configuration,
        Occasion::Trial,
        invocation,
        work,
    )
}

/// Registers the tools of all servers. What is not there is told.
pub(crate) fn fetch_tools(
    configuration: Configuration,
    registry: &Registry,
    invocation: &Invocation,
) -> Result<(), Failure> {
    with_servers_in(
        registry,
        configuration,
        Occasion::Work,
        invocation,
        async |servers, stopped| {
            servers
                .settle_and_tell(Waiting::Visible, &stopped, invocation.display)
                .await;
            Ok(())
        },
    )
}

fn with_servers_in<T>(
    registry: &Registry,
    configuration: Configuration,
    occasion: Occasion,
    invocation: &Invocation,
    work: impl AsyncFnOnce(&Servers, CancellationToken) -> Result<T, Failure>,
) -> Result<T, Failure> {
    interruptible(async |stopped| {
        let folder = &invocation.host.cwd;
        let servers = Servers::prepare(configuration, registry, folder, occasion, invocation)?;
        let result = work(&servers, stopped).await;
        servers.shutdown().await;
        result
    })
}
