//! How a kernel is set up.

use std::ffi::OsString;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use pirn_sandbox::{NetworkAsker, PolicySpec};

use crate::limits::{OUTPUT_BYTES_DEFAULT, OUTPUT_BYTES_LEAST, OUTPUT_BYTES_MOST, TIMEOUT_MAX};
use crate::script::ScriptEngineSource;
use crate::state::StateStore;

/// How Python programs follow each other.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash)]
pub enum PythonEngine {
    /// A new process for each; `state` alone is kept, as JSON, all or nothing.
    #[default]
    Fresh,
    /// One live namespace per branch, kept between them.
    Persistent,
}

impl PythonEngine {
    /// The name in settings.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Fresh => "fresh",
            Self::Persistent => "persistent",
        }
    }

    /// Finds an engine by its name.
    pub fn from_name(name: &str) -> Option<Self> {
        [Self::Fresh, Self::Persistent]
            .into_iter()
            .find(|engine| engine.as_str() == name)
    }
}

/// The program that acts as broker: the one that calls [`crate::broker::run`].
#[derive(Debug, Clone)]
pub struct BrokerProgram {
    /// The program's file, such as the running one's own.
    pub program: PathBuf,
    /// What makes it the broker.
    pub arguments: Vec<OsString>,
}

/// The programs that run inside the interpreters. The defaults are Pirn's own; others are for tests of the protocol.
#[derive(Debug, Clone, Default)]
pub struct WorkerPrograms {
    /// Source for `python3 -c`.
    pub python: Option<String>,
    /// Source for `node -e`.
    pub javascript: Option<String>,
}

/// How a kernel is set up.
#[derive(Clone)]
pub struct KernelOptions {
    /// Who is started as broker.
    pub broker: BrokerProgram,
    /// The whole environment of workers; the caller has taken out what they must not know.
    pub environment: Vec<(OsString, OsString)>,
    /// The Python interpreter; `None`: `python3` on the `PATH` of the environment.
    pub python: Option<PathBuf>,
    /// Node; `None`: `node` on the `PATH` of the environment.
    pub node: Option<PathBuf>,
    /// Where programs run, and how workers are confined. [`Profile::Off`](pirn_sandbox::Profile::Off) counts as
    /// [`Profile::WorkspaceWrite`](pirn_sandbox::Profile::WorkspaceWrite): workers are always confined.
    pub confinement: PolicySpec,
    /// Who is asked about hosts that no rule of an allow-list decides; without, they are refused. The eval is
    /// frozen meanwhile and its time stands still; with the eval its questions end.
    pub network_asker: Option<Arc<dyn NetworkAsker>>,
    /// How Python programs follow each other.
    pub python_engine: PythonEngine,
    /// What is kept of each output, in bytes; clamped to 256..=262,144.
    pub output_bytes_max: usize,
    /// The longest time an eval may ask for; clamped to [`TIMEOUT_MAX`].
    pub timeout_max: Duration,
    /// Where committed state is kept.
    pub state: Arc<dyn StateStore>,
    /// Runs JavaScript where there is no node.
    pub script_engine: Option<ScriptEngineSource>,
    /// The programs inside the interpreters.
    pub workers: WorkerPrograms,
}

impl KernelOptions {
    /// Options with the default engine and limits, an empty environment, and no engine of Pirn's own for JavaScript.
    pub fn new(broker: BrokerProgram, confinement: PolicySpec, state: Arc<dyn StateStore>) -> Self {
        Self {
            broker,
            environment: Vec::new(),
            python: None,
            node: None,
            confinement,
            network_asker: None,
            python_engine: PythonEngine::default(),
            output_bytes_max: OUTPUT_BYTES_DEFAULT,
            timeout_max: TIMEOUT_MAX,
            state,
            script_engine: None,
            workers: WorkerPrograms::default(),
        }
    }

    /// What is kept of each output, in bytes.
    pub(crate) fn output_bytes(&self) -> usize {
        self.output_bytes_max
            .clamp(OUTPUT_BYTES_LEAST, OUTPUT_BYTES_MOST)
    }

    /// How long an eval that asks for `asked` may run.
    pub(crate) fn timeout(&self, asked: Duration) -> Duration {
        asked.min(self.timeout_max).min(TIMEOUT_MAX)
    }
}

impl std::fmt::Debug for KernelOptions {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter
            .debug_struct("KernelOptions")
            .field("broker", &self.broker)
            .field("python", &self.python)
            .field("node", &self.node)
            .field("confinement", &self.confinement)
            .field("network_asker", &self.network_asker)
            .field("python_engine", &self.python_engine)
            .finish_non_exhaustive()
    }
}
