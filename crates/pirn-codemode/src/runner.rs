//! Runs one script: drives its VM, performs its calls within the limits, and collects what it produces.

use std::collections::{BTreeMap, VecDeque};
use std::future::poll_fn;
use std::pin::pin;
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::{Duration, Instant};

use futures_util::StreamExt as _;
use futures_util::future::BoxFuture;
use futures_util::stream::FuturesUnordered;
use pirn_tool::CallStatus;
use pirn_vm::{
    CallId, CallTarget, End, Event, EventQueue, InterruptHandle, JsString, JsonText, Output, Settlement, Step, StopReason,
    Vm, VmEngine,
};
use tokio_util::sync::CancellationToken;

use crate::abort::Abort;
use crate::host::{CallEnd, Environment, HostCall};
use crate::limits::ScriptLimits;
use crate::result::{CallRecord, ScriptError, ScriptErrorKind, ScriptResult};

/// Characters of a call's argument kept in its record.
const RECORD_ARGUMENT_CHARS_MAX: usize = 200;
/// Characters of an error's message kept in a call's record.
const RECORD_ERROR_CHARS_MAX: usize = 500;

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
    deadline: Instant,
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

type InFlight = FuturesUnordered<BoxFuture<'static, (CallId, Option<usize>, CallEnd)>>;

/// The script's calls.
pub(crate) struct Calls {
    environment: Environment,
    pub(crate) records: Vec<CallRecord>,
    started: Vec<Instant>,
    in_flight: InFlight,
    waiting: VecDeque<(CallId, Option<usize>, HostCall)>,
    /// What is needed to save the calls that are open.
    open: BTreeMap<CallId, OpenCall>,
    cancel: CancellationToken,
    in_flight_max: usize,
    calls_max: u32,
    bytes_max: usize,
}

struct OpenCall {
    record: Option<usize>,
    arguments: Option<JsonText>,
}

/// Why a run stops before the script's end.
pub(crate) enum Pause {
    /// The script is over.
    Ended(ScriptResult),
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
            calls: Calls {
                environment,
                records: Vec::new(),
                started: Vec::new(),
                in_flight: FuturesUnordered::new(),
                waiting: VecDeque::new(),
                open: BTreeMap::new(),
                cancel: CancellationToken::new(),
                in_flight_max: limits.calls_in_flight_max.max(1),
                calls_max: limits.calls_max,
                bytes_max: limits.call_bytes_max,
            },
            collected: Collected { output: Vec::new(), notifications: Vec::new(), progress },
            deadline: started_at + limits.wall,
            started_at,
            wall_before: Duration::ZERO,
            limits,
            abort,
            settled: Vec::new(),
        }
    }

    /// Runs until the script ends, or until it waits after `suspend` fired.
    pub(crate) async fn run(&mut self, suspend: &CancellationToken) -> Pause {
        self.vm.set_deadline(Some(self.deadline));
        self.collected.report(&Progress::Started);
        loop {
            if self.abort.is_aborted() {
                self.interrupt.interrupt();
            }
            match self.poll_vm().await {
                Step::Ended(end) => return Pause::Ended(self.finish(end).await),
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
        let Self { vm, events, calls, collected, interrupt, abort, settled, .. } = self;
        let step = {
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
        };
        step
    }

    fn apply_settled(&mut self) {
        for (id, end) in self.settled.drain(..) {
            // The call is open by construction: each is settled once.
            drop(self.vm.settle(id, end.settlement));
        }
    }

    /// Waits for a call, a timer, the deadline, an abort or a request to suspend.
    async fn wait(&mut self, wake_at: Option<Instant>, suspend: &CancellationToken) {
        let until = wake_at.map_or(self.deadline, |at| at.min(self.deadline));
        let Self { calls, collected, settled, interrupt, abort, .. } = self;
        let ended = poll_fn(|context| {
            calls.progress(context, collected, settled);
            if settled.is_empty() { Poll::Pending } else { Poll::Ready(()) }
        });
        tokio::select! {
            biased;
            () = abort.aborted() => interrupt.interrupt(),
            () = ended => {}
            () = tokio::time::sleep_until(until.into()) => {}
            () = suspend.cancelled() => {}
        }
    }

    async fn finish(&mut self, end: End) -> ScriptResult {
        let outcome = self.outcome(end);
        self.calls.stop_all(self.limits.cancel_grace, &mut self.collected).await;
        ScriptResult {
            store_writes: if outcome.is_ok() { self.vm.take_store_writes() } else { Vec::new() },
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
            End::Stopped(StopReason::Interrupted, failure) => (ScriptErrorKind::Aborted, self.abort.reason(), failure),
            End::Stopped(StopReason::Deadline, failure) => {
                let message = format!("The script timed out after {} ms", self.limits.wall.as_millis());
                (ScriptErrorKind::Timeout, message, failure)
            }
            End::Stopped(StopReason::Cpu, failure) => {
                let cpu_ms = self.limits.vm.cpu.as_millis();
                (ScriptErrorKind::Cpu, format!("The script used up its {cpu_ms} ms of processor time"), failure)
            }
            End::OutOfMemory(message) => (ScriptErrorKind::Memory, message, None),
            End::Crashed(message) => (ScriptErrorKind::Sandbox, message, None),
        };
        // Where the script was when it was stopped; the engine's own words for it say nothing new.
        let frames = failure.and_then(|failure| failure.stack);
        let stack = frames.map(|frames| format!("{message}\n{}", frames.trim_end()));
        Err(ScriptError { stack, ..ScriptError::new(kind, message) })
    }

    /// Saves the script. Calls in flight are stopped; they come back as unknown when it is resumed.
    pub(crate) async fn suspend(mut self, owner_data: impl FnOnce(&Self) -> Vec<u8>) -> Result<Vec<u8>, pirn_vm::Error> {
        let data = owner_data(&self);
        let bytes = self.vm.snapshot(&data);
        self.calls.stop_all(self.limits.cancel_grace, &mut self.collected).await;
        bytes
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
        self.deadline = self.started_at + left;
        self.collected.output = saved.output;
        self.collected.notifications = saved.notifications;
        self.calls.started = vec![self.started_at; saved.records.len()];
        self.calls.records = saved.records;
        let open: Vec<(CallId, CallTarget, String)> =
            self.vm.open_calls().map(|(id, target, name)| (id, target, name.to_owned())).collect();
        for (id, target, name) in open {
            let saved_call = saved.open_calls.iter().find(|call| call.id == id.as_u32());
            let record = saved_call.and_then(|call| call.record);
            let call = HostCall {
                number: record.and_then(|index| self.calls.records.get(index)).map_or(0, |record| record.number),
                target,
                name: name.clone(),
                arguments: saved_call.and_then(|call| call.arguments.clone()),
                cancel: self.calls.cancel.child_token(),
            };
            match self.calls.environment.host.resume_call(call) {
                Some(future) => {
                    let arguments = saved_call.and_then(|call| call.arguments.clone());
                    self.calls.open.insert(id, OpenCall { record, arguments });
                    self.calls.in_flight.push(Box::pin(async move { (id, record, future.await) }));
                }
                None => self.settled.push((id, self.calls.unknown(&name, record))),
            }
        }
        self.apply_settled();
    }

    /// The open calls with their arguments, for saving.
    pub(crate) fn open_calls(&self) -> Vec<SavedCall> {
        let saved = |(id, call): (&CallId, &OpenCall)| SavedCall {
            id: id.as_u32(),
            record: call.record,
            arguments: call.arguments.clone(),
        };
        self.calls.open.iter().map(saved).collect()
    }
}

/// What is kept of a run besides its VM.
pub(crate) struct SavedRun {
    pub(crate) wall: Duration,
    pub(crate) output: Vec<Output>,
    pub(crate) notifications: Vec<JsString>,
    pub(crate) records: Vec<CallRecord>,
    pub(crate) open_calls: Vec<SavedCall>,
}

/// An open call of a saved script.
pub(crate) struct SavedCall {
    pub(crate) id: u32,
    pub(crate) record: Option<usize>,
    pub(crate) arguments: Option<JsonText>,
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
            Event::Call { id, target, name, arguments } => {
                if let Some(refusal) = calls.accept(id, target, name, arguments, collected) {
                    settled.push((id, refusal));
                }
                // A call that answers at once is over before the next one starts, as its author would expect.
                calls.progress(context, collected, settled);
            }
        }
    }
}

impl Calls {
    /// Takes a call on, or says why it is refused.
    fn accept(
        &mut self,
        id: CallId,
        target: CallTarget,
        name: String,
        arguments: Option<JsonText>,
        collected: &mut Collected,
    ) -> Option<CallEnd> {
        let size = arguments.as_ref().map_or(0, |json| json.as_str().len());
        if size > self.bytes_max {
            let limit = self.bytes_max;
            return Some(CallEnd::error(format!("{name}: the argument has {size} bytes of JSON, the limit is {limit}")));
        }
        let mut number = 0;
        let mut record = None;
        if target == CallTarget::Tool {
            if self.records.len() >= self.calls_max as usize {
                let limit = self.calls_max;
                return Some(CallEnd::error(format!("{name}: the script has made {limit} calls, which is its limit")));
            }
            number = u32::try_from(self.records.len()).unwrap_or(u32::MAX).saturating_add(1);
            record = Some(self.records.len());
            let shown = arguments.as_ref().map_or("", |json| json.as_str());
            self.records.push(CallRecord {
                number,
                name: name.clone(),
                arguments: excerpt(shown, RECORD_ARGUMENT_CHARS_MAX),
                status: CallStatus::Unfinished,
                duration: None,
                error: None,
            });
            self.started.push(Instant::now());
            if let Some(record) = self.records.last() {
                collected.report(&Progress::CallStarted(record));
            }
        }
        self.open.insert(id, OpenCall { record, arguments: arguments.clone() });
        let call = HostCall { number, target, name, arguments, cancel: self.cancel.child_token() };
        self.waiting.push_back((id, record, call));
        None
    }

    /// Starts waiting calls while there is room, and takes the ends of those that are done.
    fn progress(&mut self, context: &mut Context<'_>, collected: &mut Collected, settled: &mut Vec<(CallId, CallEnd)>) {
        loop {
            while self.in_flight.len() < self.in_flight_max
                && let Some((id, record, call)) = self.waiting.pop_front()
            {
                let future = self.environment.host.call(call);
                self.in_flight.push(Box::pin(async move { (id, record, future.await) }));
            }
            match self.in_flight.poll_next_unpin(context) {
                Poll::Ready(Some((id, record, end))) => {
                    self.open.remove(&id);
                    let end = self.bounded(end);
                    self.close(record, &end, collected);
                    settled.push((id, end));
                }
                Poll::Ready(None) if !self.waiting.is_empty() => {}
                Poll::Ready(None) | Poll::Pending => return,
            }
        }
    }

    /// Refuses a result that is larger than a script may get.
    fn bounded(&self, end: CallEnd) -> CallEnd {
        match &end.settlement {
            Settlement::Resolved(Some(json)) if json.as_str().len() > self.bytes_max => {
                let (size, limit) = (json.as_str().len(), self.bytes_max);
                let message = format!("the result has {size} bytes of JSON, the limit is {limit}; ask for less of it");
                CallEnd { status: end.status, ..CallEnd::error(message) }
            }
            Settlement::Resolved(_) | Settlement::Rejected { .. } => end,
        }
    }

    fn close(&mut self, record: Option<usize>, end: &CallEnd, collected: &mut Collected) {
        let Some(index) = record else { return };
        let duration = self.started.get(index).map(Instant::elapsed);
        let Some(record) = self.records.get_mut(index) else { return };
        record.status = end.status;
        record.duration = duration;
        if let Settlement::Rejected { message, .. } = &end.settlement {
            record.error = Some(excerpt(message, RECORD_ERROR_CHARS_MAX));
        }
        collected.report(&Progress::CallEnded(record));
    }

    /// Cancels what still runs and waits for it, but not for ever.
    async fn stop_all(&mut self, grace: Duration, collected: &mut Collected) {
        self.cancel.cancel();
        // A call that waited for room never started.
        for (_, record, call) in std::mem::take(&mut self.waiting) {
            let end = CallEnd::cancelled(format!("{} was not started", call.name));
            self.close(record, &end, collected);
        }
        let deadline = tokio::time::Instant::now() + grace;
        while let Ok(Some((id, record, end))) = tokio::time::timeout_at(deadline, self.in_flight.next()).await {
            self.open.remove(&id);
            // A call that was told to stop and fails has stopped; one that succeeds all the same took effect.
            let status = if end.status == CallStatus::Error { CallStatus::Cancelled } else { end.status };
            self.close(record, &CallEnd { status, ..end }, collected);
        }
        self.in_flight.clear();
        let end = CallEnd {
            status: CallStatus::Unknown,
            ..CallEnd::error("the call was stopped and did not confirm; it may have taken effect")
        };
        for index in 0..self.records.len() {
            if self.records.get(index).is_some_and(|record| record.status == CallStatus::Unfinished) {
                self.close(Some(index), &end, collected);
            }
        }
    }

    fn unknown(&mut self, name: &str, record: Option<usize>) -> CallEnd {
        let message = format!("{name} was running when the script was saved; whether it took effect is unknown");
        if let Some(record) = record.and_then(|index| self.records.get_mut(index)) {
            record.status = CallStatus::Unknown;
            record.error = Some(message.clone());
        }
        CallEnd {
            settlement: Settlement::Rejected {
                message,
                tool: Some(name.to_owned()),
                call_id: None,
                kind: Some("unknown".to_owned()),
            },
            status: CallStatus::Unknown,
        }
    }
}

/// The text, or its start with three dots where it is longer than `chars_max`.
fn excerpt(text: &str, chars_max: usize) -> String {
    if text.chars().nth(chars_max).is_none() {
        return text.to_owned();
    }
    let mut start: String = text.chars().take(chars_max.saturating_sub(3)).collect();
    start.push_str("...");
    start
}
