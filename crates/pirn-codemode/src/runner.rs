//! Runs one script: drives its VM, performs its calls within the limits, and collects what it produces.

mod calls;
mod saved;

use std::collections::BTreeMap;
use std::future::poll_fn;
use std::pin::pin;
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::{Duration, Instant};

use pirn_vm::{
    CallId, CallTarget, End, Event, EventQueue, InterruptHandle, JsString, JsonText, Output, Step,
    StopReason, Vm, VmEngine,
};
use tokio_util::sync::CancellationToken;

use crate::abort::Abort;
use crate::host::{CallEnd, Environment};
use crate::limits::ScriptLimits;
use crate::result::{CallRecord, ScriptError, ScriptErrorKind, ScriptResult};

use calls::Calls;
pub(crate) use saved::{SavedCall, SavedRun, SavedStage};

/// What happens while a script runs, for whoever shows it.
#[derive(Debug, Clone)]
pub enum Progress<'a> {
    /// The script started.
    Started,
    /// It showed an item.
    Output(&'a Output),
    /// It sent a message.
    Notified(&'a JsString),
    /// It handed over its output so far.
    Yielded,
    /// A tool call started.
    CallStarted(&'a CallRecord),
    /// A tool call ended.
    CallEnded(&'a CallRecord),
}

/// Receives progress. Must not block.
pub type ProgressSink = Arc<dyn Fn(Progress<'_>) + Send + Sync>;

/// A script in the middle of its run.
pub(crate) struct Run {
    vm: Vm,
    events: EventQueue,
    pub(crate) calls: Calls,
    pub(crate) collected: Collected,
    limits: ScriptLimits,
    interrupt: InterruptHandle,
    abort: Abort,
    /// `None` for a time no clock reaches.
    deadline: Option<Instant>,
    started_at: Instant,
    /// Time before the present process, for a resumed script.
    wall_before: Duration,
    settled: Vec<(CallId, CallEnd)>,
}

/// What the script produced so far.
pub(crate) struct Collected {
    pub(crate) output: Vec<Output>,
    pub(crate) notifications: Vec<JsString>,
    progress: Option<ProgressSink>,
}

/// Why a run stops before the script's end.
pub(crate) enum Pause {
    /// The script is over.
    Ended(Box<ScriptResult>),
    /// It waits, and was asked to be saved.
    Suspended,
}

impl Run {
    pub(crate) fn new(
        vm: Vm,
        environment: Environment,
        limits: ScriptLimits,
        abort: Abort,
        progress: Option<ProgressSink>,
    ) -> Self {
        let started_at = Instant::now();
        Self {
            events: vm.events(),
            interrupt: vm.interrupt_handle(),
            vm,
            calls: Calls::new(environment, &limits),
            collected: Collected {
                output: Vec::new(),
                notifications: Vec::new(),
                progress,
            },
            deadline: started_at.checked_add(limits.wall),
            started_at,
            wall_before: Duration::ZERO,
            limits,
            abort,
            settled: Vec::new(),
        }
    }

    /// Runs until the script ends, or until it waits after `suspend` fired.
    pub(crate) async fn run(&mut self, suspend: &CancellationToken) -> Pause {
        self.vm.set_deadline(self.deadline);
        self.collected.report(&Progress::Started);
        loop {
            if self.abort.is_aborted() {
                self.interrupt.interrupt();
            }
            match self.poll_vm().await {
                Step::Ended(end) => return Pause::Ended(Box::new(self.finish(end).await)),
                Step::Waiting { wake_at } => {
                    if !self.settled.is_empty() {
                        self.apply_settled();
                        continue;
                    }
                    if suspend.is_cancelled() {
                        return Pause::Suspended;
                    }
                    self.wait(wake_at, suspend).await;
                    self.apply_settled();
                }
            }
        }
    }

    /// Polls the VM until it waits or ends; takes its events and performs its calls meanwhile.
    async fn poll_vm(&mut self) -> Step {
        let Self {
            vm,
            events,
            calls,
            collected,
            interrupt,
            abort,
            settled,
            ..
        } = self;
        let mut running = pin!(vm.poll_async());
        let mut aborted = pin!(abort.aborted());
        poll_fn(|context| {
            let polled = running.as_mut().poll(context);
            take_events(context, events, calls, collected, settled);
            if polled.is_pending() {
                calls.progress(context, collected, settled);
                if aborted.as_mut().poll(context).is_ready() {
                    interrupt.interrupt();
                }
            }
            polled
        })
        .await
    }

    fn apply_settled(&mut self) {
        for (id, end) in self.settled.drain(..) {
            // The call is open by construction: each is settled once.
            drop(self.vm.settle(id, end.settlement));
        }
    }

    /// Waits for a call, a timer, the deadline, an abort or a request to suspend.
    async fn wait(&mut self, wake_at: Option<Instant>, suspend: &CancellationToken) {
        let until = [wake_at, self.deadline].into_iter().flatten().min();
        let Self {
            calls,
            collected,
            settled,
            interrupt,
            abort,
            ..
        } = self;
        let ended = poll_fn(|context| {
            calls.progress(context, collected, settled);
            if settled.is_empty() {
                Poll::Pending
            } else {
                Poll::Ready(())
            }
        });
        tokio::select! {
            biased;
            () = abort.aborted() => interrupt.interrupt(),
            () = ended => {}
            () = sleep_until(until) => {}
            () = suspend.cancelled() => {}
        }
    }

    async fn finish(&mut self, end: End) -> ScriptResult {
        let outcome = self.outcome(end);
        self.calls
            .stop_all(self.limits.cancel_grace, &mut self.collected)
            .await;
        ScriptResult {
            store_writes: if outcome.is_ok() {
                self.vm.take_store_writes()
            } else {
                Vec::new()
            },
            outcome,
            output: std::mem::take(&mut self.collected.output),
            calls: std::mem::take(&mut self.calls.records),
            notifications: std::mem::take(&mut self.collected.notifications),
            wall: self.wall(),
            cpu: self.vm.cpu_used(),
        }
    }

    pub(crate) fn wall(&self) -> Duration {
        self.wall_before + self.started_at.elapsed()
    }

    fn outcome(&self, end: End) -> Result<Option<JsonText>, ScriptError> {
        let (kind, message, failure) = match end {
            End::Returned(value) => return Ok(value),
            End::Failed(failure) => {
                return Err(ScriptError {
                    kind: ScriptErrorKind::Script,
                    hint: None,
                    name: failure.name,
                    message: failure.message,
                    stack: failure.stack,
                });
            }
            End::Stopped(StopReason::Interrupted, failure) => {
                (ScriptErrorKind::Aborted, self.abort.reason(), failure)
            }
            End::Stopped(StopReason::Deadline, failure) => {
                let message = format!(
                    "The script timed out after {} ms",
                    self.limits.wall.as_millis()
                );
                (ScriptErrorKind::Timeout, message, failure)
            }
            End::Stopped(StopReason::Cpu, failure) => {
                let cpu_ms = self.limits.vm.cpu.as_millis();
                (
                    ScriptErrorKind::Cpu,
                    format!("The script used up its {cpu_ms} ms of processor time"),
                    failure,
                )
            }
            End::OutOfMemory(message) => (ScriptErrorKind::Memory, message, None),
            End::Crashed(message) => (ScriptErrorKind::Sandbox, message, None),
        };
        // Where the script was when it was stopped; the engine's own words for it say nothing new.
        let frames = failure.and_then(|failure| failure.stack);
        let stack = frames.map(|frames| {
            let own_words = !frames.starts_with(char::is_whitespace);
            let frames: Vec<&str> = frames.lines().skip(usize::from(own_words)).collect();
            format!("{message}\n{}", frames.join("\n"))
                .trim_end()
                .to_owned()
        });
        Err(ScriptError {
            stack,
            ..ScriptError::new(kind, message)
        })
    }

    /// Saves the script. Calls in flight are stopped first: how those end that confirm it is saved too.
    pub(crate) async fn suspend(
        mut self,
        owner_data: impl FnOnce(&Self, Vec<SavedCall>) -> Vec<u8>,
    ) -> Result<Vec<u8>, pirn_vm::Error> {
        let open_calls = self
            .calls
            .pause(self.limits.cancel_grace, &mut self.collected)
            .await;
        let data = owner_data(&self, open_calls);
        self.vm.snapshot(&data)
    }

    /// Restores a script. Open calls are taken up again by the host, or reject as unknown.
    pub(crate) fn restore(
        engine: &VmEngine,
        bytes: &[u8],
        environment: Environment,
        limits: ScriptLimits,
        abort: Abort,
        progress: Option<ProgressSink>,
    ) -> Result<(Self, Vec<u8>), pirn_vm::Error> {
        let (vm, data) = Vm::restore(engine, bytes)?;
        Ok((Self::new(vm, environment, limits, abort, progress), data))
    }

    /// Puts back what a saved script had collected.
    pub(crate) fn continue_from(&mut self, saved: SavedRun) {
        self.wall_before = saved.wall;
        let left = self.limits.wall.saturating_sub(saved.wall);
        self.deadline = self.started_at.checked_add(left);
        self.collected.output = saved.output;
        self.collected.notifications = saved.notifications;
        self.calls.continue_from(saved.records, self.started_at);
        let open: Vec<(CallId, CallTarget, String)> = self
            .vm
            .open_calls()
            .map(|(id, target, name)| (id, target, name.to_owned()))
            .collect();
        let mut saved_calls: BTreeMap<u32, SavedCall> = saved
            .open_calls
            .into_iter()
            .map(|call| (call.id, call))
            .collect();
        for (id, target, name) in open {
            let end = match saved_calls.remove(&id.as_u32()) {
                Some(call) => self.calls.take_up(id, target, &name, call),
                None => Some(self.calls.unknown(&name, None)),
            };
            self.settled.extend(end.map(|end| (id, end)));
        }
        self.apply_settled();
    }
}

/// Waits until a moment, or for ever without one.
async fn sleep_until(at: Option<Instant>) {
    match at {
        Some(at) => tokio::time::sleep_until(at.into()).await,
        None => std::future::pending().await,
    }
}

impl Collected {
    fn report(&self, progress: &Progress<'_>) {
        if let Some(sink) = &self.progress {
            sink(progress.clone());
        }
    }
}

/// Takes what the script did since the last look.
fn take_events(
    context: &mut Context<'_>,
    events: &EventQueue,
    calls: &mut Calls,
    collected: &mut Collected,
    settled: &mut Vec<(CallId, CallEnd)>,
) {
    for event in events.drain() {
        match event {
            Event::Output(output) => {
                collected.report(&Progress::Output(&output));
                collected.output.push(output);
            }
            Event::Notify(message) => {
                collected.report(&Progress::Notified(&message));
                collected.notifications.push(message);
            }
            Event::Yield => collected.report(&Progress::Yielded),
            Event::Call {
                id,
                target,
                name,
                arguments,
            } => {
                if let Some(refusal) = calls.accept(id, target, name, arguments, collected) {
                    settled.push((id, refusal));
                }
                // A call that answers at once is over before the next one starts, as its author would expect.
                calls.progress(context, collected, settled);
            }
        }
    }
}
