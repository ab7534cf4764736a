//! What a manager is made with.

use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use pirn_file::SpillFolder;
use pirn_tool::{Registry, WaitClock};
use tokio_util::sync::CancellationToken;

use crate::config::ConfigEnvironment;
use crate::connection::RequestOptions;
use crate::elicitation::Elicitor;
use crate::oauth::{Interaction, OAuth};

/// What an [`McpManager`](crate::McpManager) is made with.
#[derive(Clone)]
pub struct ManagerOptions {
    /// Where the servers' tools are registered.
    pub registry: Registry,
    /// What the entries' variables and folders are filled in from.
    pub environment: ConfigEnvironment,
    /// Where logs, caches and spilled results are kept.
    pub folders: ManagerFolders,
    /// How this client calls itself towards servers.
    pub client_name: String,
    /// The version of the client, which servers are told.
    pub client_version: String,
    /// Who answers the servers' questions; `None` tells servers that there is nobody.
    pub elicitor: Option<Arc<dyn Elicitor>>,
    /// Who has the tokens of HTTP servers; `None` sends none.
    pub oauth: Option<OAuth>,
    /// Who signs in while a server connects. Normally `None`: the server then waits for a sign-in in the state
    /// [`NeedsAuth`](crate::ServerState::NeedsAuth).
    pub interaction: Option<Arc<dyn Interaction>>,
    /// The HTTP client of all servers.
    pub http: reqwest::Client,
    /// Whether the servers' traffic is written down.
    pub tracing: Tracing,
}

impl std::fmt::Debug for ManagerOptions {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter
            .debug_struct("ManagerOptions")
            .field("folders", &self.folders)
            .field("client_name", &self.client_name)
            .field("client_version", &self.client_version)
            .field("tracing", &self.tracing)
            .finish_non_exhaustive()
    }
}

/// Where a manager's files go. What has no place is not kept.
#[derive(Debug, Clone)]
pub struct ManagerFolders {
    /// The folder of `<server>.stderr.log` and `<server>.trace.jsonl`; created when it is needed.
    pub logs: Option<PathBuf>,
    /// The file that remembers which way of speaking each server understands.
    pub protocol_cache: Option<PathBuf>,
    /// Where large results and blobs are kept.
    pub spill: SpillFolder,
}

/// Whether the servers' traffic is written down; into the log folder, where there is one.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Tracing {
    /// Every message is written to the server's trace.
    On,
    /// It is not. The default: traffic may hold secrets.
    #[default]
    Off,
}

/// How one request is made.
#[derive(Clone, Default)]
pub struct CallOptions {
    /// Ends the request and tells the server so.
    pub cancel: CancellationToken,
    /// Receives progress, as text for people.
    pub progress: Option<Arc<dyn Fn(String) + Send + Sync>>,
    /// Instead of the server's own limit.
    pub timeout: Option<Duration>,
    /// Measures the limits: it stands still while the server asks the user.
    pub clock: WaitClock,
    /// The call that the request is part of, where it is part of one.
    pub call_id: Option<String>,
}

impl std::fmt::Debug for CallOptions {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter
            .debug_struct("CallOptions")
            .field("timeout", &self.timeout)
            .finish_non_exhaustive()
    }
}

impl From<CallOptions> for RequestOptions {
    fn from(options: CallOptions) -> Self {
        Self {
            cancel: options.cancel,
            progress: options.progress,
            timeout: options.timeout,
            clock: options.clock,
            call_id: options.call_id,
        }
    }
}
