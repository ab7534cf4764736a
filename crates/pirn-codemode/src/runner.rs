//! Runs one script: drives its VM, performs its calls within the limits, and collects what it produces.

mod calls;
mod results;
mod saved;

use std::collections::BTreeMap;
use std::future::poll_fn;
use std::pin::pin;
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::{Duration, Instant};

use pirn_tool::{CallContext, CallStatus, Deadline, Receipt, WaitClock, excerpt};
use pirn_vm::{
    CallId, CallTarget, DeadlineHandle, End, Event, EventQueue, InterruptHandle, JsString,
    JsonText, Output, Room, Settlement, Step, StopReason, Vm, VmEngine,
};
use tokio::sync::{mpsc, oneshot};

use crate::abort::Abort;
use crate::explain::ScriptText;
use crate::host::{CallEnd, Environment};
use crate::limits::{Limit, ScriptLimits};
use crate::result::{ScriptError, ScriptErrorKind, ScriptResult, UnhandledRejections};
use crate::script::RunOptions;

use calls::{Calls, Graces};
pub use results::ResultBudget;
pub(crate) use saved::{SavedCall, SavedRun, SavedStage};

/// What happens while a script runs, for whoever shows it.
#[derive(Debug, Clone)]
pub enum Progress<'a> {
    /// The script has started to run.
    Started,
    /// It showed an item.
    Output(&'a Output),
    /// It sent a message.
    Notified(&'a JsString),
    /// It handed over its output so far.
    Yielded,
    /// A tool call started.
    CallStarted(&'a Receipt),
    /// A tool call ended.
    CallEnded(&'a Receipt),
}

/// Receives progress. Must not block.
pub type ProgressSink = Arc<dyn Fn(Progress<'_>) + Send + Sync>;

/// Tells the stream of events what a script puts out, as output of the call that `context` belongs to, and `next` everything.
pub fn output_sink(context: &CallContext, next: Option<ProgressSink>) -> ProgressSink {
    let context = context.clone();
    Arc::new(move |step: Progress<'_>| {
        if let Progress::Output(Output::Text(text) | Output::Console(text)) = &step {
            context.output(|| text.to_string());
        }
        if let Some(next) = &next {
            next(step);
        }
    })
}

/// A script in the middle of its run.
pub(crate) struct Run {
    vm: Vm,
    events: EventQueue,
    pub(crate) calls: Calls,
    pub(crate) collected: Collected,
    limits: ScriptLimits,
    interrupt: InterruptHandle,
    abort: Abort,
    clock: WaitClock,
    deadline: Deadline,
    deadline_handle: DeadlineHandle,
    started_at: Instant,
    /// Time before the present process, for a resumed script.
    wall_before: Duration,
    /// What of the time limit was used up before.
    time_used_before: Duration,
    settled: Vec<(CallId, CallEnd)>,
    /// The script's text; `None` for one that was restored.
    text: Option<Arc<ScriptText>>,
}

/// What the script produced so far.
pub(crate) struct Collected {
    pub(crate) output: Vec<Output>,
    pub(crate) notifications: Vec<JsString>,
    pub(crate) notes: Vec<String>,
    past_end: PastEnd,
    progress: Option<ProgressSink>,
}

/// How far a script is beyond its last statement.
#[derive(Clone, Copy)]
enum PastEnd {
    /// It has not come there.
    No,
    /// It came there then, and what it started goes on.
    Since(Instant),
    /// That it goes on was told.
    Told,
}

/// How long what a script started may hold it beyond its last statement before whoever waits for it is told.
const HELD_TOLD_AFTER: Duration = Duration::from_secs(10);
/// Characters of the error of a call that nobody waited for.
const UNSEEN_FAILURE_CHARS_MAX: usize = 300;
/// Calls that this names.
const HELD_CALLS_NAMED_MAX: usize = 5;

/// What is said of a script that failed after it was refused memory that its own limit allows.
const MEMORY_SHARED: &str = "All scripts together have reached the memory that they share; the script may succeed when fewer run.";

/// What a run is asked to do while it goes on.
pub(crate) enum Order {
    /// To save the script as it is, with its calls going on.
    Checkpoint(oneshot::Sender<Result<Vec<u8>, pirn_vm::Error>>),
    /// To stop at the next wait, to be saved.
    Suspend,
}

/// Makes the bytes that are kept beside the VM.
pub(crate) type OwnerData<'a> = &'a (dyn Fn(&Run, Vec<SavedCall>) -> Vec<u8> + Send + Sync);

/// Why a run stops before the script's end.
pub(crate) enum Pause {
    /// The script is over.
    Ended(Box<ScriptResult>),
    /// It waits, and was asked to be saved.
    Suspended,
}

impl Run {
    pub(crate) fn new(vm: Vm, environment: Environment, options: RunOptions) -> Self {
        let RunOptions {
            limits,
            abort,
            progress,
            caller: _,
            results,
        } = options;
        let clock = environment.host.clock();
        Self {
            deadline_handle: vm.deadline_handle(),
            deadline: clock.deadline(limits.wall),
            clock,
            events: vm.events(),
            interrupt: vm.interrupt_handle(),
            vm,
            calls: Calls::new(
                environment,
                &limits,
                results.share(limits.results_bytes_max),
            ),
            collected: Collected {
                output: Vec::new(),
                notifications: Vec::new(),
                notes: Vec::new(),
                past_end: PastEnd::No,
                progress,
            },
            started_at: Instant::now(),
            wall_before: Duration::ZERO,
            time_used_before: Duration::ZERO,
            limits,
            abort,
            settled: Vec::new(),
            text: None,
        }
    }

    /// A run whose errors can be shown in the script's text.
    pub(crate) fn with_text(mut self, text: Arc<ScriptText>) -> Self {
        self.text = Some(text);
        self
    }

    /// A run whose result has these notes, before those that come while it runs.
    pub(crate) fn with_notes(mut self, notes: Vec<String>) -> Self {
        self.collected.notes.extend(notes);
        self
    }

    /// Runs until the script ends, or until it waits and is to be suspended.
    pub(crate) async fn run(
        &mut self,
        orders: &mut mpsc::Receiver<Order>,
        owner_data: OwnerData<'_>,
    ) -> Pause {
        self.collected.report(&Progress::Started);
        loop {
            if self.abort.is_aborted() {
                self.interrupt.interrupt();
            }
            self.move_deadline();
            let step = self.poll_vm().await;
            self.calls.results.were_read();
            match step {
                Step::Ended(end) => return Pause::Ended(Box::new(self.finish(end).await)),
                Step::Waiting { wake_at } => {
                    if !self.settled.is_empty() {
                        self.apply_settled();
                        continue;
                    }
                    match self.wait(wake_at, orders).await {
                        None => self.apply_settled(),
                        Some(Order::Suspend) => return Pause::Suspended,
                        Some(Order::Checkpoint(reply)) => {
                            let bytes =
                                self.vm.snapshot(&owner_data(self, self.calls.checkpoint()));
                            // Whoever asked may be gone.
                            drop(reply.send(bytes));
                        }
                    }
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
            clock,
            deadline,
            deadline_handle,
            ..
        } = self;
        let mut running = pin!(vm.poll_async());
        let mut aborted = pin!(abort.aborted());
        poll_fn(|context| {
            let polled = running.as_mut().poll(context);
            take_events(context, events, calls, collected, settled);
            if polled.is_pending() {
                calls.progress(context, collected, settled);
                // A question may have been opened or answered while the script computes.
                deadline_handle.set(moment(clock, deadline));
                if aborted.as_mut().poll(context).is_ready() {
                    interrupt.interrupt();
                }
            }
            polled
        })
        .await
    }

    fn move_deadline(&self) {
        self.deadline_handle
            .set(moment(&self.clock, &self.deadline));
    }

    fn apply_settled(&mut self) {
        self.calls.results.hand_over();
        for (id, end) in self.settled.drain(..) {
            // The call is open by construction: each is settled once.
            drop(self.vm.settle(id, end.settlement));
        }
    }

    /// Waits for a call, a timer, the deadline, an abort or an order, which it gives.
    async fn wait(
        &mut self,
        wake_at: Option<Instant>,
        orders: &mut mpsc::Receiver<Order>,
    ) -> Option<Order> {
        let Self {
            calls,
            collected,
            settled,
            interrupt,
            abort,
            deadline,
            ..
        } = self;
        let tell_held_at = collected.tell_held_at();
        let mut is_held = false;
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
            () = sleep_until(wake_at) => {}
            () = sleep_until(tell_held_at) => is_held = true,
            () = deadline.over() => {}
            Some(order) = orders.recv() => return Some(order),
        }
        if is_held {
            collected.tell_held(calls);
        }
        None
    }

    async fn finish(&mut self, end: End) -> ScriptResult {
        let mut outcome = self.outcome(end);
        if let (Err(error), Some(text)) = (&mut outcome, &self.text)
            && let Some(stack) = &mut error.stack
            && let Some(frame) = text.frame(stack)
        {
            stack.push('\n');
            stack.push_str(&frame);
        }
        if let Err(error) = &mut outcome
            && self.vm.was_refused_memory()
        {
            error.hint = Some(format!("{MEMORY_SHARED} {}", Limit::MemoryTotal.advice()));
        }
        self.calls
            .stop_all(self.limits.cancel_grace, &mut self.collected)
            .await;
        if outcome.is_ok() {
            self.note_unseen_failures();
        }
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
            notes: std::mem::take(&mut self.collected.notes),
            wall: self.wall(),
            cpu: self.vm.cpu_used(),
        }
    }

    /// Names calls that failed just when the script ended, so that it never learned of it.
    fn note_unseen_failures(&mut self) {
        for (_, end) in self.settled.drain(..) {
            if let (CallStatus::Error, Settlement::Rejected { message, tool, .. }) =
                (end.status, end.settlement)
            {
                let tool = tool.unwrap_or_default();
                let reason = excerpt(&message, UNSEEN_FAILURE_CHARS_MAX);
                self.collected.notes.push(format!(
                    "A call of {tool} failed that the script did not wait for: {reason}"
                ));
            }
        }
    }

    pub(crate) fn wall(&self) -> Duration {
        self.wall_before + self.started_at.elapsed()
    }

    /// What of the time limit is used up.
    pub(crate) fn time_used(&self) -> Duration {
        let limit = self.deadline.limit();
        self.time_used_before + limit.saturating_sub(self.deadline.left())
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
                    unhandled: (failure.unhandled > 0).then(|| {
                        Box::new(UnhandledRejections {
                            count: failure.unhandled,
                            value: failure.value,
                        })
                    }),
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

    /// Saves the script. Calls that have begun may end first, then they are stopped: how those end that confirm it is saved too.
    pub(crate) async fn suspend(
        mut self,
        owner_data: OwnerData<'_>,
    ) -> Result<Vec<u8>, pirn_vm::Error> {
        let graces = Graces {
            suspend: self.limits.suspend_grace,
            cancel: self.limits.cancel_grace,
        };
        let open_calls = self
            .calls
            .pause(graces, &self.abort, &mut self.collected)
            .await;
        let data = owner_data(&self, open_calls);
        self.vm.snapshot(&data)
    }

    /// Restores a script. Open calls are taken up again by the host, or reject as unknown.
    pub(crate) fn restore(
        engine: &VmEngine,
        room: Room,
        bytes: &[u8],
        environment: Environment,
        options: RunOptions,
    ) -> Result<(Self, Vec<u8>), pirn_vm::Error> {
        let (mut vm, data) = Vm::restore_in_room(engine, room, bytes)?;
        vm.set_tools(environment.tools.table.clone());
        Ok((Self::new(vm, environment, options), data))
    }

    /// Puts back what a saved script had collected.
    pub(crate) fn continue_from(&mut self, saved: SavedRun) {
        self.wall_before = saved.wall;
        self.time_used_before = saved.time_used;
        let left = self.limits.wall.saturating_sub(saved.time_used);
        self.deadline = self.clock.deadline(left);
        self.collected.output = saved.output;
        self.collected.notifications = saved.notifications;
        self.collected.notes = saved.notes;
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

/// When the time is up, if nothing changes; `None` while the clock stands still, and for a time that no clock reaches.
fn moment(clock: &WaitClock, deadline: &Deadline) -> Option<Instant> {
    if clock.is_still() {
        return None;
    }
    Instant::now().checked_add(deadline.left())
}

/// Waits until a moment, or for ever without one.
async fn sleep_until(at: Option<Instant>) {
    match at {
        Some(at) => tokio::time::sleep_until(at.into()).await,
        None => std::future::pending().await,
    }
}

impl Collected {
    /// When it is to be told that the script goes on beyond its last statement.
    fn tell_held_at(&self) -> Option<Instant> {
        match self.past_end {
            PastEnd::Since(since) => since.checked_add(HELD_TOLD_AFTER),
            PastEnd::No | PastEnd::Told => None,
        }
    }

    /// Tells what holds the script, and hands over its output so far.
    fn tell_held(&mut self, calls: &Calls) {
        self.past_end = PastEnd::Told;
        let open: Vec<&Receipt> = calls.open_records().collect();
        let mut rows: Vec<String> = open
            .iter()
            .take(HELD_CALLS_NAMED_MAX)
            .map(|call| format!("{} {}", call.name, call.arguments_text()))
            .collect();
        if open.len() > HELD_CALLS_NAMED_MAX {
            rows.push(format!("{} more calls", open.len() - HELD_CALLS_NAMED_MAX));
        }
        if rows.is_empty() {
            rows.push("a sleep or an async function that it started".to_owned());
        }
        let seconds = HELD_TOLD_AFTER.as_secs();
        let message = JsString::from(format!(
            "The script reached its last statement {seconds} s ago and goes on for {}",
            rows.join("; ")
        ));
        self.report(&Progress::Notified(&message));
        self.notifications.push(message);
        self.report(&Progress::Yielded);
    }

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
            Event::Cancel(id) => calls.cancel(id),
            Event::Note(note) => collected.notes.push(note),
            Event::LastStatement => collected.past_end = PastEnd::Since(Instant::now()),
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
