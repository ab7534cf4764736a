//! Reaching a server: repetitions over HTTP, the memory of what it speaks, and its first list of tools.

use std::sync::Arc;
use std::time::Duration;

use serde_json::Value;
use tokio::sync::broadcast;
use tokio::time::Instant;

use super::backoff::is_transient;
use super::link::{ConnectRequest, Connector, LineSink, Link};
use super::protocol_cache::{ProtocolCache, ProtocolCacheKey};
use crate::config::{ServerEntry, TransportEntry};
use crate::connection::{Changed, Protocol};
use crate::error::{Error, ErrorKind};

/// Pauses before an HTTP server is asked again: a server that restarts is back within them.
const HTTP_PAUSES: [Duration; 2] = [Duration::from_millis(250), Duration::from_secs(1)];
/// How much longer than the start limit an attempt may take: the connection's own message about the limit says more.
const LIMIT_SLACK: Duration = Duration::from_millis(250);

/// A server that was reached, with its tools.
pub(super) struct OpenServer {
    pub(super) link: Arc<dyn Link>,
    pub(super) changes: broadcast::Receiver<Changed>,
    /// The list, or why a server that works otherwise has none.
    pub(super) tools: Result<Vec<Value>, Error>,
}

/// What is needed to reach a server.
#[derive(Clone)]
pub(super) struct ConnectAttempt {
    pub(super) connector: Arc<dyn Connector>,
    pub(super) protocols: ProtocolCache,
    pub(super) entry: Arc<ServerEntry>,
    pub(super) standard_error: LineSink,
}

impl ConnectAttempt {
    /// Reaches the server within its start limit and lists its tools.
    pub(super) async fn open(self) -> Result<OpenServer, Error> {
        let limit = self.entry.timeouts.start;
        let link = tokio::time::timeout(limit + LIMIT_SLACK, self.reach())
            .await
            .unwrap_or_else(|_| Err(start_timeout(&self.entry)))?;
        let changes = link.changes();
        let tools = tokio::time::timeout(self.entry.timeouts.total, link.list_tools())
            .await
            .unwrap_or_else(|_| Err(list_timeout(&self.entry)));
        match tools {
            Err(error) if ends_connection(error.kind()) => Err(error),
            tools => Ok(OpenServer {
                link,
                changes,
                tools,
            }),
        }
    }

    async fn reach(&self) -> Result<Arc<dyn Link>, Error> {
        let pauses: &[Duration] = match self.entry.transport {
            TransportEntry::Stdio(_) => &[],
            TransportEntry::Http(_) => &HTTP_PAUSES,
        };
        for pause in pauses {
            match self.try_protocols().await {
                Err(error) if is_transient(error.kind()) => {
                    tokio::time::sleep_until(Instant::now() + *pause).await;
                }
                outcome => return outcome,
            }
        }
        self.try_protocols().await
    }

    /// Connects as the server was spoken to last time, else finds out.
    async fn try_protocols(&self) -> Result<Arc<dyn Link>, Error> {
        let key = ProtocolCacheKey::new(&self.entry);
        let known = self.protocols.get(&key).await;
        let mut asked = known;
        let mut outcome = self.dial(known).await;
        if known.is_some() && may_be_the_protocol(&outcome) {
            self.protocols.set(&key, None).await;
            if is(&outcome, &ErrorKind::Timeout) {
                return outcome;
            }
            asked = None;
            outcome = self.dial(None).await;
        }
        // Some servers of the older protocol die when they are asked about the new one.
        let may_have_died_of_the_question =
            matches!(self.entry.transport, TransportEntry::Stdio(_))
                && asked.is_none()
                && known != Some(Protocol::Legacy)
                && is(&outcome, &ErrorKind::Closed);
        if may_have_died_of_the_question {
            // The first failure is told when the second attempt fails too.
            outcome = self.dial(Some(Protocol::Legacy)).await.or(outcome);
        }
        if let Ok(link) = &outcome {
            self.protocols.set(&key, Some(link.protocol())).await;
        }
        outcome
    }

    async fn dial(&self, protocol: Option<Protocol>) -> Result<Arc<dyn Link>, Error> {
        let request = ConnectRequest {
            entry: Arc::clone(&self.entry),
            protocol,
            standard_error: Arc::clone(&self.standard_error),
        };
        self.connector.connect(request).await
    }
}

fn is(outcome: &Result<Arc<dyn Link>, Error>, kind: &ErrorKind) -> bool {
    outcome.as_ref().is_err_and(|error| error.kind() == kind)
}

/// Whether a server may have refused because it was spoken to in the wrong way.
fn may_be_the_protocol(outcome: &Result<Arc<dyn Link>, Error>) -> bool {
    match outcome {
        Ok(_) => false,
        Err(error) => match error.kind() {
            ErrorKind::Closed
            | ErrorKind::Protocol
            | ErrorKind::Timeout
            | ErrorKind::Server { .. } => true,
            kind @ ErrorKind::Http { .. } => !is_transient(kind),
            ErrorKind::Start
            | ErrorKind::Config
            | ErrorKind::UnknownServer
            | ErrorKind::Disabled
            | ErrorKind::NeedsAuthorization
            | ErrorKind::Authorization
            | ErrorKind::Cancelled => false,
        },
    }
}

/// Whether a server whose tools could not be listed is of no use for anything else either.
fn ends_connection(kind: &ErrorKind) -> bool {
    match kind {
        ErrorKind::Server { .. } | ErrorKind::Protocol => false,
        ErrorKind::Start
        | ErrorKind::Closed
        | ErrorKind::Timeout
        | ErrorKind::Http { .. }
        | ErrorKind::Config
        | ErrorKind::UnknownServer
        | ErrorKind::Disabled
        | ErrorKind::NeedsAuthorization
        | ErrorKind::Authorization
        | ErrorKind::Cancelled => true,
    }
}

fn start_timeout(entry: &ServerEntry) -> Error {
    let seconds = entry.timeouts.start.as_secs_f64();
    Error::new(
        ErrorKind::Timeout,
        &entry.name,
        format!("was not ready within {seconds} s"),
    )
    .with_hint("Raise \"startTimeout\" (seconds) of the server if it is only slow to start.")
}

fn list_timeout(entry: &ServerEntry) -> Error {
    let seconds = entry.timeouts.total.as_secs_f64();
    Error::new(
        ErrorKind::Timeout,
        &entry.name,
        format!("did not finish its list of tools within {seconds} s"),
    )
    .with_hint("Raise \"totalTimeout\" (seconds) of the server if its list is only long.")
}
