//! The one assembly of a project's parts.

use std::path::PathBuf;
use std::sync::{Arc, OnceLock};

use pirn_codemode::{EngineOptions, VmEngine};
use pirn_sandbox::BackgroundChildren;
use pirn_settings::HostEnv;
use pirn_tool::{ApprovalQueue, EventBus, Hook, Registry};
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

use crate::builder::RuntimeBuilder;
use crate::client::{Client, ClientOptions};
use crate::confinement::Confinement;
use crate::error::{Error, ErrorKind};

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
    pub(crate) hooks: Vec<Arc<dyn Hook>>,
    /// The folder, as questions and answers name it.
    pub(crate) project: Arc<str>,
    pub(crate) approvals: Option<ApprovalQueue>,
    pub(crate) events: EventBus,
    pub(crate) confinement: Option<Arc<Confinement>>,
    pub(crate) servers: Option<Servers>,
    pub(crate) evals: Option<Evals>,
    pub(crate) engine_options: EngineOptions,
    /// Made with the first script: many runs have none.
    pub(crate) engine: OnceLock<VmEngine>,
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

    /// Everything that happens to the calls of all clients.
    pub fn events(&self) -> &EventBus {
        &self.inner.events
    }

    /// A view of this runtime for one front end.
    pub fn client(&self, options: ClientOptions) -> Client {
        Client::new(self.clone(), options)
    }

    /// The engine of scripts.
    pub(crate) fn engine(&self) -> Result<&VmEngine, Error> {
        if let Some(engine) = self.inner.engine.get() {
            return Ok(engine);
        }
        let engine = VmEngine::new(self.inner.engine_options).map_err(|error| {
            Error::new(
                ErrorKind::Machine,
                "the script engine cannot start; `pirn doctor` may tell why",
            )
            .because(error)
        })?;
        Ok(self.inner.engine.get_or_init(|| engine))
    }

    /// Ends the runtime in order: what clients do is cancelled and waited for, the kernel ends its programs, servers close, and
    /// children that are left die. What clients ask for afterwards is cancelled at once.
    pub async fn shutdown(&self) {
        self.inner.lifetime.cancel();
        self.inner.work.close();
        self.inner.work.wait().await;
        if let Some(evals) = &self.inner.evals {
            evals.close().await;
        }
        if let Some(servers) = &self.inner.servers {
            servers.shutdown().await;
        }
        self.inner.background.gone().await;
    }
}
