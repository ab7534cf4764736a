//! One request, with all its limits.

use std::time::Duration;

use rmcp::RoleClient;
use rmcp::model::{ClientRequest, ServerResult};
use rmcp::service::{PeerRequestOptions, RequestHandle, ServiceError};
use serde_json::Value;

use super::{Connection, RequestOptions};
use crate::error::{Error, ErrorKind};
use crate::transport::{Ending, HttpFailure, LastFailure};
use crate::wire::Wire;

/// How long telling the server of a cancellation may take.
const CANCEL_TIMEOUT: Duration = Duration::from_secs(1);

/// Explains a lost connection. Cheap to clone.
#[derive(Clone)]
pub(super) enum Cause {
    Process(Ending),
    /// HTTP: what the last failed request met.
    Http(LastFailure),
}

impl Cause {
    /// Whether the other side is known to be gone.
    pub(super) fn has_ended(&self) -> bool {
        match self {
            Self::Process(ending) => ending.is_over(),
            Self::Http(_) => false,
        }
    }

    /// Why the connection ended.
    pub(super) fn closed(&self, server: &str) -> Error {
        match self {
            Self::Process(ending) => match ending.status() {
                Some(status) => Error::new(
                    ErrorKind::Closed,
                    server,
                    format!("its process ended ({status})"),
                ),
                None => Error::new(ErrorKind::Closed, server, "it closed the connection"),
            },
            Self::Http(last) => match last.get() {
                Some(failure) => failure.explain(server),
                None => Error::new(ErrorKind::Closed, server, "the connection was lost"),
            },
        }
    }

    /// The same, with some time for a process that is just ending: its output ends before its status is known.
    pub(super) async fn ended(&self, server: &str) -> Error {
        if let Self::Process(ending) = self {
            ending.clone().soon().await;
        }
        self.closed(server)
    }

    /// What HTTP met when a message was sent, wherever rmcp has put it.
    pub(super) fn sending(
        &self,
        server: &str,
        error: &(dyn std::error::Error + 'static),
    ) -> Option<Error> {
        match self {
            Self::Process(_) => None,
            Self::Http(last) => HttpFailure::inside(error)
                .cloned()
                .or_else(|| last.get())
                .map(|failure| failure.explain(server)),
        }
    }
}

/// Cancels its request when dropped before the end.
struct Open {
    handle: Option<RequestHandle<RoleClient>>,
}

impl Open {
    /// Tells the server, as long as the limit allows.
    async fn cancel(mut self, reason: &str) {
        if let Some(handle) = self.handle.take() {
            let cancelled = handle.cancel(Some(reason.to_owned()));
            // A server that does not read is not told.
            let _late = tokio::time::timeout(CANCEL_TIMEOUT, cancelled).await;
        }
    }
}

impl Drop for Open {
    fn drop(&mut self) {
        if let Some(handle) = self.handle.take()
            && let Ok(runtime) = tokio::runtime::Handle::try_current()
        {
            runtime.spawn(
                Self {
                    handle: Some(handle),
                }
                .cancel("no longer wanted"),
            );
        }
    }
}

/// How the wait for an answer ended.
enum RequestEnd {
    Answer(Box<Result<ServerResult, ServiceError>>),
    Lost,
    Cancelled,
    Idle,
    Total,
}

impl Connection {
    /// Sends one request and waits for its result: all of its JSON after repair.
    pub(super) async fn run(
        &self,
        request: ClientRequest,
        options: &RequestOptions,
    ) -> Result<Value, Error> {
        self.run_typed(request, options)
            .await
            .map(|(result, _)| result)
    }

    /// The same, with what the protocol's library made of the result.
    pub(super) async fn run_typed(
        &self,
        request: ClientRequest,
        options: &RequestOptions,
    ) -> Result<(Value, ServerResult), Error> {
        if self.is_closed() {
            return Err(self.cause.closed(&self.server).unsent());
        }
        let method = request.method().to_owned();
        let limit = options.timeout.unwrap_or(self.timeouts.request);
        let sent = self
            .peer
            .send_request_with_option(request, PeerRequestOptions::no_options());
        let sent = tokio::select! {
            sent = sent => sent,
            () = options.cancel.cancelled() => return Err(self.cancelled()),
            () = tokio::time::sleep(limit) => return Err(self.timed_out(&method, "timeout", limit)),
        };
        let handle = match sent {
            Ok(handle) => handle,
            Err(error) => return Err(self.failed(error).await.unsent()),
        };
        let id = handle.id.clone();
        let beat = self
            .handler
            .watch_progress(&handle.progress_token, options.progress.clone());
        let mut open = Open {
            handle: Some(handle),
        };
        let _open_call = self.handler.open_call(options);
        let waited = self.wait(&mut open, &beat, limit, options).await;
        let result = self.wire.take_result(&id);
        match waited {
            RequestEnd::Answer(answer) => {
                open.handle = None;
                match (*answer, result) {
                    (Ok(typed), Some(result)) => Ok((result, typed)),
                    // Questions of the server are kept in their typed form only.
                    (Ok(typed), None) => match serde_json::to_value(&typed) {
                        Ok(result) => Ok((result, typed)),
                        Err(error) => Err(Error::new(
                            ErrorKind::Protocol,
                            &self.server,
                            format!("its answer to {method} could not be understood"),
                        )
                        .because(error)),
                    },
                    (Err(error), _) => Err(self.failed(error).await),
                }
            }
            RequestEnd::Lost => {
                open.handle = None;
                self.wire.forget(&id);
                Err(self.cause.ended(&self.server).await)
            }
            RequestEnd::Cancelled => {
                open.cancel("cancelled by the user").await;
                self.wire.forget(&id);
                Err(self.cancelled())
            }
            RequestEnd::Idle => {
                open.cancel("timeout").await;
                self.wire.forget(&id);
                Err(self.timed_out(&method, "timeout", limit))
            }
            RequestEnd::Total => {
                open.cancel("timeout").await;
                self.wire.forget(&id);
                Err(self.timed_out(&method, "totalTimeout", self.timeouts.total))
            }
        }
    }

    async fn wait(
        &self,
        open: &mut Open,
        beat: &super::handler::ProgressWatch,
        limit: Duration,
        options: &RequestOptions,
    ) -> RequestEnd {
        let Some(handle) = &mut open.handle else {
            return RequestEnd::Lost;
        };
        let total = options.clock.deadline(self.timeouts.total.max(limit));
        let mut idle = options.clock.deadline(limit);
        loop {
            tokio::select! {
                biased;
                answer = &mut handle.rx => {
                    return match answer {
                        Ok(answer) => RequestEnd::Answer(Box::new(answer)),
                        Err(_) => RequestEnd::Lost,
                    };
                }
                () = options.cancel.cancelled() => return RequestEnd::Cancelled,
                () = beat.progressed() => idle = options.clock.deadline(limit),
                () = total.over() => return RequestEnd::Total,
                () = idle.over() => return RequestEnd::Idle,
            }
        }
    }

    fn cancelled(&self) -> Error {
        Error::new(ErrorKind::Cancelled, &self.server, "the call was cancelled")
    }

    fn timed_out(&self, method: &str, setting: &str, limit: Duration) -> Error {
        Error::new(
            ErrorKind::Timeout,
            &self.server,
            format!("no answer to {method} within {} s", limit.as_secs_f64()),
        )
        .with_hint(format!(
            "A slow server needs a higher \"{setting}\" (in seconds) in mcp.json."
        ))
    }

    /// What the wire answered in the server's place.
    async fn unanswered(&self, message: String) -> Error {
        if self.is_closed() {
            return self.cause.ended(&self.server).await;
        }
        Error::new(ErrorKind::Protocol, &self.server, message)
    }

    async fn failed(&self, error: ServiceError) -> Error {
        match error {
            ServiceError::McpError(data) if Wire::is_failure(&data) => {
                self.unanswered(data.message.into_owned()).await
            }
            ServiceError::McpError(data) => {
                let code = i64::from(data.code.0);
                Error::new(
                    ErrorKind::Server { code },
                    &self.server,
                    format!("{} (code {code})", data.message),
                )
                .with_data(data.data)
            }
            ServiceError::TransportSend(error) => {
                match (self.cause.sending(&self.server, &error), &self.cause) {
                    (Some(known), _) => known,
                    // A child that does not read any more has not got the line's end.
                    (None, Cause::Process(_)) => self.cause.ended(&self.server).await.unsent(),
                    (None, Cause::Http(_)) => Error::new(
                        ErrorKind::Closed,
                        &self.server,
                        "the message could not be sent",
                    )
                    .because(error),
                }
            }
            ServiceError::Cancelled { .. } => self.cancelled(),
            ServiceError::TransportClosed => self.cause.ended(&self.server).await,
            other => Error::new(
                ErrorKind::Protocol,
                &self.server,
                "its answer could not be understood",
            )
            .because(other),
        }
    }
}

#[cfg(test)]
mod tests;
