//! `pirn exec`: runs one script.

mod answer;
mod calls;
mod screen;
mod source;
mod store;
mod toolset;

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use anyhow::Context as _;
use pirn_codemode::{
    Abort, OutputFolder, PipelineHost, RunOptions, Script, ScriptLimits, ScriptResult, run_script,
};
use pirn_mcp::Waiting;
use pirn_tool::{CallContext, Pipeline, Registry};
use pirn_tools::builtin_tools;
use pirn_vm::{EngineOptions, VmEngine};
use tokio::runtime::Runtime;
use tokio_util::sync::CancellationToken;

use crate::arguments::{ExecArguments, union};
use crate::consent::{Asking, Consent, TerminalApprover};
use crate::failure::{Exit, Failure};
use crate::interrupt;
use crate::mcp::{self, Configuration, Occasion, Servers};
use crate::standard;
use crate::surroundings::{Display, Surroundings};
use answer::Answering;
use screen::Screen;
use source::ScriptFile;
use store::StoreFile;
use toolset::Selection;

pub(crate) use screen::Questions;

/// The call that the script's calls are nested in.
const CALL_ID: &str = "exec";
/// One script runs; the engine needs a second VM at most while it prepares the first.
const LIVE_VMS_MAX: u32 = 2;
const BYTES_PER_MB: u64 = 1 << 20;

/// What is needed to run a script: everything that was typed, as it is meant.
struct Plan {
    file: ScriptFile,
    selection: Selection,
    consent: Consent,
    asking: Asking,
    limits: ScriptLimits,
    store: Option<StoreFile>,
    answering: Answering,
    /// Where it is shown that servers are starting.
    display: Display,
}

/// Runs the command.
pub(crate) fn run(arguments: ExecArguments, surroundings: &Surroundings) -> Result<Exit, Failure> {
    let cwd = working_folder(arguments.cwd.as_ref(), surroundings)?;
    let configuration = arguments
        .mcp
        .configuration(&arguments.approval, &cwd, surroundings)?;
    let runtime = runtime(configuration.as_ref())?;
    let registry = Registry::new();
    // Before anything else, so that servers start while the script is read and prepared.
    let servers = configuration
        .map(|configuration| {
            let _entered = runtime.enter();
            Servers::prepare(configuration, &registry, &cwd, Occasion::Work, surroundings)
        })
        .transpose()?;
    let plan = Plan::new(arguments, surroundings, &cwd, &registry, servers.as_ref())?;
    for note in &plan.file.source.notes {
        standard::note(note);
    }
    let engine = VmEngine::new(EngineOptions {
        live_vms_max: LIVE_VMS_MAX,
        memory_bytes_max: plan.limits.vm.memory_bytes,
    })
    .context("the script engine cannot start; `pirn doctor` may tell why")?;
    let (abort, stopped) = (Abort::new(), CancellationToken::new());
    let interrupts = interrupt::watch(stopped.clone(), {
        let abort = abort.clone();
        move || abort.abort("Interrupted")
    })?;
    if let Some(servers) = &servers {
        let named = Waiting::Words(&plan.file.source.code);
        runtime.block_on(servers.settle_and_tell(named, &stopped, plan.display));
    }
    let registry = plan.selection.apply(&registry);
    let screen = Screen::start(plan.answering.screen_options(surroundings))?;
    if let Some(servers) = &servers {
        servers.announce_at(screen.questions());
    }
    let result = runtime.block_on(async {
        let result = plan.run_script(&engine, &registry, abort, &screen).await;
        if let Some(servers) = &servers {
            servers.shutdown().await;
        }
        result
    });
    interrupts.work_ended();
    // A question that nobody answered may still wait for a line; the process does not wait for it.
    runtime.shutdown_background();
    plan.conclude(&result, &registry, screen)
}

/// One thread is enough for a script; servers need others, that answer while it computes.
fn runtime(configuration: Option<&Configuration>) -> anyhow::Result<Runtime> {
    match configuration {
        Some(_) => mcp::runtime(),
        None => tokio::runtime::Builder::new_current_thread()
            .enable_all()
            .build()
            .context("the event loop cannot start"),
    }
}

impl Plan {
    fn new(
        arguments: ExecArguments,
        surroundings: &Surroundings,
        cwd: &Path,
        registry: &Registry,
        servers: Option<&Servers>,
    ) -> Result<Self, Failure> {
        let file = ScriptFile::load(&arguments, surroundings)?;
        let tools = builtin_tools(surroundings.tools_options(cwd));
        let selection = Selection::new(&arguments, &tools, servers)?;
        for tool in tools {
            registry.register(tool);
        }
        let asking = surroundings.asking();
        let denied = union(&arguments.deny);
        let consent = if arguments.read_only {
            Consent::read_only(denied)
        } else {
            Consent::new(union(&arguments.yes), denied, asking)
        };
        let limits = limits(&arguments, &file);
        let folder = OutputFolder::new(&surroundings.temp_dir);
        let answering = Answering::new(&arguments, file.source.options, folder);
        let display = if arguments.quiet {
            Display::Lines
        } else {
            surroundings.display
        };
        let store = arguments.store.map(StoreFile::open).transpose()?;
        Ok(Self {
            file,
            selection,
            consent,
            asking,
            limits,
            store,
            answering,
            display,
        })
    }

    async fn run_script(
        &self,
        engine: &VmEngine,
        registry: &Registry,
        abort: Abort,
        screen: &Screen,
    ) -> ScriptResult {
        let mut builder = Pipeline::builder(registry.clone()).policy(Arc::new(self.consent));
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
    fn conclude(
        self,
        result: &ScriptResult,
        registry: &Registry,
        screen: Screen,
    ) -> Result<Exit, Failure> {
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
            Err(error) => Err(answer::failure(error, &result.calls, registry)),
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
