//! The eval kernel: small Python and JavaScript programs in bounded workers, with the user's own interpreters.
//!
//! A [`Kernel`] takes an [`EvalRequest`] and gives an [`EvalOutcome`]. Between it and the interpreters stands a broker, a
//! process that its embedder's program becomes when it calls [`broker::run`]: it starts workers in a sandbox, bounds and
//! forwards what they say, and ends with the kernel. What a program leaves in `state` is committed all or nothing to a
//! [`StateStore`]; what it calls as `tool.*` goes to a [`CapabilityCaller`].
//!
//! The kernel knows no concrete tool, asks nobody for permission, and reads no environment: all that is its caller's. One such
//! caller is here, too: [`EvalTool`], the tool `eval` of models. It passes every program through [`Gates`], shows it the tools of
//! a pipeline whose effects are admitted, and makes a result of the outcome. [`eval_adapters`] are tools that only programs see.

#![cfg_attr(
    test,
    allow(
        clippy::disallowed_methods,
        reason = "tests prepare and inspect what they test"
    )
)]

mod adapters;
pub mod broker;
mod capture;
mod confirmation;
mod error;
mod frame;
mod kernel;
mod limits;
mod options;
mod outcome;
mod output;
mod request;
mod script;
mod source;
mod state;
mod tail;
mod text;
mod tool;
mod validate;
#[cfg(unix)]
mod worker;

pub use adapters::{
    AdapterOptions, LIST_ENTRIES_MAX, PROCESS_STREAM_BYTES_MAX, PROCESS_TIMEOUT_DEFAULT,
    PROCESS_TIMEOUT_MAX, READ_BYTES_DEFAULT, READ_BYTES_MAX, READ_SCAN_BYTES_MAX, eval_adapters,
};
pub use confirmation::{
    Answer, Approval, Approvals, Asking, Confirmer, Denial, Gates, NobodyThere, NonInteractive,
    Question, Remembering, escape_source,
};
pub use error::{Error, ErrorKind};
#[cfg(any(test, feature = "fuzzing"))]
pub use kernel::fuzz_worker;
pub use kernel::{Kernel, KernelStatus, LanguageStatus};
pub use limits::{
    CALLS_IN_FLIGHT_MAX, CODE_BYTES_MAX, FRAME_BYTES_MAX, FRAMES_MAX, LIVE_NAMESPACES_MAX,
    OUTPUT_BYTES_DEFAULT, OUTPUT_BYTES_LEAST, OUTPUT_BYTES_MOST, STATE_BYTES_MAX, STATE_NODES_MAX,
    TIMEOUT_MAX,
};
pub use options::{BrokerProgram, KernelOptions, PythonEngine, WorkerPrograms};
pub use outcome::{
    CallReceipt, Display, EvalFailure, EvalFailureKind, EvalOutcome, HostDecision, KernelState,
};
pub use output::{EvalReport, value_text};
pub use request::{
    Capability, CapabilityCaller, CapabilityFailure, EvalRequest, EvalUpdate, Language, Updates,
};
pub use script::{ScriptEngineSource, own_script_engine};
pub use state::{FileStateStore, MemoryStateStore, StateStore};
pub use tool::{
    ADMITTED_DEFAULT, EVAL_TOOL_NAME, EvalArguments, EvalRunner, EvalTool, StateBefore,
    TIMEOUT_DEFAULT, confinement_effects, confinement_sentence, eval_tool,
};
