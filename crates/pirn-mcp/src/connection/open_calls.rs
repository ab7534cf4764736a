//! The requests that are open on a connection, whose limits stand still while the server asks the user.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use pirn_tool::{AskingGuard, WaitClock};

use super::RequestOptions;

/// The open requests of one connection.
#[derive(Debug, Default)]
pub(super) struct OpenCalls {
    state: Mutex<State>,
}

#[derive(Debug, Default)]
struct State {
    calls: BTreeMap<u64, OpenCall>,
    next: u64,
    /// Questions that wait for the user.
    questions: usize,
}

#[derive(Debug)]
struct OpenCall {
    clock: WaitClock,
    call_id: Option<String>,
    /// Held while the server asks.
    asking: Option<AskingGuard>,
}

/// A request that is open until this is dropped.
#[derive(Debug)]
#[must_use = "dropping it says that the request is over"]
pub(super) struct OpenCallGuard {
    calls: Arc<OpenCalls>,
    number: u64,
}

/// A question that waits for the user until this is dropped.
#[derive(Debug)]
#[must_use = "dropping it says that the question is over"]
pub(super) struct QuestionGuard {
    calls: Arc<OpenCalls>,
}

impl OpenCalls {
    /// Counts a request as open. One that is made while the server asks stands still from the start: the server may not read it
    /// before it has its answer.
    pub(super) fn open(self: &Arc<Self>, options: &RequestOptions) -> OpenCallGuard {
        let mut state = self.state();
        let number = state.next;
        state.next += 1;
        let asking = (state.questions > 0).then(|| options.clock.asking());
        state.calls.insert(
            number,
            OpenCall {
                clock: options.clock.clone(),
                call_id: options.call_id.clone(),
                asking,
            },
        );
        OpenCallGuard {
            calls: Arc::clone(self),
            number,
        }
    }

    /// Says that the server asks the user.
    pub(super) fn ask(self: &Arc<Self>) -> QuestionGuard {
        let mut state = self.state();
        state.questions += 1;
        for call in state.calls.values_mut() {
            call.asking.get_or_insert_with(|| call.clock.asking());
        }
        QuestionGuard {
            calls: Arc::clone(self),
        }
    }

    /// The call that every open request is part of.
    pub(super) fn only_call_id(&self) -> Option<String> {
        let state = self.state();
        let mut calls = state.calls.values();
        let first = &calls.next()?.call_id;
        let is_only = calls.all(|call| call.call_id == *first);
        first.clone().filter(|_| is_only)
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Drop for OpenCallGuard {
    fn drop(&mut self) {
        self.calls.state().calls.remove(&self.number);
    }
}

impl Drop for QuestionGuard {
    fn drop(&mut self) {
        let mut state = self.calls.state();
        state.questions = state.questions.saturating_sub(1);
        if state.questions == 0 {
            for call in state.calls.values_mut() {
                call.asking = None;
            }
        }
    }
}
