//! One live connection to one server.

mod connect;
mod handler;
mod handshake;
mod input;
mod lists;
mod negotiate;
mod open_calls;
mod pages;
mod protocol_cache;
mod request;
mod subscription;

use std::sync::Arc;
use std::time::Duration;

use pirn_sandbox::SandboxReport;
use pirn_tool::WaitClock;
use rmcp::RoleClient;
use rmcp::model::{CallToolRequest, CallToolRequestParams, ClientRequest};
use rmcp::service::{Peer, RunningServiceCancellationToken};
use serde_json::{Map, Value};
use tokio::sync::{broadcast, watch};
use tokio::task::JoinHandle;
use tokio_util::sync::CancellationToken;

use crate::authorization::Authorizer;
use crate::config::{ResolvedServer, Timeouts};
use crate::elicitation::Elicitor;
use crate::error::{Error, ErrorKind};
use crate::wire::{Trace, Wire};
use handler::HandlerState;
use request::Cause;

pub(crate) use pages::{After, Pages};
pub(crate) use protocol_cache::{ProtocolCache, ServerMemory};

/// Which form of the protocol a server speaks.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) enum Protocol {
    /// 2024-11-05 to 2025-11-25: `initialize`.
    Legacy,
    /// 2026-07-28: `server/discover`, no handshake.
    Modern,
}

/// What a connection is made with.
#[derive(Clone)]
pub(crate) struct ConnectOptions {
    pub(crate) server: ResolvedServer,
    /// How this client calls itself.
    pub(crate) client_name: String,
    pub(crate) client_version: String,
    /// What the server spoke last time.
    pub(crate) memory: ServerMemory,
    /// Who answers the server's questions.
    pub(crate) elicitor: Option<Arc<dyn Elicitor>>,
    /// Who has the tokens; HTTP only.
    pub(crate) authorizer: Option<Arc<dyn Authorizer>>,
    /// The HTTP client shared by all servers.
    pub(crate) http: reqwest::Client,
    /// Where the traffic is written down.
    pub(crate) trace: Trace,
    /// Receives every line of a child's standard error; called from the reading task.
    pub(crate) standard_error: Arc<dyn Fn(&str) + Send + Sync>,
}

/// What a server said about itself, and what its process is confined by.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct ServerFacts {
    /// The name by which the server calls itself.
    pub name: String,
    /// Its own version, empty where it has none.
    pub version: String,
    /// How to use it.
    pub instructions: Option<String>,
    /// The protocol version in force.
    pub protocol_version: String,
    /// Whether it has tools.
    pub has_tools: bool,
    /// Whether it has resources.
    pub has_resources: bool,
    /// Whether it has prompts.
    pub has_prompts: bool,
    /// The confinement of its process, where it has one.
    pub sandbox: Option<SandboxReport>,
}

/// What changed at a server.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) enum Changed {
    /// The list of tools.
    Tools,
    /// The list of resources.
    Resources,
    /// The list of prompts.
    Prompts,
}

/// Progress of one call: what a person can read of it.
pub(crate) type ProgressSink = Arc<dyn Fn(String) + Send + Sync>;

/// How one call is made.
#[derive(Clone, Default)]
pub(crate) struct RequestOptions {
    /// Ends the call and tells the server so.
    pub(crate) cancel: CancellationToken,
    pub(crate) progress: Option<ProgressSink>,
    /// Instead of the server's own limit.
    pub(crate) timeout: Option<Duration>,
    /// Measures the limits: it stands still while the server asks the user.
    pub(crate) clock: WaitClock,
    /// The call that the request is part of.
    pub(crate) call_id: Option<String>,
}

/// One page of a list.
#[derive(Debug, Clone, Default, PartialEq)]
pub(crate) struct Page {
    /// The entries, as the server sent them after repair.
    pub(crate) items: Vec<Value>,
    /// Where the next page begins.
    pub(crate) next_cursor: Option<String>,
}

/// How long the end of a connection may take: a server gets the end of its input, SIGTERM and SIGKILL in that time.
const CLOSE_TIMEOUT: Duration = Duration::from_secs(5);

/// One live connection to one server. Dropping it ends it; [`Connection::close`] also waits.
pub(crate) struct Connection {
    server: String,
    timeouts: Timeouts,
    peer: Peer<RoleClient>,
    wire: Wire,
    handler: Arc<HandlerState>,
    facts: ServerFacts,
    protocol: Protocol,
    cause: Cause,
    stop: Option<RunningServiceCancellationToken>,
    ended: watch::Receiver<bool>,
    subscription: Option<JoinHandle<()>>,
}

impl Connection {
    /// Connects: starts the process or asks the URL, finds out what the server speaks, and shakes hands. Ends within the
    /// server's start limit.
    pub(crate) async fn open(options: ConnectOptions) -> Result<Self, Error> {
        let limit = options.server.timeouts.start;
        match tokio::time::timeout(limit, connect::connect(&options)).await {
            Ok(Ok(connection)) => {
                options.memory.set(connection.protocol).await;
                Ok(connection)
            }
            Ok(Err(error)) => Err(error),
            Err(_) => {
                // It may have been silent because it was spoken to in the wrong way.
                options.memory.forget().await;
                Err(Error::new(
                    ErrorKind::Timeout,
                    &options.server.name,
                    format!("did not start within {} s", limit.as_secs_f64()),
                )
                .with_hint(
                    "A slow server needs a higher \"startTimeout\" (in seconds) in mcp.json.",
                ))
            }
        }
    }

    /// What the server said about itself.
    pub(crate) fn facts(&self) -> &ServerFacts {
        &self.facts
    }

    /// Changes the server told of. A receiver that lags behind missed some.
    pub(crate) fn changes(&self) -> broadcast::Receiver<Changed> {
        self.handler.changes.subscribe()
    }

    /// What was odd about the server's messages since the last call, for people.
    pub(crate) fn take_warnings(&self) -> Vec<String> {
        self.wire.take_warnings()
    }

    /// Waits until the connection has ended by itself, and says why.
    pub(crate) async fn closed(&self) -> Error {
        let mut ended = self.ended.clone();
        // A sender that is gone means the same.
        drop(ended.wait_for(|ended| *ended).await);
        self.cause.ended(&self.server).await
    }

    /// Whether it has ended.
    pub(crate) fn is_closed(&self) -> bool {
        *self.ended.borrow() || self.cause.has_ended()
    }

    /// Calls a tool. The result is the whole `CallToolResult` as JSON after repair; an `isError` result is no error.
    pub(crate) async fn call_tool(
        &self,
        name: &str,
        arguments: Map<String, Value>,
        options: RequestOptions,
    ) -> Result<Value, Error> {
        let name = name.to_owned();
        self.ask(&options, |input| {
            let mut params =
                CallToolRequestParams::new(name.clone()).with_arguments(arguments.clone());
            params.input_responses = input.responses;
            params.request_state = input.state;
            ClientRequest::CallToolRequest(CallToolRequest::new(params))
        })
        .await
    }

    /// Ends the connection: the session is deleted, the process gets the end of its input, then SIGTERM, then SIGKILL.
    pub(crate) async fn close(mut self) {
        if let Some(subscription) = self.subscription.take() {
            subscription.abort();
        }
        if let Some(stop) = self.stop.take() {
            stop.cancel();
        }
        let mut ended = self.ended.clone();
        // What is left after the limit dies with its transport.
        let _late = tokio::time::timeout(CLOSE_TIMEOUT, ended.wait_for(|ended| *ended)).await;
    }
}

impl Drop for Connection {
    fn drop(&mut self) {
        if let Some(subscription) = self.subscription.take() {
            subscription.abort();
        }
        if let Some(stop) = self.stop.take() {
            stop.cancel();
        }
    }
}

impl std::fmt::Debug for Connection {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter
            .debug_struct("Connection")
            .field("server", &self.server)
            .field("facts", &self.facts)
            .finish_non_exhaustive()
    }
}
