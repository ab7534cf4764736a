//! All servers of a session, and their life cycle.
//!
//! Each server has one task of its own, which alone connects, closes and restarts it. Everything else asks that task for the
//! right to use the connection, so that a slow or broken server costs nobody but those who call it.

mod actor;
mod announcer;
mod attempt;
mod backoff;
mod calls;
mod connector;
mod debounce;
mod handle;
mod hook;
mod link;
mod options;
mod publisher;
mod server_set;
mod standard_error;
mod status;
mod uses;
mod wait;

#[cfg(test)]
mod tests;

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use pirn_tool::EventBus;
use tokio::sync::broadcast;
use tokio::time::Instant;

use self::actor::{ActorContext, CLOSE_LIMIT};
use self::announcer::Announcer;
use self::calls::{ManagerResources, ServerCaller};
use self::connector::ServerConnector;
use self::link::Connector;
use self::publisher::Publisher;
use self::server_set::{Outcome, ServerSet};
use crate::config::ServerEntry;
use crate::error::Error;

pub use hook::{FindReachedTools, ReachedTools, WaitHook};
pub use options::{CallOptions, ManagerFolders, ManagerOptions, Tracing};
pub use server_set::Registration;
pub use status::{
    Enablement, Problem, ServerEvent, ServerState, ServerStatus, ToolName, TransportKind,
    TransportSummary,
};
pub use wait::{ServerSelection, WaitOutcome};

/// All servers of a session. Cheap to clone; when the last clone is dropped every server ends at once, while
/// [`shutdown`](Self::shutdown) lets them close first. Needs a running tokio runtime.
///
/// Usually made, given its [configuration](Self::set_configuration), [started](Self::start), and shut down at the end.
#[derive(Clone)]
pub struct McpManager {
    inner: Arc<Inner>,
}

struct Inner {
    server_set: Mutex<ServerSet>,
    publisher: Arc<Publisher>,
    announcer: Announcer,
}

impl McpManager {
    /// A manager without servers.
    pub fn new(options: ManagerOptions) -> Self {
        let connector = Arc::new(ServerConnector::new(&options));
        Self::with_connector(options, connector)
    }

    fn with_connector(options: ManagerOptions, connector: Arc<dyn Connector>) -> Self {
        let announcer = Announcer::new();
        let inner = Arc::new_cyclic(|inner| {
            let for_calls = inner.clone();
            let publisher = Arc::new(Publisher::new(
                options.registry,
                options.folders.spill,
                // Held by tools in the registry, which must not keep the servers alive.
                Box::new(move |server| Arc::new(ServerCaller::new(for_calls.clone(), server))),
                Arc::new(ManagerResources::new(inner.clone())),
            ));
            let context = ActorContext {
                connector,
                publisher: Arc::clone(&publisher),
                announcer: announcer.clone(),
            };
            Inner {
                server_set: Mutex::new(ServerSet::new(context, options.folders.logs)),
                publisher,
                announcer,
            }
        });
        Self { inner }
    }

    /// Replaces the configured servers. Unchanged ones keep running, changed ones connect anew where they were connected or
    /// are eager, removed ones close in the background; their tools are hidden when this returns.
    pub fn set_configuration(&self, entries: Vec<ServerEntry>) {
        if self.server_set().configure(entries) == Outcome::Changed {
            self.tell(ServerEvent::ConfigurationChanged);
        }
    }

    /// Lets eager servers connect in the background, now and whenever one is added.
    pub fn start(&self) {
        self.server_set().start();
    }

    /// Adds a server that the embedding program brings along; it is not saved. A file's entry of the same name goes on
    /// counting. Fails with [`Config`](crate::ErrorKind::Config) on a bad name and on one that is registered already.
    pub fn register(&self, entry: ServerEntry) -> Result<(), Error> {
        self.server_set().register(entry)?;
        self.tell(ServerEvent::RegistrationsChanged);
        Ok(())
    }

    /// Like [`register`](Self::register), but takes the place of a registration of the same name.
    pub fn replace(&self, entry: ServerEntry) -> Result<(), Error> {
        self.server_set().replace(entry)?;
        self.tell(ServerEvent::RegistrationsChanged);
        Ok(())
    }

    /// Takes a registration back. Fails with [`UnknownServer`](crate::ErrorKind::UnknownServer) where there is none.
    pub fn unregister(&self, name: &str) -> Result<(), Error> {
        self.server_set().unregister(name)?;
        self.tell(ServerEvent::RegistrationsChanged);
        Ok(())
    }

    /// Every registration by name, also those that a file's entry overrides.
    pub fn registrations(&self) -> Vec<Registration> {
        self.server_set().registrations()
    }

    /// Every server, by name.
    pub fn servers(&self) -> Vec<ServerStatus> {
        self.server_set()
            .handles()
            .map(handle::Handle::status)
            .collect()
    }

    /// What is known of one server; `None` for a name that is not configured.
    pub fn server(&self, name: &str) -> Option<ServerStatus> {
        self.server_set().status(name)
    }

    /// What happens to the servers from now on.
    pub fn subscribe(&self) -> broadcast::Receiver<ServerEvent> {
        self.inner.announcer.subscribe()
    }

    /// The states of the servers, and what is wrong with them, as events for a runtime's stream.
    pub fn events(&self) -> &EventBus {
        &self.inner.announcer.events
    }

    /// Closes a server and connects it again at once, whatever happened to it before. Ends when it is connected or has
    /// failed, within its start limit.
    pub async fn reconnect(&self, name: &str) -> Result<(), Error> {
        let contact = self.server_set().contact(name)?;
        contact.reconnect().await
    }

    /// Switches a server on or off for this session. Switching off hides its tools and closes it before this returns;
    /// switching on connects an eager server in the background. Lasts until the entry's own `enabled` changes.
    pub async fn set_enabled(&self, name: &str, enablement: Enablement) -> Result<(), Error> {
        let contact = self.server_set().enable(name, enablement)?;
        contact.enablement_taken(enablement).await;
        Ok(())
    }

    /// Closes all servers at the same time, waits for at most five seconds, and kills what is left. Everything asked of the
    /// servers afterwards fails with [`Closed`](crate::ErrorKind::Closed).
    pub async fn shutdown(&self) {
        let tasks = self.server_set().end();
        let deadline = Instant::now() + CLOSE_LIMIT;
        for mut task in tasks {
            if tokio::time::timeout_at(deadline, &mut task).await.is_err() {
                task.abort();
                // It was told to end at its next step, which drops the connection.
                let _ended = task.await;
            }
        }
    }

    fn server_set(&self) -> MutexGuard<'_, ServerSet> {
        self.inner
            .server_set
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
    }

    fn tell(&self, event: ServerEvent) {
        self.inner.announcer.tell(event, None);
    }
}

impl std::fmt::Debug for McpManager {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.debug_struct("McpManager").finish_non_exhaustive()
    }
}
