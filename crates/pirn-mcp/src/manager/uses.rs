//! Who uses a connection, so that it is not stopped under them and is stopped when nobody has for long.

use std::sync::{Arc, Mutex, PoisonError};

use tokio::time::Instant;

use super::link::Link;

/// The users of one connection.
#[derive(Debug)]
pub(super) struct Uses {
    state: Mutex<State>,
}

#[derive(Debug)]
struct State {
    open: usize,
    last_end: Instant,
}

impl Uses {
    pub(super) fn new(now: Instant) -> Self {
        Self {
            state: Mutex::new(State {
                open: 0,
                last_end: now,
            }),
        }
    }

    /// Since when nobody has used the connection; `None` while somebody does.
    pub(super) fn idle_since(&self) -> Option<Instant> {
        let state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        (state.open == 0).then_some(state.last_end)
    }

    fn change(&self, change: impl FnOnce(&mut State)) {
        change(&mut self.state.lock().unwrap_or_else(PoisonError::into_inner));
    }
}

/// The right to use a connection, until it is dropped.
pub(super) struct Lease {
    link: Arc<dyn Link>,
    uses: Arc<Uses>,
}

impl Lease {
    pub(super) fn new(link: Arc<dyn Link>, uses: Arc<Uses>) -> Self {
        uses.change(|state| state.open += 1);
        Self { link, uses }
    }

    pub(super) fn link(&self) -> &dyn Link {
        &*self.link
    }

    pub(super) fn uses(&self) -> &Arc<Uses> {
        &self.uses
    }
}

impl Drop for Lease {
    fn drop(&mut self) {
        self.uses.change(|state| {
            state.open = state.open.saturating_sub(1);
            state.last_end = Instant::now();
        });
    }
}
