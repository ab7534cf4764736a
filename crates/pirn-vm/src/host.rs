//! The host's half of the boundary: the state behind a running guest, and the four imports it can reach.
//!
//! Everything the guest hands over is treated as hostile: ranges are checked, text is not trusted to be UTF-8, and what it
//! may make the host keep is bounded.

mod services;

use std::borrow::Cow;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use serde::Deserialize;
use wasmtime::{Caller, Linker, Memory};

use crate::event::{
    CallId, CallTarget, End, Event, EventQueue, Failure, Output, StopReason, StoreWrite,
};
use crate::program::Explainer;
use crate::room::MemoryLimiter;
use crate::text::{JsString, JsonText};
use crate::tools::ToolTable;

/// Timers a guest may have; each costs the host an entry. The prelude stops a script before.
const TIMERS_MAX: usize = 100_000;
/// The most the guest may hand over at once (shim.c refuses more with an error). The largest single output allowed is 16 Mi
/// characters of at most three bytes; an argument is limited by its owner.
const MESSAGE_BYTES_MAX: u32 = 64 << 20;

/// Notes of one script. The prelude stops before.
const NOTES_MAX: u32 = 64;

/// What the guest's imports work on.
pub(crate) struct Host {
    pub(crate) memory: Option<Memory>,
    /// The guest's word that stops it softly when it is not zero.
    pub(crate) interrupt_address: u32,
    pub(crate) memory_limiter: MemoryLimiter,
    pub(crate) events: EventQueue,
    pub(crate) open_calls: BTreeMap<CallId, (CallTarget, String)>,
    pub(crate) timers: BTreeMap<i32, Instant>,
    /// Timers in the order they fire.
    pub(crate) timer_order: BTreeSet<(Instant, i32)>,
    pub(crate) end: Option<End>,
    /// The error the guest reported last, which the end of the run gives its meaning.
    pub(crate) failure: Option<Failure>,
    pub(crate) value: Option<JsonText>,
    pub(crate) store_writes: Vec<StoreWrite>,
    pub(crate) clock: Clock,
    pub(crate) watch: Watch,
    pub(crate) explainer: Option<Explainer>,
    pub(crate) tools: ToolTable,
    notes: u32,
    call_bytes_max: usize,
    output_characters: usize,
    output_items: usize,
    output_characters_max: usize,
    output_items_max: usize,
}

impl Host {
    pub(crate) fn new(memory_limiter: MemoryLimiter, limits: &crate::Limits) -> Self {
        Self {
            memory: None,
            interrupt_address: 0,
            memory_limiter,
            events: EventQueue::default(),
            open_calls: BTreeMap::new(),
            timers: BTreeMap::new(),
            timer_order: BTreeSet::new(),
            end: None,
            failure: None,
            value: None,
            store_writes: Vec::new(),
            clock: Clock::default(),
            watch: Watch::new(limits.cpu),
            explainer: None,
            tools: ToolTable::default(),
            notes: 0,
            call_bytes_max: (limits.memory_bytes as usize).max(MESSAGE_BYTES_MAX as usize),
            output_characters: 0,
            output_items: 0,
            output_characters_max: limits.output_characters as usize,
            output_items_max: limits.output_items as usize,
        }
    }

    pub(crate) fn set_timer(&mut self, id: i32, at: Instant) {
        self.timers.insert(id, at);
        self.timer_order.insert((at, id));
    }

    pub(crate) fn clear_timer(&mut self, id: i32) {
        if let Some(at) = self.timers.remove(&id) {
            self.timer_order.remove(&(at, id));
        }
    }

    /// Characters and items of output so far.
    pub(crate) fn output_so_far(&self) -> (usize, usize) {
        (self.output_characters, self.output_items)
    }

    pub(crate) fn set_output_so_far(&mut self, (characters, items): (usize, usize)) {
        self.output_characters = characters;
        self.output_items = items;
    }

    /// A second wall behind the prelude's own count, for a guest whose memory has been corrupted.
    fn count_output(&mut self, characters: usize) -> Result<(), Stop> {
        self.output_items = self.output_items.saturating_add(1);
        self.output_characters = self.output_characters.saturating_add(characters);
        if self.output_items > self.output_items_max
            || self.output_characters > self.output_characters_max
        {
            return Err(Stop::Crash("the guest passed its output limits"));
        }
        Ok(())
    }
}

/// The script's clock, which never runs backwards, not even over a snapshot.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Clock {
    started_at: Instant,
    /// What it showed when it was started.
    start: Duration,
}

impl Clock {
    /// A clock that goes on from what another one showed.
    pub(crate) fn from(start: Duration) -> Self {
        Self {
            started_at: Instant::now(),
            start,
        }
    }

    pub(crate) fn now(&self) -> Duration {
        self.start.saturating_add(self.started_at.elapsed())
    }
}

impl Default for Clock {
    fn default() -> Self {
        // What the clock showed while the image was made (build/main.rs), where the script's time origin is.
        Self::from(Duration::from_secs(1))
    }
}

/// What the epoch callback looks at while the guest runs.
#[derive(Debug)]
pub(crate) struct Watch {
    pub(crate) interrupt: Arc<AtomicBool>,
    pub(crate) deadline: DeadlineHandle,
    pub(crate) cpu: Arc<CpuAccount>,
    cpu_max: Duration,
    /// Why the guest was told to stop, and when.
    pub(crate) soft_stop: Option<(StopReason, Instant)>,
}

/// The moment after which a script is stopped. Can be moved from any thread, also while the script computes. Clones are the same
/// one.
#[derive(Debug, Clone)]
pub struct DeadlineHandle {
    created_at: Instant,
    /// Nanoseconds since `created_at`; [`NO_DEADLINE`] without one.
    at_ns: Arc<AtomicU64>,
}

const NO_DEADLINE: u64 = u64::MAX;

impl Default for DeadlineHandle {
    fn default() -> Self {
        Self {
            created_at: Instant::now(),
            at_ns: Arc::new(AtomicU64::new(NO_DEADLINE)),
        }
    }
}

impl DeadlineHandle {
    /// Stops the script once this moment has passed; `None` lets it go on.
    pub fn set(&self, deadline: Option<Instant>) {
        let at_ns = deadline.map_or(NO_DEADLINE, |at| {
            let since = at.saturating_duration_since(self.created_at);
            u64::try_from(since.as_nanos()).unwrap_or(NO_DEADLINE)
        });
        self.at_ns.store(at_ns, Ordering::Relaxed);
    }

    /// The time until then; `None` without a deadline.
    fn left(&self) -> Option<Duration> {
        let at_ns = self.at_ns.load(Ordering::Relaxed);
        (at_ns != NO_DEADLINE)
            .then(|| Duration::from_nanos(at_ns).saturating_sub(self.created_at.elapsed()))
    }

    fn has_passed(&self) -> bool {
        let at_ns = self.at_ns.load(Ordering::Relaxed);
        at_ns != NO_DEADLINE && self.created_at.elapsed().as_nanos() >= u128::from(at_ns)
    }
}

impl Watch {
    fn new(cpu_max: Duration) -> Self {
        Self {
            interrupt: Arc::new(AtomicBool::new(false)),
            deadline: DeadlineHandle::default(),
            cpu: Arc::default(),
            cpu_max,
            soft_stop: None,
        }
    }

    /// Why the script must stop, given the processor time it has used.
    pub(crate) fn reason_to_stop(&self, cpu_used: Duration) -> Option<StopReason> {
        if self.interrupt.load(Ordering::Relaxed) {
            Some(StopReason::Interrupted)
        } else if self.deadline.has_passed() {
            Some(StopReason::Deadline)
        } else if cpu_used > self.cpu_max {
            Some(StopReason::Cpu)
        } else {
            None
        }
    }
}

/// Processor time of one script, over slices that may run on different threads.
///
/// Reading the thread's processor time is a system call, too dear for the many slices that only take microseconds. So a slice
/// counts as the time that passed until the first tick, and is measured exactly from there.
#[derive(Debug)]
pub(crate) struct CpuAccount {
    created_at: Instant,
    /// Time of earlier slices, in nanoseconds.
    used_ns: AtomicU64,
    /// When the present slice began, in nanoseconds since `created_at`.
    slice_start_ns: AtomicU64,
    /// The thread's processor time at that moment; zero before the first tick of a slice, and between slices.
    cpu_start_ns: AtomicU64,
}

/// The most that a slice without a tick counts for; what is above it was spent waiting for a processor.
const TICKLESS_NS_MAX: u64 = 2_000_000;

impl Default for CpuAccount {
    fn default() -> Self {
        Self {
            created_at: Instant::now(),
            used_ns: AtomicU64::new(0),
            slice_start_ns: AtomicU64::new(0),
            cpu_start_ns: AtomicU64::new(0),
        }
    }
}

impl CpuAccount {
    pub(crate) fn begin_slice(&self) {
        self.slice_start_ns.store(self.now_ns(), Ordering::Relaxed);
    }

    pub(crate) fn end_slice(&self) {
        let cpu_start = self.cpu_start_ns.swap(0, Ordering::Relaxed);
        let used = if cpu_start == 0 {
            self.tickless_ns()
        } else {
            thread_cpu_ns().saturating_sub(cpu_start)
        };
        self.used_ns.fetch_add(used, Ordering::Relaxed);
    }

    /// The time used so far, read on the thread that runs the present slice.
    pub(crate) fn used_at_tick(&self) -> Duration {
        let now = thread_cpu_ns();
        let mut start = self.cpu_start_ns.load(Ordering::Relaxed);
        if start == 0 {
            start = now.saturating_sub(self.tickless_ns()).max(1);
            self.cpu_start_ns.store(start, Ordering::Relaxed);
        }
        self.used() + Duration::from_nanos(now.saturating_sub(start))
    }

    /// The time of all slices that have ended.
    pub(crate) fn used(&self) -> Duration {
        Duration::from_nanos(self.used_ns.load(Ordering::Relaxed))
    }

    pub(crate) fn add(&self, used: Duration) {
        self.used_ns.fetch_add(
            u64::try_from(used.as_nanos()).unwrap_or(u64::MAX),
            Ordering::Relaxed,
        );
    }

    fn now_ns(&self) -> u64 {
        u64::try_from(self.created_at.elapsed().as_nanos()).unwrap_or(u64::MAX)
    }

    fn tickless_ns(&self) -> u64 {
        let passed = self
            .now_ns()
            .saturating_sub(self.slice_start_ns.load(Ordering::Relaxed));
        passed.min(TICKLESS_NS_MAX)
    }
}

/// The processor time of this thread; never zero.
fn thread_cpu_ns() -> u64 {
    let time = rustix::time::clock_gettime(rustix::time::ClockId::ThreadCPUTime);
    let seconds = u64::try_from(time.tv_sec).unwrap_or(0);
    let nanoseconds = u64::try_from(time.tv_nsec).unwrap_or(0);
    (seconds * 1_000_000_000 + nanoseconds).max(1)
}

/// Ends the guest from inside an import.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Stop {
    /// The script ended itself; what it reported stands in the host.
    Finished,
    /// The guest broke the protocol.
    Crash(&'static str),
}

impl std::fmt::Display for Stop {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Finished => formatter.write_str("the script ended"),
            Self::Crash(what) => formatter.write_str(what),
        }
    }
}

impl std::error::Error for Stop {}

/// Kinds of `host_output`, as the prelude numbers them.
const TEXT: i32 = 0;
const CONSOLE: i32 = 1;
const IMAGE: i32 = 2;
const AUDIO: i32 = 3;
const NOTIFY: i32 = 4;
const YIELD: i32 = 5;
const VALUE: i32 = 6;
const ERROR: i32 = 7;
const STORE: i32 = 8;
const EXIT: i32 = 9;
const STOP: i32 = 10;
const UNCAUGHT: i32 = 11;
const NOTE: i32 = 12;
const LAST_STATEMENT: i32 = 13;

/// Kinds of `host_call`, as the prelude numbers them.
const CALL_TOOL: i32 = 0;
const CALL_GLOBAL: i32 = 1;
const TIMER_SET: i32 = 2;
const TIMER_CLEAR: i32 = 3;
const EXPLAIN: i32 = 4;
const RANDOM: i32 = 5;
const DIGEST: i32 = 6;
const TIME_LEFT: i32 = 7;
const URL: i32 = 8;
const CANCEL: i32 = 9;
const TOOL_FIND: i32 = 10;
const TOOL_MEMBERS: i32 = 11;
const TOOL_LIST: i32 = 12;

/// Results of `host_call`, as the shim reads them.
const CALL_REFUSED: i32 = 0;
const CALL_TAKEN: i32 = 1;
/// What asking the host for something gives where there is nothing.
const NOTHING: i32 = -1;

pub(crate) fn link(linker: &mut Linker<Host>) -> wasmtime::Result<()> {
    linker.func_wrap("pirn", "host_call", host_call)?;
    linker.func_wrap("pirn", "host_output", host_output)?;
    linker.func_wrap(
        "pirn",
        "host_clock",
        |caller: Caller<'_, Host>, clock_id: i32| -> i64 {
            let elapsed = if clock_id == 0 {
                SystemTime::now()
                    .duration_since(UNIX_EPOCH)
                    .unwrap_or_default()
            } else {
                caller.data().clock.now()
            };
            i64::try_from(elapsed.as_nanos()).unwrap_or(i64::MAX)
        },
    )?;
    linker.func_wrap("pirn", "host_random", || -> i64 {
        // Seeds the script's Math.random, which promises no secrecy; std's hasher keys come from the system.
        use std::hash::{BuildHasher as _, RandomState};
        RandomState::new().hash_one(0).cast_signed()
    })?;
    Ok(())
}

/// Writes an answer where the guest wants it; gives its length, or [`NOTHING`] where there is no room for it.
fn put(caller: &mut Caller<'_, Host>, at: u32, room: u32, answer: &[u8]) -> Result<i32, Stop> {
    if answer.len() > room as usize || room > MESSAGE_BYTES_MAX {
        return Ok(NOTHING);
    }
    let memory = caller.data().memory.ok_or(Stop::Crash("no memory"))?;
    memory
        .write(&mut *caller, at as usize, answer)
        .map_err(|_| Stop::Crash("the guest named memory it does not have"))?;
    Ok(i32::try_from(answer.len()).unwrap_or(NOTHING))
}

/// The bytes of a range the guest named.
fn bytes<'a>(caller: &'a Caller<'_, Host>, at: u32, length: u32) -> Result<&'a [u8], Stop> {
    let memory = caller.data().memory.ok_or(Stop::Crash("no memory"))?;
    if length > MESSAGE_BYTES_MAX {
        return Err(Stop::Crash("the guest handed over too much at once"));
    }
    let start = at as usize;
    memory
        .data(caller)
        .get(start..start.saturating_add(length as usize))
        .ok_or(Stop::Crash("the guest named memory it does not have"))
}

#[expect(clippy::too_many_arguments, reason = "an import takes numbers alone")]
fn host_call(
    mut caller: Caller<'_, Host>,
    kind: i32,
    id: i32,
    first: u32,
    first_length: u32,
    second: u32,
    second_length: u32,
) -> wasmtime::Result<i32> {
    match kind {
        CALL_TOOL | CALL_GLOBAL => {
            let name = String::from_utf8_lossy(bytes(&caller, first, first_length)?).into_owned();
            let arguments = if second == 0 {
                None
            } else {
                let text = bytes(&caller, second, second_length)?;
                Some(JsonText::new(String::from_utf8_lossy(text).into_owned()))
            };
            let target = if kind == CALL_TOOL {
                CallTarget::Tool
            } else {
                CallTarget::Global
            };
            let id = CallId(u32::try_from(id).map_err(|_| Stop::Crash("a call without a number"))?);
            let host = caller.data_mut();
            if host.open_calls.contains_key(&id) {
                return Err(Stop::Crash("the guest used the number of an open call again").into());
            }
            let event = Event::Call {
                id,
                target,
                name: name.clone(),
                arguments,
            };
            if !host.events.push_call(event, host.call_bytes_max) {
                return Ok(CALL_REFUSED);
            }
            host.open_calls.insert(id, (target, name));
        }
        TIMER_SET => {
            let host = caller.data_mut();
            if host.timers.len() >= TIMERS_MAX || host.timers.contains_key(&id) {
                return Err(Stop::Crash("the script has more timers than a VM can hold").into());
            }
            host.set_timer(id, Instant::now() + Duration::from_millis(u64::from(first)));
        }
        TIMER_CLEAR => caller.data_mut().clear_timer(id),
        CANCEL => {
            let id = CallId(u32::try_from(id).map_err(|_| Stop::Crash("a call without a number"))?);
            let host = caller.data();
            if host.open_calls.contains_key(&id) {
                host.events.push(Event::Cancel(id));
            }
        }
        TIME_LEFT => {
            let left = caller.data().watch.deadline.left();
            return Ok(left.map_or(NOTHING, |left| {
                i32::try_from(left.as_millis()).unwrap_or(i32::MAX)
            }));
        }
        EXPLAIN | DIGEST | URL => {
            let request = bytes(&caller, first, first_length)?;
            let answer = match kind {
                EXPLAIN => services::explained(caller.data().explainer.as_ref(), request),
                DIGEST => services::digest(id, request),
                _ => services::url(request),
            };
            return Ok(match answer {
                Some(answer) => put(&mut caller, second, second_length, &answer)?,
                None => NOTHING,
            });
        }
        TOOL_FIND | TOOL_MEMBERS | TOOL_LIST => {
            let tools = caller.data().tools.clone();
            let found = match kind {
                TOOL_FIND => {
                    let name = String::from_utf8_lossy(bytes(&caller, first, first_length)?);
                    tools.find(&name).map(Cow::from)
                }
                TOOL_MEMBERS => Some(Cow::from(tools.members())),
                _ => Some(Cow::from(tools.list())),
            };
            let Some(answer) = found else {
                return Ok(NOTHING);
            };
            // One that is longer than the guest has room for is asked for again.
            put(&mut caller, second, second_length, answer.as_bytes())?;
            return Ok(i32::try_from(answer.len()).unwrap_or(NOTHING));
        }
        RANDOM => {
            let mut random = vec![0; second_length as usize];
            getrandom::fill(&mut random)
                .map_err(|_| Stop::Crash("the system gives no randomness"))?;
            return Ok(put(&mut caller, second, second_length, &random)?);
        }
        _ => return Err(Stop::Crash("a call of an unknown kind").into()),
    }
    Ok(CALL_TAKEN)
}

fn host_output(
    mut caller: Caller<'_, Host>,
    kind: i32,
    at: u32,
    length: u32,
) -> wasmtime::Result<()> {
    let message = bytes(&caller, at, length)?;
    match kind {
        TEXT | CONSOLE | NOTIFY => {
            let text = JsString::from_guest(message);
            let characters = text.utf16_length();
            let host = caller.data_mut();
            host.count_output(characters)?;
            host.events.push(match kind {
                TEXT => Event::Output(Output::Text(text)),
                CONSOLE => Event::Output(Output::Console(text)),
                _ => Event::Notify(text),
            });
        }
        IMAGE | AUDIO => {
            let message = String::from_utf8_lossy(message).into_owned();
            let mut parts = message.splitn(3, '\n');
            let (Some(mime_type), Some(detail), Some(data)) =
                (parts.next(), parts.next(), parts.next())
            else {
                return Err(Stop::Crash("a block without its parts").into());
            };
            let (mime_type, data) = (mime_type.to_owned(), data.to_owned());
            let output = if kind == IMAGE {
                Output::Image {
                    detail: (!detail.is_empty()).then(|| detail.to_owned()),
                    data,
                    mime_type,
                }
            } else {
                Output::Audio { data, mime_type }
            };
            let host = caller.data_mut();
            host.count_output(message.len())?;
            host.events.push(Event::Output(output));
        }
        YIELD => caller.data().events.push_yield(),
        NOTE => {
            let note = JsString::from_guest(message).into_string_lossy();
            let host = caller.data_mut();
            host.notes += 1;
            if host.notes > NOTES_MAX {
                return Err(Stop::Crash("the guest passed its limit of notes").into());
            }
            host.events.push(Event::Note(note));
        }
        LAST_STATEMENT => caller.data().events.push(Event::LastStatement),
        VALUE => {
            let value = JsonText::new(String::from_utf8_lossy(message).into_owned());
            caller.data_mut().value = Some(value);
        }
        ERROR | UNCAUGHT => {
            let mut failure = failure_from(message);
            if kind == UNCAUGHT {
                failure.stack = failure
                    .stack
                    .as_deref()
                    .map(|frames| script_stack(&failure, frames));
            }
            caller.data_mut().failure = Some(failure);
        }
        STORE => {
            let writes = store_writes_from(message)
                .ok_or(Stop::Crash("store writes that are not a list"))?;
            caller.data_mut().store_writes = writes;
        }
        EXIT => {}
        STOP => return Err(Stop::Finished.into()),
        _ => return Err(Stop::Crash("output of an unknown kind").into()),
    }
    Ok(())
}

/// Reads a reported error; whatever cannot be read is left out.
fn failure_from(message: &[u8]) -> Failure {
    #[derive(Deserialize, Default)]
    struct Report<'a> {
        #[serde(borrow)]
        name: Option<&'a serde_json::value::RawValue>,
        #[serde(borrow)]
        message: Option<&'a serde_json::value::RawValue>,
        #[serde(borrow)]
        stack: Option<&'a serde_json::value::RawValue>,
        #[serde(default)]
        unhandled: u32,
        #[serde(borrow)]
        value: Option<&'a serde_json::value::RawValue>,
    }
    let text = String::from_utf8_lossy(message);
    let report: Report<'_> = serde_json::from_str(&text).unwrap_or_default();
    let read = |raw: &serde_json::value::RawValue| JsString::from_json_literal(raw.get());
    Failure {
        name: report.name.and_then(read).map(JsString::into_string_lossy),
        message: report
            .message
            .and_then(read)
            .unwrap_or_else(|| "The script failed with an error that cannot be read".into()),
        stack: report.stack.and_then(read).map(JsString::into_string_lossy),
        unhandled: report.unhandled,
        value: report.value.map(|value| JsonText::new(value.get())),
    }
}

/// The stack of an error as the prelude would show it: headed by the error, with the script's own frames alone.
fn script_stack(failure: &Failure, frames: &str) -> String {
    let mut stack = failure.name.clone().unwrap_or_else(|| "Error".into());
    if failure.message.utf16_length() > 0 {
        stack.push_str(": ");
        stack.push_str(&failure.message.to_string());
    }
    let is_own = |line: &&str| {
        !line.trim().is_empty()
            && !line.contains("pirn:prelude:")
            && !line.trim_end().ends_with("(native)")
            && !line.trim_end().ends_with("(missing)")
    };
    for line in frames.lines().filter(is_own) {
        stack.push('\n');
        // Line 0 is the wrapper's, where a script stands that has not come to its first statement.
        stack.push_str(&line.replace(":0:1)", ":1:1)"));
    }
    stack
}

fn store_writes_from(message: &[u8]) -> Option<Vec<StoreWrite>> {
    let text = std::str::from_utf8(message).ok()?;
    let pairs: Vec<(&serde_json::value::RawValue, Option<String>)> =
        serde_json::from_str(text).ok()?;
    Some(
        pairs
            .into_iter()
            .map(|(key, value)| StoreWrite {
                key: JsonText::new(key.get()),
                value: value.map(JsonText::new),
            })
            .collect(),
    )
}
