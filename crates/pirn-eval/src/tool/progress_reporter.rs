//! Live updates of a running eval, for front ends.

use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use pirn_tool::{CallContext, OutputTail, Update};
use serde_json::{Value, json};

use crate::request::{EvalUpdate, Updates};

/// The pause between updates, for a person's eye.
const UPDATE_INTERVAL: Duration = Duration::from_millis(100);

/// Tells the stream of events what a program puts out, as output of the call that `context` belongs to, and `next` everything.
pub(super) fn output_sink(context: &CallContext, next: Option<Updates>) -> Updates {
    let context = context.clone();
    Arc::new(move |update| {
        if let EvalUpdate::Stdout(text) | EvalUpdate::Stderr(text) = &update {
            context.output(|| text.clone());
        }
        if let Some(next) = &next {
            next(update);
        }
    })
}

/// Collects what happens and reports it from time to time.
pub(super) struct ProgressReporter {
    context: CallContext,
    state: Mutex<State>,
}

#[derive(Default)]
struct State {
    /// The end of both outputs, in the order in which they came.
    tail: OutputTail,
    calls_started: u64,
    calls_ended: u64,
    /// What is called, in the order of the starts.
    running: Vec<String>,
    updated_at: Option<Instant>,
}

impl ProgressReporter {
    /// The receiver of updates; `None` when nobody listens.
    pub(super) fn updates(context: &CallContext) -> Option<Updates> {
        if !context.wants_updates() {
            return None;
        }
        let progress = Self {
            context: context.clone(),
            state: Mutex::default(),
        };
        Some(Arc::new(move |update| progress.take(&update)))
    }

    fn take(&self, update: &EvalUpdate) {
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        state.take(update);
        let is_soon = state
            .updated_at
            .is_some_and(|at| at.elapsed() < UPDATE_INTERVAL);
        if is_soon {
            return;
        }
        state.updated_at = Some(Instant::now());
        let update = Update {
            text: state.tail.text().to_owned(),
            details: Some(state.details()),
        };
        drop(state);
        self.context.update(update);
    }
}

impl State {
    fn take(&mut self, update: &EvalUpdate) {
        match update {
            EvalUpdate::Started => {}
            EvalUpdate::Stdout(text) | EvalUpdate::Stderr(text) => self.tail.push(text),
            EvalUpdate::CallStarted { name } => {
                self.calls_started += 1;
                self.running.push(name.clone());
            }
            EvalUpdate::CallEnded { name, .. } => {
                self.calls_ended += 1;
                if let Some(at) = self.running.iter().position(|running| running == name) {
                    self.running.remove(at);
                }
            }
        }
    }

    fn details(&self) -> Value {
        json!({
            "callsStarted": self.calls_started,
            "callsEnded": self.calls_ended,
            "running": self.running,
        })
    }
}
