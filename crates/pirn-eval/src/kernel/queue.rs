//! The queue of one language, and the task that works through it.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, Mutex, PoisonError};

use serde_json::value::RawValue;
use tokio::sync::{mpsc, oneshot};
use tokio::task::JoinError;
use tokio_util::sync::CancellationToken;

use super::broker_connection::{BrokerConnection, engine_of, read_own_line};
use super::judge::{JudgeContext, StateChange, judge, refused};
use super::questions::Questions;
use super::registry::{EvalRegistry, Ticket};
use super::run::{End, LostNamespace, RunSetup, run};
use super::script;
use crate::error::{Error, ErrorKind};
use crate::frame::{Cause, EngineName, Report};
use crate::limits::LIVE_NAMESPACES_MAX;
use crate::options::KernelOptions;
use crate::outcome::{EvalFailureKind, EvalOutcome, KernelState};
use crate::request::{EvalRequest, Language};

/// Evals that wait in one queue; a caller beyond waits to get in.
const QUEUE_MAX: usize = 256;

/// Branches whose lost namespaces are remembered, for one sentence each.
const LOST_MAX: usize = 16 * LIVE_NAMESPACES_MAX;

/// One eval in the queue.
pub(super) struct Job {
    pub(super) request: EvalRequest,
    /// The source as it runs.
    pub(super) code: String,
    pub(super) ticket: Ticket,
    /// Fires when nobody waits for the outcome.
    pub(super) abandoned: CancellationToken,
    pub(super) reply: oneshot::Sender<EvalOutcome>,
}

/// What a queue is asked for.
pub(super) enum Command {
    Eval(Box<Job>),
    /// Ends the live namespace of a branch.
    EndBranch {
        branch: String,
        done: oneshot::Sender<()>,
    },
    /// Ends the task and its broker; later commands are not heard.
    Shutdown {
        done: oneshot::Sender<()>,
    },
}

/// What is known about a queue.
#[derive(Debug, Clone, Default)]
pub(super) struct QueueStatus {
    /// What ran the last eval.
    pub(super) interpreter: Option<String>,
    pub(super) sandbox: Option<pirn_sandbox::SandboxReport>,
    pub(super) is_running: bool,
    pub(super) live_branches: Vec<String>,
}

/// The queue of one language. Its task ends when the last handle is gone.
#[derive(Clone)]
pub(super) struct LanguageQueue {
    pub(super) commands: mpsc::Sender<Command>,
    status: Arc<Mutex<QueueStatus>>,
}

impl LanguageQueue {
    /// Starts the task; must be called inside a runtime.
    pub(super) fn start(
        options: Arc<KernelOptions>,
        registry: Arc<EvalRegistry>,
        language: Language,
    ) -> Self {
        let (commands, receiver) = mpsc::channel(QUEUE_MAX);
        let status = Arc::new(Mutex::new(QueueStatus::default()));
        let worker = Worker {
            engine: engine_of(&options, language),
            options,
            registry,
            language,
            status: Arc::clone(&status),
            connection: None,
            evals: 0,
            live: BTreeSet::new(),
            lost: BTreeMap::new(),
            has_no_interpreter: false,
        };
        // Ends when the last handle is gone; then the broker ends with the connection.
        tokio::spawn(worker.work(receiver));
        Self { commands, status }
    }

    pub(super) fn status(&self) -> QueueStatus {
        self.status
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .clone()
    }
}

/// The task of a queue.
struct Worker {
    options: Arc<KernelOptions>,
    registry: Arc<EvalRegistry>,
    language: Language,
    engine: EngineName,
    status: Arc<Mutex<QueueStatus>>,
    connection: Option<BrokerConnection>,
    evals: u64,
    /// Branches with a live namespace.
    live: BTreeSet<String>,
    /// Why branches have none any more.
    lost: BTreeMap<String, String>,
    /// Programs go to the embedder's engine.
    has_no_interpreter: bool,
}

impl Worker {
    async fn work(mut self, mut commands: mpsc::Receiver<Command>) {
        loop {
            let command = tokio::select! {
                command = commands.recv() => command,
                is_open = wait_for_idle_line(self.connection.as_mut()) => {
                    self.on_idle_lines(is_open).await;
                    continue;
                }
            };
            match command {
                None => break,
                Some(Command::Eval(job)) => self.on_job(*job).await,
                Some(Command::EndBranch { branch, done }) => {
                    self.end_branch(&branch).await;
                    // Nobody need wait.
                    let _unheard = done.send(());
                }
                Some(Command::Shutdown { done }) => {
                    self.close_connection().await;
                    let _unheard = done.send(());
                    break;
                }
            }
            self.show(|_| {});
        }
        self.close_connection().await;
    }

    fn show(&self, change: impl FnOnce(&mut QueueStatus)) {
        let mut status = self.status.lock().unwrap_or_else(PoisonError::into_inner);
        status.live_branches = self.live.iter().cloned().collect();
        change(&mut status);
    }

    async fn on_job(&mut self, job: Job) {
        if !job.ticket.activate() {
            // Whoever waits is told by the dropped reply.
            return;
        }
        self.show(|status| status.is_running = true);
        let outcome = self.eval(&job).await;
        self.show(|status| {
            status.is_running = false;
            if !outcome.interpreter.is_empty() {
                status.interpreter = Some(outcome.interpreter.clone());
            }
            if outcome.sandbox.is_some() {
                status.sandbox.clone_from(&outcome.sandbox);
            }
        });
        let Job { ticket, reply, .. } = job;
        // First, so that whoever has the outcome finds the eval over.
        drop(ticket);
        let _abandoned = reply.send(outcome);
    }

    /// Runs one eval to its outcome.
    async fn eval(&mut self, job: &Job) -> EvalOutcome {
        let committed = match self.load(job).await {
            Ok(committed) => committed,
            Err(message) => return refused(self.language, EvalFailureKind::StateInvalid, message),
        };
        let (outcome, change) = if self.has_no_interpreter {
            script::run(&self.options, job, committed.as_deref()).await
        } else {
            let first = self.eval_by_broker(job, committed.as_deref()).await;
            if self.has_no_interpreter {
                script::run(&self.options, job, committed.as_deref()).await
            } else {
                first
            }
        };
        self.settle(job, outcome, change, committed.as_deref())
            .await
    }

    /// The committed state of a fresh eval; `None` where there is none, and for live namespaces.
    async fn load(&self, job: &Job) -> Result<Option<Box<RawValue>>, String> {
        if self.engine == EngineName::Persistent {
            return Ok(None);
        }
        let store = Arc::clone(&self.options.state);
        let (branch, language) = (job.request.branch.clone(), self.language);
        let loaded = tokio::task::spawn_blocking(move || store.load(&branch, language)).await;
        let text = match loaded {
            Ok(Ok(None)) => return Ok(None),
            Ok(Ok(Some(text))) => text,
            Ok(Err(problem)) => return Err(format!("The stored state cannot be read: {problem}")),
            Err(panic) => return Err(format!("The stored state cannot be read: {panic}")),
        };
        let is_object = text.trim_start().starts_with('{');
        match RawValue::from_string(text) {
            Ok(value) if is_object => Ok(Some(value)),
            Ok(_) | Err(_) => {
                Err("The stored state is damaged; reset the kernel to go on without it.".to_owned())
            }
        }
    }

    async fn eval_by_broker(
        &mut self,
        job: &Job,
        committed: Option<&RawValue>,
    ) -> (EvalOutcome, StateChange) {
        let Some(cwd) = self.options.confinement.working_folder.to_str() else {
            let message = format!(
                "Programs cannot run in {}: the name of the folder is not UTF-8.",
                self.options.confinement.working_folder.display()
            );
            let outcome = refused(self.language, EvalFailureKind::Spawn, message);
            return (outcome, StateChange::Keep);
        };
        if self.connection.is_none() {
            match BrokerConnection::start(&self.options, self.language).await {
                Ok(connection) => self.connection = Some(connection),
                Err(error) => {
                    let outcome = refused(self.language, EvalFailureKind::Spawn, error.to_string());
                    return (outcome, StateChange::Keep);
                }
            }
        }
        let Some(connection) = &mut self.connection else {
            let message = "There is no broker.".to_owned();
            return (
                refused(self.language, EvalFailureKind::Spawn, message),
                StateChange::Keep,
            );
        };
        self.evals += 1;
        let id = format!("{}-{}", self.language.as_str(), self.evals);
        let empty = RawValue::from_string("{}".to_owned()).ok();
        let state = match self.engine {
            EngineName::Fresh => committed.or(empty.as_deref()),
            EngineName::Persistent => None,
        };
        let context = JudgeContext {
            language: self.language,
            engine: self.engine,
            output_bytes_max: self.options.output_bytes(),
        };
        let setup = RunSetup {
            id: &id,
            engine: self.engine,
            cwd,
            output_bytes_max: context.output_bytes_max,
            timeout: self.options.timeout(job.request.timeout),
            state,
        };
        let questions = Questions::new(
            self.options.network_asker.clone(),
            job.request.clock.clone(),
        );
        let (transcript, calls, end, lost) = run(connection, job, setup, questions).await;
        let sandbox = connection.sandbox.clone();
        let broker_end = self.after_run(&end).await;
        self.note_lost(lost);
        let open_calls = calls.open();
        let receipts = calls.finish().await;
        let is_reused = match self.engine {
            EngineName::Fresh => committed.is_some(),
            EngineName::Persistent => transcript.is_reused,
        };
        let is_started = transcript.started.is_some();
        let (mut outcome, change) = judge(
            transcript,
            receipts,
            open_calls,
            &end,
            &broker_end,
            &context,
        );
        outcome.is_kernel_reused = is_reused;
        if is_started {
            outcome.sandbox = sandbox;
            if !is_reused && let Some(reason) = self.lost.remove(&job.request.branch) {
                outcome.notes.push(format!(
                    "The live namespace of earlier calls is gone: {reason}."
                ));
            }
            self.explain(&mut outcome).await;
        }
        (outcome, change)
    }

    /// Draws the consequences for the connection; gives the sentence about a lost broker.
    async fn after_run(&mut self, end: &End) -> String {
        let why = match end {
            End::Ended(ended) => {
                if ended.cause == Cause::NoInterpreter
                    && self.language == Language::JavaScript
                    && self.options.node.is_none()
                    && self.options.script_engine.is_some()
                {
                    self.has_no_interpreter = true;
                    self.drop_connection("it is not needed").await;
                }
                return String::new();
            }
            End::NotSent(_) => return String::new(),
            End::BrokerGone => match &self.connection {
                Some(connection) => connection.explain_end().await,
                None => String::new(),
            },
            End::BrokerSilent => "The broker did not answer in time and was killed.".to_owned(),
            End::BrokerUnreadable => {
                "The broker wrote what is not understood and was killed.".to_owned()
            }
        };
        self.drop_connection("the broker ended").await;
        why
    }

    /// Nothing will run any more.
    async fn close_connection(&mut self) {
        if let Some(connection) = self.connection.take() {
            connection.close().await;
        }
    }

    /// Kills the broker; all live namespaces go with it.
    async fn drop_connection(&mut self, reason: &str) {
        if let Some(connection) = self.connection.take() {
            connection.kill().await;
        }
        let live = std::mem::take(&mut self.live);
        self.note_lost(
            live.into_iter()
                .map(|branch| (branch, reason.to_owned()))
                .collect(),
        );
    }

    fn note_lost(&mut self, lost: Vec<LostNamespace>) {
        for (branch, reason) in lost {
            self.live.remove(&branch);
            if self.lost.len() >= LOST_MAX {
                self.lost.pop_first();
            }
            self.lost.insert(branch, reason);
        }
    }

    /// Commits, and says what the kernel holds.
    async fn settle(
        &mut self,
        job: &Job,
        mut outcome: EvalOutcome,
        change: StateChange,
        committed: Option<&RawValue>,
    ) -> EvalOutcome {
        let branch = &job.request.branch;
        outcome.state = match change {
            StateChange::Commit(state) if committed.is_some_and(|old| old.get() == state) => {
                KernelState::Committed
            }
            StateChange::Commit(state) => match self.commit(branch, state).await {
                Ok(()) => KernelState::Committed,
                Err(problem) => {
                    outcome.value = None;
                    outcome.value_text = None;
                    outcome.failure = Some(super::judge::failure(
                        EvalFailureKind::StateNotStored,
                        format!("The state cannot be stored: {problem}"),
                    ));
                    KernelState::Unchanged
                }
            },
            StateChange::Live => {
                self.live.insert(branch.clone());
                match outcome.failure {
                    None => KernelState::Committed,
                    Some(_) => KernelState::Mutated,
                }
            }
            StateChange::Gone => {
                self.live.remove(branch);
                KernelState::Lost
            }
            StateChange::Keep => KernelState::Unchanged,
        };
        let is_invalidated = job.ticket.handle().invalidated.is_cancelled();
        if is_invalidated && outcome.failure.is_some() && !self.registry.is_closed() {
            // A reset clears it as soon as this is over.
            outcome.state = KernelState::Lost;
        }
        outcome
    }

    async fn commit(&self, branch: &str, state: String) -> Result<(), Error> {
        let store = Arc::clone(&self.options.state);
        let (branch, language) = (branch.to_owned(), self.language);
        tokio::task::spawn_blocking(move || store.commit(&branch, language, &state))
            .await
            .unwrap_or_else(|panic| Err(store_panicked(panic)))
    }

    /// Reads what the broker says while nothing runs.
    async fn on_idle_lines(&mut self, is_open: bool) {
        let Some(connection) = &mut self.connection else {
            return;
        };
        let mut lost = Vec::new();
        let mut is_sane = true;
        loop {
            match connection.reader.next_line() {
                Ok(None) => break,
                Ok(Some(line)) => {
                    if let Some(Report::BranchLost { branch, reason }) = read_own_line(line) {
                        lost.push((branch, reason));
                    }
                }
                Err(_too_long) => {
                    is_sane = false;
                    break;
                }
            }
        }
        self.note_lost(lost);
        if !is_open || !is_sane {
            self.drop_connection("the broker ended").await;
        }
        self.show(|_| {});
    }

    /// Ends the live namespace of a branch and waits until it is gone.
    async fn end_branch(&mut self, branch: &str) {
        self.lost.remove(branch);
        if !self.live.remove(branch) {
            return;
        }
        let Some(connection) = &mut self.connection else {
            return;
        };
        let mut lost = Vec::new();
        let is_gone = connection.end_branch(branch, &mut lost).await;
        self.note_lost(lost);
        if !is_gone {
            self.drop_connection("the broker ended").await;
        }
    }

    /// Adds what the confinement refused to a program that failed.
    async fn explain(&mut self, outcome: &mut EvalOutcome) {
        let Some(failure) = &outcome.failure else {
            return;
        };
        let is_programs = matches!(
            failure.kind,
            EvalFailureKind::UserError
                | EvalFailureKind::WorkerExit
                | EvalFailureKind::UnsettledCalls
                | EvalFailureKind::Timeout
        );
        let Some(connection) = self.connection.as_mut().filter(|_| is_programs) else {
            return;
        };
        let text = format!("{}\n{}", outcome.stderr, failure.message);
        let mut lost = Vec::new();
        let sentences = connection.explain_denials(text, &mut lost).await;
        self.note_lost(lost);
        outcome.notes.extend(sentences);
    }
}

/// A store that panicked has most likely not written.
pub(super) fn store_panicked(panic: JoinError) -> Error {
    Error::new(ErrorKind::StateNotWritten, panic.to_string()).because(panic)
}

/// Waits until an idle broker says something, or ends: then false. Never ends without a broker. Nothing is lost when it is
/// dropped before it ends.
async fn wait_for_idle_line(connection: Option<&mut BrokerConnection>) -> bool {
    match connection {
        Some(connection) => connection.reader.fill().await.is_ok(),
        None => std::future::pending().await,
    }
}
