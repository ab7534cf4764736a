//! The eval kernel: small Python and JavaScript programs in bounded workers, with the user's own interpreters.
//!
//! A [`Kernel`] takes an [`EvalRequest`] and gives an [`EvalOutcome`]. Between it and the interpreters stands a broker, a
//! process that its embedder's program becomes when it calls [`broker::run`]: it starts workers in a sandbox, bounds and
//! forwards what they say, freezes them while a person is asked, and ends with the kernel. What a program leaves in `state` is
//! committed all or nothing to a [`StateStore`]; what it calls as `tool.*` goes to a [`CapabilityCaller`], so many at once as
//! [`CALLS_IN_FLIGHT_MAX`] says. JavaScript runs in Pirn's own engine where there is no node.
//!
//! The kernel knows no concrete tool, asks nobody for permission, and reads no environment: all that is its caller's. One such
//! caller is here, too: [`EvalTool`], the tool `eval` of models. It passes every program through [`Gates`], shows it the tools of
//! a pipeline whose effects are admitted, and makes a result of the outcome. [`eval_adapters`] are tools that only programs see.
//!
//! ```standalone_crate
//! # #[cfg(not(unix))] fn main() {}
//! # #[cfg(unix)]
//! fn main() -> std::process::ExitCode {
//!     use std::os::fd::AsFd as _;
//!     // The kernel starts this very program again, as its broker.
//!     if std::env::args().nth(1).as_deref() == Some("--broker") {
//!         let streams = (
//!             std::io::stdin().as_fd().try_clone_to_owned(),
//!             std::io::stdout().as_fd().try_clone_to_owned(),
//!         );
//!         let (Ok(stdin), Ok(stdout)) = streams else { return std::process::ExitCode::FAILURE };
//!         return pirn_eval::broker::run(stdin, stdout).into();
//!     }
//!     let runtime = tokio::runtime::Runtime::new().unwrap();
//!     runtime.block_on(evaluate());
//!     std::process::ExitCode::SUCCESS
//! }
//!
//! # #[cfg(unix)]
//! async fn evaluate() {
//!     use std::sync::Arc;
//!     use pirn_eval::*;
//!     use pirn_sandbox::{NetworkMode, PolicySpec};
//!     use pirn_tool::{ApprovalQueue, CallContext, Effects, Pipeline, Registry, Tool, ToolResult, ToolSpec};
//!
//!     let broker = BrokerProgram {
//!         program: std::env::current_exe().unwrap(),
//!         arguments: vec!["--broker".into()],
//!     };
//!     let mut confinement = PolicySpec::new(std::env::current_dir().unwrap(), std::env::temp_dir());
//!     confinement.network = NetworkMode::Off;
//!     let mut options = KernelOptions::new(broker, confinement, Arc::new(MemoryStateStore::new()));
//!     options.environment = std::env::vars_os().filter(|(name, _)| name == "PATH").collect();
//!     let kernel = Kernel::new(options);
//!
//!     let registry = Registry::new();
//!     let spec = ToolSpec::new("answer", "Knows the answer").effects(Effects::READ);
//!     registry.register(Tool::from_fn(spec, |_, _| async { ToolResult::text("42") }));
//!     let pipeline = Pipeline::builder(registry).build();
//!
//!     // Nobody is there to be asked about programs, and that is allowed here.
//!     let gates = Gates { non_interactive: NonInteractive::Allowed, ..Gates::new(ApprovalQueue::new()) };
//!     let tool = EvalTool::new(Arc::new(kernel.clone()), gates);
//!     let program = EvalArguments {
//!         language: Language::Python,
//!         code: "state['n'] = state.get('n', 0) + 1\nint(tool.answer()) + state['n']".to_owned(),
//!         timeout: None,
//!         state: StateBefore::Kept,
//!     };
//!     for expected in ["43", "44"] {
//!         let context = CallContext::detached("call");
//!         let report = tool.evaluate(&pipeline, &context, program.clone(), None).await;
//!         assert_eq!(report.value_text().as_deref(), Some(expected), "{report:?}");
//!     }
//!     kernel.close().await;
//! }
//! ```

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
    Approval, ApprovalMemory, Denial, Gates, NonInteractive, ProgramQuestion, ProgramQuestions,
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
    Display, EvalFailure, EvalFailureKind, EvalOutcome, HostDecision, KernelState, ProgramCall,
};
pub use output::{EvalReport, value_text};
pub use request::{
    Capability, CapabilityCaller, CapabilityFailure, EvalRequest, EvalUpdate, Language, Updates,
};
pub use script::{ScriptEngineSource, own_script_engine};
pub use state::{FileStateStore, MemoryStateStore, StateStore};
pub use tool::{
    ADMITTED_DEFAULT, EVAL_TOOL_NAME, EvalArguments, EvalRunner, EvalTool, Interpreters,
    StateBefore, TIMEOUT_DEFAULT, confinement_effects, confinement_sentence, eval_tool,
};
