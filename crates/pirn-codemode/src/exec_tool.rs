//! The `exec` tool: a script as an ordinary tool value.

use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use futures_util::future::BoxFuture;
use pirn_tool::{
    CallContext, Effects, Exposure, Loadout, LoadoutChanges, LoadoutHook, Tool, ToolHandler,
    ToolResult, ToolSpec, Update,
};
use pirn_vm::VmEngine;
use serde_json::{Value, json};

use crate::abort::Abort;
use crate::catalog::{CatalogOptions, prepare_loadout};
use crate::layout::{
    LayoutKind, LayoutOptions, OUTPUT_TOKENS_DEFAULT, OutputFolder, lay_out, status_name,
};
use crate::limits::ScriptLimits;
use crate::models::{self, ModelHost};
use crate::pipeline_host::PipelineHost;
use crate::result::{CallRecord, ScriptResult};
use crate::runner::Progress;
use crate::script::{RunOptions, Script, run_script};
use crate::source::parse_source;
use crate::store::{ScriptStore, StoreCommit};

/// The tool's name towards models.
pub const EXEC_TOOL_NAME: &str = "exec";

/// What the `exec` tool is made of. Clones share the store.
#[derive(Debug, Clone)]
pub struct ExecTool {
    /// Makes the VMs.
    pub engine: VmEngine,
    /// The session branch's store.
    pub store: ScriptStore,
    /// What each script may use.
    pub limits: ScriptLimits,
    /// How results are laid out.
    pub layout: LayoutKind,
    /// Where whole outputs and images are kept.
    pub folder: Option<OutputFolder>,
    /// How the description and the catalog are made.
    pub catalog: CatalogOptions,
    /// Answers `models.*`; without it scripts do not have these globals.
    pub models: Option<Arc<dyn ModelHost>>,
}

impl ExecTool {
    /// The tool with the contract's limits and an empty store.
    pub fn new(engine: VmEngine) -> Self {
        Self {
            engine,
            store: ScriptStore::default(),
            limits: ScriptLimits::default(),
            layout: LayoutKind::default(),
            folder: None,
            catalog: CatalogOptions::default(),
            models: None,
        }
    }

    /// The tool value. Its description is completed by the loadout hook, which is this type too.
    pub fn into_tool(self) -> Tool {
        let spec = ToolSpec::new(
            self.catalog.exec_tool_name.clone(),
            "Runs a JavaScript or TypeScript program that calls tools as async functions.",
        )
        .input_schema(json!({
            "type": "object",
            "properties": {
                "code": {"type": "string", "description": "The program: the body of an async function."},
            },
            "required": ["code"],
        }))
        .exposure(Exposure::ModelOnly)
        .effects(Effects::ORCHESTRATION)
        .guideline("Batch, chain and filter tool calls in one exec program instead of calling tools one by one.");
        Tool::new(spec, self)
    }

    async fn run(self, code: String, context: CallContext) -> ToolResult {
        let Some(pipeline) = context.pipeline().cloned() else {
            return ToolResult::error("exec needs a pipeline to call tools through");
        };
        let source = match parse_source(&code) {
            Ok(source) => source,
            Err(error) => return ToolResult::error(error.to_string()),
        };
        let own_name = self.catalog.exec_tool_name.clone();
        let mut environment = PipelineHost::environment(&pipeline, &context, &[&own_name]);
        if let Some(models) = self.models {
            environment = environment.with_models(models);
        }
        let snapshot = self.store.snapshot();
        let script = Script {
            store: snapshot.values.clone(),
            ..Script::new(source.code)
        };
        let mut limits = self.limits;
        if let Some(timeout_ms) = source.options.timeout_ms {
            limits.wall = limits.wall.min(Duration::from_millis(timeout_ms));
        }
        let rows = Rows::new(&context);
        let options = RunOptions {
            limits,
            abort: Abort::on(&context.cancel),
            progress: Some(rows.sink()),
        };
        let result = run_script(&self.engine, &script, &environment, options).await;
        let commit = self.store.commit(&snapshot, &result.store_writes);
        let mut notes = source.notes;
        notes.extend(store_notes(&commit));
        // Nobody else delivers them: this tool answers once, at the end.
        notes.extend(
            result
                .notifications
                .iter()
                .map(|message| format!("notify(): {message}")),
        );
        let layout = LayoutOptions {
            kind: self.layout,
            output_tokens_max: source
                .options
                .max_output_tokens
                .unwrap_or(OUTPUT_TOKENS_DEFAULT),
            folder: self.folder,
            notes,
        };
        let laid_out = lay_out(&result, &layout);
        ToolResult {
            content: laid_out.content,
            is_error: !result.is_ok(),
            details: Some(details(
                &context,
                &result,
                &commit,
                laid_out.full_output_path.as_deref(),
            )),
            ..ToolResult::default()
        }
    }
}

impl ToolHandler for ExecTool {
    fn call(&self, arguments: Value, context: CallContext) -> BoxFuture<'static, ToolResult> {
        let code = arguments
            .get("code")
            .and_then(Value::as_str)
            .unwrap_or_default()
            .to_owned();
        Box::pin(self.clone().run(code, context))
    }

    /// Models with grammar-constrained input send the program itself.
    fn prepare_arguments(&self, arguments: Value) -> Value {
        match arguments {
            Value::String(code) => json!({"code": code}),
            other => other,
        }
    }
}

impl LoadoutHook for ExecTool {
    fn prepare_loadout(&self, loadout: &Loadout) -> LoadoutChanges {
        let mut catalog = self.catalog.clone();
        if self.models.is_some() {
            let lines = models::GLOBALS
                .iter()
                .map(|(name, form, meaning)| (format!("{name}{form}"), (*meaning).to_owned()));
            catalog.extra_globals.extend(lines);
        }
        prepare_loadout(loadout, &catalog)
    }
}

/// What the model is told about its store writes.
pub fn store_notes(commit: &StoreCommit) -> Vec<String> {
    let mut notes = Vec::new();
    if !commit.conflicts.is_empty() {
        notes.push(format!(
            "another script wrote {} meanwhile; this script's value replaced it",
            commit.conflicts.join(", ")
        ));
    }
    if !commit.refused.is_empty() {
        notes.push(format!(
            "{} not stored: the store is full (delete keys first) or the value is nested too deep",
            commit.refused.join(", ")
        ));
    }
    notes
}

/// The rows of a result's details: `{id, name, args, status, durationMs?, error?}`.
fn row(call_id: &str, record: &CallRecord) -> Value {
    let mut row = json!({
        "id": format!("{call_id}/{}", record.number),
        "name": record.name,
        "args": record.arguments,
        "status": status_name(record.status),
    });
    if let Some(duration) = record.duration {
        row["durationMs"] = json!(u64::try_from(duration.as_millis()).unwrap_or(u64::MAX));
    }
    if let Some(error) = &record.error {
        row["error"] = json!(error);
    }
    row
}

fn details(
    context: &CallContext,
    result: &ScriptResult,
    commit: &StoreCommit,
    full_output_path: Option<&std::path::Path>,
) -> Value {
    let rows: Vec<Value> = result
        .calls
        .iter()
        .map(|record| row(&context.call_id, record))
        .collect();
    let mut details = json!({"calls": rows});
    if let Some(path) = full_output_path {
        details["fullOutputPath"] = json!(path.to_string_lossy());
    }
    if !commit.is_empty() {
        let set: serde_json::Map<String, Value> = commit
            .set
            .iter()
            .map(|(key, value)| (key.clone(), value.parse().unwrap_or_default()))
            .collect();
        details["store"] = json!({"set": set, "delete": commit.deleted});
    }
    details
}

/// Rows that an update carries at most: the latest ones.
const UPDATE_ROWS_MAX: usize = 256;
/// Updates sent without delay; a script that makes more calls is shown in intervals, since each update carries all its rows.
const UPDATES_AT_ONCE_MAX: u32 = 256;
/// The interval, for a person's eye.
const UPDATE_INTERVAL: Duration = Duration::from_millis(100);

/// Keeps the rows of a running script and reports them at each change.
struct Rows {
    context: CallContext,
    state: Mutex<RowsState>,
}

#[derive(Default)]
struct RowsState {
    rows: Vec<Value>,
    updates: u32,
    updated_at: Option<Instant>,
}

impl Rows {
    fn new(context: &CallContext) -> Arc<Self> {
        Arc::new(Self {
            context: context.clone(),
            state: Mutex::default(),
        })
    }

    fn sink(self: &Arc<Self>) -> crate::runner::ProgressSink {
        let rows = Arc::clone(self);
        Arc::new(move |progress: Progress<'_>| {
            if !rows.context.wants_updates() {
                return;
            }
            let mut state = rows.state.lock().unwrap_or_else(PoisonError::into_inner);
            match progress {
                Progress::Started => {}
                Progress::CallStarted(record) | Progress::CallEnded(record) => {
                    state.put(record.number, row(&rows.context.call_id, record));
                }
                Progress::Output(_) | Progress::Notified(_) | Progress::Yielded => return,
            }
            let details = state.is_due().then(|| json!({"calls": state.latest()}));
            drop(state);
            if details.is_some() {
                rows.context.update(Update {
                    text: String::new(),
                    details,
                });
            }
        })
    }
}

impl RowsState {
    fn put(&mut self, number: u32, row: Value) {
        match self.rows.get_mut(number.saturating_sub(1) as usize) {
            Some(known) => *known = row,
            None => self.rows.push(row),
        }
    }

    fn is_due(&mut self) -> bool {
        let is_soon = self
            .updated_at
            .is_some_and(|at| at.elapsed() < UPDATE_INTERVAL);
        if self.updates >= UPDATES_AT_ONCE_MAX && is_soon {
            return false;
        }
        self.updates = self.updates.saturating_add(1);
        self.updated_at = Some(Instant::now());
        true
    }

    fn latest(&self) -> &[Value] {
        self.rows
            .get(self.rows.len().saturating_sub(UPDATE_ROWS_MAX)..)
            .unwrap_or_default()
    }
}
