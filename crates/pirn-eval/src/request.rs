//! What an eval is asked for, and what it may call.

use std::sync::Arc;
use std::time::Duration;

use futures_util::future::BoxFuture;
use pirn_tool::{Effects, WaitClock};
use serde_json::Value;
use tokio_util::sync::CancellationToken;

/// The languages of programs.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Language {
    /// The user's `python3`, or that of the project.
    Python,
    /// The user's `node`; without one, Pirn's own engine.
    JavaScript,
}

impl Language {
    /// Both languages, in the order of lists and settings.
    pub const ALL: [Self; 2] = [Self::Python, Self::JavaScript];

    /// The name in arguments and results.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Python => "python",
            Self::JavaScript => "javascript",
        }
    }

    /// Finds a language by its name.
    pub fn from_name(name: &str) -> Option<Self> {
        Self::ALL
            .into_iter()
            .find(|language| language.as_str() == name)
    }
}

/// Something a program can call as `tool.name(...)`.
#[derive(Debug, Clone)]
pub struct Capability {
    /// Lower-case snake case, starts with a letter, at most 64 characters, and no name that the program's `tool` has itself.
    pub name: String,
    /// For the program's author; not blank.
    pub description: String,
    /// What a call may do. Only admitted ones are shown to programs.
    pub effects: Effects,
    /// JSON Schema of the input.
    pub input_schema: Value,
}

/// Why a call failed, as the program sees it. It can catch that.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CapabilityFailure {
    /// The name of the error, such as `CapabilityUnknown`, `CapabilityNotAdmitted` or `CapabilityFailed`.
    pub name: String,
    /// What happened and what to do.
    pub message: String,
}

/// Answers calls of programs. Implemented over the tool pipeline.
pub trait CapabilityCaller: Send + Sync {
    /// Runs one call. `cancel` fires when the eval is over; the call is then awaited for a bounded time only.
    fn call(
        &self,
        name: String,
        input: Value,
        cancel: CancellationToken,
    ) -> BoxFuture<'static, Result<Value, CapabilityFailure>>;
}

/// What happens while an eval runs.
#[derive(Debug, Clone, PartialEq)]
pub enum EvalUpdate {
    /// The worker has the program and starts it.
    Started,
    /// It printed this to standard output.
    Stdout(String),
    /// It printed this to standard error.
    Stderr(String),
    /// A call of the program starts.
    CallStarted {
        /// The name of what is called.
        name: String,
    },
    /// A call has ended.
    CallEnded {
        /// The name of what was called.
        name: String,
        /// Whether the program got a value rather than an error.
        ok: bool,
    },
}

/// Receives updates; never waited for.
pub type Updates = Arc<dyn Fn(EvalUpdate) + Send + Sync>;

/// One program to run.
#[derive(Clone)]
pub struct EvalRequest {
    /// The language of the program.
    pub language: Language,
    /// Its source as the model wrote it; the kernel takes common indentation away and checks the size.
    pub code: String,
    /// How long it may run, from the start of its worker; waiting for confirmation and for the queue is free, and time passes
    /// only while [`Self::clock`] runs.
    pub timeout: Duration,
    /// The clock of the call that the program belongs to. While it stands still, since all open calls of the program ask a person,
    /// its processes are frozen.
    pub clock: WaitClock,
    /// The state branch, such as a session's: state is kept for each. See [`crate::StateStore`].
    pub branch: String,
    /// What it may call; only these are shown to it.
    pub capabilities: Vec<Capability>,
    /// Who answers its calls.
    pub caller: Arc<dyn CapabilityCaller>,
    /// Who hears of progress.
    pub updates: Option<Updates>,
    /// Ends the program when it fires.
    pub cancel: CancellationToken,
}

impl std::fmt::Debug for EvalRequest {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter
            .debug_struct("EvalRequest")
            .field("language", &self.language)
            .field("timeout", &self.timeout)
            .field("branch", &self.branch)
            .finish_non_exhaustive()
    }
}
