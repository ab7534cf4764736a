//! The layer between a server's bytes and the protocol's types: JSON values, repaired where servers get them wrong.
//!
//! Every message of a connection passes through one [`Wire`], whatever the transport. It knows which request an answer is for,
//! so that an answer is repaired by its method, and an answer that cannot be understood becomes an error for its request
//! instead of silence. The JSON of results is kept beside the typed form, because scripts get all of it.

mod errors;
mod frames;
#[cfg(any(test, feature = "fuzzing"))]
mod fuzzing;
mod lenient;
mod method;
mod reading;
mod repair;
mod requests;
mod results;
mod scan;
mod trace;

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use rmcp::model::{ClientJsonRpcMessage, ErrorData, RequestId, ServerJsonRpcMessage};
use serde_json::Value;

use reading::Reading;
use requests::Requests;

#[cfg(feature = "fuzzing")]
pub use fuzzing::fuzz_wire;

pub(crate) use frames::{Frame, FrameDecoder, MESSAGE_BYTES_MAX};
pub(crate) use trace::Trace;
pub use trace::{TraceDirection, TraceLine, read_trace};

/// More warnings than this are not kept: a server that gets so much wrong gets the same thing wrong each time.
const WARNINGS_MAX: usize = 100;

/// What one connection knows about its messages. Cheap to clone; clones share everything.
#[derive(Debug, Clone)]
pub(crate) struct Wire {
    shared: Arc<Shared>,
}

#[derive(Debug)]
struct Shared {
    trace: Trace,
    requests: Mutex<Requests>,
    warnings: Mutex<Vec<String>>,
}

impl Shared {
    fn requests(&self) -> MutexGuard<'_, Requests> {
        self.requests.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn warnings(&self) -> MutexGuard<'_, Vec<String>> {
        self.warnings.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn warn(&self, warnings: Vec<String>) {
        if warnings.is_empty() {
            return;
        }
        let mut kept = self.warnings();
        let room = WARNINGS_MAX.saturating_sub(kept.len());
        kept.extend(warnings.into_iter().take(room));
    }
}

impl Wire {
    /// The wire of a new connection.
    pub(crate) fn new(trace: Trace) -> Self {
        Self {
            shared: Arc::new(Shared {
                trace,
                requests: Mutex::default(),
                warnings: Mutex::default(),
            }),
        }
    }

    /// Turns a message into one line of JSON without the line's end, and notes which request is open, or given up.
    pub(crate) fn outgoing(
        &self,
        message: &ClientJsonRpcMessage,
    ) -> Result<String, serde_json::Error> {
        // Here would be the place to change what the library sends. Every server takes it as it is, as far as is known.
        let text = serde_json::to_string(message)?;
        self.shared.requests().note(message);
        self.shared.trace.sent(&text);
        Ok(text)
    }

    /// Turns one complete text of the server (a line, a body, the data of an event) into messages: usually one, several for a
    /// batch, none for noise. `request` is the request whose answer is expected here, where the transport knows it: what
    /// cannot be understood, or does not say what it answers, becomes the answer to it.
    ///
    /// An open request gets one answer at most; what answers no open request is dropped. So a transport that has read all of
    /// a response has to look whether its request is still open, and to ask for a [`Wire::failure`] then.
    pub(crate) fn incoming(
        &self,
        text: &[u8],
        request: Option<&RequestId>,
    ) -> Vec<ServerJsonRpcMessage> {
        Reading::read(&self.shared, text, request)
    }

    /// An error in the server's place, for a request that it will not answer; the server's own spelling of its identifier will
    /// do. The request is not open any more.
    pub(crate) fn failure(&self, request: &RequestId, message: &str) -> ServerJsonRpcMessage {
        let id = request.clone().into_json_value();
        let open = self.shared.requests().close_answered(Some(&id), None);
        let request = open.map_or_else(|| request.clone(), |open| open.id);
        if self.shared.trace.is_on() {
            let note = format!("request {request} fails: {message}");
            self.shared.trace.note(&note);
        }
        ServerJsonRpcMessage::error(errors::own(message.to_owned()), Some(request))
    }

    /// The same for an answer that is too long ([`Frame::TooLong`]); nothing where no request waits for it.
    pub(crate) fn too_long(
        &self,
        answered: Option<&RequestId>,
        bytes: u64,
    ) -> Option<ServerJsonRpcMessage> {
        let id = answered?.clone().into_json_value();
        let open = self.shared.requests().close_answered(Some(&id), None)?;
        let (size, limit) = (bytes >> 20, MESSAGE_BYTES_MAX >> 20);
        let message =
            format!("the server's answer is too long: {size} MiB, of which {limit} are allowed");
        Some(self.failure(&open.id, &message))
    }

    /// Whether an error was made here, in the server's place, and not by the server.
    pub(crate) fn is_failure(error: &ErrorData) -> bool {
        errors::is_own(error)
    }

    /// The requests that have no answer yet, oldest first.
    pub(crate) fn open_requests(&self) -> Vec<RequestId> {
        self.shared.requests().open_ids()
    }

    /// Takes the whole JSON of the result that answered `request`, after repair.
    pub(crate) fn take_result(&self, request: &RequestId) -> Option<Value> {
        self.shared.requests().take_result(request)
    }

    /// Takes what was repaired in lists, or left out of them, in words for people.
    pub(crate) fn take_warnings(&self) -> Vec<String> {
        std::mem::take(&mut *self.shared.warnings())
    }

    /// Keeps a warning about the connection beside those about messages.
    pub(crate) fn warn(&self, warning: String) {
        self.shared.warn(vec![warning]);
    }

    /// Forgets a request that the client has given up: its answer is dropped, also one that was there already.
    pub(crate) fn forget(&self, request: &RequestId) {
        let mut requests = self.shared.requests();
        requests.close(request);
        drop(requests.take_result(request));
    }

    /// Where this connection's traffic is written down.
    pub(crate) fn trace(&self) -> &Trace {
        &self.shared.trace
    }
}

#[cfg(test)]
mod tests;
