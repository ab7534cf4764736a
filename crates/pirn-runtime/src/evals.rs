//! Evals: from settings to a kernel, and one program run through a client's pipeline.

use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use pirn_eval::{
    AdapterOptions, BrokerProgram, EvalArguments, EvalFailureKind, EvalReport, EvalTool, Gates,
    Interpreters, Kernel, KernelOptions, Language, MemoryStateStore, PythonEngine, StateStore,
    Updates, eval_adapters,
};
use pirn_sandbox::Profile;
use pirn_settings::{EvalEngine, HostEnv, PROJECT_PYTHONS, SandboxSettings, Settings};
use pirn_tool::{CallContext, Effects, Pipeline};

use crate::confinement::{ChildEnvironment, Confinement, policy_spec};
use crate::engine::EngineSource;
use crate::error::Error;

/// What runs Python where nothing else is set.
const PYTHON: &str = "python3";
/// What runs JavaScript where nothing else is set.
const NODE: &str = "node";

/// Whether the project's own interpreter counts.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum ProjectInterpreter {
    /// The project is trusted.
    Used,
    /// Nobody said that the project is trusted.
    #[default]
    Ignored,
}

/// What a runtime needs to run programs with the user's interpreters.
#[derive(Clone)]
pub struct EvalOptions {
    /// Who becomes the broker: a program that calls [`pirn_eval::broker::run`].
    pub broker: BrokerProgram,
    /// Where the state between programs is kept.
    pub state: Arc<dyn StateStore>,
    /// Whether a virtual environment of the project counts.
    pub project_interpreter: ProjectInterpreter,
}

impl EvalOptions {
    /// With a state that lasts as long as the runtime.
    pub fn new(broker: BrokerProgram) -> Self {
        Self {
            broker,
            state: Arc::new(MemoryStateStore::new()),
            project_interpreter: ProjectInterpreter::default(),
        }
    }
}

impl std::fmt::Debug for EvalOptions {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter
            .debug_struct("EvalOptions")
            .field("broker", &self.broker)
            .finish_non_exhaustive()
    }
}

/// One program to run.
#[derive(Clone)]
pub struct EvalRun {
    /// The program, its language, its time-out, and what becomes of its state.
    pub arguments: EvalArguments,
    /// Tools with no other effects than these can be called.
    pub admitted: Effects,
    /// What the program passes before it starts.
    pub gates: Gates,
    /// Hears of what happens; it is never waited for.
    pub updates: Option<Updates>,
}

impl std::fmt::Debug for EvalRun {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter
            .debug_struct("EvalRun")
            .field("arguments", &self.arguments)
            .field("admitted", &self.admitted)
            .finish_non_exhaustive()
    }
}

/// What the settings say about the confinement of programs: that of commands, with two differences. There always is one, and its
/// network is a setting of its own.
pub fn eval_sandbox(settings: &Settings) -> SandboxSettings {
    let mut sandbox = settings.sandbox.clone();
    sandbox.network = settings.eval.network;
    if sandbox.profile == Profile::Off {
        sandbox.profile = Profile::WorkspaceWrite;
    }
    sandbox
}

/// The kernel of a runtime, and how its programs are confined.
#[derive(Debug)]
pub(crate) struct Evals {
    kernel: Kernel,
    confinement: Arc<Confinement>,
    interpreters: Interpreters,
    /// Folders in which commands write.
    writable: Vec<PathBuf>,
    folder: PathBuf,
    /// The variables of processes that programs start.
    environment: Vec<(OsString, OsString)>,
}

impl Evals {
    /// Makes a kernel; its broker starts with the first program. `confinement` is that of programs.
    pub(crate) fn new(
        options: EvalOptions,
        engine: &EngineSource,
        settings: &Settings,
        confinement: Arc<Confinement>,
        folder: &Path,
        children: ChildEnvironment<'_>,
    ) -> Result<Self, Error> {
        let env = children.env;
        let eval = &settings.eval;
        let mut kernel = KernelOptions::new(
            options.broker,
            policy_spec(&eval_sandbox(settings), folder, env)?,
            options.state,
        );
        kernel.environment = children.variables(&settings.sandbox);
        let project_python = match options.project_interpreter {
            ProjectInterpreter::Used => project_python(folder),
            ProjectInterpreter::Ignored => None,
        };
        kernel.python = match &eval.python {
            Some(python) => Some(program(python, env)),
            None => project_python,
        };
        kernel.node = eval.node.as_deref().map(|node| program(node, env));
        let interpreters = Interpreters {
            python: found(kernel.python.as_deref().unwrap_or(Path::new(PYTHON)), env),
            node: found(kernel.node.as_deref().unwrap_or(Path::new(NODE)), env),
        };
        let mut writable = vec![folder.to_owned(), env.temp_dir.clone()];
        writable.extend(settings.sandbox.write_roots.iter().cloned());
        kernel.python_engine = match eval.engine {
            EvalEngine::Fresh => PythonEngine::Fresh,
            EvalEngine::Persistent => PythonEngine::Persistent,
        };
        kernel.script_engine = Some(engine.for_programs());
        kernel.network_asker = confinement.network_asker();
        Ok(Self {
            kernel: Kernel::new(kernel),
            confinement,
            interpreters,
            writable,
            folder: folder.to_owned(),
            environment: children.variables(&settings.sandbox),
        })
    }

    /// How programs are confined.
    pub(crate) fn confinement(&self) -> &Confinement {
        &self.confinement
    }

    /// Runs one program on behalf of the call that `context` belongs to.
    pub(crate) async fn run(
        &self,
        pipeline: &Pipeline,
        context: &CallContext,
        run: EvalRun,
    ) -> EvalReport {
        let EvalRun {
            arguments,
            admitted,
            gates,
            updates,
        } = run;
        let language = arguments.language;
        if let Some(problem) = self.unsafe_interpreter(language) {
            return EvalReport::refused(language, EvalFailureKind::Spawn, problem);
        }
        let tool = self.tool(gates, admitted);
        tool.evaluate(pipeline, context, arguments, updates).await
    }

    /// The tool `eval` over the kernel. `admitted` are the effects of tools that programs can call.
    pub(crate) fn tool(&self, gates: Gates, admitted: Effects) -> EvalTool {
        let sandbox = self.confinement.sandbox();
        EvalTool {
            admitted,
            adapters: eval_adapters(AdapterOptions {
                root: self.folder.clone(),
                environment: self.environment.clone(),
                sandbox: sandbox.cloned(),
            }),
            interpreters: self.interpreters.clone(),
            confinement: sandbox.and_then(|sandbox| sandbox.report().ok().cloned()),
            ..EvalTool::new(Arc::new(self.kernel.clone()), gates)
        }
    }

    /// Why the interpreter of a language may not run: commands can put another program in its place.
    pub(crate) fn unsafe_interpreter(&self, language: Language) -> Option<String> {
        let interpreter = self.interpreters.of(language)?;
        // What would be run, wherever links lead.
        let real = interpreter.canonicalize().ok()?;
        let folder = self.writable.iter().find(|folder| {
            let folder = folder
                .canonicalize()
                .unwrap_or_else(|_| PathBuf::clone(folder));
            real.starts_with(folder)
        })?;
        Some(format!(
            "the interpreter {} is in {}, where commands can change it, so nothing was run; the settings eval.python and \
             eval.node name others",
            real.display(),
            folder.display()
        ))
    }

    /// Ends what runs, and the broker.
    pub(crate) async fn close(&self) {
        self.kernel.close().await;
    }
}

/// The program that a setting names: a path, `~/…`, or a name on the `PATH`.
fn program(named: &str, env: &HostEnv) -> PathBuf {
    match (named.strip_prefix("~/"), &env.home) {
        (Some(rest), Some(home)) => home.join(rest),
        _ => PathBuf::from(named),
    }
}

/// The file that a program's name leads to: itself, or the first of that name on the `PATH`.
fn found(program: &Path, env: &HostEnv) -> Option<PathBuf> {
    if program.components().count() > 1 {
        return program.is_file().then(|| program.to_owned());
    }
    let path = env
        .environment
        .iter()
        .rev()
        .find(|(name, _)| name == "PATH");
    std::env::split_paths(&path?.1)
        .map(|folder| folder.join(program))
        .find(|candidate| candidate.is_file())
}

/// The Python of the project's virtual environment.
fn project_python(folder: &Path) -> Option<PathBuf> {
    PROJECT_PYTHONS
        .iter()
        .map(|python| folder.join(python))
        .find(|python| python.is_file())
}
