//! `pirn eval`: runs one Python or JavaScript program with the user's own interpreter.

mod answer;
mod arguments;
mod images;
mod kernel;
mod source;
mod stream;

use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use pirn_codemode::{EngineOptions, ScriptLimits};
use pirn_eval::{
    ApprovalMemory, EvalArguments as Request, EvalReport, FileStateStore, Gates, MemoryStateStore,
    NonInteractive, ProgramQuestions, StateBefore, StateStore,
};
use pirn_runtime::{
    Client, ClientOptions, EvalOptions, EvalRun, Permissions, Preparation, ProjectInterpreter,
    Runtime, engine_options, eval_sandbox,
};
use pirn_tool::ApprovalQueue;
use pirn_tui::Asker;
use tokio_util::sync::CancellationToken;

use crate::arguments::union;
use crate::call_arguments::working_folder;
use crate::calls;
use crate::confinement::network_flags;
use crate::consent::Asking;
use crate::event_loop;
use crate::exec::Screen;
use crate::failure::{Exit, Failure};
use crate::interrupt;
use crate::invocation::Invocation;
use crate::project::Project;
use crate::questions;
use crate::standard;
use answer::Answering;
use pirn_settings::{EvalEngine, FlagValues, ProjectFileKind, Settings, Trust};
use source::Program;

pub(crate) use arguments::EvalArguments;
pub(crate) use kernel::{BROKER_ARGUMENT, broker};

/// The call that the program's calls are nested in.
const CALL_ID: &str = "eval";
/// Where there is no node one program runs in an engine of Pirn's; one that was dropped may still be ending.
const LIVE_VMS_MAX: u32 = 2;

pub(crate) fn run(arguments: &EvalArguments, invocation: &Invocation) -> Result<Exit, Failure> {
    let program = Program::load(arguments, invocation)?;
    let cwd = working_folder(arguments.cwd.as_ref(), invocation)?;
    let answering = Answering::new(arguments, invocation)?;
    let project = Project::open(
        &cwd,
        &[
            ProjectFileKind::Settings,
            ProjectFileKind::Python,
            ProjectFileKind::OtherPython,
        ],
        &arguments.approval,
        &setting_flags(arguments)?,
        invocation,
    )?;
    let mut settings = project.settings;
    // Commands that a program runs are confined as it is.
    settings.sandbox = eval_sandbox(&settings);
    let store = state_store(arguments)?;
    let event_loop = event_loop::on_main_thread()?;
    let screen = Screen::start(answering.screen_options(invocation))?;
    let work = Work {
        arguments,
        answering: &answering,
        settings: &settings,
        trust: project.trust,
        screen: &screen,
        invocation,
    };
    let approvals = questions::queue(invocation);
    let (runtime, questions) = {
        let _entered = event_loop.enter();
        let runtime = work.runtime(store, cwd, approvals.as_ref())?;
        let asker = Asker {
            name: "The program",
            screen: Some(screen.questions()),
        };
        let questions = approvals.map(|queue| questions::show(&queue, asker, invocation));
        (runtime, questions)
    };
    if let Some(shortcoming) = runtime
        .confinement()
        .and_then(pirn_runtime::Confinement::shortcoming)
    {
        standard::note(&shortcoming);
    }
    let stopped = CancellationToken::new();
    let interrupts = interrupt::watch(stopped.clone(), || ())?;
    let report = event_loop.block_on(async {
        let report = work.evaluate(&runtime, program, stopped.clone()).await;
        runtime.shutdown().await;
        drop(questions);
        report
    });
    interrupts.work_ended();
    // A question that nobody answered may still wait for a line; the process does not wait for it.
    event_loop.shutdown_background();
    answering.conclude(&report?, runtime.confinement(), screen)
}

/// What was typed that stands for settings.
fn setting_flags(arguments: &EvalArguments) -> Result<FlagValues, Failure> {
    let mut flags = FlagValues::default();
    let (mode, hosts) = (arguments.network, &arguments.allow_host);
    network_flags("eval.network", mode, hosts, &mut flags)?;
    let engine = arguments
        .persistent
        .then(|| EvalEngine::Persistent.as_str());
    flags.set("--persistent", "eval.engine", engine).set(
        "--timeout",
        "eval.timeoutSeconds",
        arguments.timeout,
    );
    Ok(flags)
}

fn state_store(arguments: &EvalArguments) -> Result<Arc<dyn StateStore>, Failure> {
    match &arguments.state {
        None => Ok(Arc::new(MemoryStateStore::new())),
        Some(path) => FileStateStore::open(path)
            .map(|store| Arc::new(store) as Arc<dyn StateStore>)
            .map_err(|error| Failure::usage(error.to_string())),
    }
}

/// How programs are run, in a project that is trusted or not.
pub(crate) fn eval_options(trust: Trust) -> Result<EvalOptions, Failure> {
    Ok(EvalOptions {
        project_interpreter: match trust {
            Trust::Trusted => ProjectInterpreter::Used,
            Trust::Untrusted => ProjectInterpreter::Ignored,
        },
        ..EvalOptions::new(kernel::broker_program()?)
    })
}

/// What one program is run with.
struct Work<'a> {
    arguments: &'a EvalArguments,
    answering: &'a Answering,
    settings: &'a Settings,
    trust: Trust,
    screen: &'a Screen,
    invocation: &'a Invocation,
}

impl Work<'_> {
    fn runtime(
        &self,
        store: Arc<dyn StateStore>,
        cwd: PathBuf,
        approvals: Option<&ApprovalQueue>,
    ) -> Result<Runtime, Failure> {
        let mut builder = Runtime::builder(self.invocation.host.clone(), cwd)
            .settings(self.settings.clone())
            .confinement(Preparation::AtStart)
            .engine(EngineOptions {
                live_vms_max: LIVE_VMS_MAX,
                ..engine_options(&self.settings.codemode, &ScriptLimits::default())
            })
            .evals(EvalOptions {
                state: store,
                ..eval_options(self.trust)?
            });
        if let Some(approvals) = approvals {
            builder = builder.approvals(approvals.clone());
        }
        Ok(builder.build()?)
    }

    async fn evaluate(
        &self,
        runtime: &Runtime,
        program: Program,
        stopped: CancellationToken,
    ) -> Result<EvalReport, Failure> {
        let asking = self.invocation.asking();
        let allowed = union(&self.arguments.allow);
        let admitted = self.settings.eval.effects() | allowed;
        let client = self.client(runtime, asking);
        let approvals = runtime.approvals().cloned().unwrap_or_default();
        let _shown = calls::show(runtime.events(), self.screen.wire(), CALL_ID);
        let request = Request {
            language: program.language,
            code: program.code,
            timeout: Some(Duration::from_secs(self.settings.eval.timeout_seconds)),
            state: if self.arguments.reset {
                StateBefore::Forgotten
            } else {
                StateBefore::Kept
            },
        };
        let stream = stream::Stream::new(self.screen.wire());
        let run = EvalRun {
            arguments: request,
            admitted,
            gates: self.gates(approvals),
            updates: self.answering.streams().then(|| stream.updates()),
        };
        let report = client.evaluate(CALL_ID, run, stopped).await;
        stream.finish();
        Ok(report?)
    }

    fn client(&self, runtime: &Runtime, asking: Asking) -> Client {
        let allowed = union(&self.arguments.allow);
        let allowed = if self.arguments.yes {
            self.settings.eval.effects() | allowed
        } else {
            allowed
        };
        let permissions = Permissions {
            allowed,
            ..Permissions::default()
        };
        runtime.client(ClientOptions::new(
            permissions.policy(asking.otherwise("--allow")),
        ))
    }

    fn gates(&self, approvals: ApprovalQueue) -> Gates {
        let settings = &self.settings.eval;
        Gates {
            questions: if self.arguments.yes || !settings.require_confirmation {
                ProgramQuestions::Never
            } else {
                ProgramQuestions::Always
            },
            non_interactive: if self.arguments.yes || settings.allow_non_interactive {
                NonInteractive::Allowed
            } else {
                NonInteractive::Refused
            },
            memory: if settings.remember_approvals {
                ApprovalMemory::Session
            } else {
                ApprovalMemory::Off
            },
            ..Gates::new(approvals)
        }
    }
}
