//! The vocabulary of tools, and the one pipeline every tool call takes.
//!
//! A [`Tool`] is a value: a [`ToolSpec`] that says what it is called, what it takes and what it may do, and a handler. Tools
//! live in a [`Registry`]. Every call, whoever makes it, goes through a [`Pipeline`]: look up, prepare, validate,
//! before-hooks, policy, run, after-hooks, receipt, events. This crate knows no concrete tool, no model and no script; it never
//! prints, reads files or starts processes.
//!
//! ```
//! # #[tokio::main(flavor = "current_thread")] async fn main() {
//! use pirn_tool::{CallRequest, Effects, Pipeline, Registry, Tool, ToolResult, ToolSpec};
//! use serde_json::json;
//!
//! let spec = ToolSpec::new("add", "Adds two numbers")
//!     .input_schema(json!({
//!         "type": "object",
//!         "properties": {"a": {"type": "number"}, "b": {"type": "number"}},
//!         "required": ["a", "b"],
//!     }))
//!     .effects(Effects::NONE);
//! let add = Tool::from_fn(spec, |arguments, _context| async move {
//!     let sum = arguments["a"].as_f64().unwrap_or(0.0) + arguments["b"].as_f64().unwrap_or(0.0);
//!     ToolResult::text(sum.to_string())
//! });
//!
//! let registry = Registry::new();
//! registry.register(add);
//! let pipeline = Pipeline::builder(registry).build();
//!
//! let good = pipeline.call(CallRequest::new("1", "add", json!({"a": 1, "b": 2}))).await;
//! assert_eq!(good.result.joined_text(), "3");
//! let bad = pipeline.call(CallRequest::new("2", "add", json!({"a": "one"}))).await;
//! assert!(bad.result.joined_text().contains("Validation failed"));
//! # }
//! ```

#![cfg_attr(
    test,
    allow(
        clippy::disallowed_methods,
        reason = "tests prepare and inspect what they test"
    )
)]

mod approval;
mod clock;
mod content;
mod context;
mod depth;
mod dispatch;
mod event;
mod hook;
mod identifier;
mod loadout;
mod naming;
mod output_tail;
mod panic;
mod pipeline;
mod policy;
mod receipt;
mod registry;
mod run;
mod schema;
mod search;
mod tool;

pub use approval::{
    Absence, Answer, AnswerError, ApprovalQueue, ApprovalQueueBuilder, ApprovalRequest, Approved,
    ApprovedBy, Asking, Choice, CommandConfinement, Covers, Form, FrontEnd, Grant, GrantStore,
    GrantStoreError, MemoryGrants, Offer, OpenQuestions, ProgramSubject, QUESTIONS_SHOWN_MAX,
    QUESTIONS_WAITING_MAX, Reply, RestoreError, SAVED_APPROVALS_VERSION, SavedApprovals,
    SavedQuestion, Scope, Subject, Suspension, Target, ToolSubject, value_hash,
};
pub use clock::{AskingGuard, Deadline, WaitClock};
pub use content::{ContentBlock, ToolResult, Usage};
pub use context::{CallContext, Origin, OutputSink, Update, UpdateSink};
pub use dispatch::{CallDispatch, CallPanic, DispatchFull};
pub use event::{EventBus, EventCall, EventKind, EventSink, EventSubscription, RuntimeEvent};
pub use hook::{BeforeVerdict, Hook, HookCall, ResultChange};
pub use identifier::to_identifier;
pub use loadout::{Declaration, Loadout, LoadoutChanges, LoadoutHook, PreparedLoadout};
pub use naming::{mcp_namespace, mcp_tool_name, mcp_tool_names, tool_identifiers};
pub use output_tail::OutputTail;
pub use pipeline::{
    CANCEL_GRACE_DEFAULT, CallOutcome, CallRequest, CallStage, FailureKind, NestedOptions,
    Pipeline, PipelineBuilder,
};
pub use policy::{Decision, Policy, PolicyInput, Rule, RulePolicy, Verdict, matches_pattern};
pub use receipt::{
    CallStatus, NestedCalls, RECEIPT_ARGUMENTS_BYTES_MAX, RECEIPT_CALLS_MAX,
    RECEIPT_ERROR_CHARS_MAX, RECEIPT_START_CHARS_MAX, RECEIPT_TOTAL_BYTES_MAX, Receipt,
    call_number, excerpt, json_start,
};
pub use registry::Registry;
pub use run::{CallSettings, ImageLimits, Run};
pub use schema::{SchemaCheck, StandaloneSchema, closest, standalone_schema, undeclared};
pub use search::{Ranked, SearchDocument, rank, search_tools, tokenize};
pub use tool::{
    Annotations, Concurrency, Containment, Effects, Exposure, Namespace, Tool, ToolHandler,
    ToolSpec,
};
