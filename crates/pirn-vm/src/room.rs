//! Room for VMs: how many may live, how much memory they may have together, and who is next where there is no more.

use std::collections::{BTreeMap, VecDeque};
use std::pin::Pin;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::{Context, Poll, Waker};

use wasmtime::ResourceLimiter;

use crate::engine::VmEngine;
use crate::error::{Error, ErrorKind};

/// Heap that every VM is sure of, unless its own limit is lower. Few scripts need more, and 128 of them, the contract's number of
/// live cells, make the default of [`crate::EngineOptions::memory_total_bytes`].
pub(crate) const RESERVED_BYTES: u32 = 16 << 20;
/// VMs that may wait for room; each costs its owner a script and some hundred bytes here.
const WAITING_MAX: usize = 4_096;

/// The right to one VM of an engine, with the memory that it is sure of. Given back when it is dropped, or with the VM that was
/// made in it.
#[derive(Debug)]
pub struct Room {
    pub(crate) share: Arc<Share>,
}

/// What one VM has of its engine's memory.
#[derive(Debug)]
pub(crate) struct Share {
    budget: Arc<Budget>,
    reserved_bytes: u64,
    /// Everything that is counted for the VM: what was reserved, and what it grew by beyond that.
    counted_bytes: AtomicU64,
    was_refused: AtomicBool,
}

/// The room of one engine.
#[derive(Debug)]
pub(crate) struct Budget {
    live_max: u32,
    bytes_max: u64,
    state: Mutex<State>,
}

#[derive(Debug, Default)]
struct State {
    live: u32,
    bytes: u64,
    /// Callers with somebody waiting, the next one first. Who was served goes to the end, so that each gets its turn however
    /// many the others have waiting.
    turns: VecDeque<String>,
    waiting: BTreeMap<String, VecDeque<Waiter>>,
    waiting_count: usize,
    granted: BTreeMap<u64, Arc<Share>>,
    tickets: u64,
}

#[derive(Debug)]
struct Waiter {
    ticket: u64,
    bytes: u64,
    waker: Waker,
}

impl VmEngine {
    /// Waits for room for one VM with `memory_bytes` of heap at most. Where several callers wait each gets its turn, and the VMs
    /// of one caller come in the order in which they asked.
    ///
    /// # Errors
    /// When the engine can never give so much, or too many wait already.
    pub fn room(
        &self,
        caller: &str,
        memory_bytes: u32,
    ) -> impl Future<Output = Result<Room, Error>> + Send + 'static {
        WaitForRoom {
            engine: self.clone(),
            caller: caller.to_owned(),
            memory_bytes,
            ticket: None,
        }
    }

    /// Takes room at once.
    pub(crate) fn room_now(&self, memory_bytes: u32) -> Result<Room, Error> {
        let bytes = self.reservation(memory_bytes)?;
        let budget = &self.inner.budget;
        let mut state = budget.lock();
        if state.waiting_count > 0 || !budget.has_room(&state, bytes) {
            return Err(Error::new(
                ErrorKind::Exhausted,
                format!(
                    "{} scripts live, with {} of {} bytes; {} more wait",
                    state.live, state.bytes, budget.bytes_max, state.waiting_count
                ),
            ));
        }
        Ok(Room {
            share: budget.take(&mut state, bytes),
        })
    }

    /// What a VM with this limit reserves.
    fn reservation(&self, memory_bytes: u32) -> Result<u64, Error> {
        let options = &self.inner.options;
        let refused = |most: u64| {
            Err(Error::new(
                ErrorKind::Exhausted,
                format!("{memory_bytes} bytes of memory wanted, this engine gives at most {most}"),
            ))
        };
        if memory_bytes > options.memory_bytes_max {
            return refused(u64::from(options.memory_bytes_max));
        }
        let bytes = u64::from(memory_bytes.min(RESERVED_BYTES));
        if bytes > options.memory_total_bytes {
            return refused(options.memory_total_bytes);
        }
        Ok(bytes)
    }
}

impl Budget {
    pub(crate) fn new(live_max: u32, bytes_max: u64) -> Self {
        Self {
            live_max,
            bytes_max,
            state: Mutex::default(),
        }
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn has_room(&self, state: &State, bytes: u64) -> bool {
        state.live < self.live_max && state.bytes.saturating_add(bytes) <= self.bytes_max
    }

    fn take(self: &Arc<Self>, state: &mut State, bytes: u64) -> Arc<Share> {
        state.live = state.live.saturating_add(1);
        state.bytes = state.bytes.saturating_add(bytes);
        Arc::new(Share {
            budget: Arc::clone(self),
            reserved_bytes: bytes,
            counted_bytes: AtomicU64::new(bytes),
            was_refused: AtomicBool::new(false),
        })
    }

    /// Gives room to those who are next, as long as there is some, and gives back whom to wake without the lock. Who is next and does not fit holds up the others: it would
    /// wait for ever behind smaller ones.
    #[must_use]
    fn serve(self: &Arc<Self>, state: &mut State) -> Vec<Waker> {
        let mut served = Vec::new();
        while let Some(caller) = state.turns.front().cloned() {
            let queue = state.waiting.entry(caller.clone()).or_default();
            let Some(bytes) = queue.front().map(|waiter| waiter.bytes) else {
                state.turns.pop_front();
                state.waiting.remove(&caller);
                continue;
            };
            if !self.has_room(state, bytes) {
                break;
            }
            state.turns.pop_front();
            let queue = state.waiting.entry(caller.clone()).or_default();
            let next = queue.pop_front();
            if queue.is_empty() {
                state.waiting.remove(&caller);
            } else {
                state.turns.push_back(caller);
            }
            if let Some(waiter) = next {
                state.waiting_count = state.waiting_count.saturating_sub(1);
                let share = self.take(state, bytes);
                state.granted.insert(waiter.ticket, share);
                served.push(waiter.waker);
            }
        }
        served
    }
}

impl Share {
    /// Counts a heap that grows to `heap_bytes`, or says that the engine has no more to give.
    fn grow_to(&self, heap_bytes: u64) -> bool {
        let counted = self.counted_bytes.load(Ordering::Relaxed);
        let more = heap_bytes.saturating_sub(counted);
        if more == 0 {
            return true;
        }
        let mut state = self.budget.lock();
        let bytes = state.bytes.saturating_add(more);
        if bytes > self.budget.bytes_max {
            self.was_refused.store(true, Ordering::Relaxed);
            return false;
        }
        state.bytes = bytes;
        self.counted_bytes.store(heap_bytes, Ordering::Relaxed);
        true
    }

    /// Whether the VM wanted more memory than the engine had left, within its own limit.
    pub(crate) fn was_refused(&self) -> bool {
        self.was_refused.load(Ordering::Relaxed)
    }
}

impl Drop for Share {
    fn drop(&mut self) {
        let counted = self
            .counted_bytes
            .load(Ordering::Relaxed)
            .max(self.reserved_bytes);
        let mut state = self.budget.lock();
        state.live = state.live.saturating_sub(1);
        state.bytes = state.bytes.saturating_sub(counted);
        let served = self.budget.serve(&mut state);
        drop(state);
        served.into_iter().for_each(Waker::wake);
    }
}

/// Waits for its turn; leaves the queue when it is dropped.
struct WaitForRoom {
    engine: VmEngine,
    caller: String,
    memory_bytes: u32,
    ticket: Option<u64>,
}

impl Future for WaitForRoom {
    type Output = Result<Room, Error>;

    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Self::Output> {
        let bytes = self.engine.reservation(self.memory_bytes)?;
        let budget = Arc::clone(&self.engine.inner.budget);
        let mut state = budget.lock();
        let Some(ticket) = self.ticket else {
            if state.waiting_count == 0 && budget.has_room(&state, bytes) {
                let share = budget.take(&mut state, bytes);
                return Poll::Ready(Ok(Room { share }));
            }
            if state.waiting_count >= WAITING_MAX {
                let what = format!("{WAITING_MAX} scripts wait for room already");
                return Poll::Ready(Err(Error::new(ErrorKind::Exhausted, what)));
            }
            state.tickets = state.tickets.saturating_add(1);
            let ticket = state.tickets;
            state.waiting_count += 1;
            let caller = self.caller.clone();
            let waiter = Waiter {
                ticket,
                bytes,
                waker: context.waker().clone(),
            };
            let queue = state.waiting.entry(caller.clone()).or_default();
            let is_first = queue.is_empty();
            queue.push_back(waiter);
            if is_first {
                state.turns.push_back(caller);
            }
            drop(state);
            self.ticket = Some(ticket);
            return Poll::Pending;
        };
        if let Some(share) = state.granted.remove(&ticket) {
            drop(state);
            self.ticket = None;
            return Poll::Ready(Ok(Room { share }));
        }
        let own = state
            .waiting
            .get_mut(&self.caller)
            .and_then(|queue| queue.iter_mut().find(|waiter| waiter.ticket == ticket));
        if let Some(waiter) = own {
            waiter.waker.clone_from(context.waker());
        }
        Poll::Pending
    }
}

impl Drop for WaitForRoom {
    fn drop(&mut self) {
        let Some(ticket) = self.ticket else { return };
        let budget = Arc::clone(&self.engine.inner.budget);
        let mut state = budget.lock();
        let granted = state.granted.remove(&ticket);
        let mut served = Vec::new();
        if granted.is_none()
            && let Some(queue) = state.waiting.get_mut(&self.caller)
        {
            let before = queue.len();
            queue.retain(|waiter| waiter.ticket != ticket);
            let left = before - queue.len();
            state.waiting_count = state.waiting_count.saturating_sub(left);
            // Whoever stood behind may fit.
            served = budget.serve(&mut state);
        }
        drop(state);
        served.into_iter().for_each(Waker::wake);
        drop(granted);
    }
}

/// Bounds the memory of one VM by its own limit and by what its engine has left.
#[derive(Debug)]
pub(crate) struct MemoryLimiter {
    memory_bytes_max: usize,
    /// Memory that is not heap.
    base_bytes: usize,
    /// `None` for the instance that the image is read from, which does not grow.
    share: Option<Arc<Share>>,
}

impl MemoryLimiter {
    pub(crate) fn new(memory_bytes_max: usize, base_bytes: usize, room: &Room) -> Self {
        Self {
            memory_bytes_max,
            base_bytes,
            share: Some(Arc::clone(&room.share)),
        }
    }

    /// Lets an instance have the memory of the image and no more.
    pub(crate) fn image_only() -> Self {
        Self {
            memory_bytes_max: usize::MAX,
            base_bytes: usize::MAX,
            share: None,
        }
    }
}

impl ResourceLimiter for MemoryLimiter {
    fn memory_growing(
        &mut self,
        _current: usize,
        desired: usize,
        _maximum: Option<usize>,
    ) -> wasmtime::Result<bool> {
        let heap_bytes = desired.saturating_sub(self.base_bytes) as u64;
        // In this order: what the VM's own limit refuses is not counted.
        Ok(desired <= self.memory_bytes_max
            && self
                .share
                .as_ref()
                .is_none_or(|share| share.grow_to(heap_bytes)))
    }

    fn table_growing(
        &mut self,
        _current: usize,
        _desired: usize,
        _maximum: Option<usize>,
    ) -> wasmtime::Result<bool> {
        // The guest's table has the size of its maximum.
        Ok(true)
    }
}
