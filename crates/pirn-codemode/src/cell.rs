//! A cell: a script that runs in a task of its own, can be waited for in pieces, stopped, saved and resumed.

mod saved;

use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use futures_util::future::BoxFuture;
use pirn_vm::{JsString, Output, VmEngine};
use tokio::sync::{Notify, mpsc, oneshot};
use tokio_util::task::AbortOnDropHandle;

use crate::abort::Abort;
use crate::host::Environment;
use crate::result::{ScriptError, ScriptErrorKind, ScriptResult};
use crate::runner::{Order, Pause, Progress, ProgressSink, Run};
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
    orders: mpsc::Sender<Order>,
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
    /// How much there was to hand over when the script yielded: output, notifications.
    yielded_at: Option<(usize, usize)>,
    end: Option<CellEnd>,
    has_waiter: bool,
    is_terminated: bool,
}

enum CellEnd {
    Ended(Box<ScriptResult>),
    Suspended(Result<Vec<u8>, pirn_vm::Error>),
    /// It was to be suspended before there was room for it to start.
    NotStarted,
    /// The end was given away.
    Delivered,
}

/// What is new since the last look at a cell.
#[derive(Debug, Clone)]
pub struct CellUpdate {
    /// What the script put out since then, in order.
    pub output: Vec<Output>,
    /// What it gave to `notify()` since then, in order.
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
    /// Another call waits for the same cell.
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
    /// The script still waited for room; it can be started anew.
    #[error("the script had not started")]
    NotStarted,
    /// The VM could not be saved.
    #[error(transparent)]
    Vm(#[from] pirn_vm::Error),
}

/// Why there is no checkpoint of a cell.
#[derive(Debug, thiserror::Error)]
pub enum CheckpointError {
    /// The script has not started, or is over.
    #[error("the script does not run")]
    NotRunning,
    /// The VM could not be saved.
    #[error(transparent)]
    Vm(#[from] pirn_vm::Error),
}

/// Somebody who is given the end of a script before anybody else.
pub(crate) trait CellOwner: Send + 'static {
    /// Takes note of the end, and may add to it.
    fn finish(&mut self, result: ScriptResult) -> BoxFuture<'_, ScriptResult>;

    /// The end can be had now.
    fn over(&mut self);
}

/// A cell that nobody owns.
struct NoOwner;

impl CellOwner for NoOwner {
    fn finish(&mut self, result: ScriptResult) -> BoxFuture<'_, ScriptResult> {
        Box::pin(std::future::ready(result))
    }

    fn over(&mut self) {}
}

/// Orders that a script has not come to; it looks at them whenever it waits.
const ORDERS_MAX: usize = 8;

impl Cell {
    /// Starts a script in a task of its own. A script that cannot start ends at once.
    ///
    /// # Panics
    /// Outside a tokio runtime.
    pub fn start(
        engine: &VmEngine,
        script: &Script,
        environment: &Environment,
        options: RunOptions,
    ) -> Self {
        Self::start_owned(engine, script, environment, options, Box::new(NoOwner))
    }

    /// Like [`Cell::start`], with somebody who is given the end before anybody else.
    pub(crate) fn start_owned(
        engine: &VmEngine,
        script: &Script,
        environment: &Environment,
        mut options: RunOptions,
        owner: Box<dyn CellOwner>,
    ) -> Self {
        let shared = Arc::new(Shared::default());
        options.progress = Some(shared.sink(options.progress.take()));
        // Terminating this cell must not stop whatever else the caller's handle stops.
        options.abort = options.abort.child();
        let abort = options.abort.clone();
        let (engine, script) = (engine.clone(), script.clone());
        let surroundings = environment.clone();
        Self::spawn(shared, abort, environment.clone(), owner, async move {
            prepare(&engine, &script, &surroundings, options)
                .await
                .map_err(ScriptResult::not_run)
        })
    }

    /// Resumes a script that [`Cell::suspend`] or [`Cell::checkpoint`] saved, in this or another process, once there is room for
    /// it. What becomes of the calls that were open [`crate::ScriptHost::resume_call`] decides; nothing is repeated.
    /// `options.limits.wall` counts from the first start.
    ///
    /// # Errors
    /// When the bytes are no saved script of this build.
    ///
    /// # Panics
    /// Outside a tokio runtime.
    pub async fn resume(
        engine: &VmEngine,
        bytes: &[u8],
        environment: &Environment,
        options: RunOptions,
    ) -> Result<Self, pirn_vm::Error> {
        Self::resume_owned(engine, bytes, environment, options, Box::new(NoOwner)).await
    }

    /// Like [`Cell::resume`], with somebody who is given the end before anybody else.
    pub(crate) async fn resume_owned(
        engine: &VmEngine,
        bytes: &[u8],
        environment: &Environment,
        mut options: RunOptions,
        owner: Box<dyn CellOwner>,
    ) -> Result<Self, pirn_vm::Error> {
        let shared = Arc::new(Shared::default());
        options.abort = options.abort.child();
        options.progress = Some(shared.sink(options.progress.take()));
        let abort = options.abort.clone();
        let room = engine
            .room(&options.caller, options.limits.vm.memory_bytes)
            .await?;
        let (mut run, data) = Run::restore(engine, room, bytes, environment.clone(), options)?;
        // Data that cannot be read belongs to another version; the script itself can still go on.
        let saved: Saved = serde_json::from_slice(&data).unwrap_or_default();
        shared.lock().take_over(&saved);
        run.continue_from(saved.into());
        Ok(Self::spawn(
            shared,
            abort,
            environment.clone(),
            owner,
            async move { Ok(run) },
        ))
    }

    fn spawn(
        shared: Arc<Shared>,
        abort: Abort,
        environment: Environment,
        mut owner: Box<dyn CellOwner>,
        start: impl Future<Output = Result<Run, ScriptResult>> + Send + 'static,
    ) -> Self {
        let (sender, mut orders) = mpsc::channel(ORDERS_MAX);
        let state = Arc::clone(&shared);
        let task = tokio::spawn(async move {
            let ending = Ending(Arc::clone(&state));
            let owner_data =
                move |run: &Run, calls| saved::bytes(run, calls, state.lock().undelivered());
            let end = match started(start, &mut orders).await {
                None => CellEnd::NotStarted,
                Some(Err(result)) => CellEnd::Ended(Box::new(owner.finish(result).await)),
                Some(Ok(mut run)) => match run.run(&mut orders, &owner_data).await {
                    Pause::Ended(result) => {
                        let result = with_hints(*result, &environment);
                        CellEnd::Ended(Box::new(owner.finish(result).await))
                    }
                    Pause::Suspended => CellEnd::Suspended(run.suspend(&owner_data).await),
                },
            };
            let is_over = matches!(end, CellEnd::Ended(_));
            ending.0.lock().end = Some(end);
            drop(ending);
            if is_over {
                owner.over();
            }
        });
        Self {
            shared,
            abort,
            orders: sender,
            _task: AbortOnDropHandle::new(task),
        }
    }

    /// Waits until the script ends, yields, or `yield_after` has passed, and gives what is new.
    ///
    /// # Errors
    /// When somebody else waits, or the end was delivered before.
    pub async fn wait(&self, yield_after: Duration) -> Result<CellUpdate, WaitError> {
        let waiting = Waiting::begin(&self.shared)?;
        let ready = self.until(|state| state.end.is_some() || state.yielded_at.is_some());
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
        self.stop();
        // The run's own limits bound the wait: a few milliseconds for the VM, then the grace of its calls.
        self.until(|state| state.end.is_some()).await;
        waiting?.update()
    }

    /// Stops the script and its calls, without waiting for the end.
    pub(crate) fn stop(&self) {
        let mut state = self.shared.lock();
        if state.end.is_none() {
            state.is_terminated = true;
            self.abort.abort(TERMINATED);
        }
    }

    /// Saves the script as it is the next time it waits. It goes on, and so do its calls; each is saved with how far it had come.
    ///
    /// # Errors
    /// When the script does not run, or could not be saved.
    pub async fn checkpoint(&self) -> Result<Vec<u8>, CheckpointError> {
        let (reply, bytes) = oneshot::channel();
        self.orders
            .send(Order::Checkpoint(reply))
            .await
            .map_err(|_| CheckpointError::NotRunning)?;
        Ok(bytes.await.map_err(|_| CheckpointError::NotRunning)??)
    }

    /// Saves the script as soon as it waits, and ends the cell. Calls that have begun may end for
    /// [`crate::ScriptLimits::suspend_grace`], then they are stopped; how they ended is saved, and those that did not confirm
    /// reject as unknown after the resume, unless the host knows better. Calls that have not begun are made then, and those that
    /// ask a person ask the same question; whoever owns the questions keeps them open meanwhile.
    ///
    /// # Errors
    /// When the script ended first, had not started, or could not be saved.
    pub async fn suspend(&self) -> Result<Vec<u8>, SuspendError> {
        // A script that is over takes no orders.
        drop(self.orders.send(Order::Suspend).await);
        self.until(|state| state.end.is_some()).await;
        match self.shared.lock().end.replace(CellEnd::Delivered) {
            Some(CellEnd::Suspended(bytes)) => Ok(bytes?),
            Some(CellEnd::Ended(result)) => Err(SuspendError::Ended(result)),
            Some(CellEnd::NotStarted) => Err(SuspendError::NotStarted),
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

/// The script once it has started; `None` when it is to be suspended before.
async fn started(
    start: impl Future<Output = Result<Run, ScriptResult>>,
    orders: &mut mpsc::Receiver<Order>,
) -> Option<Result<Run, ScriptResult>> {
    tokio::pin!(start);
    loop {
        tokio::select! {
            biased;
            run = &mut start => return Some(run),
            Some(order) = orders.recv() => match order {
                Order::Suspend => return None,
                // Dropped: there is nothing to save.
                Order::Checkpoint(_) => {}
            },
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
                    let mut state = shared.lock();
                    state.yielded_at = Some((state.output.len(), state.notifications.len()));
                    drop(state);
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
            has_yielded: self.yielded_at.is_some(),
        }
    }

    fn take_over(&mut self, saved: &Saved) {
        let undelivered = &saved.undelivered;
        self.output = saved.last_output(undelivered.output);
        self.notifications = saved.last_notifications(undelivered.notifications);
        self.yielded_at = undelivered
            .has_yielded
            .then_some((self.output.len(), self.notifications.len()));
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

    /// What came since the last look.
    fn update(self) -> Result<CellUpdate, WaitError> {
        let mut state = self.0.lock();
        let yielded_at = state.yielded_at.take();
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
            Some(end @ (CellEnd::Suspended(_) | CellEnd::NotStarted | CellEnd::Delivered)) => {
                state.end = Some(end);
                return Err(WaitError::Gone);
            }
        };
        // What came after a yield is for the next time, unless that was the end.
        let handed_over = match status {
            CellStatus::Running => yielded_at,
            CellStatus::Ended(_) | CellStatus::Terminated(_) => None,
        };
        let (output, notifications) =
            handed_over.unwrap_or((state.output.len(), state.notifications.len()));
        Ok(CellUpdate {
            output: state.output.drain(..output).collect(),
            notifications: state.notifications.drain(..notifications).collect(),
            status,
        })
    }
}

impl Drop for Waiting<'_> {
    fn drop(&mut self) {
        self.0.lock().has_waiter = false;
    }
}
