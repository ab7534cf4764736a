//! The HTTP client below rmcp's worker: it sees every status and every body, and rmcp only messages it understands.

use std::collections::HashMap;
use std::sync::Arc;

use http::header::ACCEPT;
use http::{HeaderMap, HeaderName, HeaderValue, Method, StatusCode};
use rmcp::model::{ClientJsonRpcMessage, ClientRequest, RequestId};
use rmcp::transport::streamable_http_client::{
    AuthRequiredError, InsufficientScopeError, StreamableHttpClient, StreamableHttpError,
    StreamableHttpPostResponse, StreamableHttpResponseLimits,
};
use serde_json::Value;
use tokio::sync::watch;
use tokio::time::{Duration, Instant};
use tokio_util::sync::CancellationToken;

use super::HttpParts;
use super::answers::{SseStream, StreamOf, Streams, events_of, is_answer_of, through_wire};
use super::exchange::{Exchange, Outgoing, Purpose, Reply};
use super::failure::{FailureCause, HttpFailure, LastFailure};
use super::source::EventSource;
use crate::error::Error;
use crate::wire::Wire;

/// The most a plain body may have: the same as an event.
pub(crate) const BODY_BYTES_MAX: usize = super::source::EVENT_BYTES_MAX;

/// How long a server may think about `server/discover`. rmcp's own patience is 10 s, after which it waits for a worker that
/// still waits for the server.
const DISCOVERY_TIMEOUT: Duration = Duration::from_secs(5);

/// How long the first request waits for the standing stream.
const STANDING_WAIT: Duration = Duration::from_millis(250);

pub(crate) const EVENT_STREAM: &str = "text/event-stream";
const JSON: &str = "application/json";
const ACCEPT_POST: HeaderValue = HeaderValue::from_static("application/json, text/event-stream");
pub(crate) const ACCEPT_EVENTS: HeaderValue = HeaderValue::from_static(EVENT_STREAM);
const SESSION_ID: HeaderName = HeaderName::from_static("mcp-session-id");
const LAST_EVENT_ID: HeaderName = HeaderName::from_static("last-event-id");

/// An error as rmcp's worker takes it.
pub(crate) type ClientError = StreamableHttpError<HttpFailure>;

/// Speaks HTTP for one connection. Clones share everything.
#[derive(Clone)]
pub(crate) struct ServerClient {
    shared: Arc<Shared>,
}

struct Shared {
    exchange: Exchange,
    wire: Wire,
    last_failure: LastFailure,
    streams: Arc<Streams>,
    /// Whether it is known how the standing stream did.
    standing: watch::Sender<bool>,
}

/// What a message that was posted expects.
#[derive(Debug)]
struct Posted {
    /// The request whose answer is due; `None` for what has no answer.
    request: Option<RequestId>,
    is_discovery: bool,
    had_session: bool,
}

impl ServerClient {
    /// A client for one connection, which ends with `cancel`.
    pub(crate) fn new(parts: &HttpParts, cancel: CancellationToken) -> Result<Self, Error> {
        let shared = Shared {
            exchange: Exchange::new(parts, cancel)?,
            wire: parts.wire.clone(),
            last_failure: LastFailure::default(),
            streams: Arc::default(),
            standing: watch::Sender::new(false),
        };
        Ok(Self {
            shared: Arc::new(shared),
        })
    }

    /// Where this client's last failure is kept.
    pub(crate) fn last_failure(&self) -> LastFailure {
        self.shared.last_failure.clone()
    }

    /// Forgets a request whose stream the worker has given up.
    pub(crate) fn forget(&self, request: &RequestId) {
        self.shared.streams.forget(request);
    }

    async fn post(
        &self,
        message: &ClientJsonRpcMessage,
        session_id: Option<Arc<str>>,
        mut headers: HeaderMap,
    ) -> Result<StreamableHttpPostResponse, ClientError> {
        let posted = Posted::new(message, session_id.as_deref());
        let body = self.shared.wire.outgoing(message)?;
        headers.insert(ACCEPT, ACCEPT_POST);
        attach_session(&mut headers, session_id.as_deref());
        let outgoing = Outgoing {
            method: Method::POST,
            url: self.shared.exchange.url().clone(),
            headers,
            body: Some(body),
            purpose: Purpose::Message,
        };
        if posted.had_session && posted.request.is_some() {
            self.standing_stream_settled().await;
        }
        self.shared.last_failure.set(None);
        if !posted.is_discovery {
            return self.send(&posted, &outgoing, None).await;
        }
        let limit = DISCOVERY_TIMEOUT.min(self.shared.exchange.response_timeout());
        let deadline = Instant::now() + limit;
        let sending = self.send(&posted, &outgoing, Some(deadline));
        if let Ok(response) = tokio::time::timeout_at(deadline, sending).await {
            return response;
        }
        let failure = HttpFailure::new(&outgoing.url, FailureCause::Late { limit });
        self.undiscovered(&posted, failure)
    }

    /// What a server sends because of a request, such as a question, may come on the standing stream: one that is not open
    /// yet would miss it.
    async fn standing_stream_settled(&self) {
        let mut standing = self.shared.standing.subscribe();
        let settled = standing.wait_for(|settled| *settled);
        if tokio::time::timeout(STANDING_WAIT, settled).await.is_err() {
            // Servers may hold the headers back; one wait is enough.
            self.shared.standing.send_replace(true);
        }
    }

    async fn send(
        &self,
        posted: &Posted,
        outgoing: &Outgoing,
        deadline: Option<Instant>,
    ) -> Result<StreamableHttpPostResponse, ClientError> {
        match self.shared.exchange.send(outgoing).await {
            Ok(reply) if reply.status().is_success() => self
                .accepted(posted, reply, deadline)
                .await
                .map_err(|failure| self.failed(posted, failure)),
            Ok(reply) => self.refused(posted, reply).await,
            Err(failure) if posted.is_discovery && failure.is_late() => {
                self.undiscovered(posted, failure)
            }
            Err(failure) => Err(self.failed(posted, failure)),
        }
    }

    /// A status that says yes.
    async fn accepted(
        &self,
        posted: &Posted,
        mut reply: Reply,
        deadline: Option<Instant>,
    ) -> Result<StreamableHttpPostResponse, HttpFailure> {
        let Some(request) = &posted.request else {
            // Nothing is due, so whatever the body is, it is no message.
            return Ok(StreamableHttpPostResponse::Accepted);
        };
        if matches!(
            reply.status(),
            StatusCode::ACCEPTED | StatusCode::NO_CONTENT
        ) {
            return Err(reply.no_answer(&[]));
        }
        let session_id = reply.header(&SESSION_ID).map(str::to_owned);
        if reply.is_of_type(EVENT_STREAM) {
            let stream = self.stream(reply, StreamOf::Request(request.clone()), deadline);
            return Ok(StreamableHttpPostResponse::Sse(stream, session_id));
        }
        let exchange = &self.shared.exchange;
        let body = tokio::select! {
            body = reply.read_body(BODY_BYTES_MAX, exchange.response_timeout()) => body?,
            () = exchange.cancel().cancelled() => return Err(HttpFailure::closed(&reply.url)),
        };
        let is_json = reply.is_of_type(JSON) && !body.trim_ascii().is_empty();
        if !is_json && !looks_like_json(&body) {
            return Err(reply.no_answer(&body));
        }
        Ok(self.answer(&body, request, session_id))
    }

    /// The messages of a plain body; an error in the server's place if none of them is the answer.
    fn answer(
        &self,
        body: &[u8],
        request: &RequestId,
        session_id: Option<String>,
    ) -> StreamableHttpPostResponse {
        let wire = &self.shared.wire;
        let mut messages = wire.incoming(body, Some(request));
        if !messages
            .iter()
            .any(|message| is_answer_of(message, request))
        {
            messages.push(wire.failure(request, "the server's response has no answer in it"));
        }
        if messages.len() == 1
            && let Some(message) = messages.pop()
        {
            return StreamableHttpPostResponse::Json(message, session_id);
        }
        StreamableHttpPostResponse::Sse(events_of(messages, request), session_id)
    }

    /// A status that says no. It may still be an answer, or the end of a session.
    async fn refused(
        &self,
        posted: &Posted,
        reply: Reply,
    ) -> Result<StreamableHttpPostResponse, ClientError> {
        let status = reply.status();
        let session_id = reply.header(&SESSION_ID).map(str::to_owned);
        let (failure, body) = reply.into_refusal().await;
        let error_id = json_rpc_error_id(&body);
        // Cloudflare's agents say 400 to a session they do not know, with an error that answers nothing in particular.
        let session_is_lost = posted.had_session
            && (status == StatusCode::NOT_FOUND
                || (status == StatusCode::BAD_REQUEST && error_id == Some(ErrorId::Missing)));
        if session_is_lost {
            self.note(posted, failure);
            return Err(StreamableHttpError::SessionExpired);
        }
        let is_about_the_caller = matches!(status.as_u16(), 401 | 403 | 408 | 429);
        if let Some(request) = &posted.request
            && !is_about_the_caller
        {
            // A server's own trouble is an answer only if it says to what.
            let is_answer = match error_id {
                Some(ErrorId::Present) => true,
                Some(ErrorId::Missing) => status.is_client_error(),
                None => false,
            };
            if is_answer {
                self.shared.last_failure.set(Some(failure));
                return Ok(self.answer(&body, request, session_id));
            }
            if status.is_client_error() && !posted.had_session && posted.is_discovery {
                return self.undiscovered(posted, failure);
            }
        }
        Err(self.failed(posted, failure))
    }

    /// A server that does not know discovery at all. An answer that says no lets rmcp go on with `initialize`; an error, or
    /// silence beyond rmcp's own patience, would end its worker or block it.
    fn undiscovered(
        &self,
        posted: &Posted,
        failure: HttpFailure,
    ) -> Result<StreamableHttpPostResponse, ClientError> {
        let Some(request) = &posted.request else {
            return Err(self.failed(posted, failure));
        };
        let no = self.shared.wire.failure(request, &failure.to_string());
        self.note(posted, failure);
        Ok(StreamableHttpPostResponse::Json(no, None))
    }

    fn failed(&self, posted: &Posted, failure: HttpFailure) -> ClientError {
        self.note(posted, failure.clone());
        StreamableHttpError::Client(failure)
    }

    fn note(&self, posted: &Posted, failure: HttpFailure) {
        if let Some(request) = &posted.request {
            self.shared.wire.forget(request);
        }
        self.shared.last_failure.set(Some(failure));
    }

    async fn get(
        &self,
        session_id: Option<Arc<str>>,
        last_event_id: Option<String>,
        mut headers: HeaderMap,
    ) -> Result<SseStream, ClientError> {
        let streams = &self.shared.streams;
        let resumed = last_event_id
            .as_deref()
            .and_then(|event_id| streams.request_after(event_id));
        if resumed.is_none() && !streams.standing_is_useful() {
            return Err(StreamableHttpError::ServerDoesNotSupportSse);
        }
        headers.insert(ACCEPT, ACCEPT_EVENTS);
        attach_session(&mut headers, session_id.as_deref());
        if let Some(value) = last_event_id.and_then(|id| HeaderValue::try_from(id).ok()) {
            headers.insert(LAST_EVENT_ID, value);
        }
        let (of, purpose) = match resumed {
            Some(request) => (StreamOf::Request(request), Purpose::Message),
            None => (StreamOf::Server, Purpose::Standing),
        };
        let outgoing = Outgoing {
            method: Method::GET,
            url: self.shared.exchange.url().clone(),
            headers,
            body: None,
            purpose,
        };
        let reply = self.shared.exchange.send(&outgoing).await;
        if of == StreamOf::Server {
            self.shared.standing.send_replace(true);
        }
        let reply = reply.map_err(StreamableHttpError::Client)?;
        if reply.status().is_success() {
            return if reply.is_of_type(EVENT_STREAM) {
                Ok(self.stream(reply, of, None))
            } else {
                // Some page of the server, not the stream.
                Err(StreamableHttpError::ServerDoesNotSupportSse)
            };
        }
        Err(no_stream(reply, &of).await)
    }

    fn stream(&self, reply: Reply, of: StreamOf, deadline: Option<Instant>) -> SseStream {
        let shared = &self.shared;
        let source = EventSource::new(reply, shared.exchange.cancel().clone(), deadline);
        through_wire(source, shared.wire.clone(), of, Arc::clone(&shared.streams))
    }

    async fn delete(&self, session_id: &str, mut headers: HeaderMap) -> Result<(), ClientError> {
        attach_session(&mut headers, Some(session_id));
        let outgoing = Outgoing {
            method: Method::DELETE,
            url: self.shared.exchange.url().clone(),
            headers,
            body: None,
            purpose: Purpose::Farewell,
        };
        let reply = self
            .shared
            .exchange
            .send(&outgoing)
            .await
            .map_err(StreamableHttpError::Client)?;
        if reply.status().is_success() {
            Ok(())
        } else {
            Err(StreamableHttpError::ServerDoesNotSupportDeleteSession)
        }
    }
}

impl StreamableHttpClient for ServerClient {
    type Error = HttpFailure;

    async fn post_message(
        &self,
        _uri: Arc<str>,
        message: ClientJsonRpcMessage,
        session_id: Option<Arc<str>>,
        _auth_header: Option<String>,
        custom_headers: HashMap<HeaderName, HeaderValue>,
    ) -> Result<StreamableHttpPostResponse, ClientError> {
        self.post(&message, session_id, custom_headers.into_iter().collect())
            .await
    }

    async fn post_message_with_response_limits(
        &self,
        uri: Arc<str>,
        message: ClientJsonRpcMessage,
        session_id: Option<Arc<str>>,
        auth_header: Option<String>,
        custom_headers: HashMap<HeaderName, HeaderValue>,
        // This client has the same limits of its own for every request.
        _limits: StreamableHttpResponseLimits,
    ) -> Result<StreamableHttpPostResponse, ClientError> {
        self.post_message(uri, message, session_id, auth_header, custom_headers)
            .await
    }

    async fn delete_session(
        &self,
        _uri: Arc<str>,
        session_id: Arc<str>,
        _auth_header: Option<String>,
        custom_headers: HashMap<HeaderName, HeaderValue>,
    ) -> Result<(), ClientError> {
        self.delete(&session_id, custom_headers.into_iter().collect())
            .await
    }

    async fn get_stream(
        &self,
        _uri: Arc<str>,
        session_id: Option<Arc<str>>,
        last_event_id: Option<String>,
        _auth_header: Option<String>,
        custom_headers: HashMap<HeaderName, HeaderValue>,
    ) -> Result<SseStream, ClientError> {
        self.get(
            session_id,
            last_event_id,
            custom_headers.into_iter().collect(),
        )
        .await
    }
}

impl Posted {
    fn new(message: &ClientJsonRpcMessage, session_id: Option<&str>) -> Self {
        let (request, is_discovery) = match message {
            ClientJsonRpcMessage::Request(request) => (
                Some(request.id.clone()),
                matches!(request.request, ClientRequest::DiscoverRequest(_)),
            ),
            ClientJsonRpcMessage::Response(_)
            | ClientJsonRpcMessage::Notification(_)
            | ClientJsonRpcMessage::Error(_) => (None, false),
        };
        Self {
            request,
            is_discovery,
            had_session: session_id.is_some(),
        }
    }
}

/// Why there is no stream, in the terms of rmcp's worker: it asks again after most errors, but not after these.
async fn no_stream(reply: Reply, of: &StreamOf) -> ClientError {
    let (failure, _) = reply.into_refusal().await;
    let Some(refusal) = failure.refusal() else {
        return StreamableHttpError::Client(failure);
    };
    let challenge = refusal.www_authenticate.clone().unwrap_or_default();
    match (refusal.status, of) {
        (401, _) => StreamableHttpError::AuthRequired(AuthRequiredError::new(challenge)),
        (403, _) => {
            StreamableHttpError::InsufficientScope(InsufficientScopeError::new(challenge, None))
        }
        (408 | 429, StreamOf::Request(_)) => StreamableHttpError::Client(failure),
        (405, _) | (400..500, StreamOf::Request(_)) => StreamableHttpError::ServerDoesNotSupportSse,
        _ => StreamableHttpError::Client(failure),
    }
}

fn attach_session(headers: &mut HeaderMap, session_id: Option<&str>) {
    if let Some(value) = session_id.and_then(|id| HeaderValue::from_str(id).ok()) {
        headers.insert(SESSION_ID, value);
    }
}

fn looks_like_json(body: &[u8]) -> bool {
    matches!(body.trim_ascii_start().first(), Some(b'{' | b'['))
}

/// Whether a JSON-RPC error says which request it is for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum ErrorId {
    Present,
    Missing,
}

/// Whether a body is a JSON-RPC error, and if so, whether it has an id. Many bodies have a member `error` that is a text.
fn json_rpc_error_id(body: &[u8]) -> Option<ErrorId> {
    let body: Value = serde_json::from_slice(body).ok()?;
    let error = body.get("error")?;
    if error.get("code").is_none() && error.get("message").is_none() {
        return None;
    }
    match body.get("id") {
        None | Some(Value::Null) => Some(ErrorId::Missing),
        Some(_) => Some(ErrorId::Present),
    }
}
