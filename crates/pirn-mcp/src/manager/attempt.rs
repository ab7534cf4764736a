//! Reaching a server: repetitions over HTTP, and its first list of tools.

use std::sync::Arc;
use std::time::Duration;

use serde_json::Value;
use tokio::sync::broadcast;
use tokio::time::Instant;

use super::link::{ConnectRequest, Connector, LineSink, Link};
use crate::config::{ServerEntry, TransportEntry};
use crate::connection::Changed;
use crate::error::{Error, ErrorKind, is_transient};

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
            match self.connect().await {
                Err(error) if is_transient(error.kind()) => {
                    tokio::time::sleep_until(Instant::now() + *pause).await;
                }
                outcome => return outcome,
            }
        }
        self.connect().await
    }

    async fn connect(&self) -> Result<Arc<dyn Link>, Error> {
        let request = ConnectRequest {
            entry: Arc::clone(&self.entry),
            standard_error: Arc::clone(&self.standard_error),
        };
        self.connector.connect(request).await
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
