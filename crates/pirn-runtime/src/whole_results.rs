//! The whole results of calls, for front ends that show more than the model reads.

use std::collections::{HashMap, VecDeque};
use std::fmt;
use std::sync::{Arc, Mutex, PoisonError};

use pirn_tool::{EventBus, EventKind, EventSubscription, RuntimeEvent, ToolResult};

#[cfg(test)]
mod tests;

/// Bytes kept of one call's result.
pub const WHOLE_RESULT_BYTES_MAX: usize = 1 << 20;
/// Bytes kept of all results together; the oldest make room.
pub const WHOLE_RESULTS_BYTES_MAX: usize = 64 << 20;
/// Calls that are remembered, also those of which nothing is kept: some hundred bytes each.
const CALLS_MAX: usize = 100_000;

/// What is kept of a call's result.
#[derive(Debug, Clone, PartialEq)]
pub enum WholeResult {
    /// The result as the tool gave it.
    Kept(Arc<ToolResult>),
    /// It was larger than [`WHOLE_RESULT_BYTES_MAX`], and its text is not kept.
    TooLarge {
        /// The size of the result.
        bytes: usize,
    },
    /// It was kept and made room for newer ones.
    Gone {
        /// The size of the result.
        bytes: usize,
    },
}

/// Keeps the results of the calls of a stream of events, from when it is made until it is dropped, within
/// [`WHOLE_RESULT_BYTES_MAX`] a call and [`WHOLE_RESULTS_BYTES_MAX`] in all.
pub struct WholeResults {
    kept: Arc<Mutex<Kept>>,
    _subscription: EventSubscription,
}

impl fmt::Debug for WholeResults {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter
            .debug_struct("WholeResults")
            .finish_non_exhaustive()
    }
}

#[derive(Default)]
struct Kept {
    results: HashMap<CallKey, WholeResult>,
    /// The calls in the order in which they ended.
    order: VecDeque<CallKey>,
    /// Those of which the result is kept, with its size.
    holding: VecDeque<(CallKey, usize)>,
    bytes: usize,
}

/// The run and the call.
type CallKey = (Arc<str>, Arc<str>);

impl WholeResults {
    /// Keeps the results of the calls that end from now on.
    pub fn keep(events: &EventBus) -> Self {
        let kept: Arc<Mutex<Kept>> = Arc::default();
        let sink = Arc::clone(&kept);
        Self {
            kept,
            _subscription: events.subscribe(Arc::new(move |event| lock(&sink).take(event))),
        }
    }

    /// What is kept of the result of a call; `None` for one that has not ended, or ended before this was made.
    pub fn get(&self, run_id: &str, call_id: &str) -> Option<WholeResult> {
        let key = (Arc::from(run_id), Arc::from(call_id));
        lock(&self.kept).results.get(&key).cloned()
    }
}

fn lock(kept: &Mutex<Kept>) -> std::sync::MutexGuard<'_, Kept> {
    kept.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Kept {
    fn take(&mut self, event: RuntimeEvent) {
        let (Some(call), EventKind::Ended { result, .. }) = (event.call, event.kind) else {
            return;
        };
        let key: CallKey = (event.run_id, Arc::from(call.call_id.as_str()));
        let bytes = result.size_bytes();
        if matches!(self.results.get(&key), Some(WholeResult::Kept(_))) {
            self.forget(&key);
        }
        let kept = if bytes > WHOLE_RESULT_BYTES_MAX {
            WholeResult::TooLarge { bytes }
        } else {
            self.make_room(bytes);
            self.bytes += bytes;
            self.holding.push_back((key.clone(), bytes));
            WholeResult::Kept(result)
        };
        if self.results.insert(key.clone(), kept).is_none() {
            self.order.push_back(key);
        }
        while self.order.len() > CALLS_MAX
            && let Some(key) = self.order.pop_front()
        {
            self.forget(&key);
            self.results.remove(&key);
        }
    }

    /// Takes a call that ends for a second time out of what is held: one that went on after its script was saved.
    fn forget(&mut self, key: &CallKey) {
        if let Some(place) = self.holding.iter().position(|(held, _)| held == key)
            && let Some((_, bytes)) = self.holding.remove(place)
        {
            self.bytes -= bytes;
        }
    }

    fn make_room(&mut self, bytes: usize) {
        while self.bytes + bytes > WHOLE_RESULTS_BYTES_MAX
            && let Some((key, bytes)) = self.holding.pop_front()
        {
            self.bytes -= bytes;
            if let Some(result) = self.results.get_mut(&key) {
                *result = WholeResult::Gone { bytes };
            }
        }
    }
}
