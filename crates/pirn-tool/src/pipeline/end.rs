//! How a call ends, and the record that is closed exactly once.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use super::request::{CallOutcome, CallRequest, FailureKind};
use super::{CallFamily, Nesting, Pipeline};
use crate::content::ToolResult;
use crate::event::{EventCall, EventKind};
use crate::receipt::{CallStatus, Receipt, ReceiptSlot, error_text};

/// The text of a call that was stopped.
pub(super) const ABORTED: &str = "Operation aborted";

/// The end of a call before it is reported.
pub(super) struct End {
    pub(super) result: ToolResult,
    pub(super) failure: Option<FailureKind>,
    /// Whether it is known what took effect. Stays false whatever hooks make of the result.
    pub(super) confirmed: bool,
}

/// Why a call ends before the tool runs.
pub(super) struct Refusal {
    pub(super) kind: FailureKind,
    pub(super) message: String,
}

impl Refusal {
    pub(super) fn new(kind: FailureKind, message: impl Into<String>) -> Self {
        Self {
            kind,
            message: message.into(),
        }
    }

    pub(super) fn aborted() -> Self {
        Self::new(FailureKind::Cancelled, ABORTED)
    }
}

impl From<Refusal> for End {
    fn from(refusal: Refusal) -> Self {
        Self {
            result: ToolResult::error(refusal.message),
            failure: Some(refusal.kind),
            confirmed: true,
        }
    }
}

impl End {
    pub(super) fn from_result(result: ToolResult) -> Self {
        let failure = result.is_error.then_some(if result.is_over_limit {
            FailureKind::Limit
        } else {
            FailureKind::Failed
        });
        Self {
            result,
            failure,
            confirmed: true,
        }
    }

    pub(super) fn unconfirmed(kind: FailureKind, message: impl Into<String>) -> Self {
        Self {
            confirmed: false,
            ..Refusal::new(kind, message).into()
        }
    }

    fn status(&self) -> CallStatus {
        match (self.confirmed, self.failure) {
            (false, _) => CallStatus::Unknown,
            (true, None) => CallStatus::Ok,
            (true, Some(FailureKind::Cancelled | FailureKind::Timeout)) => CallStatus::Cancelled,
            (
                true,
                Some(
                    FailureKind::NotFound
                    | FailureKind::InvalidArguments
                    | FailureKind::Blocked
                    | FailureKind::Denied
                    | FailureKind::Failed
                    | FailureKind::Limit
                    | FailureKind::Panicked,
                ),
            ) => CallStatus::Error,
        }
    }
}

/// A started call. Closing it writes the receipt and the end event; dropping it unclosed does too, since a caller may drop a
/// call midway.
pub(super) struct Record {
    pipeline: Pipeline,
    pub(super) call_id: String,
    pub(super) parent_call_id: Option<String>,
    pub(super) tool_name: String,
    family: CallFamily,
    receipt: Option<ReceiptSlot>,
    run_id: Arc<str>,
    /// The call as events name it, where somebody listens.
    pub(super) event_call: Option<Arc<EventCall>>,
    started_at: Instant,
    /// Whether the tool's own code has begun.
    pub(super) has_begun: AtomicBool,
    is_closed: bool,
}

impl Record {
    /// Starts the record: takes the receipt of a nested call and sends the start event.
    pub(super) fn start(
        pipeline: &Pipeline,
        request: &mut CallRequest,
        parent_call_id: Option<String>,
        nesting: &Nesting,
    ) -> Self {
        let call_id = std::mem::take(&mut request.call_id);
        let tool_name = std::mem::take(&mut request.tool_name);
        let receipt = parent_call_id.is_some().then(|| {
            nesting
                .family
                .receipts
                .start(&call_id, &tool_name, &request.arguments)
        });
        let event_call = pipeline.inner.events.is_some().then(|| {
            Arc::new(EventCall {
                call_id: call_id.clone(),
                parent_call_id: parent_call_id.clone(),
                tool_name: tool_name.clone(),
                arguments: request.arguments.clone(),
                origin: request.origin,
            })
        });
        let run_id = Arc::clone(&nesting.run.id);
        pipeline
            .inner
            .emit(&run_id, event_call.as_ref(), || EventKind::Started);
        Self {
            pipeline: pipeline.clone(),
            call_id,
            parent_call_id,
            tool_name,
            family: nesting.family.clone(),
            receipt,
            run_id,
            event_call,
            started_at: Instant::now(),
            has_begun: AtomicBool::new(false),
            is_closed: false,
        }
    }

    /// Writes the receipt and sends the end event, once.
    pub(super) fn close(mut self, end: End) -> CallOutcome {
        let status = end.status();
        let duration = self.report(status, &end.result);
        CallOutcome {
            call_id: std::mem::take(&mut self.call_id),
            tool_name: std::mem::take(&mut self.tool_name),
            result: end.result,
            failure: end.failure,
            status,
            duration,
            nested_calls: None,
        }
    }

    fn report(&mut self, status: CallStatus, result: &ToolResult) -> Duration {
        self.is_closed = true;
        let duration = self.started_at.elapsed();
        if let Some(slot) = self.receipt {
            self.family
                .receipts
                .finish(slot, status, duration, error_text(result).as_deref());
            if let Some(usage) = result.usage {
                self.family.add_usage(usage);
            }
        }
        if let Some(call) = &self.event_call {
            let mut receipt = Receipt::started(&call.call_id, &call.tool_name, &call.arguments);
            receipt.end(status, duration, error_text(result).as_deref());
            self.pipeline
                .inner
                .emit(&self.run_id, Some(call), || EventKind::Ended {
                    receipt: Arc::new(receipt),
                    result: Arc::new(result.clone()),
                    duration,
                });
        }
        duration
    }
}

impl Drop for Record {
    fn drop(&mut self) {
        if self.is_closed {
            return;
        }
        let (status, message) = if self.has_begun.load(Ordering::Relaxed) {
            (
                CallStatus::Unknown,
                format!("{ABORTED}; the call was dropped, so it may have taken effect"),
            )
        } else {
            (CallStatus::Cancelled, ABORTED.to_owned())
        };
        self.report(status, &ToolResult::error(message));
    }
}
