//! The HTTP transport of 2024: a stream of events from the server, POSTs to it.
//!
//! After <https://modelcontextprotocol.io/specification/2024-11-05/basic/transports>: the first event names the address for
//! messages, all answers come on the stream. rmcp has it no more.

#[cfg(test)]
mod tests;

use std::collections::VecDeque;

use http::header::ACCEPT;
use http::{HeaderMap, Method};
use rmcp::RoleClient;
use rmcp::model::{ClientJsonRpcMessage, ServerJsonRpcMessage};
use rmcp::transport::Transport;
use tokio_util::sync::{CancellationToken, DropGuard};
use url::Url;

use super::http::{
    ACCEPT_EVENTS, Decoded, EVENT_BYTES_MAX, EVENT_STREAM, EventSource, Exchange, FailureCause,
    HttpFailure, HttpParts, LastFailure, Outgoing, Purpose, may_follow,
};
use crate::error::Error;
use crate::wire::Wire;

/// The transport of 2024. Dropping it ends everything; it has no session to take leave of.
pub(crate) struct SseTransport {
    exchange: Exchange,
    wire: Wire,
    source: EventSource,
    endpoint: Url,
    ready: VecDeque<ServerJsonRpcMessage>,
    last_failure: LastFailure,
    /// Fires when the stream has ended: nobody would hear an answer.
    ended: CancellationToken,
    _cancel: DropGuard,
}

impl SseTransport {
    /// Opens the stream and waits for the address of messages, each within the limit of a response.
    pub(crate) async fn open(parts: &HttpParts) -> Result<Self, Error> {
        let cancel = CancellationToken::new();
        let guard = cancel.clone().drop_guard();
        let exchange = Exchange::new(parts, cancel)?;
        let explain = |failure: HttpFailure| failure.explain(&parts.server);
        let mut source = open_stream(&exchange).await.map_err(explain)?;
        let endpoint = endpoint(&exchange, &mut source).await.map_err(explain)?;
        Ok(Self {
            exchange,
            wire: parts.wire.clone(),
            source,
            endpoint,
            ready: VecDeque::new(),
            last_failure: LastFailure::default(),
            ended: CancellationToken::new(),
            _cancel: guard,
        })
    }

    /// Why the last message failed. To be taken before rmcp gets the transport.
    pub(crate) fn last_failure(&self) -> LastFailure {
        self.last_failure.clone()
    }

    fn take(&mut self, decoded: Decoded) {
        match decoded {
            Decoded::Event(event) => {
                let is_message = matches!(event.event.as_deref(), None | Some("" | "message"));
                if let Some(data) = event
                    .data
                    .filter(|data| is_message && !data.trim().is_empty())
                {
                    self.ready.extend(self.wire.incoming(data.as_bytes(), None));
                }
            }
            Decoded::TooLarge { .. } => {
                // Whose answer it was is not known if there are several, and an innocent one is not failed.
                if let [request] = self.wire.open_requests().as_slice() {
                    let message = format!(
                        "the server's answer is too long: more than {} MiB",
                        EVENT_BYTES_MAX >> 20
                    );
                    self.ready.push_back(self.wire.failure(request, &message));
                }
            }
        }
    }

    fn end(&mut self) {
        if self.ended.is_cancelled() {
            return;
        }
        self.ended.cancel();
        for request in self.wire.open_requests() {
            let failure = self.wire.failure(
                &request,
                "the server's stream of events ended before its answer",
            );
            self.ready.push_back(failure);
        }
    }
}

impl Transport<RoleClient> for SseTransport {
    type Error = HttpFailure;

    fn send(
        &mut self,
        message: ClientJsonRpcMessage,
    ) -> impl Future<Output = Result<(), Self::Error>> + Send + 'static {
        let exchange = self.exchange.clone();
        let wire = self.wire.clone();
        let endpoint = self.endpoint.clone();
        let last_failure = self.last_failure.clone();
        let ended = self.ended.clone();
        async move {
            last_failure.set(None);
            let sent = tokio::select! {
                sent = post(&exchange, &wire, endpoint.clone(), &message) => sent,
                () = ended.cancelled() => Err(HttpFailure::closed(&endpoint)),
            };
            if let Err(failure) = &sent {
                if let ClientJsonRpcMessage::Request(request) = &message {
                    wire.forget(&request.id);
                }
                last_failure.set(Some(failure.clone()));
            }
            sent
        }
    }

    async fn receive(&mut self) -> Option<ServerJsonRpcMessage> {
        loop {
            if let Some(message) = self.ready.pop_front() {
                return Some(message);
            }
            if self.ended.is_cancelled() {
                return None;
            }
            match self.source.next().await {
                Some(decoded) => self.take(decoded),
                None => self.end(),
            }
        }
    }

    async fn close(&mut self) -> Result<(), Self::Error> {
        self.exchange.cancel().cancel();
        Ok(())
    }
}

async fn open_stream(exchange: &Exchange) -> Result<EventSource, HttpFailure> {
    let outgoing = Outgoing {
        method: Method::GET,
        url: exchange.url().clone(),
        headers: HeaderMap::from_iter([(ACCEPT, ACCEPT_EVENTS)]),
        body: None,
        purpose: Purpose::Message,
    };
    let reply = exchange.send(&outgoing).await?;
    if !reply.status().is_success() {
        return Err(reply.into_refusal().await.0);
    }
    if !reply.is_of_type(EVENT_STREAM) {
        return Err(reply.no_answer(&[]));
    }
    Ok(EventSource::new(reply, exchange.cancel().clone(), None))
}

/// The address of messages. Only the origin of the stream will do, because the credentials go there.
async fn endpoint(exchange: &Exchange, source: &mut EventSource) -> Result<Url, HttpFailure> {
    let url = source.url().clone();
    let limit = exchange.response_timeout();
    let waiting = async {
        while let Some(decoded) = source.next().await {
            if let Decoded::Event(event) = decoded
                && event.event.as_deref() == Some("endpoint")
                && let Some(data) = event.data
            {
                return Some(data);
            }
        }
        None
    };
    let Ok(named) = tokio::time::timeout(limit, waiting).await else {
        return Err(HttpFailure::new(&url, FailureCause::Late { limit }));
    };
    let Some(named) = named else {
        let reason = "the stream of events ended before it named an address for messages";
        let cause = FailureCause::Broken {
            reason: reason.to_owned(),
        };
        return Err(HttpFailure::new(&url, cause));
    };
    url.join(named.trim())
        .ok()
        .filter(|endpoint| may_follow(&url, endpoint))
        .ok_or_else(|| HttpFailure::new(&url, FailureCause::ForeignEndpoint { endpoint: named }))
}

async fn post(
    exchange: &Exchange,
    wire: &Wire,
    endpoint: Url,
    message: &ClientJsonRpcMessage,
) -> Result<(), HttpFailure> {
    let body = wire.outgoing(message).map_err(|error| {
        let cause = FailureCause::Broken {
            reason: error.to_string(),
        };
        HttpFailure::new(&endpoint, cause)
    })?;
    let outgoing = Outgoing {
        method: Method::POST,
        url: endpoint,
        headers: HeaderMap::new(),
        body: Some(body),
        purpose: Purpose::Message,
    };
    let reply = exchange.send(&outgoing).await?;
    if reply.status().is_success() {
        // Its body is no message: answers come on the stream.
        Ok(())
    } else {
        Err(reply.into_refusal().await.0)
    }
}
