//! Streamable HTTP: rmcp's worker over an HTTP client of our own.
//!
//! The worker knows the protocol: sessions, the standing stream, resuming, version headers. The client below it
//! ([`client`]) knows HTTP as it is: statuses, bodies, credentials, redirects, limits. Every body passes through the wire before
//! rmcp sees it.

mod answers;
mod client;
mod events;
mod exchange;
mod failure;
mod redirect;
mod shared_client;
mod source;
#[cfg(test)]
pub(super) mod tests;

use std::sync::Arc;
use std::time::Duration;

use rmcp::RoleClient;
use rmcp::model::{ClientJsonRpcMessage, RequestId, ServerJsonRpcMessage};
use rmcp::transport::common::client_side_sse::ExponentialBackoff;
use rmcp::transport::streamable_http_client::{
    StreamableHttpClientTransportConfig, StreamableHttpClientWorker,
};
use rmcp::transport::{Transport, WorkerTransport};
use tokio_util::sync::{CancellationToken, DropGuard};
use url::Url;

use crate::authorization::Authorizer;
use crate::error::Error;
use crate::secret::Secret;
use crate::wire::Wire;

pub(super) use client::{ACCEPT_EVENTS, EVENT_STREAM};
use client::{ClientError, ServerClient};
pub(super) use events::Decoded;
pub(super) use exchange::{Exchange, Outgoing, Purpose};
pub(crate) use failure::{FailureCause, HttpFailure, LastFailure};
pub(super) use redirect::may_follow;
pub use shared_client::{http_client, http_client_without_certificates};
pub(super) use source::{EVENT_BYTES_MAX, EventSource};

/// First wait before a broken stream is resumed, where the server does not say how long; doubled each time.
const RESUME_WAIT: Duration = Duration::from_secs(1);
/// The longest of these waits.
const RESUME_WAIT_MAX: Duration = Duration::from_secs(30);
/// How often resuming is tried before the stream is given up: half a minute in all.
const RESUME_TRIES_MAX: usize = 5;
/// Requests in flight at once. Scripts call many tools at a time, and waiting in line counts as time of the call.
const REQUESTS_MAX: usize = 64;
/// How long a cancellation or an answer to the server may take.
const CONTROL_TIMEOUT: Duration = Duration::from_secs(5);
/// How long requests of a lost session may still take, and then how long the new session.
const RECOVERY_TIMEOUT: Duration = Duration::from_secs(10);
/// How long closing may take: the farewell's second and some.
const CLOSE_TIMEOUT: Duration = Duration::from_secs(2);
/// In the data of errors that rmcp's worker makes up for a request whose stream ended for good.
const WORKER_GAVE_UP: &str = "io.modelcontextprotocol/transportClosed";

/// What an HTTP connection is made with.
#[derive(Clone)]
pub(crate) struct HttpParts {
    /// The server's name, for errors.
    pub(crate) server: String,
    pub(crate) url: Url,
    /// Headers of every request.
    pub(crate) headers: Vec<(String, Secret)>,
    /// Who has the tokens; a token of it replaces a configured `Authorization`.
    pub(crate) authorizer: Option<Arc<dyn Authorizer>>,
    /// The client shared by all servers, from [`http_client`].
    pub(crate) http: reqwest::Client,
    pub(crate) wire: Wire,
    /// How long response headers, and each further piece of a plain body, may take. A server without a stream answers with
    /// its headers only when a call is done, so this is the longest that any call may take.
    pub(crate) response_timeout: Duration,
}

/// Streamable HTTP. Dropping it ends everything; closing also takes leave of the session.
pub(crate) struct HttpTransport {
    worker: WorkerTransport<StreamableHttpClientWorker<ServerClient>>,
    client: ServerClient,
    wire: Wire,
    cancel: CancellationToken,
    _guard: DropGuard,
}

/// Makes the transport; nothing is sent before the first message. Fails for headers that HTTP does not know.
pub(crate) fn http_transport(parts: &HttpParts) -> Result<HttpTransport, Error> {
    let cancel = CancellationToken::new();
    let client = ServerClient::new(parts, cancel.clone())?;
    let worker = StreamableHttpClientWorker::new(client.clone(), worker_config(&parts.url));
    Ok(HttpTransport {
        worker: WorkerTransport::spawn(worker),
        client,
        wire: parts.wire.clone(),
        cancel: cancel.clone(),
        _guard: cancel.drop_guard(),
    })
}

impl HttpTransport {
    /// Why the last message failed, where an error of rmcp no longer tells. To be taken before rmcp gets the transport.
    pub(crate) fn last_failure(&self) -> LastFailure {
        self.client.last_failure()
    }

    /// What the worker made up for a request whose stream ended would close the connection for its caller; only the
    /// request has failed.
    fn repaired(&self, message: ServerJsonRpcMessage) -> ServerJsonRpcMessage {
        let Some(request) = given_up(&message) else {
            return message;
        };
        self.client.forget(request);
        self.wire.failure(
            request,
            "the server's stream of events ended before its answer and could not be resumed",
        )
    }
}

impl Transport<RoleClient> for HttpTransport {
    type Error = ClientError;

    fn send(
        &mut self,
        message: ClientJsonRpcMessage,
    ) -> impl Future<Output = Result<(), Self::Error>> + Send + 'static {
        self.worker.send(message)
    }

    async fn receive(&mut self) -> Option<ServerJsonRpcMessage> {
        let message = self.worker.receive().await?;
        Some(self.repaired(message))
    }

    async fn close(&mut self) -> Result<(), Self::Error> {
        // Before the worker's own end: its first request would not hear of that.
        self.cancel.cancel();
        tokio::time::timeout(CLOSE_TIMEOUT, self.worker.close())
            .await
            .unwrap_or(Ok(()))
    }
}

fn given_up(message: &ServerJsonRpcMessage) -> Option<&RequestId> {
    match message {
        ServerJsonRpcMessage::Error(error) => {
            let data = error.error.data.as_ref()?;
            data.get(WORKER_GAVE_UP)?;
            error.id.as_ref()
        }
        ServerJsonRpcMessage::Request(_)
        | ServerJsonRpcMessage::Response(_)
        | ServerJsonRpcMessage::Notification(_) => None,
    }
}

fn worker_config(url: &Url) -> StreamableHttpClientTransportConfig {
    let mut config = StreamableHttpClientTransportConfig::with_uri(url.as_str())
        .max_concurrent_requests(REQUESTS_MAX)
        .control_request_timeout(CONTROL_TIMEOUT)
        .session_recovery_timeout(RECOVERY_TIMEOUT)
        .max_sse_event_size(EVENT_BYTES_MAX)
        .max_json_response_size(client::BODY_BYTES_MAX)
        .reinit_on_expired_session(true);
    config.allow_stateless = true;
    let mut backoff = ExponentialBackoff::default();
    backoff.max_times = Some(RESUME_TRIES_MAX);
    backoff.base_duration = RESUME_WAIT;
    backoff.max_delay = Some(RESUME_WAIT_MAX);
    config.retry_config = Arc::new(backoff);
    config
}
