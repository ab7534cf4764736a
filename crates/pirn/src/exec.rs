//! `pirn exec`: runs one script.

mod answer;
mod calls;
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
use pirn_mcp::Waiting;
use pirn_sandbox::NetworkMode;
use pirn_tool::{CallContext, Pipeline, Registry, Tool};
use pirn_tools::builtin_tools;
use pirn_vm::{EngineOptions, VmEngine};
use tokio::runtime::Runtime;
use tokio_util::sync::CancellationToken;

use crate::arguments::{ExecArguments, union};
use crate::confinement::{Confinement, Moment};
use crate::consent::{Asking, Consent, TerminalApprover};
use crate::event_loop;
use crate::failure::{Exit, Failure};
use crate::interrupt;
use crate::invocation::{Display, Invocation};
use crate::mcp::{Configuration, Occasion, Servers};
use crate::project::Project;
use crate::standard;
use answer::Answering;
use source::ScriptFile;
use store::StoreFile;
use toolset::Selection;

pub(crate) use screen::{CallDisplay, Items, Questions, Screen, ScreenOptions, ScreenWire};

/// The call that the script's calls are nested in.
const CALL_ID: &str = "exec";
/// One script runs; the engine needs a second VM at most while it prepares the first.
const LIVE_VMS_MAX: u32 = 2;
const BYTES_PER_MB: u64 = 1 << 20;
/// The tool that runs commands.
const COMMANDS: &str = "bash";

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
pub(crate) fn run(arguments: ExecArguments, invocation: &Invocation) -> Result<Exit, Failure> {
    let cwd = working_folder(arguments.cwd.as_ref(), invocation)?;
    let gates = arguments.mcp.file_kinds();
    let project = Project::open(&cwd, gates, &arguments.approval, invocation)?;
    let mut sandbox_settings = project.settings.sandbox.clone();
    arguments.confinement.apply(&mut sandbox_settings)?;
    let configuration = arguments.mcp.configuration(&project, &cwd, invocation)?;
    let runtime = runtime(configuration.as_ref(), sandbox_settings.network)?;
    let registry = Registry::new();
    // Before anything else, so that servers start while the script is read and prepared.
    let servers = configuration
        .map(|configuration| {
            let _entered = runtime.enter();
            Servers::prepare(configuration, &registry, &cwd, Occasion::Work, invocation)
        })
        .transpose()?;
    let confinement = Confinement::prepare(&sandbox_settings, &cwd, invocation, Moment::FirstUse)?;
    let mut tools_options = invocation.tools_options(&cwd);
    tools_options.sandbox = confinement.sandbox().cloned();
    let tools = builtin_tools(tools_options);
    let plan = Plan::new(arguments, invocation, tools, &registry, servers.as_ref())?;
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
    let screen = Screen::start(plan.answering.screen_options(invocation))?;
    if let Some(servers) = &servers {
        servers.announce_at(screen.questions());
    }
    confinement.announce_at(screen.questions(), "A command");
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
    plan.conclude(&result, &registry, &confinement, screen)
}

/// One thread is enough for a script; servers and the proxy of an allow-list need others, that answer while it computes.
fn runtime(configuration: Option<&Configuration>, network: NetworkMode) -> anyhow::Result<Runtime> {
    match (configuration, network) {
        (Some(_), _) | (None, NetworkMode::AllowList) => event_loop::beside_main_thread(),
        (None, NetworkMode::Off | NetworkMode::On) => event_loop::on_main_thread(),
    }
}

impl Plan {
    fn new(
        arguments: ExecArguments,
        invocation: &Invocation,
        tools: Vec<Tool>,
        registry: &Registry,
        servers: Option<&Servers>,
    ) -> Result<Self, Failure> {
        let file = ScriptFile::load(&arguments, invocation)?;
        let selection = Selection::new(&arguments, &tools, servers)?;
        for tool in tools {
            registry.register(tool);
        }
        let asking = invocation.asking();
        let denied = union(&arguments.deny);
        let consent = if arguments.read_only {
            Consent::read_only(denied)
        } else {
            Consent::new(union(&arguments.yes), denied, asking)
        };
        let limits = limits(&arguments, &file);
        let folder = OutputFolder::new(&invocation.host.temp_dir);
        let answering = Answering::new(&arguments, file.source.options, folder);
        let display = if arguments.quiet {
            Display::Lines
        } else {
            invocation.display
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
        confinement: &Confinement,
        screen: Screen,
    ) -> Result<Exit, Failure> {
        let stored = match &self.store {
            Some(store) if !result.store_writes.is_empty() => store.commit(&result.store_writes),
            Some(_) | None => Ok(Vec::new()),
        };
        self.answering.show(result, confinement, screen)?;
        for note in stored? {
            standard::note(&note);
        }
        if result.calls.iter().any(|call| call.name == COMMANDS) {
            let notes = [
                confinement.warning(),
                confinement.shortcoming(),
                confinement.refused_hosts(),
            ];
            for note in notes.into_iter().flatten() {
                standard::note(&note);
            }
        }
        match &result.outcome {
            Ok(_) => Ok(Exit::Success),
            Err(error) if self.answering.holds_error() => Ok(answer::exit(error.kind)),
            Err(error) => Err(answer::failure(error, &result.calls, registry)),
        }
    }
}

/// The folder in which tools work.
pub(crate) fn working_folder(
    cwd: Option<&PathBuf>,
    invocation: &Invocation,
) -> Result<PathBuf, Failure> {
    let Some(cwd) = cwd else {
        return Ok(invocation.host.cwd.clone());
    };
    let shown = cwd.display();
    let folder = invocation.host.cwd.join(cwd);
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
