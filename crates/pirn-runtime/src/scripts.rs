//! Scripts of clients: started on the runtime's one service, waited for, saved and resumed.

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use pirn_codemode::{
    Abort, BoardError, CellGuard, DEFAULT_FILE_NAME, Delivery, EXEC_TOOL_NAME, PipelineHost,
    ProgressSink, ScriptLimits, ScriptRequest, ScriptResult, ScriptService, StartError,
    StartedScript, StoreCommit, StoreError, output_sink,
};
use pirn_tool::{CallContext, SavedApprovals};
use serde_json::json;
use tokio_util::sync::{CancellationToken, DropGuard};

use crate::client::Client;
use crate::error::{Error, ErrorKind};

/// One script to run.
#[derive(Clone)]
pub struct ScriptRun {
    /// The call that the script's calls are nested in. It names the run, too: for a script that is resumed, that of the first
    /// start counts.
    pub call_id: String,
    /// JavaScript or TypeScript: the body of an async function.
    pub code: String,
    /// The name that stack frames carry.
    pub file_name: String,
    /// What it may use; `None` for what the settings say.
    pub limits: Option<ScriptLimits>,
    /// Stops the script and its open calls.
    pub abort: Abort,
    /// Told what happens meanwhile.
    pub progress: Option<ProgressSink>,
}

impl ScriptRun {
    /// A script with the limits of the settings.
    pub fn new(call_id: impl Into<String>, code: impl Into<String>) -> Self {
        Self {
            call_id: call_id.into(),
            code: code.into(),
            file_name: DEFAULT_FILE_NAME.to_owned(),
            limits: None,
            abort: Abort::new(),
            progress: None,
        }
    }
}

impl fmt::Debug for ScriptRun {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter
            .debug_struct("ScriptRun")
            .field("call_id", &self.call_id)
            .field("file_name", &self.file_name)
            .field("limits", &self.limits)
            .finish_non_exhaustive()
    }
}

/// How a script ended.
#[derive(Debug)]
pub struct ScriptEnd {
    /// What it gave back. Its notes say in words what became of its store writes.
    pub result: ScriptResult,
    /// What became of its store writes.
    pub stored: Result<StoreCommit, Arc<StoreError>>,
}

/// A script that waits on disk: its memory, and what its calls had asked.
#[derive(Debug, Clone)]
pub struct SavedScript {
    /// The call that the script's calls are nested in.
    pub call_id: String,
    /// The script; [`ScriptService::resume`] reads it.
    pub script: Vec<u8>,
    /// Open questions, and what the run was allowed and denied; `None` where nobody can be asked.
    pub approvals: Option<SavedApprovals>,
}

/// A script that goes on by itself. Dropping it stops the script, and what its commands left in the background.
#[derive(Debug)]
pub struct RunningScript {
    client: Client,
    service: ScriptService,
    started: StartedScript,
    context: CallContext,
    guard: CellGuard,
    run: RunGuard,
    /// What the script's commands left in the background ends with it.
    _ends_children: DropGuard,
}

impl Client {
    /// Runs a script to its end, over the tools that this client sees. What its commands left in the background ends with it, and
    /// both end with the runtime.
    pub async fn run_script(&self, run: ScriptRun) -> Result<ScriptEnd, Error> {
        let abort = run.abort.clone();
        let running = async {
            let script = self.start_script(run).await?;
            script.ended().await.map_err(lost)
        };
        self.until_the_end(running, || abort.abort("Pirn ends"))
            .await
    }

    /// Starts a script, which then goes on by itself.
    pub async fn start_script(&self, run: ScriptRun) -> Result<RunningScript, Error> {
        let (service, context) = (self.runtime().scripts()?.clone(), self.script_context(&run));
        let started = service
            .start(self.request(run, &context))
            .await
            .map_err(not_started)?;
        Ok(self.running(service, started, context))
    }

    /// Goes on with a script that was saved in this or another process. Its open questions are asked again under their ids; a
    /// call that was answered meanwhile is not asked about again. Of `run`, the code only names the script.
    pub async fn resume_script(
        &self,
        saved: SavedScript,
        run: ScriptRun,
    ) -> Result<RunningScript, Error> {
        let run = ScriptRun {
            call_id: saved.call_id,
            ..run
        };
        let (service, context) = (self.runtime().scripts()?.clone(), self.script_context(&run));
        if let (Some(approvals), Some(asked)) = (self.runtime().approvals(), saved.approvals) {
            approvals.restore(asked).map_err(|error| {
                Error::new(
                    ErrorKind::Input,
                    "the questions of the saved script cannot be taken up",
                )
                .because(error)
            })?;
        }
        let started = service
            .resume(&saved.script, self.request(run, &context))
            .await
            .map_err(not_started)?;
        Ok(self.running(service, started, context))
    }

    fn script_context(&self, run: &ScriptRun) -> CallContext {
        let arguments = json!({"code": run.code});
        self.context(
            run.call_id.clone(),
            EXEC_TOOL_NAME,
            arguments,
            CancellationToken::new(),
        )
    }

    fn request(&self, run: ScriptRun, context: &CallContext) -> ScriptRequest {
        ScriptRequest {
            caller: self.caller().to_owned(),
            code: run.code,
            file_name: run.file_name,
            environment: PipelineHost::environment(self.pipeline(), context, &[])
                .with_missing_tools(self.runtime().missing_tools()),
            limits: run.limits.unwrap_or_else(|| self.runtime().script_limits()),
            abort: run.abort,
            progress: Some(output_sink(context, run.progress)),
        }
    }

    fn running(
        &self,
        service: ScriptService,
        started: StartedScript,
        context: CallContext,
    ) -> RunningScript {
        RunningScript {
            client: self.clone(),
            guard: service.guard(&started.cell_id),
            run: RunGuard(Some((self.clone(), context.clone()))),
            _ends_children: context.lifetime.clone().drop_guard(),
            service,
            started,
            context,
        }
    }
}

impl RunningScript {
    /// The id of its cell, which the board shows and the tool `wait` takes.
    pub fn cell_id(&self) -> &str {
        &self.started.cell_id
    }

    /// Waits until the script ends, yields, or the time has passed, and gives what is new.
    ///
    /// # Errors
    /// When somebody else waits, or its end was delivered before.
    pub async fn wait(&self, yield_after: Duration) -> Result<Delivery, BoardError> {
        let board = self.service.board();
        board
            .wait(self.client.caller(), self.cell_id(), yield_after)
            .await
    }

    /// Waits for its end, yields included.
    ///
    /// # Errors
    /// When somebody else waits, or its end was delivered before.
    pub async fn ended(self) -> Result<ScriptEnd, BoardError> {
        let result = self
            .service
            .ended(self.client.caller(), &self.started)
            .await?;
        self.guard.release();
        Ok(ScriptEnd {
            result,
            stored: self.started.commit(),
        })
    }

    /// Saves the script and ends it here. Its open questions stay open, to be asked again under the same ids when it is resumed;
    /// what is answered until then counts.
    ///
    /// # Errors
    /// When the script has ended or could not be saved.
    pub async fn suspend(self) -> Result<SavedScript, BoardError> {
        let suspension = self
            .client
            .runtime()
            .approvals()
            .map(|approvals| approvals.suspend(&self.context.run().id, &self.context.call_id));
        let script = self
            .service
            .suspend(self.client.caller(), &self.started)
            .await?;
        self.run.keep();
        Ok(SavedScript {
            call_id: self.context.call_id.clone(),
            script,
            approvals: suspension.map(|suspension| suspension.save()),
        })
    }
}

/// Ends a run when its script goes, unless that is to come back.
#[derive(Debug)]
struct RunGuard(Option<(Client, CallContext)>);

impl RunGuard {
    fn keep(mut self) {
        self.0 = None;
    }
}

impl Drop for RunGuard {
    fn drop(&mut self) {
        if let Some((client, context)) = &self.0 {
            client.end_run(context);
        }
    }
}

fn not_started(error: StartError) -> Error {
    let kind = match &error {
        StartError::Board(_) | StartError::Malformed(_) => ErrorKind::Input,
        StartError::Store(_) | StartError::Vm(_) => ErrorKind::Machine,
    };
    Error::new(kind, "the script cannot be started").because(error)
}

/// Nobody else takes the end of a script that its own client waits for.
fn lost(error: BoardError) -> Error {
    Error::new(ErrorKind::Machine, "the script's end was lost").because(error)
}
