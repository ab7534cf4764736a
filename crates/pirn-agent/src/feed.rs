//! What the runtime tells, until a conversation passes it on in order.

use std::collections::VecDeque;
use std::sync::{Mutex, PoisonError};

use pirn_tool::RuntimeEvent;
use tokio::sync::Notify;

use crate::event::{AgentEvent, of_runtime};

/// Events that wait: a script that makes calls at full speed is this far ahead of a front end before the front end misses some,
/// which it is told. An event is a few hundred bytes besides what it shares with others.
const EVENTS_WAITING_MAX: usize = 16_384;

/// Events that wait to be passed on. The runtime adds them from anywhere and never waits.
#[derive(Debug, Default)]
pub(crate) struct Feed {
    state: Mutex<Waiting>,
    added: Notify,
}

#[derive(Debug, Default)]
struct Waiting {
    events: VecDeque<AgentEvent>,
    /// Events that found no place since the last one that was passed on.
    missed: u64,
}

impl Feed {
    /// Adds what the runtime tells, where front ends want to know it.
    pub(crate) fn push(&self, event: RuntimeEvent) {
        if let Some(event) = of_runtime(event) {
            self.add(event);
        }
    }

    pub(crate) fn add(&self, event: AgentEvent) {
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        if state.events.len() < EVENTS_WAITING_MAX {
            state.events.push_back(event);
        } else {
            state.missed += 1;
        }
        drop(state);
        self.added.notify_one();
    }

    /// The next event, if one waits.
    pub(crate) fn take(&self) -> Option<AgentEvent> {
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        let event = state.events.pop_front();
        if event.is_none() && state.missed > 0 {
            let missed = std::mem::take(&mut state.missed);
            let text = format!("{missed} events of calls were not told: too many came at once");
            return Some(AgentEvent::Note { text });
        }
        event
    }

    /// Waits for the next event.
    pub(crate) async fn next(&self) -> AgentEvent {
        loop {
            let added = self.added.notified();
            if let Some(event) = self.take() {
                return event;
            }
            added.await;
        }
    }
}
