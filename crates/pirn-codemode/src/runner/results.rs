//! Results that wait in the host until their scripts read them: bounded for one script and for all together. While there are
//! too many, no further call starts.

use std::fmt;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::{Context, Waker};

/// Bytes of results that wait, of all scripts together: what four scripts may have waiting by default.
const TOTAL_BYTES_MAX: usize = 1 << 30;

/// The results that wait for all scripts of one service. Clones are the same.
#[derive(Clone)]
pub struct ResultBudget {
    shared: Arc<Shared>,
}

struct Shared {
    bytes_max: usize,
    state: Mutex<State>,
}

#[derive(Default)]
struct State {
    bytes: usize,
    /// Scripts that would start a call; one entry each at most.
    waiting: Vec<Waker>,
}

impl Default for ResultBudget {
    fn default() -> Self {
        Self::new(TOTAL_BYTES_MAX)
    }
}

impl fmt::Debug for ResultBudget {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter
            .debug_struct("ResultBudget")
            .field("bytes_max", &self.shared.bytes_max)
            .finish_non_exhaustive()
    }
}

impl ResultBudget {
    /// No call starts while results of `bytes_max` bytes or more wait; those under way still end.
    pub fn new(bytes_max: usize) -> Self {
        Self {
            shared: Arc::new(Shared {
                bytes_max,
                state: Mutex::default(),
            }),
        }
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.shared
            .state
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
    }

    /// The part of one script, which has `bytes_max` bytes waiting at most.
    pub(super) fn share(&self, bytes_max: usize) -> WaitingResults {
        WaitingResults {
            budget: self.clone(),
            bytes_max,
            bytes: 0,
            handed_over: 0,
        }
    }
}

/// The results that wait for one script. Dropping it gives their room back.
pub(super) struct WaitingResults {
    budget: ResultBudget,
    bytes_max: usize,
    bytes: usize,
    /// Of these, what the VM was given and has not read.
    handed_over: usize,
}

impl WaitingResults {
    pub(super) fn add(&mut self, bytes: usize) {
        self.bytes = self.bytes.saturating_add(bytes);
        let mut state = self.budget.lock();
        state.bytes = state.bytes.saturating_add(bytes);
    }

    /// Whether a call may start. Where the results of other scripts are in the way, the task of `context` is woken once it may.
    pub(super) fn have_room(&self, context: &Context<'_>) -> bool {
        if self.bytes >= self.bytes_max {
            return false;
        }
        let mut state = self.budget.lock();
        let is_free = state.bytes < self.budget.shared.bytes_max;
        let waker = context.waker();
        if !is_free && !state.waiting.iter().any(|other| other.will_wake(waker)) {
            state.waiting.push(waker.clone());
        }
        is_free
    }

    /// All that wait were given to the VM.
    pub(super) fn hand_over(&mut self) {
        self.handed_over = self.bytes;
    }

    /// The VM has read what it was given.
    pub(super) fn were_read(&mut self) {
        self.give_back(self.handed_over);
        self.handed_over = 0;
    }

    fn give_back(&mut self, bytes: usize) {
        if bytes == 0 {
            return;
        }
        self.bytes = self.bytes.saturating_sub(bytes);
        let mut state = self.budget.lock();
        state.bytes = state.bytes.saturating_sub(bytes);
        if state.bytes < self.budget.shared.bytes_max {
            let waiting = std::mem::take(&mut state.waiting);
            drop(state);
            waiting.into_iter().for_each(Waker::wake);
        }
    }
}

impl Drop for WaitingResults {
    fn drop(&mut self) {
        self.give_back(self.bytes);
    }
}

#[cfg(test)]
mod tests;
