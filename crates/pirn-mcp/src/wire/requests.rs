//! Which requests have no answer yet, and the results nobody has taken yet.

use std::collections::VecDeque;

use rmcp::model::{ClientJsonRpcMessage, ClientNotification, ClientRequest, RequestId};
use serde_json::{Number, Value};

use super::method::Method;

/// More requests than this are not under way at once; the oldest is forgotten then.
const OPEN_MAX: usize = 4_096;
/// Results are taken right after they came; those nobody takes are of requests the client's library made by itself.
const RESULTS_MAX: usize = 256;

/// A request without an answer.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Open {
    pub(super) id: RequestId,
    pub(super) method: Method,
    /// The URI that was asked for, which some answers lack.
    pub(super) uri: Option<String>,
}

/// The requests of one connection.
#[derive(Debug, Default)]
pub(super) struct Requests {
    /// Oldest first. Few enough that looking through them is faster than hashing.
    open: VecDeque<Open>,
    results: VecDeque<(RequestId, Value)>,
}

impl Requests {
    /// Notes what a message to the server means for the requests.
    pub(super) fn note(&mut self, message: &ClientJsonRpcMessage) {
        match message {
            ClientJsonRpcMessage::Request(request) => {
                self.close(&request.id);
                if self.open.len() >= OPEN_MAX {
                    self.open.pop_front();
                }
                self.open.push_back(Open {
                    id: request.id.clone(),
                    method: Method::of(&request.request),
                    uri: match &request.request {
                        ClientRequest::ReadResourceRequest(read) => Some(read.params.uri.clone()),
                        _ => None,
                    },
                });
            }
            ClientJsonRpcMessage::Notification(notification) => {
                if let ClientNotification::CancelledNotification(cancelled) =
                    &notification.notification
                    && let Some(id) = &cancelled.params.request_id
                {
                    self.close(id);
                }
            }
            ClientJsonRpcMessage::Response(_) | ClientJsonRpcMessage::Error(_) => {}
        }
    }

    pub(super) fn open_ids(&self) -> Vec<RequestId> {
        self.open.iter().map(|open| open.id.clone()).collect()
    }

    /// Ends the wait for an answer, if there was one.
    pub(super) fn close(&mut self, id: &RequestId) -> Option<Open> {
        let index = self.open.iter().position(|open| open.id == *id)?;
        self.open.remove(index)
    }

    /// Ends the wait for the answer that calls itself `id`. Servers echo numbers as strings or fractions, or not at all:
    /// `expected` is the request whose answer the transport reads, and a handshake is answered before anything else.
    pub(super) fn close_answered(
        &mut self,
        id: Option<&Value>,
        expected: Option<&RequestId>,
    ) -> Option<Open> {
        match id {
            Some(Value::Number(number)) => self.close(&RequestId::Number(integer(number)?)),
            Some(Value::String(text)) => {
                let id = RequestId::String(text.as_str().into());
                self.close(&id).or_else(|| {
                    let number = text.trim().parse().ok()?;
                    self.close(&RequestId::Number(number))
                })
            }
            Some(Value::Null | Value::Bool(_) | Value::Array(_) | Value::Object(_)) | None => {
                match expected {
                    Some(expected) => self.close(expected),
                    None => self.close_handshake(),
                }
            }
        }
    }

    fn close_handshake(&mut self) -> Option<Open> {
        let only = self.open.front()?;
        if self.open.len() == 1 && only.method.is_handshake() {
            return self.open.pop_front();
        }
        None
    }

    pub(super) fn keep_result(&mut self, id: RequestId, result: Value) {
        if self.results.len() >= RESULTS_MAX {
            self.results.pop_front();
        }
        self.results.push_back((id, result));
    }

    pub(super) fn take_result(&mut self, id: &RequestId) -> Option<Value> {
        let index = self.results.iter().position(|(kept, _)| kept == id)?;
        self.results.remove(index).map(|(_, result)| result)
    }
}

/// The integer that a number stands for, also where it is written as a fraction.
pub(super) fn integer(number: &Number) -> Option<i64> {
    /// Above this, fractions cannot tell one integer from the next.
    const EXACT_MAX: f64 = 9_007_199_254_740_991.0;
    if let Some(integer) = number.as_i64() {
        return Some(integer);
    }
    let fraction = number.as_f64()?;
    #[expect(
        clippy::cast_possible_truncation,
        reason = "integral and within what an f64 holds exactly"
    )]
    (fraction.fract() == 0.0 && fraction.abs() <= EXACT_MAX).then_some(fraction as i64)
}
