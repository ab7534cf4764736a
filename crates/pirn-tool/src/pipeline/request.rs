//! What goes into a call and what comes out of it.

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use serde::{Deserialize, Serialize};
use serde_json::Value;
use tokio::sync::watch;
use tokio_util::sync::CancellationToken;

use crate::content::ToolResult;
use crate::context::{Origin, UpdateSink};
use crate::receipt::{CallStatus, NestedCalls};
use crate::run::{CallSettings, Run};

/// One call to make.
pub struct CallRequest {
    /// The id the model or front end gave it.
    pub call_id: String,
    /// The tool's name; an unknown one ends the call with an error.
    pub tool_name: String,
    /// The arguments, not yet validated.
    pub arguments: Value,
    /// Who makes the call, which decides what it may reach.
    pub origin: Origin,
    /// Fires when the call should stop.
    pub cancel: CancellationToken,
    /// Fires when the owner of background processes ends; a child of `cancel` by default.
    pub lifetime: CancellationToken,
    /// Cancels the call after this time.
    pub timeout: Option<Duration>,
    /// Receives the reports of the running call.
    pub updates: Option<UpdateSink>,
    /// The run it belongs to. A call without one is a run of its own, named after the call.
    pub run: Option<Arc<Run>>,
    /// What differs for this call and the calls made inside it.
    pub settings: Option<Arc<CallSettings>>,
}

impl CallRequest {
    /// A call by the model without time limit.
    pub fn new(call_id: impl Into<String>, tool_name: impl Into<String>, arguments: Value) -> Self {
        let cancel = CancellationToken::new();
        Self {
            call_id: call_id.into(),
            tool_name: tool_name.into(),
            arguments,
            origin: Origin::Model,
            lifetime: cancel.child_token(),
            cancel,
            timeout: None,
            updates: None,
            run: None,
            settings: None,
        }
    }

    /// Sets who makes the call; the model where nothing is said.
    #[must_use]
    pub fn origin(mut self, origin: Origin) -> Self {
        self.origin = origin;
        self
    }

    /// Sets the run it belongs to.
    #[must_use]
    pub fn run(mut self, run: Arc<Run>) -> Self {
        self.run = Some(run);
        self
    }

    /// Sets what differs for this call and the calls made inside it.
    #[must_use]
    pub fn settings(mut self, settings: Arc<CallSettings>) -> Self {
        self.settings = Some(settings);
        self
    }

    /// Sets the token that stops the call.
    #[must_use]
    pub fn cancel(mut self, cancel: CancellationToken) -> Self {
        self.lifetime = cancel.child_token();
        self.cancel = cancel;
        self
    }
}

impl fmt::Debug for CallRequest {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter
            .debug_struct("CallRequest")
            .field("call_id", &self.call_id)
            .field("tool_name", &self.tool_name)
            .finish_non_exhaustive()
    }
}

/// How a caller numbers, stops and follows a call that it makes inside its own.
#[derive(Debug, Default)]
pub struct NestedOptions {
    /// The call's number: its id is `<parent>/<number>`. Later calls without a number go on after the highest.
    pub number: Option<u64>,
    /// Stops only this call. The caller's own token stops it too.
    pub cancel: Option<CancellationToken>,
    /// Hears how far the call has come.
    pub stage: Option<watch::Sender<CallStage>>,
    /// The question that the call asked before its run was suspended.
    pub question_id: Option<String>,
}

/// How far a call has come. What has not begun has had no effect and can be made again.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "camelCase")]
pub enum CallStage {
    /// It waits: for hooks, a decision or its turn.
    #[default]
    Waiting,
    /// A person is asked about it.
    Asking {
        /// The question's id, the same after a suspension.
        #[serde(rename = "questionId")]
        question_id: String,
    },
    /// The tool's own code has begun.
    Begun,
}

/// Why a call failed, where the pipeline knows.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum FailureKind {
    /// No such tool, or not one this caller may call.
    NotFound,
    /// The arguments do not fit the schema.
    InvalidArguments,
    /// A hook blocked the call.
    Blocked,
    /// Policy or a person denied it.
    Denied,
    /// The tool itself failed.
    Failed,
    /// There is more than one result may hold; the text says how to ask for less.
    Limit,
    /// The call was cancelled.
    Cancelled,
    /// The call ran past its deadline.
    Timeout,
    /// The tool panicked: a bug in it.
    Panicked,
}

impl FailureKind {
    /// The name scripts see as `error.kind`.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::NotFound => "not_found",
            Self::InvalidArguments => "invalid_arguments",
            Self::Blocked => "blocked",
            Self::Denied => "denied",
            Self::Failed => "failed",
            Self::Limit => "limit",
            Self::Cancelled => "cancelled",
            Self::Timeout => "timeout",
            Self::Panicked => "panicked",
        }
    }

    /// Whether the tool's code ran at all; where it did not, nothing took effect.
    pub fn ran(self) -> bool {
        match self {
            Self::NotFound | Self::InvalidArguments | Self::Blocked | Self::Denied => false,
            Self::Failed | Self::Limit | Self::Cancelled | Self::Timeout | Self::Panicked => true,
        }
    }
}

/// What became of a call.
#[derive(Debug, Clone)]
pub struct CallOutcome {
    /// The call's id: `<parent>/<n>` for nested calls.
    pub call_id: String,
    /// The tool's name, as the caller gave it.
    pub tool_name: String,
    /// The result; an error result says why.
    pub result: ToolResult,
    /// Why it failed; `None` exactly when `result.is_error` is false.
    pub failure: Option<FailureKind>,
    /// What became of it, for receipts.
    pub status: CallStatus,
    /// The time from look-up to the last hook.
    pub duration: Duration,
    /// The calls made inside this one, at every depth. Only on calls that are not nested themselves.
    pub nested_calls: Option<NestedCalls>,
}

impl CallOutcome {
    pub(crate) fn not_found(name: &str, call_id: &str) -> Self {
        Self {
            call_id: call_id.to_owned(),
            tool_name: name.to_owned(),
            result: ToolResult::error(not_found(name)),
            failure: Some(FailureKind::NotFound),
            status: CallStatus::Error,
            duration: Duration::ZERO,
            nested_calls: None,
        }
    }
}

/// Characters of an asked-for name shown in an error; a script may ask for anything.
const UNKNOWN_NAME_CHARS_MAX: usize = 128;

pub(super) fn not_found(name: &str) -> String {
    match name.char_indices().nth(UNKNOWN_NAME_CHARS_MAX) {
        Some((end, _)) => format!("Tool {}… not found", name.get(..end).unwrap_or_default()),
        None => format!("Tool {name} not found"),
    }
}
