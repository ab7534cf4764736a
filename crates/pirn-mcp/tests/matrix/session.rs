//! A manager with one server, as a program that embeds the crate would have it: registered at run time, called through the
//! pipeline. Shared by the tests of servers that misbehave and of real ones.

use std::path::Path;
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use pirn_mcp::{
    Clock, ConfigEnvironment, EffectRules, Elicitor, ErrorKind, ManagerFolders, ManagerOptions,
    McpExposure, McpManager, OAuth, OAuthOptions, Scope, ServerEntry, ServerEvent, ServerOrigin,
    ServerSelection, ServerState, ServerStatus, SpillFolder, StartMode, Timeouts, ToolExposures,
    Tracing, TransportEntry,
};
use pirn_tool::{CallRequest, ContentBlock, FailureKind, Origin, Pipeline, Registry, Update};
use serde_json::Value;
use tokio::sync::broadcast;
use tokio_util::sync::CancellationToken;

/// After which a step hangs: more than every limit of every test.
pub(crate) const GUARD: Duration = Duration::from_secs(10);
/// How long processes may take to be gone when everything is closed.
const GONE_WITHIN: Duration = Duration::from_secs(2);

/// A manager with one server.
pub(crate) struct Session {
    server: String,
    manager: McpManager,
    registry: Registry,
    pipeline: Pipeline,
}

/// When a call is cancelled.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Stop {
    Never,
    /// When the first progress of it arrives.
    OnProgress,
}

/// What became of a call.
#[derive(Debug, Clone)]
pub(crate) struct Called {
    pub(crate) text: String,
    pub(crate) images: usize,
    /// The whole result, as scripts get it.
    pub(crate) structured: Value,
    pub(crate) is_error: bool,
    pub(crate) was_cancelled: bool,
    pub(crate) updates: Vec<String>,
    pub(crate) took: Duration,
}

/// Turns a hang into a failure.
pub(crate) async fn guard<T>(what: &str, step: impl Future<Output = T>) -> T {
    match tokio::time::timeout(GUARD, step).await {
        Ok(value) => value,
        Err(_) => panic!("{what} hung: no end within {GUARD:?}"),
    }
}

impl Session {
    /// Registers the server and starts it.
    pub(crate) fn start(
        entry: ServerEntry,
        folder: &Path,
        elicitor: Option<Arc<dyn Elicitor>>,
    ) -> Self {
        // The second session of one process finds it installed.
        let _installed = rustls::crypto::ring::default_provider().install_default();
        let http = reqwest::Client::builder()
            .redirect(reqwest::redirect::Policy::none())
            .no_proxy()
            .build()
            .expect("an HTTP client");
        let registry = Registry::new();
        let manager = McpManager::new(ManagerOptions {
            registry: registry.clone(),
            environment: environment(folder),
            folders: ManagerFolders {
                logs: Some(folder.join("logs")),
                spill: SpillFolder::new(folder.join("spill")),
                protocol_cache: Some(folder.join("protocols.json")),
            },
            client_name: "pirn-tests".to_owned(),
            client_version: "0.0.0".to_owned(),
            elicitor,
            oauth: Some(OAuth::new(OAuthOptions {
                store: folder.join("auth.json"),
                http: http.clone(),
                client_name: "Pirn tests".to_owned(),
                login_command: "pirn mcp login".to_owned(),
                clock: Clock::system(),
            })),
            interaction: None,
            http,
            tracing: Tracing::Off,
        });
        let session = Self {
            server: entry.name.clone(),
            pipeline: Pipeline::builder(registry.clone()).build(),
            registry,
            manager,
        };
        session
            .manager
            .register(entry)
            .expect("a name that is not taken");
        session.manager.start();
        session
    }

    /// What happens to the server from now on.
    pub(crate) fn events(&self) -> broadcast::Receiver<ServerEvent> {
        self.manager.subscribe()
    }

    /// Waits until the server is connected or has failed.
    pub(crate) async fn connect(&self) -> Result<(), (ErrorKind, String)> {
        let mut events = self.events();
        let never = CancellationToken::new();
        let waiting = self
            .manager
            .wait_for(ServerSelection::Server(&self.server), &never);
        guard("connecting", waiting).await;
        let mut status = self.status();
        // Waiting ends with the start's limit; the server may be on its way to failing still.
        while status.state == ServerState::Connecting {
            let _lagged = guard("failing to connect", events.recv()).await;
            status = self.status();
        }
        match status.problem {
            // Of a connected server, too: its tools could not be listed.
            Some(problem) => {
                let hints = problem.hints.join("\n");
                let text = format!("{}\n{hints}\n{}", problem.message, status.stderr_tail);
                Err((problem.kind, text))
            }
            None if status.state == ServerState::Connected => Ok(()),
            None => panic!("no problem, but the state is {:?}", status.state),
        }
    }

    /// The tools that scripts can call: their names in the registry and at the server.
    pub(crate) fn tools(&self) -> Vec<(String, String)> {
        let callable = self.registry.callable();
        self.status()
            .tools
            .into_iter()
            .filter(|name| {
                callable
                    .iter()
                    .any(|tool| tool.spec().name == name.registry)
            })
            .map(|name| (name.registry, name.server))
            .collect()
    }

    fn status(&self) -> ServerStatus {
        self.manager
            .server(&self.server)
            .expect("the server that was registered")
    }

    /// Calls a tool by its name at the server.
    pub(crate) async fn call(&self, tool: &str, arguments: Value, stop: Stop) -> Called {
        let cancel = CancellationToken::new();
        let updates = Arc::new(Mutex::new(Vec::new()));
        let mut request = CallRequest::new("call", self.registry_name(tool), arguments)
            .origin(Origin::User)
            .cancel(cancel.clone());
        let sink = Arc::clone(&updates);
        request.updates = Some(Arc::new(move |update: Update| {
            sink.lock().expect("no call panics").push(update.text);
            if stop == Stop::OnProgress {
                cancel.cancel();
            }
        }));
        let start = Instant::now();
        let outcome = guard(tool, self.pipeline.call(request)).await;
        let result = outcome.result;
        let images = result
            .content
            .iter()
            .filter(|block| matches!(block, ContentBlock::Image { .. }))
            .count();
        Called {
            text: result.joined_text(),
            images,
            structured: result.structured.unwrap_or(Value::Null),
            is_error: result.is_error,
            was_cancelled: outcome.failure == Some(FailureKind::Cancelled),
            updates: updates.lock().expect("no call panics").clone(),
            took: start.elapsed(),
        }
    }

    /// Ends everything; says how long that took.
    pub(crate) async fn close(&self) -> Duration {
        let start = Instant::now();
        guard("closing", self.manager.shutdown()).await;
        start.elapsed()
    }

    /// The registry's name of a tool, also of one that has been withdrawn or is not there yet.
    fn registry_name(&self, tool: &str) -> String {
        let known = self.status().tools.into_iter();
        let known = known
            .filter(|name| name.server == tool)
            .map(|name| name.registry)
            .next();
        known.unwrap_or_else(|| pirn_tool::mcp_tool_name(&self.server, tool, |_| false))
    }
}

/// An entry as an embedding program registers it.
pub(crate) fn entry(name: &str, timeouts: Timeouts, transport: TransportEntry) -> ServerEntry {
    ServerEntry {
        name: name.to_owned(),
        origin: ServerOrigin {
            scope: Scope::Runtime,
            file: None,
            line: None,
            overridden_in: None,
        },
        enabled: true,
        exposure: McpExposure::Codemode,
        tool_exposures: ToolExposures::default(),
        effects: EffectRules::default(),
        timeouts,
        start: StartMode::Eager,
        idle_timeout: None,
        description: None,
        transport,
    }
}

fn environment(folder: &Path) -> ConfigEnvironment {
    let path = std::env::var_os("PATH").unwrap_or_default();
    ConfigEnvironment::new(
        vec![("PATH".into(), path)],
        Some(folder.to_owned()),
        folder.to_owned(),
    )
}

/// How many processes with this variable in their environment, `NAME=value`, are there yet when they have had time to go.
pub(crate) async fn processes_left(variable: &str) -> usize {
    let deadline = Instant::now() + GONE_WITHIN;
    loop {
        let count = count_processes(variable.as_bytes());
        if count == 0 || Instant::now() > deadline {
            return count;
        }
        tokio::time::sleep(Duration::from_millis(20)).await; // sleeps: no event tells of a process outside our own children
    }
}

fn count_processes(variable: &[u8]) -> usize {
    let processes = std::fs::read_dir("/proc").expect("a list of processes");
    processes
        .flatten()
        .filter(|entry| {
            // A zombie's environment is empty.
            std::fs::read(entry.path().join("environ")).is_ok_and(|bytes| {
                bytes
                    .split(|byte| *byte == 0)
                    .any(|found| found == variable)
            })
        })
        .count()
}
