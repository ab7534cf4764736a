//! `pirn exec`: runs one script.

mod answer;
mod calls;
mod interrupt;
mod screen;
mod source;
mod store;
mod toolset;

use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use anyhow::Context as _;
use pirn_codemode::{
    Abort, OutputFolder, PipelineHost, RunOptions, Script, ScriptLimits, ScriptResult, run_script,
};
use pirn_tool::{CallContext, Pipeline, Registry};
use pirn_vm::{EngineOptions, VmEngine};

use crate::arguments::{ExecArguments, union};
use crate::consent::{Asking, Consent, TerminalApprover};
use crate::failure::{Exit, Failure};
use crate::standard;
use crate::surroundings::{Stream, Surroundings};
use crate::tty::Tty;
use answer::Answering;
use screen::Screen;
use source::ScriptFile;
use store::StoreFile;

pub(crate) use screen::Questions;

/// The call that the script's calls are nested in.
const CALL_ID: &str = "exec";
/// One script runs; the engine needs a second VM at most while it prepares the first.
const LIVE_VMS_MAX: u32 = 2;
const BYTES_PER_MB: u64 = 1 << 20;

/// What is needed to run a script: everything that was typed, as it is meant.
struct Plan {
    file: ScriptFile,
    registry: Registry,
    consent: Consent,
    asking: Asking,
    limits: ScriptLimits,
    store: Option<StoreFile>,
    answering: Answering,
}

/// Runs the command.
pub(crate) fn run(arguments: ExecArguments, surroundings: &Surroundings) -> Result<Exit, Failure> {
    let plan = Plan::new(arguments, surroundings)?;
    for note in &plan.file.source.notes {
        standard::note(note);
    }
    let engine = VmEngine::new(EngineOptions {
        live_vms_max: LIVE_VMS_MAX,
        memory_bytes_max: plan.limits.vm.memory_bytes,
    })
    .context("the script engine cannot start; `pirn doctor` may tell why")?;
    let abort = Abort::new();
    let interrupts = interrupt::watch(abort.clone())?;
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .context("the event loop cannot start")?;
    let screen = Screen::start(plan.answering.screen_options(surroundings))?;
    let result = runtime.block_on(plan.run_script(&engine, abort, &screen));
    interrupts.script_ended();
    // A question that nobody answered may still wait for a line; the process does not wait for it.
    runtime.shutdown_background();
    plan.conclude(&result, screen)
}

impl Plan {
    fn new(arguments: ExecArguments, surroundings: &Surroundings) -> Result<Self, Failure> {
        let file = ScriptFile::load(&arguments, surroundings)?;
        let cwd = working_folder(arguments.cwd.as_ref(), surroundings)?;
        let registry = toolset::select(surroundings.tools_options(&cwd), &arguments)?;
        let asking = match surroundings.stderr {
            Stream::Terminal if Tty::open().is_ok() => Asking::Possible,
            Stream::Terminal | Stream::Other => Asking::Impossible,
        };
        let denied = union(&arguments.deny);
        let consent = if arguments.read_only {
            Consent::read_only(denied)
        } else {
            Consent::new(union(&arguments.yes), denied, asking)
        };
        let limits = limits(&arguments, &file);
        let folder = OutputFolder::new(&surroundings.temp_dir);
        let answering = Answering::new(&arguments, file.source.options, folder);
        let store = arguments.store.map(StoreFile::open).transpose()?;
        Ok(Self {
            file,
            registry,
            consent,
            asking,
            limits,
            store,
            answering,
        })
    }

    async fn run_script(&self, engine: &VmEngine, abort: Abort, screen: &Screen) -> ScriptResult {
        let mut builder = Pipeline::builder(self.registry.clone()).policy(Arc::new(self.consent));
        if self.asking == Asking::Possible {
            builder = builder.approver(Arc::new(TerminalApprover::new(screen.questions())));
        }
        let context = CallContext::detached(CALL_ID);
        let environment = PipelineHost::environment(&builder.build(), &context, &[]);
        let script = Script {
            code: self.file.source.code.clone(),
            file_name: self.file.name.clone(),
            store: self
                .store
                .as_ref()
                .map(StoreFile::values)
                .unwrap_or_default(),
        };
        let options = RunOptions {
            limits: self.limits,
            abort,
            progress: Some(screen.progress()),
        };
        let result = run_script(engine, &script, &environment, options).await;
        // Ends what commands of the script left in the background.
        context.lifetime.cancel();
        result
    }

    /// Keeps what the script stored, shows what is left to show, and says how it ended.
    fn conclude(self, result: &ScriptResult, screen: Screen) -> Result<Exit, Failure> {
        let stored = match &self.store {
            Some(store) if !result.store_writes.is_empty() => store.commit(&result.store_writes),
            Some(_) | None => Ok(Vec::new()),
        };
        self.answering.show(result, screen)?;
        for note in stored? {
            standard::note(&note);
        }
        match &result.outcome {
            Ok(_) => Ok(Exit::Success),
            Err(error) if self.answering.holds_error() => Ok(answer::exit(error.kind)),
            Err(error) => Err(answer::failure(error, &result.calls, &self.registry)),
        }
    }
}

fn working_folder(cwd: Option<&PathBuf>, surroundings: &Surroundings) -> Result<PathBuf, Failure> {
    let Some(cwd) = cwd else {
        return Ok(surroundings.cwd.clone());
    };
    let shown = cwd.display();
    let folder = surroundings.cwd.join(cwd);
    match std::fs::metadata(&folder) {
        Ok(metadata) if metadata.is_dir() => Ok(folder),
        Ok(_) => Err(Failure::usage(format!("--cwd {shown} is not a folder"))),
        Err(error) => Err(Failure::usage_because(
            error,
            format!("--cwd {shown} cannot be used"),
        )),
    }
}

/// The contract's limits, or what the options line asks for, or what the command line asks for.
fn limits(arguments: &ExecArguments, file: &ScriptFile) -> ScriptLimits {
    let mut limits = ScriptLimits::default();
    if let Some(timeout_ms) = arguments.timeout_ms.or(file.source.options.timeout_ms) {
        limits.wall = Duration::from_millis(timeout_ms);
    }
    if let Some(cpu_ms) = arguments.cpu_ms {
        limits.vm.cpu = Duration::from_millis(cpu_ms);
    }
    if let Some(memory_mb) = arguments.memory_mb {
        limits.vm.memory_bytes = u32::try_from(memory_mb * BYTES_PER_MB).unwrap_or(u32::MAX);
    }
    limits
}
