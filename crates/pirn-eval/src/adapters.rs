//! The tools that only evals see: `read_text`, `list_directory` and `run_process`, all within the working folder.
//!
//! They are plain [`Tool`] values. Their exposure is [`Exposure::Codemode`], and [`crate::EvalTool`] adds them to its own copy of
//! the registry, so that neither a model nor a script is offered them twice.

pub(crate) mod frame;
mod list_directory;
mod paths;
mod read_text;
mod run_process;

use std::ffi::OsString;
use std::path::PathBuf;
use std::sync::Arc;

use futures_util::future::BoxFuture;
use pirn_sandbox::Sandbox;
use pirn_tool::{CallContext, Exposure, Tool, ToolHandler, ToolResult, ToolSpec};
use serde::de::DeserializeOwned;
use serde_json::Value;
use tokio_util::sync::CancellationToken;

pub use list_directory::LIST_ENTRIES_MAX;
pub use read_text::{READ_BYTES_DEFAULT, READ_BYTES_MAX, READ_SCAN_BYTES_MAX};
pub use run_process::{PROCESS_STREAM_BYTES_MAX, PROCESS_TIMEOUT_DEFAULT, PROCESS_TIMEOUT_MAX};

/// The text of every call that was stopped.
const ABORTED: &str = "Operation aborted";

/// What the adapters are told about their surroundings.
#[derive(Debug, Clone)]
pub struct AdapterOptions {
    /// The folder that paths are relative to and may not leave.
    pub root: PathBuf,
    /// The whole environment of processes.
    pub environment: Vec<(OsString, OsString)>,
    /// The confinement of processes; without one they have the user's rights.
    pub sandbox: Option<Sandbox>,
}

/// `read_text`, `list_directory` and `run_process`.
pub fn eval_adapters(options: AdapterOptions) -> Vec<Tool> {
    let options = Arc::new(options);
    [
        read_text::read_text,
        list_directory::list_directory,
        run_process::run_process,
    ]
    .map(|make| make(Arc::clone(&options)))
    .into()
}

/// What a call gives: the value for the program, or the text of a failure.
type Outcome = Result<Value, String>;

/// Joins a description and an async function over typed arguments.
fn adapter<A, F, Fut>(spec: ToolSpec, options: Arc<AdapterOptions>, run: F) -> Tool
where
    A: DeserializeOwned + Send + 'static,
    F: Fn(A, Arc<AdapterOptions>, CallContext) -> Fut + Send + Sync + 'static,
    Fut: Future<Output = Outcome> + Send + 'static,
{
    Tool::new(
        spec.exposure(Exposure::Codemode),
        Adapter {
            options,
            run,
            arguments: std::marker::PhantomData,
        },
    )
}

struct Adapter<A, F> {
    options: Arc<AdapterOptions>,
    run: F,
    arguments: std::marker::PhantomData<fn() -> A>,
}

impl<A, F, Fut> ToolHandler for Adapter<A, F>
where
    A: DeserializeOwned + Send + 'static,
    F: Fn(A, Arc<AdapterOptions>, CallContext) -> Fut + Send + Sync + 'static,
    Fut: Future<Output = Outcome> + Send + 'static,
{
    fn call(&self, arguments: Value, context: CallContext) -> BoxFuture<'static, ToolResult> {
        let run = serde_json::from_value(arguments)
            .map(|arguments| (self.run)(arguments, Arc::clone(&self.options), context));
        Box::pin(async move {
            let outcome = match run {
                Ok(run) => run.await,
                Err(error) => Err(format!("Invalid arguments: {error}")),
            };
            match outcome {
                Ok(value) => ToolResult::text(value.to_string()).with_structured(value),
                Err(message) => ToolResult::error(message),
            }
        })
    }
}

/// Runs `work` on a thread for blocking work and waits for it. The work has to look at the token often enough.
async fn blocking<F>(context: &CallContext, work: F) -> Outcome
where
    F: FnOnce(&CancellationToken) -> Outcome + Send + 'static,
{
    let cancel = context.cancel.clone();
    let task = tokio::task::spawn_blocking(move || {
        check(&cancel)?;
        work(&cancel)
    });
    task.await.unwrap_or_else(|error| {
        Err(format!(
            "The tool stopped early, which is a bug in it: {error}"
        ))
    })
}

/// Fails when the call was stopped.
fn check(cancel: &CancellationToken) -> Result<(), String> {
    if cancel.is_cancelled() {
        Err(ABORTED.to_owned())
    } else {
        Ok(())
    }
}

#[cfg(test)]
#[cfg(unix)]
mod tests;
