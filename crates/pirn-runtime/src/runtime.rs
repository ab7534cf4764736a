//! The one assembly of a project's parts.

use std::path::PathBuf;
use std::sync::{Arc, OnceLock};

use pirn_codemode::{
    BoardLimits, MissingTools, ScriptLimits, ScriptService, ScriptServiceOptions, StoreBackend,
};
use pirn_file::SpillFolder;
use pirn_sandbox::BackgroundChildren;
use pirn_settings::HostEnv;
use pirn_tool::{ApprovalQueue, EventBus, EventSubscription, Hook, Registry};
use pirn_tools::ToolsOptions;
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

use crate::builder::RuntimeBuilder;
use crate::client::{Client, ClientOptions};
use crate::confinement::Confinement;
use crate::engine::EngineSource;
use crate::error::Error;
use crate::evals::Evals;
use crate::servers::Servers;

/// The tools, servers, confinement, script engine and kernel of one project, put together once. Cheap to clone; clones share
/// everything. Each front end that uses it is a [`Client`] with tools and a policy of its own; all ask in one queue. Dropping the
/// last clone ends everything at once; [`Runtime::shutdown`] ends it in order.
#[derive(Clone)]
pub struct Runtime {
    inner: Arc<Inner>,
}

pub(crate) struct Inner {
    pub(crate) registry: Registry,
    /// What the built-in tools go by.
    pub(crate) tools_options: Arc<ToolsOptions>,
    pub(crate) hooks: Vec<Arc<dyn Hook>>,
    /// The folder, as questions and answers name it.
    pub(crate) project: Arc<str>,
    pub(crate) approvals: Option<ApprovalQueue>,
    pub(crate) events: EventBus,
    /// Brings what happens to questions and servers onto the stream.
    pub(crate) _told: Vec<EventSubscription>,
    pub(crate) confinement: Option<Arc<Confinement>>,
    pub(crate) servers: Option<Servers>,
    pub(crate) evals: Option<Evals>,
    /// Runs scripts and, where there is no node, programs.
    pub(crate) engine: EngineSource,
    /// What a script may use unless it says otherwise.
    pub(crate) script_limits: ScriptLimits,
    /// Keeps what scripts store.
    pub(crate) script_store: Arc<dyn StoreBackend>,
    /// How many scripts there may be.
    pub(crate) board: BoardLimits,
    /// Made with the first script: many runs have none.
    pub(crate) scripts: OnceLock<ScriptService>,
    /// What results cannot show.
    pub(crate) spill: SpillFolder,
    /// Fires at the end: what runs stops, and processes left in the background die.
    pub(crate) lifetime: CancellationToken,
    /// What clients do at present.
    pub(crate) work: TaskTracker,
    /// What commands left running.
    pub(crate) background: BackgroundChildren,
}

impl std::fmt::Debug for Runtime {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter
            .debug_struct("Runtime")
            .field("servers", &self.inner.servers)
            .finish_non_exhaustive()
    }
}

impl Runtime {
    /// Starts a runtime for work in `folder`, an absolute path.
    pub fn builder(env: HostEnv, folder: impl Into<PathBuf>) -> RuntimeBuilder {
        RuntimeBuilder::new(env, folder.into())
    }

    pub(crate) fn from_parts(inner: Inner) -> Self {
        Self {
            inner: Arc::new(inner),
        }
    }

    pub(crate) fn inner(&self) -> &Inner {
        &self.inner
    }

    /// All tools, those of servers as far as they are connected.
    pub fn registry(&self) -> &Registry {
        &self.inner.registry
    }

    /// The confinement of commands; `None` without built-in tools.
    pub fn confinement(&self) -> Option<&Confinement> {
        self.inner.confinement.as_deref()
    }

    /// The confinement of programs; `None` without evals.
    pub fn eval_confinement(&self) -> Option<&Confinement> {
        self.inner.evals.as_ref().map(Evals::confinement)
    }

    /// The MCP servers; `None` where there are none to be had.
    pub fn servers(&self) -> Option<&Servers> {
        self.inner.servers.as_ref()
    }

    /// Everything that is asked; `None` where nobody can be.
    pub fn approvals(&self) -> Option<&ApprovalQueue> {
        self.inner.approvals.as_ref()
    }

    /// Everything that happens: to the calls of all clients, to questions and to servers, and what scripts put out.
    pub fn events(&self) -> &EventBus {
        &self.inner.events
    }

    /// The files of what results cannot show, which last as long as this runtime unless its builder was given another folder.
    pub fn spill(&self) -> &SpillFolder {
        &self.inner.spill
    }

    /// A view of this runtime for one front end.
    pub fn client(&self, options: ClientOptions) -> Client {
        Client::new(self.clone(), options)
    }

    /// What runs the scripts of all clients, made with the first one. Fails where the engine cannot start.
    pub fn scripts(&self) -> Result<&ScriptService, Error> {
        let inner = &self.inner;
        if let Some(scripts) = inner.scripts.get() {
            return Ok(scripts);
        }
        let options = ScriptServiceOptions {
            store: Arc::clone(&inner.script_store),
            board: inner.board,
            ..ScriptServiceOptions::new(inner.engine.get()?)
        };
        Ok(inner.scripts.get_or_init(|| ScriptService::new(options)))
    }

    /// What a script may use unless it says otherwise.
    pub(crate) fn script_limits(&self) -> ScriptLimits {
        self.inner.script_limits
    }

    /// The tools that scripts would have if all servers were up.
    pub(crate) fn missing_tools(&self) -> Vec<MissingTools> {
        self.servers()
            .map(Servers::missing_tools)
            .unwrap_or_default()
    }

    /// Ends the runtime in order: what clients do is cancelled and waited for, scripts that go on by themselves stop, the kernel ends its programs, servers close, and
    /// children that are left die. What clients ask for afterwards is cancelled at once.
    pub async fn shutdown(&self) {
        self.inner.lifetime.cancel();
        self.inner.work.close();
        self.inner.work.wait().await;
        if let Some(scripts) = self.inner.scripts.get() {
            scripts.board().shutdown().await;
        }
        if let Some(evals) = &self.inner.evals {
            evals.close().await;
        }
        if let Some(servers) = &self.inner.servers {
            servers.shutdown().await;
        }
        self.inner.background.gone().await;
    }
}
