//! The kernel: queues of evals, their generations, and the life of brokers.

mod broker_connection;
mod calls;
mod effects;
#[cfg(any(test, feature = "fuzzing"))]
mod fuzzing;
mod judge;
mod protocol;
mod questions;
mod queue;
mod registry;
mod run;
mod script;

use std::sync::{Arc, Mutex, PoisonError};

use pirn_sandbox::SandboxReport;
use tokio::sync::oneshot;
use tokio_util::sync::CancellationToken;

#[cfg(any(test, feature = "fuzzing"))]
pub use self::fuzzing::fuzz_worker;
use self::judge::refused;
use self::queue::{Command, Job, LanguageQueue, store_panicked};
use self::registry::EvalRegistry;
use crate::error::Error;
use crate::limits::CODE_BYTES_MAX;
use crate::options::{KernelOptions, PythonEngine};
use crate::outcome::{EvalFailureKind, EvalOutcome};
use crate::request::{EvalRequest, Language};
use crate::source::prepare_source;

/// Runs evals, one at a time per language. Cheap to clone; everything it started ends with the last handle.
#[derive(Clone)]
pub struct Kernel {
    inner: Arc<Inner>,
}

struct Inner {
    options: Arc<KernelOptions>,
    registry: Arc<EvalRegistry>,
    /// Started at first use, since that needs a runtime.
    queues: Mutex<Queues>,
}

#[derive(Default)]
struct Queues {
    python: Option<LanguageQueue>,
    javascript: Option<LanguageQueue>,
}

impl Queues {
    fn slot(&mut self, language: Language) -> &mut Option<LanguageQueue> {
        match language {
            Language::Python => &mut self.python,
            Language::JavaScript => &mut self.javascript,
        }
    }
}

/// What a kernel is doing.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct KernelStatus {
    /// Whether it was closed for good.
    pub is_closed: bool,
    /// Each language that was used.
    pub languages: Vec<LanguageStatus>,
}

/// What a kernel is doing in one language.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LanguageStatus {
    /// The language whose queue this is about.
    pub language: Language,
    /// What ran the last eval, such as `python 3.11.7`.
    pub interpreter: Option<String>,
    /// The confinement of the last eval.
    pub sandbox: Option<SandboxReport>,
    /// Whether an eval runs.
    pub is_running: bool,
    /// Branches with a live namespace.
    pub live_branches: Vec<String>,
}

impl Kernel {
    /// A kernel that has started nothing yet.
    pub fn new(options: KernelOptions) -> Self {
        Self {
            inner: Arc::new(Inner {
                options: Arc::new(options),
                registry: Arc::default(),
                queues: Mutex::default(),
            }),
        }
    }

    /// Runs a program when its turn comes. Every failure is in the outcome. Must be called inside a runtime; dropping the
    /// future ends the program.
    pub async fn eval(&self, request: EvalRequest) -> EvalOutcome {
        let language = request.language;
        let code = match prepare_source(language, &request.code) {
            Ok(code) => code.into_owned(),
            Err(bytes) => {
                let text = format!(
                    "The program has {bytes} bytes; {CODE_BYTES_MAX} is the limit. Keep data in files."
                );
                return refused(language, EvalFailureKind::CodeTooLarge, text);
            }
        };
        let Some(ticket) = self.inner.registry.register(&request.branch) else {
            return closed(language);
        };
        let handle = ticket.handle().clone();
        let cancel = request.cancel.clone();
        let abandoned = CancellationToken::new();
        // When this future is dropped, nobody waits.
        let _abandons = abandoned.clone().drop_guard();
        let (reply, outcome) = oneshot::channel();
        let job = Box::new(Job {
            request,
            code,
            ticket,
            abandoned,
            reply,
        });
        let commands = self.queue(language).commands;
        let run = async {
            handle.wait_for_resets().await;
            commands.send(Command::Eval(job)).await.ok()?;
            outcome.await.ok()
        };
        tokio::pin!(run);
        let given_up = async {
            tokio::select! {
                () = handle.invalidated.cancelled() => {}
                () = cancel.cancelled() => {}
            }
            handle.withdraw()
        };
        let outcome = tokio::select! {
            biased;
            outcome = &mut run => outcome,
            // It runs already, so its outcome says how it was stopped.
            is_queued = given_up => if is_queued { None } else { run.await },
        };
        match outcome {
            Some(outcome) => outcome,
            None if handle.invalidated.is_cancelled() => refused(
                language,
                EvalFailureKind::Invalidated,
                "It was invalidated before it ran: the kernel was reset or closed.".to_owned(),
            ),
            None if cancel.is_cancelled() => refused(
                language,
                EvalFailureKind::Aborted,
                "It was aborted before it ran.".to_owned(),
            ),
            None => closed(language),
        }
    }

    /// Forgets the state of a branch in both languages: its evals that run are killed, those that wait are rejected, and both
    /// are over when this returns. Where namespaces are live, it also waits for its turn among evals of other branches. Fails
    /// when the stored state cannot be cleared.
    pub async fn reset(&self, branch: &str) -> Result<(), Error> {
        let reset = self.inner.registry.begin_reset(branch);
        reset.wait_for_earlier().await;
        if let Some(queue) = self.live_queue() {
            let (done, is_done) = oneshot::channel();
            let branch = branch.to_owned();
            let command = Command::EndBranch { branch, done };
            if queue.commands.send(command).await.is_ok() {
                // An error means that the kernel was closed, and with it everything is gone.
                let _closed = is_done.await;
            }
        }
        let store = Arc::clone(&self.inner.options.state);
        let branch = branch.to_owned();
        let cleared = tokio::task::spawn_blocking(move || store.clear(&branch)).await;
        drop(reset);
        cleared.unwrap_or_else(|panic| Err(store_panicked(panic)))
    }

    /// Ends everything for good: evals that run are killed, those that wait are rejected, and all processes are gone when
    /// this returns. Committed state stays in its store.
    pub async fn close(&self) {
        self.inner.registry.close();
        self.inner.registry.wait_until_idle().await;
        let queues = {
            let mut queues = self
                .inner
                .queues
                .lock()
                .unwrap_or_else(PoisonError::into_inner);
            Language::ALL.map(|language| queues.slot(language).take())
        };
        for queue in queues.into_iter().flatten() {
            let (done, is_done) = oneshot::channel();
            if queue
                .commands
                .send(Command::Shutdown { done })
                .await
                .is_ok()
            {
                // An error means that the task has ended, and its processes with it.
                let _ended = is_done.await;
            }
        }
    }

    /// What it is doing.
    pub fn status(&self) -> KernelStatus {
        let mut queues = self
            .inner
            .queues
            .lock()
            .unwrap_or_else(PoisonError::into_inner);
        let languages = Language::ALL
            .into_iter()
            .filter_map(|language| {
                let status = queues.slot(language).as_ref()?.status();
                Some(LanguageStatus {
                    language,
                    interpreter: status.interpreter,
                    sandbox: status.sandbox,
                    is_running: status.is_running,
                    live_branches: status.live_branches,
                })
            })
            .collect();
        KernelStatus {
            is_closed: self.inner.registry.is_closed(),
            languages,
        }
    }

    /// What it was set up with.
    pub fn options(&self) -> &KernelOptions {
        &self.inner.options
    }

    /// The queue with live namespaces.
    fn live_queue(&self) -> Option<LanguageQueue> {
        match self.inner.options.python_engine {
            PythonEngine::Fresh => None,
            PythonEngine::Persistent => {
                let queues = self.inner.queues.lock();
                queues
                    .unwrap_or_else(PoisonError::into_inner)
                    .python
                    .clone()
            }
        }
    }

    fn queue(&self, language: Language) -> LanguageQueue {
        let mut queues = self
            .inner
            .queues
            .lock()
            .unwrap_or_else(PoisonError::into_inner);
        queues
            .slot(language)
            .get_or_insert_with(|| {
                LanguageQueue::start(
                    Arc::clone(&self.inner.options),
                    Arc::clone(&self.inner.registry),
                    language,
                )
            })
            .clone()
    }
}

impl std::fmt::Debug for Kernel {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter
            .debug_struct("Kernel")
            .field("options", &self.inner.options)
            .finish_non_exhaustive()
    }
}

fn closed(language: Language) -> EvalOutcome {
    refused(
        language,
        EvalFailureKind::Invalidated,
        "The kernel is closed; nothing runs in it any more.".to_owned(),
    )
}
