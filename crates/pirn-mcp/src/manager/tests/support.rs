//! Servers that do as they are told, and a manager over them.

mod server;

use std::collections::VecDeque;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use futures_util::future::BoxFuture;
use pirn_file::SpillFolder;
use pirn_tool::{Exposure, Registry};
use serde_json::{Map, Value};
use tokio::sync::broadcast;
use tokio::time::Instant;

use crate::config::{
    ConfigEnvironment, EffectRules, HttpEntry, McpExposure, Scope, ServerEntry, ServerOrigin,
    StartMode, StdioEntry, Timeouts, ToolExposures, TransportEntry,
};
use crate::error::{Error, ErrorKind};
use crate::manager::link::{ConnectRequest, Connector, Link};
use crate::manager::{
    ManagerFolders, ManagerOptions, McpManager, ServerEvent, ServerState, Tracing,
};

pub(super) use server::FakeServer;

/// What comes of one attempt to reach a server.
#[derive(Clone)]
pub(super) enum Answer {
    Fail(ErrorKind),
    Open(FakeServer),
    Hang,
    /// The same after a while.
    Late(Duration, Box<Answer>),
}

/// One attempt, as it was made.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Attempt {
    pub(super) at_ms: u128,
    pub(super) server: String,
}

/// Reaches scripted servers. Each server's answers are used up one by one; the last one stays.
pub(super) struct FakeDial {
    answers: Mutex<Vec<(String, VecDeque<Answer>)>>,
    attempts: Mutex<Vec<Attempt>>,
    epoch: Instant,
}

impl FakeDial {
    async fn reach(self: Arc<Self>, request: ConnectRequest) -> Result<Arc<dyn Link>, Error> {
        self.attempts.lock().unwrap().push(Attempt {
            at_ms: self.epoch.elapsed().as_millis(),
            server: request.entry.name.clone(),
        });
        (request.standard_error)(&format!("{} starts", request.entry.name));
        let mut answer = self.next_answer(&request.entry.name);
        loop {
            match answer {
                Answer::Fail(kind) => return Err(error(kind)),
                Answer::Hang => std::future::pending().await,
                Answer::Late(delay, inner) => {
                    pause(delay).await;
                    answer = *inner;
                }
                Answer::Open(server) => {
                    return Ok(Arc::new(server.link()));
                }
            }
        }
    }

    fn next_answer(&self, server: &str) -> Answer {
        let mut answers = self.answers.lock().unwrap();
        let queue = answers
            .iter_mut()
            .find(|(name, _)| name == server)
            .map(|(_, queue)| queue)
            .expect("the server is scripted");
        if queue.len() > 1 {
            queue.pop_front().unwrap()
        } else {
            queue.front().cloned().expect("there is an answer")
        }
    }
}

/// The dial as the manager takes it.
struct SharedConnector(Arc<FakeDial>);

impl Connector for SharedConnector {
    fn connect(&self, request: ConnectRequest) -> BoxFuture<'static, Result<Arc<dyn Link>, Error>> {
        Box::pin(Arc::clone(&self.0).reach(request))
    }
}

/// A manager over scripted servers.
pub(super) struct World {
    pub(super) manager: McpManager,
    pub(super) registry: Registry,
    pub(super) dial: Arc<FakeDial>,
    events: Mutex<broadcast::Receiver<ServerEvent>>,
    epoch: Instant,
}

impl World {
    pub(super) fn new() -> Self {
        Self::with_folders(ManagerFolders {
            logs: None,
            protocol_cache: None,
            spill: SpillFolder::none(),
        })
    }

    pub(super) fn with_folders(folders: ManagerFolders) -> Self {
        let registry = Registry::new();
        let epoch = Instant::now();
        let dial = Arc::new(FakeDial {
            answers: Mutex::default(),
            attempts: Mutex::default(),
            epoch,
        });
        let options = ManagerOptions {
            registry: registry.clone(),
            environment: ConfigEnvironment::new(Vec::new(), None, "/session".into()),
            folders,
            client_name: "test".to_owned(),
            client_version: "0".to_owned(),
            elicitor: None,
            oauth: None,
            interaction: None,
            http: crate::transport::http_client("test/0").unwrap(),
            tracing: Tracing::Off,
        };
        let manager =
            McpManager::with_connector(options, Arc::new(SharedConnector(Arc::clone(&dial))));
        let events = Mutex::new(manager.subscribe());
        Self {
            manager,
            registry,
            dial,
            events,
            epoch,
        }
    }

    /// A world whose only server is `one`, eager and started.
    pub(super) fn with_one(answers: Vec<Answer>) -> Self {
        let world = Self::new();
        world.script("one", answers);
        world.manager.set_configuration(vec![stdio("one")]);
        world.manager.start();
        world
    }

    pub(super) fn script(&self, server: &str, answers: Vec<Answer>) {
        let mut all = self.dial.answers.lock().unwrap();
        all.retain(|(name, _)| name != server);
        all.push((server.to_owned(), answers.into()));
    }

    /// Lets virtual time pass.
    pub(super) async fn pass(&self, duration: Duration) {
        pause(duration).await;
    }

    pub(super) fn attempts(&self) -> Vec<Attempt> {
        self.dial.attempts.lock().unwrap().clone()
    }

    pub(super) fn attempt_times(&self) -> Vec<u128> {
        self.attempts()
            .iter()
            .map(|attempt| attempt.at_ms)
            .collect()
    }

    pub(super) fn now_ms(&self) -> u128 {
        self.epoch.elapsed().as_millis()
    }

    pub(super) fn state(&self, server: &str) -> ServerState {
        self.manager
            .server(server)
            .expect("the server is known")
            .state
    }

    /// The events since the last look.
    pub(super) fn events(&self) -> Vec<ServerEvent> {
        let mut receiver = self.events.lock().unwrap();
        std::iter::from_fn(|| receiver.try_recv().ok()).collect()
    }

    /// The states that a server went through since the last look.
    pub(super) fn states(&self) -> Vec<ServerState> {
        self.events()
            .into_iter()
            .filter_map(|event| match event {
                ServerEvent::StateChanged { state, .. } => Some(state),
                _ => None,
            })
            .collect()
    }

    /// The warnings since the last look, each after its server.
    pub(super) fn warnings(&self) -> Vec<String> {
        self.events()
            .into_iter()
            .filter_map(|event| match event {
                ServerEvent::Warning { server, message } => Some(format!("{server}: {message}")),
                _ => None,
            })
            .collect()
    }

    /// Names of the registered tools that are not hidden, with their exposures.
    pub(super) fn visible(&self) -> Vec<(String, Exposure)> {
        self.registry
            .registered()
            .iter()
            .map(|tool| (tool.spec().name.clone(), tool.spec().exposure))
            .filter(|(_, exposure)| *exposure != Exposure::Hidden)
            .collect()
    }

    pub(super) fn visible_names(&self) -> Vec<String> {
        self.visible().into_iter().map(|(name, _)| name).collect()
    }

    pub(super) async fn call(&self, server: &str) -> Result<Value, Error> {
        self.manager
            .call_tool(
                server,
                "tool",
                Map::new(),
                super::super::CallOptions::default(),
            )
            .await
    }
}

pub(super) fn stdio(name: &str) -> ServerEntry {
    entry(
        name,
        TransportEntry::Stdio(StdioEntry {
            command: "server".to_owned(),
            ..StdioEntry::default()
        }),
    )
}

pub(super) fn http(name: &str) -> ServerEntry {
    entry(
        name,
        TransportEntry::Http(HttpEntry {
            url: "https://user:key@example.com/mcp?token=1".to_owned(),
            kind: crate::config::HttpKind::Auto,
            headers: Vec::new(),
            oauth: crate::config::OAuthSettings::default(),
        }),
    )
}

pub(super) fn lazy(name: &str) -> ServerEntry {
    ServerEntry {
        start: StartMode::Lazy,
        ..stdio(name)
    }
}

fn entry(name: &str, transport: TransportEntry) -> ServerEntry {
    ServerEntry {
        name: name.to_owned(),
        origin: ServerOrigin {
            scope: Scope::User,
            file: None,
            line: None,
            overridden_in: None,
        },
        enabled: true,
        exposure: McpExposure::Codemode,
        tool_exposures: ToolExposures::default(),
        effects: EffectRules::default(),
        timeouts: Timeouts::default(),
        start: StartMode::Eager,
        idle_timeout: None,
        description: None,
        transport,
    }
}

pub(super) fn error(kind: ErrorKind) -> Error {
    let message = format!("scripted {kind:?}");
    Error::new(kind, "fake", message)
}

pub(super) async fn pause(duration: Duration) {
    tokio::time::sleep(duration).await; // sleeps: virtual time, which passes at once
}
