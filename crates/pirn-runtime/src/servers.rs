//! The MCP servers of a runtime: one manager for all clients, with sign-ins, logs and caches below Pirn's own folder.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use pirn_codemode::{EXEC_TOOL_NAME, MissingTools, ToolNames, tool_names};
use pirn_eval::EVAL_TOOL_NAME;
use pirn_mcp::{
    Clock, ConfigEnvironment, Elicitor, ManagerFolders, ManagerOptions, McpExposure, McpManager,
    OAuth, OAuthOptions, RESOURCE_TOOL_NAMES, ReachedTools, SectionTools, ServerEntry,
    ServerSelection, ServerState, ServerStatus, SpillFolder, Tracing, TransportEntry,
    servers_section,
};
use pirn_settings::{HostEnv, SandboxSettings};
use pirn_tool::{Registry, matches_pattern, mcp_namespace, to_identifier};
use serde_json::Value;

use crate::confinement::policy_spec;
use crate::error::{Error, ErrorKind};

/// How Pirn calls itself towards servers.
const CLIENT_NAME: &str = "Pirn";
/// How Pirn calls itself in HTTP.
const USER_AGENT: &str = concat!("pirn/", env!("CARGO_PKG_VERSION"));
/// What signs in; a server's name follows.
pub const LOGIN_COMMAND: &str = "pirn mcp login";
/// Credentials, in Pirn's folder.
const AUTH_FILE: &str = "mcp-auth.json";
/// Which protocol revision each server speaks, in Pirn's folder.
const PROTOCOL_CACHE_FILE: &str = "mcp-protocols.json";
/// Logs of servers, in Pirn's folder.
const LOG_FOLDER: &str = "logs/mcp";

/// How much is told of what a server wrote last; the rest is in its log.
const LAST_WORDS_CHARS_MAX: usize = 199;

/// Which servers a runtime has.
#[derive(Debug, Clone, Default)]
pub struct ServerOptions {
    /// The servers. None is started before it is needed.
    pub entries: Vec<ServerEntry>,
    /// Whether their traffic is written down.
    pub tracing: Tracing,
}

/// Where servers work, and where their files go.
pub(crate) struct ServerPlace<'a> {
    pub(crate) folder: &'a Path,
    pub(crate) sandbox: &'a SandboxSettings,
    pub(crate) env: &'a HostEnv,
    /// The files of what their results cannot show.
    pub(crate) spill: &'a SpillFolder,
}

impl ServerOptions {
    /// The variables that the servers' entries read by name.
    pub(crate) fn read_variables(&self) -> BTreeSet<String> {
        self.entries
            .iter()
            .flat_map(ServerEntry::read_variables)
            .collect()
    }
}

/// The MCP servers of a runtime. Dropping them ends them at once; the runtime's shutdown lets them close.
#[derive(Debug)]
pub struct Servers {
    manager: McpManager,
    oauth: Option<OAuth>,
}

impl Servers {
    /// Makes the servers ready to be started, which waiting for them does; their tools appear in `registry` then. Must be
    /// called inside an event loop.
    pub(crate) fn prepare(
        options: ServerOptions,
        elicitor: Option<Arc<dyn Elicitor>>,
        registry: &Registry,
        place: &ServerPlace<'_>,
    ) -> Result<Self, Error> {
        let env = place.env;
        let http = if reaches_hosts(&options.entries) {
            http_client()?
        } else {
            local_client()?
        };
        let oauth = oauth(http.clone(), env);
        let home = env.pirn_home.as_ref();
        let manager = McpManager::new(ManagerOptions {
            registry: registry.clone(),
            environment: ConfigEnvironment {
                read_variables: options.read_variables(),
                ..config_environment(place.folder, place.sandbox, env)?
            },
            folders: ManagerFolders {
                logs: home.map(|home| home.join(LOG_FOLDER)),
                protocol_cache: home.map(|home| home.join(PROTOCOL_CACHE_FILE)),
                spill: place.spill.clone(),
            },
            client_name: CLIENT_NAME.to_owned(),
            client_version: env!("CARGO_PKG_VERSION").to_owned(),
            elicitor,
            oauth: oauth.clone(),
            interaction: None,
            http,
            tracing: options.tracing,
        });
        // Nothing is started beforehand: a run needs only the servers it waits for.
        manager.set_configuration(options.entries);
        Ok(Self { manager, oauth })
    }

    /// What connects, restarts and ends the servers.
    pub fn manager(&self) -> &McpManager {
        &self.manager
    }

    /// Whether a tool of one of the servers may match the pattern; which tools they have is not known before they are connected.
    pub fn may_have(&self, pattern: &str) -> bool {
        let fixed = pattern.split('*').next().unwrap_or_default();
        RESOURCE_TOOL_NAMES
            .iter()
            .any(|name| matches_pattern(pattern, name))
            || self.manager.servers().iter().any(|server| {
                let prefix = format!("{}__", mcp_namespace(&server.name));
                fixed.starts_with(&prefix) || (pattern.contains('*') && prefix.starts_with(fixed))
            })
    }

    /// Those of the servers that are enabled but not connected.
    pub fn missing(&self, waiting: ServerSelection<'_>) -> Vec<ServerStatus> {
        let mut servers = self.manager.servers();
        servers.retain(|server| waiting.includes(&server.name) && is_missing(server));
        servers
    }

    /// The tools that scripts would have if these servers were up, and why they have not.
    pub(crate) fn missing_tools(&self) -> Vec<MissingTools> {
        let servers = self.missing(ServerSelection::Visible);
        let tools = servers.iter().map(|server| MissingTools {
            prefix: to_identifier(&format!("{}__", mcp_namespace(&server.name))),
            why: format!(
                "the MCP server \"{}\" is not there: {}",
                server.name,
                problem_text(server)
            ),
        });
        tools.collect()
    }

    /// What a system prompt says about the servers, where their tools are reached through these; `None` where it says nothing.
    pub fn section(&self, tools: &SectionTools) -> Option<String> {
        let servers = self.manager.servers().into_iter();
        let summaries: Vec<_> = servers
            .filter(|server| server.state != ServerState::Disabled)
            .map(|server| server.summary())
            .collect();
        servers_section(&summaries, tools)
    }

    /// Whether a server has, or may have, tools that are shown in this way.
    pub fn may_expose(&self, exposure: McpExposure) -> bool {
        let servers = self.manager.servers();
        servers
            .iter()
            .any(|server| server.summary().exposures.contains(&exposure))
    }

    /// Lets the servers close.
    pub(crate) async fn shutdown(&self) {
        self.manager.shutdown().await;
        if let Some(oauth) = &self.oauth {
            oauth.close().await;
        }
    }
}

/// The servers that a script reaches which names these tools.
pub fn servers_of(tools: &ToolNames) -> ServerSelection<'_> {
    if tools.reaches_all {
        ServerSelection::Visible
    } else {
        ServerSelection::Names(&tools.names)
    }
}

/// The tools that the program of a call may reach; `None` for a call that runs none.
pub(crate) fn reached_tools(tool: &str, arguments: &Value) -> Option<ReachedTools> {
    let code = arguments.get("code")?.as_str()?;
    match tool {
        EXEC_TOOL_NAME => {
            let ToolNames { names, reaches_all } = tool_names(code);
            Some(if reaches_all {
                ReachedTools::All
            } else {
                ReachedTools::Named(names)
            })
        }
        EVAL_TOOL_NAME => {
            let is_between = |sign: char| !sign.is_alphanumeric() && sign != '_';
            let mut words: Vec<String> = code.split(is_between).map(str::to_owned).collect();
            words.sort_unstable();
            words.dedup();
            Some(ReachedTools::Named(words))
        }
        _ => None,
    }
}

/// Whether a server should be connected and is not.
pub fn is_missing(server: &ServerStatus) -> bool {
    match server.state {
        ServerState::Connected | ServerState::Disabled => false,
        ServerState::Connecting
        | ServerState::Disconnected
        | ServerState::NeedsAuth
        | ServerState::Failed => true,
    }
}

/// Why a server is not connected: what went wrong, and what its process said last. The text may come from the server.
pub fn problem_text(server: &ServerStatus) -> String {
    match (&server.problem, server.state) {
        (Some(problem), _) => match last_words(server) {
            Some(words) => format!("{} (stderr: {words})", problem.message),
            None => problem.message.clone(),
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
    let mut lines = server.stderr_tail.lines().map(str::trim).rev();
    let line = lines.find(|line| !line.is_empty())?;
    let mut words: String = line.chars().take(LAST_WORDS_CHARS_MAX).collect();
    if words.len() < line.len() {
        words.push('…');
    }
    Some(words)
}

/// Whether a server is reached over the network.
fn reaches_hosts(entries: &[ServerEntry]) -> bool {
    entries.iter().any(|entry| match entry.transport {
        TransportEntry::Http(_) => entry.enabled,
        TransportEntry::Stdio(_) => false,
    })
}

/// What entries are filled in from.
pub fn config_environment(
    folder: &Path,
    sandbox: &SandboxSettings,
    env: &HostEnv,
) -> Result<ConfigEnvironment, Error> {
    Ok(ConfigEnvironment {
        // Each entry says what its server may reach, and where it works.
        confinement: Some(policy_spec(sandbox, folder, env)?),
        secrets_passed: sandbox.environment.clone(),
        ..ConfigEnvironment::new(env.environment.clone(), env.home.clone(), folder.to_owned())
    })
}

/// Signing in to servers, outside any runtime. `None` where there is no folder to keep credentials in.
pub fn sign_in_service(env: &HostEnv) -> Result<Option<OAuth>, Error> {
    Ok(oauth(http_client()?, env))
}

/// The trace of a server, in Pirn's folder.
pub fn trace_file(server: &str, env: &HostEnv) -> Option<PathBuf> {
    let home = env.pirn_home.as_ref()?;
    Some(home.join(LOG_FOLDER).join(format!("{server}.trace.jsonl")))
}

/// The client of all requests.
fn http_client() -> Result<reqwest::Client, Error> {
    pirn_mcp::http_client(USER_AGENT).map_err(no_client)
}

/// The client of runs without hosts, which is made in no time.
fn local_client() -> Result<reqwest::Client, Error> {
    pirn_mcp::http_client_without_certificates(USER_AGENT).map_err(no_client)
}

fn no_client(error: Box<dyn std::error::Error + Send + Sync>) -> Error {
    Error::new(ErrorKind::Machine, "the HTTP client cannot start").because(error)
}

fn oauth(http: reqwest::Client, env: &HostEnv) -> Option<OAuth> {
    let home = env.pirn_home.as_ref()?;
    Some(OAuth::new(OAuthOptions {
        store: home.join(AUTH_FILE),
        http,
        client_name: CLIENT_NAME.to_owned(),
        login_command: LOGIN_COMMAND.to_owned(),
        clock: Clock::system(),
    }))
}
