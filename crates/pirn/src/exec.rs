//! `pirn exec`: runs one script.

mod answer;
mod screen;
mod source;
mod store;
mod toolset;

use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use pirn_codemode::{Abort, OutputFolder, ScriptLimits, StoreBackend, store_notes, tool_names};
use pirn_file::SpillFolder;
use pirn_runtime::{
    Client, ClientOptions, Confinement, EffectPolicy, Runtime, RuntimeBuilder, ScriptEnd,
    ScriptRun, ToolFilter, engine_options, script_limits, servers_of,
};
use pirn_sandbox::NetworkMode;
use pirn_tool::Registry;
use pirn_tui::Asker;
use pirn_vm::EngineOptions;
use tokio_util::sync::CancellationToken;

use crate::arguments::ExecArguments;
use crate::call_arguments::working_folder;
use crate::calls;
use crate::event_loop;
use crate::failure::{Exit, Failure};
use crate::interrupt;
use crate::invocation::{Display, Invocation};
use crate::mcp::{Configuration, TraceWhen, server_options, settle_and_tell};
use crate::questions;
use crate::standard;
use answer::Answering;
use pirn_settings::{CodemodeSettings, FlagValues, Problem, Settings};
use source::ScriptFile;

pub(crate) use screen::{CallDisplay, Items, Screen, ScreenOptions, ScreenWire};

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
    filter: ToolFilter,
    policy: EffectPolicy,
    limits: ScriptLimits,
    store: Option<Arc<dyn StoreBackend>>,
    answering: Answering,
    /// The files of what results cannot show.
    spill: SpillFolder,
    /// Where it is shown that servers are starting.
    display: Display,
}

pub(crate) fn run(arguments: ExecArguments, invocation: &Invocation) -> Result<Exit, Failure> {
    let cwd = working_folder(arguments.calls.cwd.as_ref(), invocation)?;
    let flags = setting_flags(&arguments);
    let project = arguments.calls.project(&cwd, flags, invocation)?;
    let settings = project.settings.clone();
    let configuration = arguments.calls.servers(&project, &cwd, invocation)?;
    let event_loop = event_loop(configuration.as_ref(), settings.sandbox.network)?;
    let plan = Plan::new(arguments, &settings.codemode, invocation)?;
    for note in &plan.file.source.notes {
        standard::note(note);
    }
    let screen = Screen::start(plan.answering.screen_options(invocation))?;
    let approvals = questions::queue(invocation);
    let (runtime, questions) = {
        let _entered = event_loop.enter();
        let mut builder = plan.builder(settings, configuration.as_ref(), cwd, invocation);
        if let Some(approvals) = &approvals {
            builder = builder.approvals(approvals.clone());
        }
        let asker = Asker {
            name: "The script",
            screen: Some(screen.questions()),
        };
        let questions = approvals.map(|queue| questions::show(&queue, asker, invocation));
        (builder.build()?, questions)
    };
    toolset::check(&plan.filter, &runtime)?;
    // Before the first command, and not after it.
    if let Some(warning) = runtime.confinement().and_then(Confinement::warning) {
        standard::note(&warning);
    }
    let (abort, stopped) = (Abort::new(), CancellationToken::new());
    let interrupts = interrupt::watch(stopped.clone(), {
        let abort = abort.clone();
        move || abort.abort("Interrupted")
    })?;
    let problems: Vec<Problem> = configuration
        .iter()
        .flat_map(Configuration::errors)
        .cloned()
        .collect();
    let (client, end) = event_loop.block_on(async {
        if let Some(servers) = runtime.servers() {
            let tools = tool_names(&plan.file.source.code);
            let named = servers_of(&tools);
            settle_and_tell(servers, &problems, named, &stopped, plan.display).await;
        }
        let client = plan.client(&runtime);
        let _shown = calls::show(runtime.events(), screen.wire(), CALL_ID);
        let end = plan.run_script(&client, abort, &screen).await;
        runtime.shutdown().await;
        drop(questions);
        (client, end)
    });
    interrupts.work_ended();
    // A question that nobody answered may still wait for a line; the process does not wait for it.
    event_loop.shutdown_background();
    plan.conclude(&end?, client.registry(), runtime.confinement(), screen)
}

/// One thread is enough for a script; servers and the proxy of an allow-list need others, that answer while it computes.
fn event_loop(
    configuration: Option<&Configuration>,
    network: NetworkMode,
) -> anyhow::Result<tokio::runtime::Runtime> {
    match (configuration, network) {
        (Some(_), _) | (None, NetworkMode::AllowList) => event_loop::beside_main_thread(),
        (None, NetworkMode::Off | NetworkMode::On) => event_loop::on_main_thread(),
    }
}

impl Plan {
    fn new(
        arguments: ExecArguments,
        settings: &CodemodeSettings,
        invocation: &Invocation,
    ) -> Result<Self, Failure> {
        let file = ScriptFile::load(&arguments, invocation)?;
        let otherwise = invocation.asking().otherwise("--yes");
        let policy = arguments.calls.permissions().policy(otherwise);
        let filter = arguments.calls.filter();
        let limits = limits(&arguments, &file, settings);
        // Whoever ran the script reads them afterwards.
        let spill = SpillFolder::new(&invocation.host.temp_dir);
        let folder = OutputFolder::over(spill.clone());
        let answering = Answering::new(&arguments, file.source.options, folder);
        let display = if arguments.quiet {
            Display::Lines
        } else {
            invocation.display
        };
        let store = arguments.store.map(store::open).transpose()?;
        Ok(Self {
            file,
            filter,
            policy,
            limits,
            store,
            answering,
            spill,
            display,
        })
    }

    fn builder(
        &self,
        settings: Settings,
        configuration: Option<&Configuration>,
        cwd: PathBuf,
        invocation: &Invocation,
    ) -> RuntimeBuilder {
        let codemode = settings.codemode.clone();
        let mut builder = Runtime::builder(invocation.host.clone(), cwd)
            .settings(settings)
            .spill(self.spill.clone())
            .engine(EngineOptions {
                live_vms_max: LIVE_VMS_MAX,
                ..engine_options(&codemode, &self.limits)
            });
        if let Some(store) = &self.store {
            builder = builder.script_store(Arc::clone(store));
        }
        if let Some(configuration) = configuration {
            builder = builder.servers(server_options(configuration, TraceWhen::Asked));
        }
        builder
    }

    fn client(&self, runtime: &Runtime) -> Client {
        runtime.client(ClientOptions {
            tools: self.filter.clone(),
            ..ClientOptions::new(self.policy.clone())
        })
    }

    async fn run_script(
        &self,
        client: &Client,
        abort: Abort,
        screen: &Screen,
    ) -> Result<ScriptEnd, Failure> {
        let run = ScriptRun {
            file_name: self.file.name.clone(),
            limits: Some(self.limits),
            abort,
            progress: Some(screen.progress()),
            ..ScriptRun::new(CALL_ID, self.file.source.code.clone())
        };
        Ok(client.run_script(run).await?)
    }

    /// Shows what is left to show, and says how the script ended.
    fn conclude(
        self,
        end: &ScriptEnd,
        registry: &Registry,
        confinement: Option<&Confinement>,
        screen: Screen,
    ) -> Result<Exit, Failure> {
        let result = &end.result;
        self.answering.show(result, confinement, screen)?;
        match &end.stored {
            Err(error) => return Err(Failure::from(anyhow::Error::from(Arc::clone(error)))),
            // What became of the user's data is told even where everything else is left out.
            Ok(commit) if !self.answering.shows_remarks() => {
                for note in store_notes(commit) {
                    standard::note(&note);
                }
            }
            Ok(_) => {}
        }
        for note in confinement
            .iter()
            .flat_map(|confinement| confinement.take_notes())
        {
            standard::note(&note);
        }
        if let Some(confinement) = confinement
            && result.calls.iter().any(|call| call.name == COMMANDS)
        {
            let notes = [confinement.shortcoming(), confinement.refused_hosts()];
            for note in notes.into_iter().flatten() {
                standard::note(&note);
            }
        }
        match &result.outcome {
            Ok(_) => Ok(Exit::Success),
            Err(error) if self.answering.holds_error() => Ok(answer::exit(error.kind)),
            Err(error) => {
                let calls = self.answering.calls(self.display);
                Err(answer::failure(error, &result.calls, registry, calls))
            }
        }
    }
}

/// What was typed that stands for settings.
fn setting_flags(arguments: &ExecArguments) -> FlagValues {
    let mut flags = FlagValues::default();
    let calls_in_flight = arguments.calls_in_flight;
    flags
        .set("--memory-mb", "codemode.memoryMb", arguments.memory_mb)
        .set(
            "--calls-in-flight",
            "codemode.callsInFlight",
            calls_in_flight,
        );
    flags
}

/// The limits of the settings, or what the options line asks for, or what the command line asks for.
fn limits(
    arguments: &ExecArguments,
    file: &ScriptFile,
    settings: &CodemodeSettings,
) -> ScriptLimits {
    let mut limits = script_limits(settings);
    if let Some(timeout_ms) = arguments.timeout_ms.or(file.source.options.timeout_ms) {
        limits.wall = Duration::from_millis(timeout_ms);
    }
    if let Some(cpu_ms) = arguments.cpu_ms {
        limits.vm.cpu = Duration::from_millis(cpu_ms);
    }
    if let Some(calls_max) = arguments.calls_max {
        limits.calls_max = calls_max;
    }
    if let Some(call_mb) = arguments.call_mb {
        limits.call_bytes_max = usize::try_from(call_mb * BYTES_PER_MB).unwrap_or(usize::MAX);
    }
    if let Some(output_characters) = arguments.output_characters {
        limits.vm.output_characters = output_characters;
    }
    limits
}
