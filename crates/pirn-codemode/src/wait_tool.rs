//! The `wait` tool: what is new of a script that goes on in the background.

use std::time::{Duration, Instant};

use futures_util::future::BoxFuture;
use pirn_tool::{CallContext, Effects, Exposure, Tool, ToolHandler, ToolResult, ToolSpec};
use serde::Deserialize;
use serde_json::{Value, json};

use crate::exec_tool::{ExecTool, answered, with_grace};
use crate::layout::{LayoutKind, LayoutOptions, OUTPUT_TOKENS_DEFAULT, OutputFolder};
use crate::service::ScriptService;

/// The tool's name towards models.
pub const WAIT_TOOL_NAME: &str = "wait";
/// How long a wait takes unless it says otherwise.
const YIELD_TIME_MS_DEFAULT: f64 = 10_000.0;
/// The shortest wait: a model that asks more often than this learns nothing.
const YIELD_TIME_MS_MIN: f64 = 1_000.0;
/// The longest; a script ends before.
const YIELD_TIME_MS_MAX: f64 = 86_400_000.0;

/// The companion of [`ExecTool`].
#[derive(Debug, Clone)]
pub(crate) struct WaitTool {
    service: ScriptService,
    caller: String,
    layout: LayoutKind,
    folder: Option<OutputFolder>,
    exec_tool_name: String,
}

/// Unknown fields are ignored, as models add some.
#[derive(Deserialize)]
struct Arguments {
    cell_id: String,
    #[serde(default)]
    yield_time_ms: Option<f64>,
    #[serde(default)]
    max_tokens: Option<f64>,
    #[serde(default)]
    terminate: bool,
}

impl WaitTool {
    pub(crate) fn new(exec: &ExecTool) -> Self {
        Self {
            service: exec.service.clone(),
            caller: exec.caller.clone(),
            layout: exec.layout,
            folder: exec.folder.clone(),
            exec_tool_name: exec.catalog.exec_tool_name.clone(),
        }
    }

    pub(crate) fn into_tool(self) -> Tool {
        let exec = &self.exec_tool_name;
        let description = format!(
            "Waits for an {exec} program that goes on in the background, and gives its output since the last time. Ends early \
             when the program ends or yields. The end of a program is reported by itself too, so do not wait again and again. \
             With `terminate` the program and its calls are stopped."
        );
        let spec = ToolSpec::new(WAIT_TOOL_NAME, description)
            .input_schema(json!({
                "type": "object",
                "properties": {
                    "cell_id": {"type": "string", "description": "The cell ID from the line that said that the script runs."},
                    "yield_time_ms": {"type": "number", "description": "How long to wait at most: 10000 unless given, at least 1000."},
                    "max_tokens": {"type": "number", "description": "Limit of the output, in tokens: 10000 unless given."},
                    "terminate": {"type": "boolean", "description": "Whether to stop the program: false unless given."},
                },
                "required": ["cell_id"],
            }))
            .exposure(Exposure::ModelOnly)
            .effects(Effects::ORCHESTRATION);
        Tool::new(spec, self)
    }

    async fn wait(self, arguments: Arguments, context: CallContext) -> ToolResult {
        let Arguments {
            cell_id,
            yield_time_ms,
            max_tokens,
            terminate,
        } = arguments;
        let (board, begun) = (self.service.board(), Instant::now());
        let delivery = if terminate {
            board.terminate(&self.caller, &cell_id).await
        } else {
            let waiting = board.wait(&self.caller, &cell_id, with_grace(wait_time(yield_time_ms)));
            tokio::select! {
                biased;
                delivery = waiting => delivery,
                () = context.cancel.cancelled() => {
                    return ToolResult::error(format!("The wait was stopped; exec cell {cell_id} goes on"));
                }
            }
        };
        let layout = LayoutOptions {
            kind: self.layout,
            output_tokens_max: max_tokens.map_or(OUTPUT_TOKENS_DEFAULT, whole_tokens),
            folder: self.folder,
            notes: Vec::new(),
        };
        answered(delivery, &cell_id, begun.elapsed(), layout).into_tool_result()
    }
}

impl ToolHandler for WaitTool {
    fn call(&self, arguments: Value, context: CallContext) -> BoxFuture<'static, ToolResult> {
        match serde_json::from_value(arguments) {
            Ok(arguments) => Box::pin(self.clone().wait(arguments, context)),
            Err(error) => Box::pin(std::future::ready(ToolResult::error(error.to_string()))),
        }
    }
}

fn wait_time(milliseconds: Option<f64>) -> Duration {
    let milliseconds = milliseconds.unwrap_or(YIELD_TIME_MS_DEFAULT);
    let bounded = milliseconds.clamp(YIELD_TIME_MS_MIN, YIELD_TIME_MS_MAX);
    Duration::from_secs_f64(bounded / 1_000.0)
}

#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "the cast saturates, which is what is meant"
)]
fn whole_tokens(tokens: f64) -> u64 {
    tokens as u64
}
