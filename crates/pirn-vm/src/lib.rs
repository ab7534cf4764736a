//! A sealed JavaScript VM.
//!
//! QuickJS-ng, compiled to WebAssembly, run by wasmtime from ahead-of-time code and a memory image in which the script's
//! surroundings are already set up. A [`Vm`] starts in tens of microseconds, runs one script, can be stopped at any moment by
//! its [`InterruptHandle`], and can be saved to bytes while it waits and resumed in another process.
//!
//! A script reaches nothing but the calls it is given: everything crosses the boundary as JSON text through two imports,
//! besides clock and entropy. This crate knows no tools, no files and no async runtime; whoever polls the VM performs the calls
//! and settles them.
//!
//! ```
//! use pirn_vm::{End, Event, JsonText, Limits, Program, Settlement, Step, ToolBinding, ToolTable, Vm, VmEngine};
//!
//! let engine = VmEngine::new(Default::default())?;
//! let mut vm = Vm::new(&engine, Limits::default())?;
//! vm.start(&Program {
//!     source: "const sum = await tools.add({a: 1, b: 2}); return sum * 2;".into(),
//!     file_name: "script.js".into(),
//!     tools: ToolTable::new([ToolBinding {
//!         name: "add".into(),
//!         identifier: Some("add".into()),
//!         description: "Adds".into(),
//!         shape: None,
//!     }]),
//!     ..Program::default()
//! })?;
//! let end = loop {
//!     match vm.poll() {
//!         Step::Ended(end) => break end,
//!         Step::Waiting { .. } => {
//!             for event in vm.events().drain() {
//!                 if let Event::Call { id, .. } = event {
//!                     vm.settle(id, Settlement::Resolved(Some(JsonText::new("3"))))?;
//!                 }
//!             }
//!         }
//!     }
//! };
//! assert_eq!(end, End::Returned(Some(JsonText::new("6"))));
//! # Ok::<(), pirn_vm::Error>(())
//! ```

#![cfg_attr(
    test,
    allow(
        clippy::disallowed_methods,
        reason = "tests prepare and inspect what they test"
    )
)]

mod engine;
mod engine_config;
mod error;
mod event;
mod host;
mod limits;
mod program;
mod room;
mod snapshot;
mod text;
mod ticker;
mod tools;
mod vm;

pub use engine::{EngineOptions, VmEngine};
pub use error::{Error, ErrorKind};
pub use event::{
    CallId, CallTarget, End, Event, EventQueue, Failure, Output, StopReason, StoreWrite,
};
pub use host::DeadlineHandle;
pub use limits::Limits;
pub use program::{EngineError, Explainer, GlobalArguments, GlobalBinding, MissingTools, Program};
pub use room::Room;
pub use text::{JsString, JsonText};
pub use tools::{ToolBinding, ToolDescription, ToolShape, ToolTable};
pub use vm::{InterruptHandle, Settlement, Step, Vm};
