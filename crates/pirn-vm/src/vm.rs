//! One VM: start a script, poll it until it needs the host, settle its calls, until it ends.

use std::collections::VecDeque;
use std::pin::pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::task::{Context, Poll, Waker};
use std::time::{Duration, Instant};

use serde_json::json;
use wasmtime::{Instance, Memory, Store, StoreContextMut, Trap, TypedFunc, UpdateDeadline};

use crate::engine::VmEngine;
use crate::error::{Error, ErrorKind};
use crate::event::{CallId, CallTarget, End, EventQueue, Failure, StopReason, StoreWrite};
use crate::host::{DeadlineHandle, Host, Stop};
use crate::limits::Limits;
use crate::program::Program;
use crate::room::Room;
use crate::text::JsonText;
use crate::tools::ToolTable;

mod waiting;

/// How long a script may go on after it was told to stop softly, before it is stopped where it stands. A soft stop leaves a
/// stack trace, but long built-ins do not notice it.
const SOFT_STOP_GRACE: Duration = Duration::from_micros(500);
/// Bytes of settlements handed to the guest at once; more calls are settled in further runs.
const BATCH_BYTES_MAX: usize = 1 << 20;

pub(crate) use waiting::{MEMORY_PAGE_BYTES, Page, Waiting};

/// A sealed VM with one script. Not tied to a thread; dropped VMs give everything back at once.
pub struct Vm {
    store: Store<Host>,
    memory: Memory,
    run: TypedFunc<u32, i32>,
    buffer: TypedFunc<u32, u32>,
    set_limits: TypedFunc<(u32, u32, i32), u32>,
    /// Where the guest's buffer is and how long, as far as known.
    buffer_at: (u32, u32),
    queue: VecDeque<Entry>,
    limits: Limits,
    state: State,
    /// Whether the guest is in the middle of a run; also when the future that drove it was dropped.
    is_in_run: bool,
    pub(crate) engine: VmEngine,
    // Declared last, so that the memory is given back before its place in the engine.
    room: Room,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum State {
    New,
    Started,
    Ended,
}

/// Something to tell the guest; applied in order.
struct Entry {
    kind: u32,
    id: u32,
    bytes: Vec<u8>,
}

/// Kinds of entries, as the shim numbers them.
const ENTRY_START: u32 = 0;
const ENTRY_RESOLVE: u32 = 1;
const ENTRY_RESOLVE_UNDEFINED: u32 = 2;
const ENTRY_REJECT: u32 = 3;
const ENTRY_TIMER: u32 = 4;

/// Results of a run, as the shim numbers them.
const RUN_WAITING: i32 = 0;
const RUN_FINISHED: i32 = 1;
const RUN_INTERRUPTED: i32 = 2;

/// What a script needs next.
#[derive(Debug, Clone, PartialEq)]
pub enum Step {
    /// It waits for calls or timers. Look at the events, settle calls, and poll again, at the latest when a timer is due.
    Waiting {
        /// When the next timer fires.
        wake_at: Option<Instant>,
    },
    /// The script is over.
    Ended(End),
}

/// How a call ended, for the script.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Settlement {
    /// The promise resolves to this JSON; `None` to `undefined`.
    Resolved(Option<JsonText>),
    /// The promise rejects with an `Error`.
    Rejected {
        /// The message of the `Error` that the script gets.
        message: String,
        /// The error's property `tool`.
        tool: Option<String>,
        /// The error's property `callId`.
        call_id: Option<String>,
        /// The error's property `kind`.
        kind: Option<String>,
        /// The error's property `data`, JSON.
        data: Option<JsonText>,
    },
}

/// Stops a script from any thread, within a few milliseconds, whatever it is doing.
#[derive(Debug, Clone)]
pub struct InterruptHandle {
    flag: Arc<AtomicBool>,
}

impl InterruptHandle {
    /// Stops the script for good.
    pub fn interrupt(&self) {
        self.flag.store(true, Ordering::Relaxed);
    }
}

impl std::fmt::Debug for Vm {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter
            .debug_struct("Vm")
            .field("state", &self.state)
            .field("limits", &self.limits)
            .finish_non_exhaustive()
    }
}

impl Vm {
    /// Makes an empty VM, without waiting for room.
    ///
    /// # Errors
    /// When the engine is full, or the limits ask for more than the engine was made for.
    pub fn new(engine: &VmEngine, limits: Limits) -> Result<Self, Error> {
        let room = engine.room_now(limits.memory_bytes)?;
        Self::in_room(engine, room, limits)
    }

    /// Makes an empty VM in room that [`VmEngine::room`] gave.
    ///
    /// # Errors
    /// When the machine has no memory left.
    pub fn in_room(engine: &VmEngine, room: Room, limits: Limits) -> Result<Self, Error> {
        Self::instantiate(engine, room, limits, Fresh::Yes)
    }

    fn instantiate(
        engine: &VmEngine,
        room: Room,
        limits: Limits,
        fresh: Fresh,
    ) -> Result<Self, Error> {
        let inner = &engine.inner;
        let failed =
            |error: wasmtime::Error| Error::new(ErrorKind::Exhausted, format!("{error:#}"));
        let mut store = Store::new(
            &inner.engine,
            Host::new(inner.memory_limiter(limits.memory_bytes, &room), &limits),
        );
        #[cfg(feature = "instructions")]
        store.set_fuel(u64::MAX).map_err(failed)?;
        store.limiter(|host| &mut host.memory_limiter);
        store.epoch_deadline_callback(on_tick);
        store.set_epoch_deadline(1);
        let instance = inner.instance.instantiate(&mut store).map_err(failed)?;
        let memory = instance
            .get_memory(&mut store, "memory")
            .ok_or_else(|| Error::new(ErrorKind::Engine, "the guest has no memory"))?;
        store.data_mut().memory = Some(memory);
        let mut vm = Self {
            run: export(&mut store, instance, "vm_run")?,
            set_limits: export(&mut store, instance, "vm_limits")?,
            buffer: export(&mut store, instance, "vm_buffer")?,
            buffer_at: (0, 0),
            queue: VecDeque::new(),
            limits,
            state: State::New,
            is_in_run: false,
            engine: engine.clone(),
            memory,
            store,
            room,
        };
        if fresh == Fresh::Yes {
            vm.apply_limits(Fresh::Yes)?;
        }
        Ok(vm)
    }

    fn apply_limits(&mut self, fresh: Fresh) -> Result<(), Error> {
        let stack = self.limits.stack_bytes.min(Limits::STACK_BYTES_MAX);
        let fresh = i32::from(fresh == Fresh::Yes);
        let address = block_on(
            self.set_limits
                .call_async(&mut self.store, (self.limits.memory_bytes, stack, fresh)),
        )
        .map_err(|error| Error::new(ErrorKind::Engine, format!("{error:#}")))?;
        self.store.data_mut().interrupt_address = address;
        Ok(())
    }

    /// Gives the VM its script. Nothing runs before the first poll.
    ///
    /// # Errors
    /// When the VM already has a script.
    pub fn start(&mut self, program: &Program) -> Result<(), Error> {
        if self.state != State::New {
            return Err(Error::new(ErrorKind::State, "a VM runs one script"));
        }
        self.state = State::Started;
        self.store
            .data_mut()
            .explainer
            .clone_from(&program.explainer);
        self.store.data_mut().tools = program.tools.clone();
        // The wrapper's own line is line 0.
        self.queue.push_back(Entry {
            kind: ENTRY_START,
            id: 0,
            bytes: program.start_entry(&self.limits),
        });
        Ok(())
    }

    /// Stops the script once this moment has passed; checked while it runs and when it is polled.
    pub fn set_deadline(&mut self, deadline: Option<Instant>) {
        self.store.data().watch.deadline.set(deadline);
    }

    /// A handle that moves the deadline.
    pub fn deadline_handle(&self) -> DeadlineHandle {
        self.store.data().watch.deadline.clone()
    }

    /// A handle that stops the script.
    pub fn interrupt_handle(&self) -> InterruptHandle {
        InterruptHandle {
            flag: Arc::clone(&self.store.data().watch.interrupt),
        }
    }

    /// The script's events, readable while it runs.
    pub fn events(&self) -> EventQueue {
        self.store.data().events.clone()
    }

    /// The calls that are open, with their targets and names.
    pub fn open_calls(&self) -> impl Iterator<Item = (CallId, CallTarget, &str)> {
        self.store
            .data()
            .open_calls
            .iter()
            .map(|(id, (target, name))| (*id, *target, name.as_str()))
    }

    /// Gives a restored script its tools; those that it has used stay as they were.
    pub fn set_tools(&mut self, tools: ToolTable) {
        self.store.data_mut().tools = tools;
    }

    /// The store writes of a script that ended well.
    pub fn take_store_writes(&mut self) -> Vec<StoreWrite> {
        std::mem::take(&mut self.store.data_mut().store_writes)
    }

    /// Processor time the script has used.
    pub fn cpu_used(&self) -> Duration {
        self.store.data().watch.cpu.used()
    }

    /// WebAssembly instructions that the guest has run, in this process.
    #[cfg(feature = "instructions")]
    pub fn instructions(&self) -> u64 {
        u64::MAX - self.store.get_fuel().unwrap_or(u64::MAX)
    }

    /// Bytes of memory the VM has at the moment.
    pub fn memory_bytes(&self) -> usize {
        self.memory.data_size(&self.store)
    }

    /// Whether the script was refused memory within its own limit, because all VMs of the engine together had taken theirs.
    pub fn was_refused_memory(&self) -> bool {
        self.room.share.was_refused()
    }

    /// Queues the end of an open call; the script learns of it at the next poll, in the order of settling.
    ///
    /// # Errors
    /// When the call is not open.
    pub fn settle(&mut self, call: CallId, settlement: Settlement) -> Result<(), Error> {
        if self.store.data_mut().open_calls.remove(&call).is_none() {
            return Err(Error::new(
                ErrorKind::State,
                format!("call {} is not open", call.0),
            ));
        }
        let (kind, bytes) = match settlement {
            Settlement::Resolved(None) => (ENTRY_RESOLVE_UNDEFINED, Vec::new()),
            Settlement::Resolved(Some(value)) => (ENTRY_RESOLVE, value.into_string().into_bytes()),
            Settlement::Rejected {
                message,
                tool,
                call_id,
                kind,
                data,
            } => {
                let payload =
                    json!({"message": message, "tool": tool, "callId": call_id, "kind": kind});
                let mut payload = payload.to_string();
                if let Some(data) = data {
                    payload.pop();
                    payload.push_str(",\"data\":");
                    payload.push_str(data.as_str());
                    payload.push('}');
                }
                (ENTRY_REJECT, payload.into_bytes())
            }
        };
        self.queue.push_back(Entry {
            kind,
            id: call.0,
            bytes,
        });
        Ok(())
    }

    /// Runs the script until it waits or ends. Blocks the thread meanwhile.
    pub fn poll(&mut self) -> Step {
        block_on(self.poll_async())
    }

    /// Runs the script until it waits or ends. Gives the executor a turn every millisecond, so a computing script does not
    /// hold up other tasks of its thread.
    ///
    /// A script whose poll is dropped before it is done is lost: the next poll says that it was interrupted.
    pub async fn poll_async(&mut self) -> Step {
        if self.state == State::Ended {
            return Step::Ended(self.store.data().end.clone().unwrap_or(End::Returned(None)));
        }
        if self.is_in_run {
            return self.end(End::Stopped(StopReason::Interrupted, None));
        }
        loop {
            self.queue_due_timers();
            let watch = &self.store.data().watch;
            if let Some(reason) = watch.reason_to_stop(watch.cpu.used()) {
                return self.end(End::Stopped(reason, None));
            }
            if self.queue.is_empty() {
                return self.idle();
            }
            if let Some(end) = self.run_batch().await {
                return self.end(end);
            }
        }
    }

    fn idle(&mut self) -> Step {
        let host = self.store.data();
        let wake_at = host.timer_order.first().map(|(at, _)| *at);
        if host.open_calls.is_empty() && wake_at.is_none() && self.state == State::Started {
            return self.end(End::Failed(Failure {
                name: Some("Error".into()),
                message: "The script waits for a promise that nothing can settle: no call and no timer is pending".into(),
                stack: None,
                ..Failure::default()
            }));
        }
        Step::Waiting { wake_at }
    }

    fn end(&mut self, end: End) -> Step {
        self.state = State::Ended;
        self.queue.clear();
        let host = self.store.data_mut();
        if !matches!(end, End::Returned(_)) {
            host.store_writes.clear();
        }
        host.end = Some(end.clone());
        Step::Ended(end)
    }

    fn queue_due_timers(&mut self) {
        let host = self.store.data_mut();
        if host.timer_order.is_empty() {
            return;
        }
        let now = Instant::now();
        while let Some(&(at, id)) = host.timer_order.first() {
            if at > now {
                break;
            }
            host.clear_timer(id);
            self.queue.push_back(Entry {
                kind: ENTRY_TIMER,
                id: id.cast_unsigned(),
                bytes: Vec::new(),
            });
        }
    }

    /// Runs the first entries of the queue. Returns the script's end, if that was it.
    async fn run_batch(&mut self) -> Option<End> {
        let (mut batch, mut entries) = self.batch(BATCH_BYTES_MAX);
        let mut placed = self.put(&batch).await;
        if matches!(placed, Ok(None)) && entries > 1 {
            (batch, entries) = self.batch(0);
            placed = self.put(&batch).await;
        }
        let length = match placed {
            Ok(Some(length)) => length,
            Ok(None) => return self.shrink_first_entry(),
            Err(error) => return Some(self.end_of_trap(&error)),
        };
        drop(self.queue.drain(..entries));
        let result = self.enter(self.run.clone(), length).await;
        // A large buffer is freed by the guest after the run.
        if self.buffer_at.1 > GUEST_BUFFER_KEPT_BYTES {
            self.buffer_at = (0, 0);
        }
        match result {
            Ok(RUN_WAITING) => None,
            Ok(RUN_FINISHED) => Some(self.reported_end()),
            Ok(RUN_INTERRUPTED) => {
                let stop = self.store.data_mut().watch.soft_stop.take();
                let failure = self.store.data_mut().failure.take();
                Some(match stop {
                    Some((reason, _)) => End::Stopped(reason, failure),
                    None => End::Failed(failure.unwrap_or_default()),
                })
            }
            // The engine could not even allocate the error.
            Ok(_) => Some(self.out_of_memory()),
            Err(error) => Some(self.end_of_trap(&error)),
        }
    }

    /// The first entry of the queue, and the following ones as long as all take no more than `bytes_max`; and how many.
    fn batch(&self, bytes_max: usize) -> (Vec<u8>, usize) {
        let mut batch = Vec::new();
        let mut entries = 0;
        for entry in &self.queue {
            if entries > 0 && batch.len() + entry.bytes.len() > bytes_max {
                break;
            }
            entry.write_to(&mut batch);
            entries += 1;
        }
        (batch, entries)
    }

    /// What follows when the guest has no room for a batch: the first call in it fails instead of the script. Returns the end
    /// of a script for which there is no room even for that.
    fn shrink_first_entry(&mut self) -> Option<End> {
        let limit = self.limits.memory_bytes;
        let first = self.queue.front_mut()?;
        let bytes = first.bytes.len();
        let what = format!(
            "out of memory: {bytes} bytes do not fit into what is left of the {limit} bytes the script may use"
        );
        if bytes <= what.len() + GUEST_BUFFER_FIRST_BYTES as usize || first.kind == ENTRY_START {
            return Some(End::OutOfMemory(what));
        }
        first.kind = ENTRY_REJECT;
        first.bytes = json!({"message": what, "kind": "memory"})
            .to_string()
            .into_bytes();
        None
    }

    fn out_of_memory(&self) -> End {
        End::OutOfMemory(format!(
            "out of memory: the script may use {} bytes",
            self.limits.memory_bytes
        ))
    }

    fn reported_end(&mut self) -> End {
        let host = self.store.data_mut();
        match host.failure.take() {
            Some(failure) => End::Failed(failure),
            None => End::Returned(host.value.take()),
        }
    }

    fn end_of_trap(&mut self, error: &wasmtime::Error) -> End {
        match error.downcast_ref::<Stop>() {
            Some(Stop::Finished) => return self.reported_end(),
            Some(Stop::Crash(what)) => return End::Crashed((*what).to_owned()),
            None => {}
        }
        if let Some((reason, _)) = self.store.data_mut().watch.soft_stop.take() {
            return End::Stopped(reason, None);
        }
        match error.downcast_ref::<Trap>() {
            Some(Trap::StackOverflow) => {
                End::Crashed("the script recursed too deep for the engine's own stack".into())
            }
            // The engine's own abort, which it only reaches when it cannot allocate what it needs to report an error.
            Some(Trap::UnreachableCodeReached) => self.out_of_memory(),
            _ => End::Crashed(format!("{error:#}")),
        }
    }

    /// Copies `bytes` into the guest's buffer; `None` when it has no room.
    async fn put(&mut self, bytes: &[u8]) -> wasmtime::Result<Option<u32>> {
        let Ok(length) = u32::try_from(bytes.len()) else {
            return Ok(None);
        };
        if length > self.buffer_at.1 {
            // A little more than asked, so that growing results do not ask every time.
            let wanted = length
                .saturating_add(length / 4)
                .max(GUEST_BUFFER_FIRST_BYTES);
            let at = self.enter(self.buffer.clone(), wanted).await?;
            // The old buffer is gone in any case.
            self.buffer_at = (0, 0);
            if at == 0 {
                return Ok(None);
            }
            self.buffer_at = (at, wanted);
        }
        self.memory
            .write(&mut self.store, self.buffer_at.0 as usize, bytes)?;
        Ok(Some(length))
    }

    /// Runs guest code with interruption and accounting on.
    async fn enter<R: wasmtime::WasmResults + Sync>(
        &mut self,
        function: TypedFunc<u32, R>,
        argument: u32,
    ) -> wasmtime::Result<R> {
        if self.store.data_mut().watch.soft_stop.take().is_some() {
            let address = self.store.data().interrupt_address as usize;
            self.memory
                .write(&mut self.store, address, &0_u32.to_le_bytes())?;
        }
        self.is_in_run = true;
        self.store.set_epoch_deadline(1);
        let engine = self.engine.clone();
        let _running = engine.inner.ticker.running();
        let cpu = Arc::clone(&self.store.data().watch.cpu);
        let result = {
            let mut call = pin!(function.call_async(&mut self.store, argument));
            std::future::poll_fn(move |context| {
                cpu.begin_slice();
                let polled = call.as_mut().poll(context);
                cpu.end_slice();
                polled
            })
            .await
        };
        self.is_in_run = false;
        result
    }
}

/// The first size of the guest's buffer.
const GUEST_BUFFER_FIRST_BYTES: u32 = 4 << 10;
/// A larger buffer is freed after a run (shim.c, `trim_buffer`).
const GUEST_BUFFER_KEPT_BYTES: u32 = 256 << 10;

/// Whether an instance starts from the image or from a snapshot.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Fresh {
    Yes,
    No,
}

impl Entry {
    fn write_to(&self, batch: &mut Vec<u8>) {
        let length = u32::try_from(self.bytes.len()).unwrap_or(u32::MAX);
        for word in [self.kind, self.id, length] {
            batch.extend_from_slice(&word.to_le_bytes());
        }
        batch.extend_from_slice(&self.bytes);
        batch.push(0);
        while !batch.len().is_multiple_of(4) {
            batch.push(0);
        }
    }
}

fn export<P, R>(
    store: &mut Store<Host>,
    instance: Instance,
    name: &str,
) -> Result<TypedFunc<P, R>, Error>
where
    P: wasmtime::WasmParams,
    R: wasmtime::WasmResults,
{
    instance
        .get_typed_func(store, name)
        .map_err(|error| Error::new(ErrorKind::Engine, format!("the guest's {name}: {error:#}")))
}

/// Looks at the limits while the guest runs: first a soft stop, which the engine notices at its next safe point, then a hard
/// one.
#[expect(clippy::unnecessary_wraps, reason = "the signature is wasmtime's")]
fn on_tick(mut context: StoreContextMut<'_, Host>) -> wasmtime::Result<UpdateDeadline> {
    let host = context.data();
    match host.watch.soft_stop {
        Some((_, since)) if since.elapsed() >= SOFT_STOP_GRACE => {
            return Ok(UpdateDeadline::Interrupt);
        }
        Some(_) => return Ok(UpdateDeadline::Continue(1)),
        None => {}
    }
    let Some(reason) = host.watch.reason_to_stop(host.watch.cpu.used_at_tick()) else {
        return Ok(UpdateDeadline::Yield(1));
    };
    let (memory, address) = (host.memory, host.interrupt_address);
    context.data_mut().watch.soft_stop = Some((reason, Instant::now()));
    if let Some(memory) = memory {
        // Without the flag the hard stop follows all the same.
        drop(memory.write(&mut context, address as usize, &1_u32.to_le_bytes()));
    }
    Ok(UpdateDeadline::Continue(1))
}

/// Drives a future that only ever yields to be polled again.
pub(crate) fn block_on<T>(future: impl Future<Output = T>) -> T {
    let mut future = pin!(future);
    let mut context = Context::from_waker(Waker::noop());
    loop {
        if let Poll::Ready(value) = future.as_mut().poll(&mut context) {
            return value;
        }
    }
}
