//! A cell: a script that runs in a task of its own, can be waited for in pieces, stopped, saved and resumed.

mod saved;

use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use pirn_vm::{JsString, Output, VmEngine};
use tokio::sync::Notify;
use tokio_util::sync::CancellationToken;
use tokio_util::task::AbortOnDropHandle;

use crate::abort::Abort;
use crate::host::Environment;
use crate::result::{ScriptError, ScriptErrorKind, ScriptResult};
use crate::runner::{Pause, Progress, ProgressSink, Run};
use crate::script::{RunOptions, Script, prepare, with_hints};
use saved::{Saved, Undelivered};

/// The reason that the error of a terminated script carries.
const TERMINATED: &str = "The script was terminated";

/// A script that runs by itself. Dropping the cell stops the script and its calls.
///
/// ```
/// # #[tokio::main(flavor = "current_thread")] async fn main() -> Result<(), Box<dyn std::error::Error>> {
/// # use std::sync::Arc; use std::time::Duration;
/// # use pirn_codemode::{CallEnd, Cell, CellStatus, Environment, HostCall, RunOptions, Script, ScriptHost};
/// # use pirn_vm::VmEngine;
/// # struct NoTools;
/// # impl ScriptHost for NoTools {
/// #     fn call(&self, _call: HostCall) -> futures_util::future::BoxFuture<'static, CallEnd> {
/// #         Box::pin(async { CallEnd::error("no tools") })
/// #     }
/// # }
/// let engine = VmEngine::new(Default::default())?;
/// let environment = Environment::new([], Vec::new(), Arc::new(NoTools))?;
/// let script = Script::new("text('first'); yield_control(); await new Promise((done) => setTimeout(done, 5)); return 'last';");
/// let cell = Cell::start(&engine, &script, &environment, RunOptions::default());
///
/// let update = cell.wait(Duration::from_secs(10)).await?;
/// assert!(matches!(update.status, CellStatus::Running));
/// assert_eq!(update.output.len(), 1);
///
/// let update = cell.wait(Duration::from_secs(10)).await?;
/// assert!(matches!(update.status, CellStatus::Ended(_)));
/// # Ok(()) }
/// ```
pub struct Cell {
    shared: Arc<Shared>,
    abort: Abort,
    suspend: CancellationToken,
    // Declared last, so that the task ends after the handles it looks at are gone.
    _task: AbortOnDropHandle<()>,
}

impl std::fmt::Debug for Cell {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.debug_struct("Cell").finish_non_exhaustive()
    }
}

#[derive(Default)]
struct Shared {
    state: Mutex<State>,
    changed: Notify,
}

#[derive(Default)]
struct State {
    output: Vec<Output>,
    notifications: Vec<JsString>,
    has_yielded: bool,
    end: Option<CellEnd>,
    has_waiter: bool,
    is_terminated: bool,
}

enum CellEnd {
    Ended(Box<ScriptResult>),
    Suspended(Result<Vec<u8>, pirn_vm::Error>),
    /// The end was given away.
    Delivered,
}

/// What is new since the last look at a cell.
#[derive(Debug, Clone)]
pub struct CellUpdate {
    /// Output since then.
    pub output: Vec<Output>,
    /// Messages since then.
    pub notifications: Vec<JsString>,
    /// Where the script is.
    pub status: CellStatus,
}

/// Where a cell's script is.
#[derive(Debug, Clone)]
pub enum CellStatus {
    /// It goes on; it yielded, or the time was up.
    Running,
    /// It is over. The result's output is all of it, also what was delivered before.
    Ended(Box<ScriptResult>),
    /// It was stopped by [`Cell::terminate`]. The result says what became of its calls.
    Terminated(Box<ScriptResult>),
}

/// Why a cell cannot be waited for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum WaitError {
    /// Somebody else waits.
    #[error("somebody else waits for this cell")]
    Busy,
    /// Its end was delivered before, or it was suspended.
    #[error("the cell's end was already delivered")]
    Gone,
}

/// Why a cell could not be suspended.
#[derive(Debug, thiserror::Error)]
pub enum SuspendError {
    /// The script ended first.
    #[error("the script ended before it could be suspended")]
    Ended(Box<ScriptResult>),
    /// The end was delivered before.
    #[error("the cell's end was already delivered")]
    Gone,
    /// The VM could not be saved.
    #[error(transparent)]
    Vm(#[from] pirn_vm::Error),
}

impl Cell {
    /// Starts a script in a task of its own. A script that cannot start ends at once.
    ///
    /// # Panics
    /// Outside a tokio runtime.
    pub fn start(
        engine: &VmEngine,
        script: &Script,
        environment: &Environment,
        mut options: RunOptions,
    ) -> Self {
        let shared = Arc::new(Shared::default());
        options.progress = Some(shared.sink(options.progress.take()));
        // Terminating this cell must not stop whatever else the caller's handle stops.
        options.abort = options.abort.child();
        let abort = options.abort.clone();
        let run = prepare(engine, script, environment, options);
        Self::spawn(shared, abort, environment.clone(), async move {
            run.map_err(ScriptResult::not_run)
        })
    }

    /// Resumes a script that [`Cell::suspend`] saved, in this or another process. Calls that were open are taken up again by
    /// [`crate::ScriptHost::resume_call`] or reject as unknown; nothing is repeated. `options.limits.wall` counts from the
    /// first start.
    ///
    /// # Errors
    /// When the bytes are no saved script of this build.
    ///
    /// # Panics
    /// Outside a tokio runtime.
    pub fn resume(
        engine: &VmEngine,
        bytes: &[u8],
        environment: &Environment,
        mut options: RunOptions,
    ) -> Result<Self, pirn_vm::Error> {
        let shared = Arc::new(Shared::default());
        let abort = options.abort.child();
        let sink = Some(shared.sink(options.progress.take()));
        let (mut run, data) = Run::restore(
            engine,
            bytes,
            environment.clone(),
            options.limits,
            abort.clone(),
            sink,
        )?;
        // Data that cannot be read belongs to another version; the script itself can still go on.
        let saved: Saved = serde_json::from_slice(&data).unwrap_or_default();
        shared.lock().take_over(&saved);
        run.continue_from(saved.into());
        Ok(Self::spawn(
            shared,
            abort,
            environment.clone(),
            async move { Ok(run) },
        ))
    }

    fn spawn(
        shared: Arc<Shared>,
        abort: Abort,
        environment: Environment,
        start: impl Future<Output = Result<Run, ScriptResult>> + Send + 'static,
    ) -> Self {
        let suspend = CancellationToken::new();
        let (state, token) = (Arc::clone(&shared), suspend.clone());
        let task = tokio::spawn(async move {
            let ending = Ending(state);
            let end = match start.await {
                Err(result) => CellEnd::Ended(Box::new(result)),
                Ok(mut run) => match run.run(&token).await {
                    Pause::Ended(result) => {
                        CellEnd::Ended(Box::new(with_hints(*result, &environment)))
                    }
                    Pause::Suspended => {
                        let undelivered = || ending.0.lock().undelivered();
                        CellEnd::Suspended(
                            run.suspend(|run, calls| saved::bytes(run, calls, undelivered()))
                                .await,
                        )
                    }
                },
            };
            ending.0.lock().end = Some(end);
        });
        Self {
            shared,
            abort,
            suspend,
            _task: AbortOnDropHandle::new(task),
        }
    }

    /// Waits until the script ends, yields, or `yield_after` has passed, and gives what is new.
    ///
    /// # Errors
    /// When somebody else waits, or the end was delivered before.
    pub async fn wait(&self, yield_after: Duration) -> Result<CellUpdate, WaitError> {
        let waiting = Waiting::begin(&self.shared)?;
        let ready = self.until(|state| state.end.is_some() || state.has_yielded);
        // The time being up is an answer like any other.
        drop(tokio::time::timeout(yield_after, ready).await);
        waiting.update()
    }

    /// Stops the script and its calls, and gives what is new. A script that ended before is not stopped: its end wins.
    ///
    /// # Errors
    /// When the end was delivered before, or somebody else waits; the script is stopped all the same, and whoever waits gets
    /// its end.
    pub async fn terminate(&self) -> Result<CellUpdate, WaitError> {
        let waiting = Waiting::begin(&self.shared);
        {
            let mut state = self.shared.lock();
            if state.end.is_none() {
                state.is_terminated = true;
                self.abort.abort(TERMINATED);
            }
        }
        // The run's own limits bound the wait: a few milliseconds for the VM, then the grace of its calls.
        self.until(|state| state.end.is_some()).await;
        waiting?.update()
    }

    /// Saves the script as soon as it waits, and ends the cell. Calls in flight are stopped. When the script is resumed they are
    /// taken up by the host, or end as they confirmed they did, or reject as unknown; calls that had not started are made then.
    ///
    /// # Errors
    /// When the script ended first, or could not be saved.
    pub async fn suspend(self) -> Result<Vec<u8>, SuspendError> {
        self.suspend.cancel();
        self.until(|state| state.end.is_some()).await;
        match self.shared.lock().end.take() {
            Some(CellEnd::Suspended(bytes)) => Ok(bytes?),
            Some(CellEnd::Ended(result)) => Err(SuspendError::Ended(result)),
            Some(CellEnd::Delivered) | None => Err(SuspendError::Gone),
        }
    }

    /// Whether the script is over.
    pub fn has_ended(&self) -> bool {
        self.shared.lock().end.is_some()
    }

    /// Resolves when the script is over; for whoever wants to be woken.
    pub async fn ended(&self) {
        self.until(|state| state.end.is_some()).await;
    }

    async fn until(&self, condition: impl Fn(&State) -> bool) {
        loop {
            let changed = self.shared.changed.notified();
            tokio::pin!(changed);
            // Registered before the look, so that no change in between is missed.
            changed.as_mut().enable();
            if condition(&self.shared.lock()) {
                return;
            }
            changed.await;
        }
    }
}

impl Shared {
    fn lock(&self) -> std::sync::MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Keeps what is new for the next look, and passes everything on.
    fn sink(self: &Arc<Self>, next: Option<ProgressSink>) -> ProgressSink {
        let shared = Arc::clone(self);
        Arc::new(move |progress: Progress<'_>| {
            match &progress {
                Progress::Output(output) => shared.lock().output.push((*output).clone()),
                Progress::Notified(message) => shared.lock().notifications.push((*message).clone()),
                Progress::Yielded => {
                    shared.lock().has_yielded = true;
                    shared.changed.notify_waiters();
                }
                Progress::Started | Progress::CallStarted(_) | Progress::CallEnded(_) => {}
            }
            if let Some(next) = &next {
                next(progress);
            }
        })
    }
}

impl State {
    /// How much of what the script produced nobody has seen.
    fn undelivered(&self) -> Undelivered {
        Undelivered {
            output: self.output.len(),
            notifications: self.notifications.len(),
            has_yielded: self.has_yielded,
        }
    }

    fn take_over(&mut self, saved: &Saved) {
        let undelivered = &saved.undelivered;
        self.output = saved.last_output(undelivered.output);
        self.notifications = saved.last_notifications(undelivered.notifications);
        self.has_yielded = undelivered.has_yielded;
    }
}

/// Tells everybody of the end when the task is over, also when it panics or its runtime shuts down.
struct Ending(Arc<Shared>);

impl Drop for Ending {
    fn drop(&mut self) {
        self.0.lock().end.get_or_insert_with(|| {
            let message = "The task that ran the script was ended before it, by a panic or by the end of its runtime";
            CellEnd::Ended(Box::new(ScriptResult::not_run(ScriptError::new(ScriptErrorKind::Sandbox, message))))
        });
        self.0.changed.notify_waiters();
    }
}

/// Marks that somebody waits, for as long as it lives.
struct Waiting<'a>(&'a Shared);

impl<'a> Waiting<'a> {
    fn begin(shared: &'a Shared) -> Result<Self, WaitError> {
        let mut state = shared.lock();
        if state.has_waiter {
            return Err(WaitError::Busy);
        }
        if matches!(state.end, Some(CellEnd::Delivered)) {
            return Err(WaitError::Gone);
        }
        state.has_waiter = true;
        Ok(Self(shared))
    }

    /// What is new.
    fn update(self) -> Result<CellUpdate, WaitError> {
        let mut state = self.0.lock();
        state.has_yielded = false;
        let status = match state.end.take() {
            None => CellStatus::Running,
            Some(CellEnd::Ended(result)) => {
                state.end = Some(CellEnd::Delivered);
                let was_stopped = result
                    .outcome
                    .as_ref()
                    .is_err_and(|error| error.kind == ScriptErrorKind::Aborted);
                // A script that ended by itself just before it was to be stopped has ended by itself.
                if state.is_terminated && was_stopped {
                    CellStatus::Terminated(result)
                } else {
                    CellStatus::Ended(result)
                }
            }
            Some(end @ (CellEnd::Suspended(_) | CellEnd::Delivered)) => {
                state.end = Some(end);
                return Err(WaitError::Gone);
            }
        };
        Ok(CellUpdate {
            output: std::mem::take(&mut state.output),
            notifications: std::mem::take(&mut state.notifications),
            status,
        })
    }
}

impl Drop for Waiting<'_> {
    fn drop(&mut self) {
        self.0.lock().has_waiter = false;
    }
}
