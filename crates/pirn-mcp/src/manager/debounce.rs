//! Joins a storm of notices into one.

use std::time::Duration;

use tokio::time::Instant;

/// A list is read again when no further notice came for this long.
const QUIET: Duration = Duration::from_millis(100);
/// A server that never stops telling is listened to after this long all the same.
const DELAY_MAX: Duration = Duration::from_secs(2);

/// The notices that have not been acted on.
#[derive(Debug, Default)]
pub(super) struct Debounce {
    pending: Option<Pending>,
}

#[derive(Debug, Clone, Copy)]
struct Pending {
    first: Instant,
    last: Instant,
}

impl Debounce {
    pub(super) fn notice(&mut self, now: Instant) {
        let first = self.pending.map_or(now, |pending| pending.first);
        self.pending = Some(Pending { first, last: now });
    }

    pub(super) fn due_at(&self) -> Option<Instant> {
        self.pending
            .map(|pending| (pending.last + QUIET).min(pending.first + DELAY_MAX))
    }

    /// Whether it is time to act; if so the notices are done with.
    pub(super) fn take_due(&mut self, now: Instant) -> bool {
        let is_due = self.due_at().is_some_and(|due| due <= now);
        if is_due {
            self.pending = None;
        }
        is_due
    }
}
