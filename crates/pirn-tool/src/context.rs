//! What a running call knows about itself and may use.

use std::fmt;
use std::sync::Arc;

use serde::{Deserialize, Serialize};
use serde_json::Value;
use tokio_util::sync::CancellationToken;

use crate::approval::Approved;
use crate::clock::{Deadline, WaitClock};
use crate::pipeline::{CallOutcome, Nesting, Pipeline};
use crate::receipt::NestedCalls;
use crate::run::{CallSettings, Run};

/// Who made a call.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum Origin {
    /// The model, by a tool call of its own.
    Model,
    /// A script or another tool, on the model's behalf.
    Nested,
    /// A person at the keyboard.
    User,
    /// An extension or an embedding program.
    Extension,
}

impl Origin {
    /// The name in records.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Model => "model",
            Self::Nested => "nested",
            Self::User => "user",
            Self::Extension => "extension",
        }
    }
}

/// A report of a call that is still running. Each replaces the one before it.
#[derive(Debug, Clone, PartialEq)]
pub struct Update {
    /// What there is to show so far, for example the tail of a command's output.
    pub text: String,
    /// Facts for front ends.
    pub details: Option<Value>,
}

/// Receives updates of a running call.
pub type UpdateSink = Arc<dyn Fn(Update) + Send + Sync>;

/// Receives what the script or program of a call puts out, piece by piece.
pub type OutputSink = Arc<dyn Fn(String) + Send + Sync>;

/// What a running call knows about itself and may use. Cheap to clone.
#[derive(Clone)]
pub struct CallContext {
    /// `<parent>/<n>` for nested calls.
    pub call_id: String,
    /// The call that made this one.
    pub parent_call_id: Option<String>,
    /// Who made the call.
    pub origin: Origin,
    /// Fires when the call should stop.
    pub cancel: CancellationToken,
    /// Fires when the outermost owner (script, turn or process) ends: processes left in the background die then.
    pub lifetime: CancellationToken,
    /// After which waiting time the call is cancelled; it stands still while a person is asked.
    pub deadline: Option<Deadline>,
    /// How the call was approved, where the policy wanted a person's word. Whoever would ask about the same thing again within
    /// the call goes by this answer.
    pub approved: Option<Approved>,
    pub(crate) updates: Option<UpdateSink>,
    pub(crate) outputs: Option<OutputSink>,
    pub(crate) pipeline: Option<Pipeline>,
    pub(crate) nesting: Nesting,
}

impl CallContext {
    /// A context outside any pipeline, for running a tool's handler by itself.
    pub fn detached(call_id: impl Into<String>) -> Self {
        let call_id = call_id.into();
        let run = Arc::new(Run::new(call_id.as_str()));
        Self {
            call_id,
            parent_call_id: None,
            origin: Origin::User,
            cancel: CancellationToken::new(),
            lifetime: CancellationToken::new(),
            deadline: None,
            approved: None,
            updates: None,
            outputs: None,
            pipeline: None,
            nesting: Nesting::root(run, WaitClock::default()),
        }
    }

    /// Sets the run that the call belongs to.
    #[must_use]
    pub fn with_run(mut self, run: Arc<Run>) -> Self {
        self.nesting.run = run;
        self
    }

    /// Sets the receiver of updates.
    #[must_use]
    pub fn with_updates(mut self, sink: UpdateSink) -> Self {
        self.updates = Some(sink);
        self
    }

    /// Sets the receiver of output.
    #[must_use]
    pub fn with_outputs(mut self, sink: OutputSink) -> Self {
        self.outputs = Some(sink);
        self
    }

    /// Tells the stream of events what the call's script or program puts out. Unlike updates it is told after the call's end as
    /// well: a script may go on in the background.
    pub fn output(&self, text: impl FnOnce() -> String) {
        if let Some(sink) = &self.outputs {
            sink(text());
        }
    }

    /// Reports progress. Reports after the call's end are dropped by the pipeline.
    pub fn update(&self, update: Update) {
        if let Some(sink) = &self.updates {
            sink(update);
        }
    }

    /// Whether somebody listens to updates; a tool may save the work otherwise.
    pub fn wants_updates(&self) -> bool {
        self.updates.is_some()
    }

    /// The pipeline the call runs in, through which a tool calls other tools.
    pub fn pipeline(&self) -> Option<&Pipeline> {
        self.pipeline.as_ref()
    }

    /// Receipts of the calls made so far inside the outermost call, at every depth; `None` when there were none. For callers
    /// that go on after the call has ended.
    pub fn nested_calls(&self) -> Option<NestedCalls> {
        self.nesting.receipts()
    }

    /// The run that the call belongs to.
    pub fn run(&self) -> &Arc<Run> {
        &self.nesting.run
    }

    /// What whoever started the outermost call changed for it and the calls made inside it.
    pub fn settings(&self) -> Option<&CallSettings> {
        self.nesting.settings.as_deref()
    }

    /// The clock of the call's waiting time. It stands still while every call that was made inside this one asks a person, or
    /// while this one says that it does. Clones of the context share it.
    pub fn clock(&self) -> &WaitClock {
        &self.nesting.clock
    }

    /// Calls another tool as a nested call of this one.
    pub async fn call_tool(&self, name: &str, arguments: Value) -> CallOutcome {
        match &self.pipeline {
            Some(pipeline) => pipeline.call_nested(self, name, arguments).await,
            None => CallOutcome::not_found(name, &self.call_id),
        }
    }
}

impl fmt::Debug for CallContext {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter
            .debug_struct("CallContext")
            .field("call_id", &self.call_id)
            .field("origin", &self.origin)
            .finish_non_exhaustive()
    }
}
