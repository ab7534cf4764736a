//! Making workers: which interpreter, in which sandbox, in which mode.

use std::ffi::OsString;
use std::io;
use std::os::fd::OwnedFd;
use std::os::unix::net::UnixStream as StdUnixStream;
use std::path::PathBuf;
use std::sync::Arc;

use pirn_sandbox::{
    Child, Command, ErrorKind, ExitStatus, Layer, Network, NetworkAnswer, NetworkDecision,
    NetworkProxy, OsText, OutputMode, Profile, Sandbox,
};
use tokio::sync::mpsc::UnboundedSender;

use super::asker::KernelAsker;
use super::event::{ProcessEvent, WorkerExit};
use super::worker_pipes::{Source, WorkerPipes};
use super::zygote::{Zygote, control_pair};
use crate::frame::{EngineName, Setup};
use crate::outcome::HostDecision;
use crate::request::Language;
use crate::tail::SharedTail;
use crate::text::cut;
use crate::worker;

/// The oldest Python that runs the worker.
const PYTHON_LEAST: (u32, u32) = (3, 9);

/// Decisions of the network proxy that are told of one eval. They all go in one message.
const DECISIONS_MAX: usize = 256;
/// The longest host and reason in them: no name in DNS is longer, but a request may have anything in its place.
const DECISION_TEXT_BYTES_MAX: usize = 512;

/// How the workers of one broker are made.
pub(super) struct WorkerFactory {
    language: Language,
    interpreter: OsString,
    program: String,
    environment: Vec<(OsString, OsString)>,
    sandbox: Sandbox,
    /// Where there is somebody to ask.
    asker: Option<Arc<KernelAsker>>,
    events: UnboundedSender<ProcessEvent>,
    keys: u64,
    /// The last decision of the network proxy before the present eval.
    decision_before: u64,
    /// Whether the last eval was killed for its memory.
    pub(super) was_out_of_memory: bool,
}

/// What fresh evals run in.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum FreshMode {
    /// A fork of a warm Python.
    Zygote,
    /// A process of its own, started ahead.
    Once,
}

/// Why a worker was not started.
#[derive(Debug, Clone)]
pub(super) enum StartProblem {
    /// There is no interpreter; says what to do.
    NoInterpreter(String),
    /// Anything else, as a sentence.
    Other(String),
}

/// A worker that is a process of its own.
pub(super) struct ProcessWorker {
    pub(super) key: u64,
    pub(super) child: Arc<Child>,
    pub(super) pipes: WorkerPipes,
}

impl WorkerFactory {
    /// Prepares confinement. The error is a sentence for people.
    pub(super) fn new(setup: Setup, events: UnboundedSender<ProcessEvent>) -> Result<Self, String> {
        let language = Language::from_name(&setup.language)
            .ok_or_else(|| format!("There is no language {}.", setup.language))?;
        let asker = setup
            .asks_about_hosts
            .then(|| Arc::new(KernelAsker::new(events.clone())));
        let mut confinement = setup.confinement;
        // Workers are always confined.
        if confinement.profile == Profile::Off {
            confinement.profile = Profile::WorkspaceWrite;
        }
        let policy = confinement.into_policy(asker.clone().map(|asker| asker as Arc<_>));
        let sandbox = Sandbox::prepare(policy).map_err(|error| error.to_string())?;
        Ok(Self {
            language,
            interpreter: setup.interpreter.0,
            program: setup
                .program
                .unwrap_or_else(|| own_program(language).to_owned()),
            environment: setup
                .environment
                .into_iter()
                .map(|(OsText(name), OsText(value))| (name, value))
                .collect(),
            sandbox,
            asker,
            events,
            keys: 0,
            decision_before: 0,
            was_out_of_memory: false,
        })
    }

    pub(super) fn sandbox(&self) -> &Sandbox {
        &self.sandbox
    }

    /// Answers a question about a host.
    pub(super) fn answer_host(&self, number: u64, answer: NetworkAnswer) {
        if let Some(asker) = &self.asker {
            asker.answer(number, answer);
        }
    }

    /// An eval is over: nobody will answer its questions any more.
    pub(super) fn give_up_questions(&self) {
        if let Some(asker) = &self.asker {
            asker.give_up();
        }
    }

    fn proxy(&self) -> Option<&NetworkProxy> {
        match &self.sandbox.policy().network {
            Network::AllowList(proxy) => Some(proxy),
            Network::Off | Network::On => None,
        }
    }

    /// An eval begins: what is refused from now on is refused to it.
    pub(super) fn note_start(&mut self) {
        self.decision_before = self.proxy().map_or(0, NetworkProxy::decision_cursor);
        self.was_out_of_memory = false;
    }

    fn decided(&self) -> Vec<NetworkDecision> {
        self.proxy()
            .map(|proxy| proxy.decisions_since(self.decision_before))
            .unwrap_or_default()
    }

    /// What the network proxy has decided since the eval began.
    pub(super) fn decisions(&self) -> Vec<HostDecision> {
        let decided = self.decided();
        let first = decided.len().saturating_sub(DECISIONS_MAX);
        decided
            .into_iter()
            .skip(first)
            .map(|decision| HostDecision {
                host: cut(&decision.host, DECISION_TEXT_BYTES_MAX).to_owned(),
                port: decision.port,
                verdict: decision.verdict,
                reason: cut(&decision.reason.to_string(), DECISION_TEXT_BYTES_MAX).to_owned(),
            })
            .collect()
    }

    /// What the confinement refused to an eval that has failed; `text` is what it wrote in the end.
    pub(super) fn explain_denials(&self, text: &str) -> Vec<String> {
        let decisions = self.decided();
        // Its program has failed; in which way does not matter here.
        let denials = self.sandbox.explain(text, ExitStatus::Code(1), &decisions);
        self.was_out_of_memory
            .then(|| self.sandbox.explain_out_of_memory("the program"))
            .into_iter()
            .chain(denials.into_iter().map(|denial| denial.sentence))
            .collect()
    }

    pub(super) fn fresh_mode(&self) -> FreshMode {
        let has_namespace = self
            .sandbox
            .report()
            .is_ok_and(|report| report.layers.contains(&Layer::ProcessNamespace));
        match self.language {
            Language::Python if has_namespace => FreshMode::Zygote,
            Language::Python | Language::JavaScript => FreshMode::Once,
        }
    }

    /// Starts a warm Python that forks one worker per eval.
    pub(super) fn start_zygote(&mut self) -> Result<Zygote, StartProblem> {
        // What tells it that it is not in the namespace of everything else.
        let namespace = std::fs::read_link("/proc/self/ns/pid").map_err(|error| {
            StartProblem::Other(format!("Cannot read /proc/self/ns/pid: {error}."))
        })?;
        let (control, theirs) = control_pair().map_err(|error| self.system_error(&error))?;
        let mut child = self.spawn("zygote", theirs, Some(namespace))?;
        let tail = SharedTail::default();
        tail.follow(child.take_output());
        tail.follow(child.take_error_output());
        Zygote::follow(self.next_key(), child, control, tail, self.events.clone())
            .map_err(|error| self.system_error(&error))
    }

    /// Starts a worker process for one eval or for a live namespace.
    pub(super) fn start_process(
        &mut self,
        engine: EngineName,
    ) -> Result<ProcessWorker, StartProblem> {
        let mode = match engine {
            EngineName::Fresh => "once",
            EngineName::Persistent => "persistent",
        };
        let (ours, theirs) = StdUnixStream::pair().map_err(|error| self.system_error(&error))?;
        let mut child = self.spawn(mode, theirs.into(), None)?;
        let stdout = child.take_output().map(boxed);
        let stderr = child.take_error_output().map(boxed);
        let pipes =
            WorkerPipes::new(ours, stdout, stderr).map_err(|error| self.system_error(&error))?;
        let child = Arc::new(child);
        let key = self.next_key();
        let watched = Arc::clone(&child);
        let events = self.events.clone();
        // Ends with the worker, which ends at the latest when the broker does.
        tokio::spawn(async move {
            let status = watched.wait().await;
            // What it has left in the background is not of any later eval.
            watched.kill_all().await;
            let exit = WorkerExit::of_child(&watched, status, "");
            // The broker may be ending.
            let _closed = events.send(ProcessEvent::ProcessGone { key, exit });
        });
        Ok(ProcessWorker { key, child, pipes })
    }

    fn next_key(&mut self) -> u64 {
        self.keys += 1;
        self.keys
    }

    fn spawn(
        &self,
        mode: &str,
        descriptor: OwnedFd,
        namespace: Option<PathBuf>,
    ) -> Result<Child, StartProblem> {
        let source: &[&str] = match self.language {
            Language::Python => &["-c", &self.program],
            Language::JavaScript => &["-e", &self.program, "--"],
        };
        Command::new(&self.interpreter)
            .args(source)
            .args([mode, "3"])
            .args(namespace)
            .envs(self.environment.iter().cloned())
            // Not the working folder: a module there must not take the place of one that the worker needs.
            .current_dir("/")
            .output_mode(OutputMode::Separate)
            .sandbox(&self.sandbox)
            .descriptor(descriptor)
            .spawn()
            .map_err(|error| match error.kind() {
                ErrorKind::ProgramNotFound => StartProblem::NoInterpreter(self.missing()),
                _ => StartProblem::Other(format!("{error}.")),
            })
    }

    fn missing(&self) -> String {
        let interpreter = self.interpreter.display();
        match self.language {
            Language::Python => format!(
                "There is no {interpreter}. Install Python 3.9 or later, or set `eval.python` to an interpreter."
            ),
            Language::JavaScript => format!(
                "There is no {interpreter}. Install Node.js, or set `eval.node` to an interpreter."
            ),
        }
    }

    fn system_error(&self, error: &io::Error) -> StartProblem {
        let interpreter = self.interpreter.display();
        StartProblem::Other(format!("Cannot start {interpreter}: {error}."))
    }

    /// Explains why a worker never became ready.
    pub(super) fn explain_early_exit(&self, detail: &str, printed: &str) -> String {
        let interpreter = self.interpreter.display();
        if printed.is_empty() {
            format!("{interpreter} ended before it was ready: {detail}.")
        } else {
            format!("{interpreter} ended before it was ready: {detail}; it wrote: {printed}")
        }
    }

    /// Checks who answers; gives what results call it.
    pub(super) fn check_ready(&self, runtime: &str, version: &str) -> Result<String, Refused> {
        if runtime != self.language.as_str() {
            return Err(Refused::Protocol(format!(
                "the worker says it runs {:?}",
                cut(runtime, 64)
            )));
        }
        let version = cut(version, 64);
        if self.language == Language::Python && python_version(version) < Some(PYTHON_LEAST) {
            let interpreter = self.interpreter.display();
            return Err(Refused::Unfit(format!(
                "{interpreter} is Python {version}; 3.9 or later is needed. Install one, or set `eval.python` to it."
            )));
        }
        Ok(match self.language {
            Language::Python => format!("python {version}"),
            Language::JavaScript => format!("node {version}"),
        })
    }
}

/// Why a worker is not taken.
pub(super) enum Refused {
    /// It breaks the protocol.
    Protocol(String),
    /// It is not fit for the worker's program.
    Unfit(String),
}

fn own_program(language: Language) -> &'static str {
    match language {
        Language::Python => worker::PYTHON,
        Language::JavaScript => worker::JAVASCRIPT,
    }
}

fn boxed(output: pirn_sandbox::ChildOutput) -> Box<dyn Source> {
    Box::new(output)
}

fn python_version(version: &str) -> Option<(u32, u32)> {
    let mut parts = version.split('.');
    let major = parts.next()?.parse().ok()?;
    let minor = parts.next()?.parse().ok()?;
    Some((major, minor))
}
