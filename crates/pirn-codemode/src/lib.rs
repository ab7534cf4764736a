//! The script contract: programs that call tools, and what comes back.
//!
//! A model writes one JavaScript or TypeScript program; the program calls tools as async functions, in parallel, in loops, with
//! filters; only what it shows or returns goes back. [`run_script`] runs a program to its end over any [`ScriptHost`];
//! [`Cell`] runs one in a task of its own, to be waited for in pieces, stopped, saved and resumed; [`ExecTool`] offers scripts
//! as an ordinary tool over a [`pirn_tool::Pipeline`]. The crate performs no calls itself and starts no processes; it writes
//! files only into the [`OutputFolder`] it is given.
//!
//! ```
//! # #[tokio::main(flavor = "current_thread")] async fn main() -> Result<(), Box<dyn std::error::Error>> {
//! use pirn_codemode::ExecTool;
//! use pirn_tool::{CallRequest, Pipeline, Registry, Tool, ToolResult, ToolSpec};
//! use serde_json::json;
//!
//! let registry = Registry::new();
//! registry.register(Tool::from_fn(ToolSpec::new("now", "Tells the time"), |_, _| async { ToolResult::text("noon") }));
//! registry.register(ExecTool::new(pirn_vm::VmEngine::new(Default::default())?).into_tool());
//! let pipeline = Pipeline::builder(registry).build();
//!
//! let code = "const [a, b] = await Promise.all([tools.now(), tools.now()]); return a + ' and ' + b;";
//! let outcome = pipeline.call(CallRequest::new("call", "exec", json!({"code": code}))).await;
//! assert!(outcome.result.joined_text().ends_with("noon and noon"));
//! assert_eq!(outcome.nested_calls.unwrap().calls.len(), 2);
//! # Ok(()) }
//! ```

#![cfg_attr(
    test,
    allow(
        clippy::disallowed_methods,
        reason = "tests prepare and inspect what they test"
    )
)]

mod abort;
mod board;
mod catalog;
mod cell;
mod check;
mod declarations;
mod discovery;
mod exec_tool;
mod explain;
mod host;
mod javascript;
mod json;
mod layout;
mod limits;
mod models;
mod pipeline_host;
mod result;
mod runner;
mod script;
mod service;
mod shape;
mod source;
mod store;
mod typescript;
mod wait_tool;

pub use abort::Abort;
pub use board::{
    BoardError, BoardLimits, CellBoard, CellEvent, CellEventKind, CellInfo, CellState, Delivery,
    EMPTY_WAITS_TOLD,
};
pub use catalog::{
    CatalogMode, CatalogOptions, INLINE_BUDGET_TOKENS_DEFAULT, describe_tool, prepare_loadout,
};
pub use cell::{Cell, CellStatus, CellUpdate, CheckpointError, SuspendError, WaitError};
pub use declarations::{
    GlobalDeclaration, INPUT_TYPE_CHARS_MAX, ToolDeclaration, render_declarations, schema_to_type,
    tool_sample, tool_signature,
};
pub use exec_tool::{EXEC_TOOL_NAME, ExecTool, MissingToolsSource, YIELD_AFTER_DEFAULT};
pub use host::{
    CallEnd, Environment, EnvironmentError, HostCall, ResumedCall, ScriptHost, global,
    spread_global,
};
pub use layout::{
    LaidOut, LayoutKind, LayoutOptions, OUTPUT_TOKENS_DEFAULT, OutputFolder, ScriptState, header,
    lay_out, lay_out_update, status_name,
};
pub use limits::ScriptLimits;
pub use models::{
    Availability, ClassifyRequest, ImageRequest, ModelAnswer, ModelEntry, ModelHost, ModelQuery,
    ModelRef, ModelStop, ModelType,
};
pub use pipeline_host::PipelineHost;
pub use result::{ScriptError, ScriptErrorKind, ScriptResult, UnhandledRejections};
pub use runner::{Progress, ProgressSink, ResultBudget, output_sink};
pub use script::{DEFAULT_FILE_NAME, RunOptions, Script, check_script, run_script};
pub use service::{
    CellGuard, ScriptRequest, ScriptService, ScriptServiceOptions, StartError, StartedScript,
    store_notes,
};
pub use source::{
    OPTION_INTEGER_MAX, OPTION_TIMEOUT_MS_MAX, SOURCE_GRAMMAR, Source, SourceError, SourceOptions,
    fenced_code, parse_source,
};
pub use store::{
    FileStore, STORE_TOTAL_CHARACTERS_MAX, ScriptStore, StoreBackend, StoreBase, StoreCommit,
    StoreError, StoreSnapshot,
};
// What the functions above take and give, for crates that know the VM only through scripts.
pub use pirn_vm::{EngineOptions, JsonText, MissingTools, Output, Settlement, VmEngine};
pub use typescript::{
    Stripped, SyntaxError, ToolNames, import_advice, imports_as_calls, strip_types, tool_names,
};
pub use wait_tool::WAIT_TOOL_NAME;
