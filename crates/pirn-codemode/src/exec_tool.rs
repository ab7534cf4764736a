//! The `exec` tool: a script as an ordinary tool value.

use std::fmt;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use futures_util::future::BoxFuture;
use pirn_tool::{
    CallContext, Effects, Exposure, Loadout, LoadoutChanges, LoadoutHook, OutputTail, Receipt,
    Tool, ToolHandler, ToolResult, ToolSpec, Update,
};
use pirn_vm::{MissingTools, Output, VmEngine};
use serde_json::{Value, json};

use crate::abort::Abort;
use crate::board::{BoardError, Delivery, EMPTY_WAITS_TOLD};
use crate::catalog::{CatalogOptions, prepare_loadout};
use crate::cell::CellStatus;
use crate::layout::{
    LayoutKind, LayoutOptions, OUTPUT_TOKENS_DEFAULT, OutputFolder, lay_out_update, status_name,
};
use crate::limits::ScriptLimits;
use crate::models::{self, ModelHost};
use crate::pipeline_host::PipelineHost;
use crate::runner::{Progress, output_sink};
use crate::script::DEFAULT_FILE_NAME;
use crate::service::{ScriptRequest, ScriptService, ScriptServiceOptions, StartedScript};
use crate::source::{SOURCE_GRAMMAR, parse_source};
use crate::store::StoreCommit;
use crate::wait_tool::WaitTool;

/// The tool's name towards models.
pub const EXEC_TOOL_NAME: &str = "exec";
/// How long a script runs before it goes on in the background.
pub const YIELD_AFTER_DEFAULT: Duration = Duration::from_secs(30);
/// A yield this late or later is a second later still, so that a script that waits just as long for something ends first.
const LATE_YIELD: Duration = Duration::from_secs(10);
const LATE_YIELD_GRACE: Duration = Duration::from_secs(1);

/// What the `exec` tool is made of. Clones share the service.
#[derive(Debug, Clone)]
pub struct ExecTool {
    /// Runs the scripts that models write.
    pub service: ScriptService,
    /// Whose cells these are, for limits and lists.
    pub caller: String,
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
    /// How long a script runs before it goes on in the background, unless its options line says otherwise.
    pub yield_after: Duration,
    /// Names the tools that cannot be called now, and why.
    pub missing_tools: Option<MissingToolsSource>,
}

/// Asked when a script starts which tools it cannot call, though it may know their names.
#[derive(Clone)]
pub struct MissingToolsSource(pub Arc<dyn Fn() -> Vec<MissingTools> + Send + Sync>);

impl fmt::Debug for MissingToolsSource {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("MissingToolsSource")
    }
}

impl ExecTool {
    /// The tool over a service of its own, with an empty store and the contract's limits.
    pub fn new(engine: VmEngine) -> Self {
        Self::over(ScriptService::new(ScriptServiceOptions::new(engine)))
    }

    /// The tool over a service, with the contract's limits.
    pub fn over(service: ScriptService) -> Self {
        Self {
            service,
            caller: String::new(),
            limits: ScriptLimits::default(),
            layout: LayoutKind::default(),
            folder: None,
            catalog: CatalogOptions::default(),
            models: None,
            yield_after: YIELD_AFTER_DEFAULT,
            missing_tools: None,
        }
    }

    /// The tool `wait`, for the scripts of this one that go on in the background.
    pub fn wait_tool(&self) -> Tool {
        WaitTool::new(self).into_tool()
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
        .grammar(SOURCE_GRAMMAR)
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
        // A script that goes on in the background ends with its owner, not with the call that started it.
        let mut cell_context = context.clone();
        cell_context.cancel = context.lifetime.child_token();
        let own_name = self.catalog.exec_tool_name.clone();
        let mut environment = PipelineHost::environment(&pipeline, &cell_context, &[&own_name]);
        if let Some(models) = self.models.clone() {
            environment = environment.with_models(models);
        }
        if let Some(MissingToolsSource(missing)) = &self.missing_tools {
            environment = environment.with_missing_tools(missing());
        }
        let mut limits = self.limits;
        if let Some(timeout_ms) = source.options.timeout_ms {
            limits.wall = limits.wall.min(Duration::from_millis(timeout_ms));
        }
        let rows = Rows::new(&context);
        let request = ScriptRequest {
            caller: self.caller.clone(),
            code: source.code,
            file_name: DEFAULT_FILE_NAME.to_owned(),
            environment,
            limits,
            abort: Abort::on(&context.lifetime),
            progress: Some(output_sink(&context, Some(rows.sink()))),
        };
        let yield_after = source
            .options
            .yield_time_ms
            .map_or(self.yield_after, Duration::from_millis);
        let begun = Instant::now();
        let started = match self.service.start(request).await {
            Ok(started) => started,
            Err(error) => return ToolResult::error(error.to_string()),
        };
        let guard = self.service.guard(&started.cell_id);
        let (board, caller, cell_id) = (self.service.board(), &self.caller, &started.cell_id);
        let delivery = tokio::select! {
            biased;
            delivery = board.wait(caller, cell_id, with_grace(yield_after)) => delivery,
            () = context.cancel.cancelled() => board.terminate(caller, cell_id).await,
        };
        // It goes on by itself, or is over.
        guard.release();
        let layout = LayoutOptions {
            kind: self.layout,
            output_tokens_max: source
                .options
                .max_output_tokens
                .unwrap_or(OUTPUT_TOKENS_DEFAULT),
            folder: self.folder.clone(),
            notes: source.notes,
        };
        let mut result = answered(delivery, cell_id, begun.elapsed(), layout);
        let latest = rows.latest();
        add_details(&mut result, &started, latest);
        result.into_tool_result()
    }
}

/// How long to wait for a script before handing over what there is.
pub(crate) fn with_grace(yield_after: Duration) -> Duration {
    if yield_after >= LATE_YIELD {
        yield_after.saturating_add(LATE_YIELD_GRACE)
    } else {
        yield_after
    }
}

/// What a model reads of a delivery, and what front ends get besides.
pub(crate) struct Answered {
    result: ToolResult,
    details: serde_json::Map<String, Value>,
    calls: Option<Vec<Receipt>>,
}

impl Answered {
    pub(crate) fn into_tool_result(self) -> ToolResult {
        ToolResult {
            details: Some(Value::Object(self.details)),
            ..self.result
        }
    }
}

/// Lays a delivery out. `layout.notes` are the notes that come first.
pub(crate) fn answered(
    delivery: Result<Delivery, BoardError>,
    cell_id: &str,
    wall: Duration,
    mut layout: LayoutOptions,
) -> Answered {
    let delivery = match delivery {
        Ok(delivery) => delivery,
        Err(error) => {
            let head = crate::layout::header(crate::layout::ScriptState::Failed, wall);
            return Answered {
                result: ToolResult::error(format!("{head}Script error:\n{error}")),
                details: serde_json::Map::new(),
                calls: None,
            };
        }
    };
    let update = &delivery.update;
    let (is_error, ended) = match &update.status {
        CellStatus::Running => (false, None),
        CellStatus::Ended(result) => (!result.is_ok(), Some(result)),
        CellStatus::Terminated(result) => (true, Some(result)),
    };
    // Nobody else delivers them.
    layout.notes.extend(
        update
            .notifications
            .iter()
            .map(|message| format!("notify(): {message}")),
    );
    if delivery.empty_waits >= EMPTY_WAITS_TOLD {
        layout.notes.push(format!(
            "nothing was new in the last {} waits. Waiting is not needed: go on with other work or end your turn; the end of \
             the script is reported by itself",
            delivery.empty_waits
        ));
    }
    let laid_out = lay_out_update(update, cell_id, wall, &layout);
    let mut details = serde_json::Map::new();
    if ended.is_none() {
        details.insert("cellId".into(), json!(cell_id));
    }
    if let Some(path) = &laid_out.full_output_path {
        details.insert("fullOutputPath".into(), json!(path.to_string_lossy()));
    }
    Answered {
        result: ToolResult {
            content: laid_out.content,
            is_error,
            ..ToolResult::default()
        },
        details,
        calls: ended.map(|result| result.calls.clone()),
    }
}

/// Adds the rows of the calls and what was stored.
fn add_details(answered: &mut Answered, started: &StartedScript, latest: Vec<Value>) {
    let rows = match &answered.calls {
        Some(calls) => calls.iter().map(row).collect(),
        None => latest,
    };
    answered.details.insert("calls".into(), Value::Array(rows));
    if let Ok(commit) = started.commit()
        && !commit.is_empty()
    {
        answered.details.insert("store".into(), stored(&commit));
    }
}

fn stored(commit: &StoreCommit) -> Value {
    let set: serde_json::Map<String, Value> = commit
        .set
        .iter()
        .map(|(key, value)| (key.clone(), value.parse().unwrap_or_default()))
        .collect();
    json!({"set": set, "delete": commit.deleted})
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

/// The rows of a result's details: `{id, name, args, status, durationMs?, error?}`.
fn row(record: &Receipt) -> Value {
    let mut row = json!({
        "id": record.id,
        "name": record.name,
        "args": record.arguments_text(),
        "status": status_name(record.status),
    });
    if let Some(duration_ms) = record.duration_ms {
        row["durationMs"] = json!(duration_ms);
    }
    if let Some(error) = &record.error {
        row["error"] = json!(error);
    }
    row
}

/// Rows that an update carries at most: the latest ones.
const UPDATE_ROWS_MAX: usize = 256;
/// Updates sent without delay; a script that makes more calls is shown in intervals, since each update carries all its rows.
const UPDATES_AT_ONCE_MAX: u32 = 256;
/// The interval, for a person's eye.
const UPDATE_INTERVAL: Duration = Duration::from_millis(100);

/// Keeps the rows of a running script and the end of its output, and reports them at each change.
struct Rows {
    context: CallContext,
    state: Mutex<RowsState>,
}

#[derive(Default)]
struct RowsState {
    rows: Vec<Value>,
    tail: OutputTail,
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

    /// The latest rows so far.
    fn latest(&self) -> Vec<Value> {
        let state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        state.latest().to_vec()
    }

    fn sink(self: &Arc<Self>) -> crate::runner::ProgressSink {
        let rows = Arc::clone(self);
        Arc::new(move |progress: Progress<'_>| {
            let mut state = rows.state.lock().unwrap_or_else(PoisonError::into_inner);
            match progress {
                Progress::Started => {}
                Progress::CallStarted(record) | Progress::CallEnded(record) => {
                    state.put(record);
                }
                Progress::Output(Output::Text(text) | Output::Console(text)) => {
                    state.tail.push(&format!("{text}\n"));
                }
                Progress::Output(Output::Image { .. } | Output::Audio { .. })
                | Progress::Notified(_)
                | Progress::Yielded => return,
            }
            let is_shown = rows.context.wants_updates() && state.is_due();
            let update = is_shown.then(|| Update {
                text: state.tail.text().to_owned(),
                details: Some(json!({"calls": state.latest()})),
            });
            drop(state);
            if let Some(update) = update {
                rows.context.update(update);
            }
        })
    }
}

impl RowsState {
    fn put(&mut self, record: &Receipt) {
        let place = record
            .number()
            .and_then(|number| usize::try_from(number.checked_sub(1)?).ok());
        match place.and_then(|place| self.rows.get_mut(place)) {
            Some(known) => *known = row(record),
            None => self.rows.push(row(record)),
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
