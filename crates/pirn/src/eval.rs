//! `pirn eval`: runs one Python or JavaScript program with the user's own interpreter.

mod answer;
mod arguments;
mod calls;
mod confirm;
mod engine;
mod images;
mod kernel;
mod source;
mod stream;

use std::path::Path;
use std::sync::Arc;

use pirn_eval::{
    AdapterOptions, Asking as ProgramAsking, EvalArguments as Request, EvalReport, EvalTool,
    FileStateStore, Gates, Kernel, MemoryStateStore, NonInteractive, Remembering, StateBefore,
    StateStore, eval_adapters,
};
use pirn_sandbox::Profile;
use pirn_tool::{CallContext, Effects, Pipeline, Registry};
use pirn_tools::builtin_tools;
use tokio_util::sync::CancellationToken;

use crate::arguments::union;
use crate::confinement::{Confinement, Moment, chosen_network};
use crate::consent::{AllowingFlag, Asking, Consent, TerminalApprover};
use crate::event_loop;
use crate::exec::{Screen, working_folder};
use crate::failure::{Exit, Failure};
use crate::interrupt;
use crate::invocation::Invocation;
use crate::project::Project;
use crate::standard;
use answer::Answering;
use confirm::TerminalConfirmer;
use pirn_settings::ProjectFileKind;
use pirn_settings::{EvalEngine, Settings};
use source::Program;

pub(crate) use arguments::EvalArguments;
pub(crate) use kernel::{BROKER_ARGUMENT, broker};

/// The call that the program's calls are nested in.
const CALL_ID: &str = "eval";

/// Runs the command.
pub(crate) fn run(arguments: &EvalArguments, invocation: &Invocation) -> Result<Exit, Failure> {
    let program = Program::load(arguments, invocation)?;
    let cwd = working_folder(arguments.cwd.as_ref(), invocation)?;
    let answering = Answering::new(arguments, invocation)?;
    let project = Project::open(
        &cwd,
        &[ProjectFileKind::Settings],
        &arguments.approval,
        invocation,
    )?;
    let settings = with_flags(project.settings, arguments)?;
    let store = state_store(arguments)?;
    let runtime = event_loop::on_main_thread()?;
    let entered = runtime.enter();
    let confinement = Confinement::prepare(&settings.sandbox, &cwd, invocation, Moment::Now)?;
    if let Some(shortcoming) = confinement.shortcoming() {
        standard::note(&shortcoming);
    }
    let mut options = kernel::options(&settings, &cwd, store, invocation)?;
    options.network_asker = confinement.network_asker();
    let kernel = Kernel::new(options);
    let screen = Screen::start(answering.screen_options(invocation))?;
    confinement.announce_at(screen.questions(), "The program");
    let work = Work {
        arguments,
        answering: &answering,
        settings: &settings,
        confinement: &confinement,
        cwd: &cwd,
        invocation,
    };
    let stopped = CancellationToken::new();
    let interrupts = interrupt::watch(stopped.clone(), || ())?;
    let report = runtime.block_on(async {
        let report = work
            .evaluate(program, &kernel, &screen, stopped.clone())
            .await;
        kernel.close().await;
        report
    });
    interrupts.work_ended();
    drop(entered);
    // A question that nobody answered may still wait for a line; the process does not wait for it.
    runtime.shutdown_background();
    answering.conclude(&report, &confinement, screen)
}

/// The settings as the flags change them. What programs run is confined by the settings of commands, with two differences: it
/// always is, and its network is a setting of its own.
fn with_flags(mut settings: Settings, arguments: &EvalArguments) -> Result<Settings, Failure> {
    let hosts = &arguments.allow_host;
    let network = chosen_network(arguments.network, hosts)?.unwrap_or(settings.eval.network);
    let sandbox = &mut settings.sandbox;
    sandbox.network = network;
    sandbox
        .allowed_hosts
        .extend(hosts.iter().map(ToString::to_string));
    if sandbox.profile == Profile::Off {
        sandbox.profile = Profile::WorkspaceWrite;
    }
    if arguments.persistent {
        settings.eval.engine = EvalEngine::Persistent;
    }
    Ok(settings)
}

fn state_store(arguments: &EvalArguments) -> Result<Arc<dyn StateStore>, Failure> {
    match &arguments.state {
        None => Ok(Arc::new(MemoryStateStore::new())),
        Some(path) => FileStateStore::open(path)
            .map(|store| Arc::new(store) as Arc<dyn StateStore>)
            .map_err(Failure::usage),
    }
}

/// What one program is run with.
struct Work<'a> {
    arguments: &'a EvalArguments,
    answering: &'a Answering,
    settings: &'a Settings,
    confinement: &'a Confinement,
    cwd: &'a Path,
    invocation: &'a Invocation,
}

impl Work<'_> {
    async fn evaluate(
        &self,
        program: Program,
        kernel: &Kernel,
        screen: &Screen,
        stopped: CancellationToken,
    ) -> EvalReport {
        let asking = self.invocation.asking();
        let admitted = self.settings.eval.effects() | union(&self.arguments.allow);
        let tool = self.tool(kernel, screen, asking, admitted);
        let allowed = if self.arguments.yes {
            admitted
        } else {
            union(&self.arguments.allow)
        };
        let consent = Consent::new(allowed, Effects::NONE, asking).allowed_by(AllowingFlag::Allow);
        let calls = calls::Calls::new(screen.wire(), CALL_ID);
        let mut builder = Pipeline::builder(self.registry())
            .policy(Arc::new(consent))
            .events(calls.sink());
        if asking == Asking::Possible {
            builder = builder.approver(Arc::new(TerminalApprover::new(screen.questions())));
        }
        let mut context = CallContext::detached(CALL_ID);
        context.cancel = stopped;
        let request = Request {
            language: program.language,
            code: program.code,
            timeout: self
                .arguments
                .timeout()
                .or(Some(std::time::Duration::from_secs(
                    self.settings.eval.timeout_seconds,
                ))),
            state: if self.arguments.reset {
                StateBefore::Forgotten
            } else {
                StateBefore::Kept
            },
        };
        let stream = stream::Stream::new(screen.wire());
        let updates = self.answering.streams().then(|| stream.updates());
        let report = tool
            .evaluate(&builder.build(), &context, request, updates)
            .await;
        stream.finish();
        // Ends what commands of the program left in the background.
        context.lifetime.cancel();
        report
    }

    fn tool(
        &self,
        kernel: &Kernel,
        screen: &Screen,
        asking: Asking,
        admitted: Effects,
    ) -> EvalTool {
        let settings = &self.settings.eval;
        let sandbox = self.confinement.sandbox();
        let gates = Gates {
            asking: if self.arguments.yes || !settings.require_confirmation {
                ProgramAsking::Never
            } else {
                ProgramAsking::Always
            },
            non_interactive: if self.arguments.yes || settings.allow_non_interactive {
                NonInteractive::Allowed
            } else {
                NonInteractive::Refused
            },
            remembering: if settings.remember_approvals {
                Remembering::Session
            } else {
                Remembering::Off
            },
            ..Gates::new(Arc::new(TerminalConfirmer::new(screen.questions(), asking)))
        };
        EvalTool {
            admitted,
            adapters: eval_adapters(AdapterOptions {
                root: self.cwd.to_owned(),
                environment: self.invocation.host.environment.clone(),
                sandbox: sandbox.cloned(),
            }),
            confinement: sandbox.map(|sandbox| sandbox.report().clone()),
            ..EvalTool::new(Arc::new(kernel.clone()), gates)
        }
    }

    fn registry(&self) -> Registry {
        let mut options = self.invocation.tools_options(self.cwd);
        options.sandbox = self.confinement.sandbox().cloned();
        let registry = Registry::new();
        for tool in builtin_tools(options) {
            registry.register(tool);
        }
        registry
    }
}
