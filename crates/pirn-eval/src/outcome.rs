//! How an eval ended.

use std::time::Duration;

use pirn_sandbox::{NetworkVerdict, SandboxReport};
use pirn_tool::Receipt;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::request::Language;

/// What kind of failure ended an eval, or a call inside it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum EvalFailureKind {
    /// The source is longer than the limit.
    CodeTooLarge,
    /// The user said no, or there was nobody to ask.
    NotApproved,
    /// The program raised an exception or rejected.
    UserError,
    /// What it left in `state` is not JSON.
    StateInvalid,
    /// What it left in `state` is too large.
    StateTooLarge,
    /// What it left in `state` could not be stored.
    StateNotStored,
    /// It ran too long.
    Timeout,
    /// Whoever asked for it cancelled it.
    Aborted,
    /// The kernel was reset or closed before or while it ran.
    Invalidated,
    /// Its worker broke the protocol.
    Protocol,
    /// Its worker ended without a result.
    WorkerExit,
    /// It ended with calls open.
    UnsettledCalls,
    /// Its worker could not be started.
    Spawn,
}

impl EvalFailureKind {
    /// The name in results.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::CodeTooLarge => "code_too_large",
            Self::NotApproved => "not_approved",
            Self::UserError => "user_error",
            Self::StateInvalid => "state_invalid",
            Self::StateTooLarge => "state_too_large",
            Self::StateNotStored => "state_not_stored",
            Self::Timeout => "timeout",
            Self::Aborted => "aborted",
            Self::Invalidated => "invalidated",
            Self::Protocol => "protocol",
            Self::WorkerExit => "worker_exit",
            Self::UnsettledCalls => "unsettled_calls",
            Self::Spawn => "spawn",
        }
    }
}

/// Why an eval failed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct EvalFailure {
    /// The kind of failure, for decisions.
    pub kind: EvalFailureKind,
    /// What happened, for people and models; bounded.
    pub message: String,
    /// The trace of the program's error; bounded.
    pub trace: Option<String>,
}

/// What the kernel holds after an eval; never claims more than is so.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum KernelState {
    /// The program's changes are committed.
    Committed,
    /// The program's changes are not there; what was committed before is.
    Unchanged,
    /// A live namespace with the changes up to the interruption or error.
    Mutated,
    /// Everything is gone; the next eval starts empty.
    Lost,
}

impl KernelState {
    /// The name in results.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Committed => "committed",
            Self::Unchanged => "unchanged",
            Self::Mutated => "mutated",
            Self::Lost => "lost",
        }
    }
}

/// One call that the program made, in the order in which they ended.
#[derive(Debug, Clone, PartialEq)]
pub struct ProgramCall {
    /// How the call went, as the pipeline recorded it.
    pub receipt: Receipt,
    /// Its effects by name; `unknown` for names that nothing has.
    pub effects: Vec<String>,
}

/// What the network proxy decided about one request of the program. In JSON the fields have these names.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct HostDecision {
    /// The host, by the name that the program used.
    pub host: String,
    /// The port; 0 where there was none to be read.
    pub port: u16,
    /// Whether it was let through.
    pub verdict: NetworkVerdict,
    /// Why, as a clause.
    pub reason: String,
}

/// A picture that the program showed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Display {
    /// `image/png`, `image/jpeg`, `image/gif` or `image/webp`.
    pub mime_type: String,
    /// The file's bytes as base64.
    pub data: String,
}

/// How an eval ended, with everything it put out until then.
#[derive(Debug, Clone, PartialEq)]
pub struct EvalOutcome {
    /// The language of the program.
    pub language: Language,
    /// Standard output, with a marker where it was cut.
    pub stdout: String,
    /// Standard error, with a marker where it was cut.
    pub stderr: String,
    /// Whether the worker's captures were cut.
    pub is_cut: bool,
    /// The value; `None` where there is none, it is null, or the eval failed.
    pub value: Option<Value>,
    /// The value as its author would print it, such as a table, where that says more than [`EvalOutcome::value`].
    pub value_text: Option<String>,
    /// Pictures that the program showed, in order; bounded in number and size.
    pub displays: Vec<Display>,
    /// Places of the value that could not be given back whole.
    pub lossy: Vec<String>,
    /// Why the program failed; `None` where it succeeded.
    pub failure: Option<EvalFailure>,
    /// Calls of the program.
    pub calls: Vec<ProgramCall>,
    /// What the network proxy decided, in order; the last 256.
    pub decisions: Vec<HostDecision>,
    /// What the kernel holds now.
    pub state: KernelState,
    /// Whether an earlier eval's state was there.
    pub is_kernel_reused: bool,
    /// From the start of the worker.
    pub elapsed: Duration,
    /// What interpreter ran it, such as `python 3.11.7` or `pirn-vm`.
    pub interpreter: String,
    /// The confinement it ran in; `None` where it never started or the engine needs none.
    pub sandbox: Option<SandboxReport>,
    /// Sentences about what a reader must know besides: a live namespace that is gone, pictures that were left out.
    pub notes: Vec<String>,
}
