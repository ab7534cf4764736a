//! How long a server that fails is left alone.

use std::time::Duration;

use tokio::time::Instant;

use crate::error::{ErrorKind, is_transient_status};

/// The first pause; long enough for a port to become free.
const PAUSE_FIRST: Duration = Duration::from_secs(1);
/// The longest pause; a repaired server should not be missed for longer than this.
const PAUSE_MAX: Duration = Duration::from_mins(1);
/// Failures in a row after which only a call tries again: the server is broken, not unlucky.
const FAILURES_MAX: u32 = 5;
/// A connection that lived for this long worked, so what ended it is a new story.
const HEALTHY_AFTER: Duration = Duration::from_secs(10);
/// How often it is looked whether the user has signed in somewhere else, at most.
const SIGN_IN_PAUSE: Duration = Duration::from_secs(15);

/// The failures of one server since it last worked, and the pause after the latest.
#[derive(Debug, Default)]
pub(super) struct Backoff {
    failures: u32,
    pause: Option<Pause>,
}

#[derive(Debug, Clone, Copy)]
struct Pause {
    until: Instant,
    calls: Calls,
}

/// What a call does during a pause.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Calls {
    /// It connects at once.
    Connect,
    /// It fails at once.
    Fail,
}

impl Backoff {
    /// An attempt to connect failed.
    pub(super) fn attempt_failed(&mut self, now: Instant) {
        self.add(now, Calls::Fail);
    }

    /// A connection that was made at `since` ended by itself.
    pub(super) fn connection_ended(&mut self, now: Instant, since: Instant) {
        if now.duration_since(since) >= HEALTHY_AFTER {
            self.failures = 0;
        }
        // One call that kills a server must not cost the next call, but a server that dies again and again does not work.
        let calls = if self.failures == 0 {
            Calls::Connect
        } else {
            Calls::Fail
        };
        self.add(now, calls);
    }

    /// The user has to sign in. That may happen anywhere at any time, so calls ask again.
    pub(super) fn sign_in_needed(&mut self, now: Instant) {
        self.failures = 0;
        self.pause = Some(Pause {
            until: now + SIGN_IN_PAUSE,
            calls: Calls::Connect,
        });
    }

    /// Somebody changed something: the past does not count.
    pub(super) fn forget(&mut self) {
        *self = Self::default();
    }

    /// Failures in a row.
    pub(super) fn failures(&self) -> u32 {
        self.failures
    }

    /// Whether the latest failure is so young that nobody but a call should try again.
    pub(super) fn is_pausing(&self, now: Instant) -> bool {
        self.pause.is_some_and(|pause| now < pause.until)
    }

    /// Until when calls fail at once.
    pub(super) fn refuses_until(&self, now: Instant) -> Option<Instant> {
        self.pause
            .filter(|pause| pause.calls == Calls::Fail && now < pause.until)
            .map(|pause| pause.until)
    }

    /// When to try again without being asked; `None` after too many failures.
    pub(super) fn retry_at(&self) -> Option<Instant> {
        self.pause
            .filter(|_| self.failures < FAILURES_MAX)
            .map(|pause| pause.until)
    }

    fn add(&mut self, now: Instant, calls: Calls) {
        let doublings = self.failures.min(PAUSE_MAX.as_secs().ilog2() + 1);
        self.failures = self.failures.saturating_add(1);
        let pause = (PAUSE_FIRST * 2_u32.pow(doublings)).min(PAUSE_MAX);
        self.pause = Some(Pause {
            until: now + pause,
            calls,
        });
    }
}

/// Whether a failure may be gone the next time although nobody did anything about it.
pub(super) fn may_pass(kind: &ErrorKind) -> bool {
    match kind {
        ErrorKind::Start
        | ErrorKind::Timeout
        | ErrorKind::Closed
        | ErrorKind::Protocol
        | ErrorKind::Server { .. } => true,
        ErrorKind::Http { status } => is_transient_status(*status),
        ErrorKind::Config
        | ErrorKind::UnknownServer
        | ErrorKind::Disabled
        | ErrorKind::NeedsAuthorization
        | ErrorKind::Authorization
        | ErrorKind::Cancelled => false,
    }
}
