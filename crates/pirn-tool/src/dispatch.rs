//! The calls that one program has open: so many run at once, the others wait in the order in which they came.

use std::any::Any;
use std::collections::VecDeque;
use std::fmt;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::pin::Pin;
use std::task::{Context, Poll};

use futures_util::StreamExt as _;
use futures_util::future::BoxFuture;
use futures_util::stream::FuturesUnordered;

/// The calls of one program, each with a key of the caller's. At most so many run at once; of those that wait, the inputs are
/// bounded in bytes together. A call that panics ends with a [`CallPanic`] and costs no other. Dropping it drops them all.
pub struct CallDispatch<K, T> {
    in_flight_max: usize,
    waiting_bytes_max: usize,
    in_flight: FuturesUnordered<InFlight<K, T>>,
    waiting: VecDeque<Waiting<K, T>>,
    waiting_bytes: usize,
    is_held: bool,
}

struct Waiting<K, T> {
    key: K,
    input_bytes: usize,
    start: Box<dyn FnOnce() -> BoxFuture<'static, T> + Send>,
}

/// A call that runs. Its panics end it alone.
struct InFlight<K, T> {
    /// `None` once it has ended.
    key: Option<K>,
    /// What runs, or the panic of whoever was to start it.
    call: Result<BoxFuture<'static, T>, CallPanic>,
}

/// Nothing in it is pinned but what its box holds.
impl<K, T> Unpin for InFlight<K, T> {}

impl<K, T> Future for InFlight<K, T> {
    type Output = (K, Result<T, CallPanic>);

    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Self::Output> {
        let ended = match &mut self.call {
            Ok(call) => match catch_unwind(AssertUnwindSafe(|| call.as_mut().poll(context))) {
                Ok(Poll::Pending) => return Poll::Pending,
                Ok(Poll::Ready(ended)) => Ok(ended),
                Err(panic) => Err(CallPanic::new(&*panic)),
            },
            Err(panic) => Err(panic.clone()),
        };
        match self.key.take() {
            Some(key) => Poll::Ready((key, ended)),
            // It ended before, and whoever polls it again has a mistake.
            None => Poll::Pending,
        }
    }
}

/// Too much waits already; the call was not taken.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct DispatchFull;

/// A call that panicked, which is a bug in whoever performs it; it may have taken effect.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CallPanic {
    /// What the panic said.
    pub message: String,
}

impl<K: Send + 'static, T: Send + 'static> CallDispatch<K, T> {
    /// No calls yet. At least one runs at a time, whatever `in_flight_max` says.
    pub fn new(in_flight_max: usize, waiting_bytes_max: usize) -> Self {
        Self {
            in_flight_max: in_flight_max.max(1),
            waiting_bytes_max,
            in_flight: FuturesUnordered::new(),
            waiting: VecDeque::new(),
            waiting_bytes: 0,
            is_held: false,
        }
    }

    /// While held, no further call starts; those that run go on. Whoever holds them polls again afterwards.
    pub fn hold(&mut self, is_held: bool) {
        self.is_held = is_held;
    }

    /// How many have not ended.
    pub fn open(&self) -> usize {
        self.in_flight.len() + self.waiting.len()
    }

    /// How many run now, without those that wait.
    pub fn in_flight(&self) -> usize {
        self.in_flight.len()
    }

    /// Takes a call on: `start` is called when there is room for it, at once where there is. `input_bytes` is what it holds in
    /// memory while it waits.
    pub fn add(
        &mut self,
        key: K,
        input_bytes: usize,
        start: impl FnOnce() -> BoxFuture<'static, T> + Send + 'static,
    ) -> Result<(), DispatchFull> {
        if self.has_room() && self.waiting.is_empty() {
            self.start(key, start);
            return Ok(());
        }
        let bytes = self.waiting_bytes.saturating_add(input_bytes);
        if bytes > self.waiting_bytes_max {
            return Err(DispatchFull);
        }
        self.waiting_bytes = bytes;
        self.waiting.push_back(Waiting {
            key,
            input_bytes,
            start: Box::new(start),
        });
        Ok(())
    }

    /// Takes on a call that runs already, as after a program was resumed: it does not wait for room.
    pub fn continue_with(&mut self, key: K, call: BoxFuture<'static, T>) {
        self.start(key, || call);
    }

    /// Waits for the next end. `None` when no call is open. Nothing is lost when it is dropped before it ends.
    pub async fn next(&mut self) -> Option<(K, Result<T, CallPanic>)> {
        std::future::poll_fn(|context| self.poll_next(context)).await
    }

    /// Starts what waits while there is room, and gives the next end; `None` when no call is open.
    pub fn poll_next(
        &mut self,
        context: &mut Context<'_>,
    ) -> Poll<Option<(K, Result<T, CallPanic>)>> {
        self.start_waiting();
        let ended = self.in_flight.poll_next_unpin(context);
        match &ended {
            Poll::Ready(Some(_)) => self.start_waiting(),
            Poll::Ready(None) if !self.waiting.is_empty() => return Poll::Pending,
            Poll::Ready(None) | Poll::Pending => {}
        }
        ended
    }

    /// Forgets the calls that wait, which then never start; gives their keys in order.
    pub fn forget_waiting(&mut self) -> Vec<K> {
        self.waiting_bytes = 0;
        self.waiting.drain(..).map(|waiting| waiting.key).collect()
    }

    /// Drops the calls that run.
    pub fn drop_in_flight(&mut self) {
        self.in_flight.clear();
    }

    /// Drops the calls that run and whose keys are not to be kept.
    pub fn retain_in_flight(&mut self, keep: impl Fn(&K) -> bool) {
        self.in_flight = std::mem::take(&mut self.in_flight)
            .into_iter()
            .filter(|call| call.key.as_ref().is_some_and(&keep))
            .collect();
    }

    fn has_room(&self) -> bool {
        !self.is_held && self.in_flight.len() < self.in_flight_max
    }

    fn start_waiting(&mut self) {
        while self.has_room()
            && let Some(Waiting {
                key,
                input_bytes,
                start,
            }) = self.waiting.pop_front()
        {
            self.waiting_bytes -= input_bytes;
            self.start(key, start);
        }
    }

    fn start(&mut self, key: K, start: impl FnOnce() -> BoxFuture<'static, T>) {
        // Making a call may panic as well as performing it.
        let call = catch_unwind(AssertUnwindSafe(start)).map_err(|panic| CallPanic::new(&*panic));
        self.in_flight.push(InFlight {
            key: Some(key),
            call,
        });
    }
}

impl<K, T> fmt::Debug for CallDispatch<K, T> {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter
            .debug_struct("CallDispatch")
            .field("in_flight", &self.in_flight.len())
            .field("waiting", &self.waiting.len())
            .finish_non_exhaustive()
    }
}

impl CallPanic {
    fn new(panic: &(dyn Any + Send)) -> Self {
        let message = panic
            .downcast_ref::<&str>()
            .map(|text| (*text).to_owned())
            .or_else(|| panic.downcast_ref::<String>().cloned())
            .unwrap_or_else(|| "unknown".to_owned());
        Self { message }
    }
}

impl fmt::Display for CallPanic {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "the call panicked: {}", self.message)
    }
}

#[cfg(test)]
mod tests;
