//! Clocks that stand still while a person is asked.
//!
//! Every call has a [`WaitClock`]. It stands still while the call itself asks ([`WaitClock::asking`]), and while it has open calls
//! and all of them ask or stand still themselves. Whoever limits the time that a call, a script or a program may *wait* measures
//! it with a [`Deadline`] of that clock; processor time is measured elsewhere and always counts. One call that asks does not
//! touch the clocks of the calls beside it.

use std::fmt;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use tokio::sync::Notify;
use tokio::time::Instant;

/// The clock of one call. Clones are the same clock.
///
/// ```
/// # #[tokio::main(flavor = "current_thread", start_paused = true)] async fn main() {
/// use std::time::Duration;
/// use pirn_tool::WaitClock;
///
/// let clock = WaitClock::default();
/// let deadline = clock.deadline(Duration::from_secs(2));
/// let question = clock.asking();
/// tokio::time::sleep(Duration::from_secs(5)).await;
/// assert!(!deadline.is_over());
/// drop(question);
/// deadline.over().await;
/// assert_eq!(clock.stood_still(), Duration::from_secs(5));
/// # }
/// ```
#[derive(Clone, Default)]
pub struct WaitClock {
    node: Arc<Node>,
}

#[derive(Default)]
struct Node {
    parent: Option<Arc<Node>>,
    /// Numbers the calls made inside this one, from 1.
    calls: AtomicU64,
    state: Mutex<State>,
    changed: Notify,
}

#[derive(Default)]
struct State {
    /// Calls made inside this one that have not ended and do not wait for their turn.
    open: usize,
    /// Those of them that ask or stand still.
    asking: usize,
    /// Questions of the call itself.
    own: usize,
    /// Since when it stands still.
    still_since: Option<Instant>,
    /// How long it stood still before.
    stood_still: Duration,
    /// How it counts in the clock of its caller.
    place: Place,
}

impl WaitClock {
    /// Whether it stands still now.
    pub fn is_still(&self) -> bool {
        self.node.state().still_since.is_some()
    }

    /// For how long it has stood still so far.
    pub fn stood_still(&self) -> Duration {
        self.node.state().stood_still(Instant::now())
    }

    /// Says that the call itself waits for a person, until the guard is dropped. For questions that are not about a call, such as
    /// one of a server that the call talks to.
    pub fn asking(&self) -> AskingGuard {
        self.node.change(&mut |state| state.own += 1);
        AskingGuard {
            clock: self.clone(),
        }
    }

    /// A limit on the time that passes while the clock runs, from now on.
    pub fn deadline(&self, limit: Duration) -> Deadline {
        let now = Instant::now();
        Deadline {
            clock: self.clone(),
            limit,
            started_at: now,
            still_before: self.node.state().stood_still(now),
        }
    }

    /// Waits until the clock stands still or runs, whichever it does not do now.
    pub async fn changed(&self) {
        let was_still = self.is_still();
        self.until(|state| state.still_since.is_some() != was_still)
            .await;
    }

    /// Waits until the clock stands still.
    pub async fn still(&self) {
        self.until(|state| state.still_since.is_some()).await;
    }

    /// Waits until the clock runs.
    pub async fn running(&self) {
        self.until(|state| state.still_since.is_none()).await;
    }

    async fn until(&self, mut condition: impl FnMut(&State) -> bool) {
        loop {
            let changed = self.node.changed.notified();
            tokio::pin!(changed);
            // From here on a change is not missed.
            changed.as_mut().enable();
            if condition(&self.node.state()) {
                return;
            }
            changed.await;
        }
    }

    /// Opens the clock of a call made inside this one.
    pub(crate) fn open(&self) -> OpenCall {
        self.node.change(&mut |state| state.open += 1);
        OpenCall {
            clock: Self {
                node: Arc::new(Node {
                    parent: Some(Arc::clone(&self.node)),
                    ..Node::default()
                }),
            },
        }
    }

    /// The number of the next call made inside this one.
    pub(crate) fn next_number(&self) -> u64 {
        self.node.calls.fetch_add(1, Ordering::Relaxed) + 1
    }

    /// Goes on with the numbers after `number`.
    pub(crate) fn number_after(&self, number: u64) {
        self.node.calls.fetch_max(number, Ordering::Relaxed);
    }
}

impl fmt::Debug for WaitClock {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter
            .debug_struct("WaitClock")
            .field("is_still", &self.is_still())
            .finish_non_exhaustive()
    }
}

/// Says that a call waits for a person. Dropping it says that it does not any more.
#[derive(Debug)]
#[must_use = "dropping it says that the call does not wait any more"]
pub struct AskingGuard {
    clock: WaitClock,
}

impl Drop for AskingGuard {
    fn drop(&mut self) {
        self.clock
            .node
            .change(&mut |state| state.own = state.own.saturating_sub(1));
    }
}

/// A limit on waiting that is measured with a [`WaitClock`]: it does not pass while the clock stands still.
#[derive(Debug, Clone)]
pub struct Deadline {
    clock: WaitClock,
    limit: Duration,
    started_at: Instant,
    /// How long the clock had stood still when the limit began.
    still_before: Duration,
}

impl Deadline {
    /// The time that was given.
    pub fn limit(&self) -> Duration {
        self.limit
    }

    /// The time that is left while the clock runs on.
    pub fn left(&self) -> Duration {
        self.left_of(&self.clock.node.state())
    }

    /// Whether no time is left.
    pub fn is_over(&self) -> bool {
        self.left().is_zero()
    }

    /// Waits until no time is left.
    pub async fn over(&self) {
        let node = &self.clock.node;
        loop {
            let changed = node.changed.notified();
            tokio::pin!(changed);
            changed.as_mut().enable();
            let (left, is_still) = {
                let state = node.state();
                (self.left_of(&state), state.still_since.is_some())
            };
            if left.is_zero() {
                return;
            }
            if is_still {
                changed.await;
            } else {
                tokio::select! {
                    () = changed => {}
                    () = tokio::time::sleep(left) => {}
                }
            }
        }
    }

    fn left_of(&self, state: &State) -> Duration {
        let now = Instant::now();
        let passed = now.saturating_duration_since(self.started_at);
        let still = state.stood_still(now).saturating_sub(self.still_before);
        self.limit.saturating_sub(passed.saturating_sub(still))
    }
}

/// A call that has not ended, in the clock of its caller. Dropping it ends the call there.
pub(crate) struct OpenCall {
    pub(crate) clock: WaitClock,
}

impl OpenCall {
    /// A call that nothing was called from.
    pub(crate) fn root() -> Self {
        Self {
            clock: WaitClock::default(),
        }
    }

    /// Takes the call out of its caller's clock while it waits for its turn: what it waits for is another call, which counts.
    pub(crate) fn wait_for_turn(&self) -> TurnGuard<'_> {
        self.clock.node.set_place(Place::Turn);
        TurnGuard(self)
    }
}

impl Drop for OpenCall {
    fn drop(&mut self) {
        self.clock.node.set_place(Place::Ended);
    }
}

pub(crate) struct TurnGuard<'a>(&'a OpenCall);

impl Drop for TurnGuard<'_> {
    fn drop(&mut self) {
        self.0.clock.node.set_place(Place::Open);
    }
}

/// How a call counts in the clock of its caller.
#[derive(Clone, Copy, Default, PartialEq, Eq)]
enum Place {
    /// As an open one.
    #[default]
    Open,
    /// Not now: it waits for its turn.
    Turn,
    /// Not any more: it is over, whatever still runs inside.
    Ended,
}

impl State {
    fn is_still(&self) -> bool {
        self.own > 0 || (self.open > 0 && self.asking == self.open)
    }

    fn stood_still(&self, now: Instant) -> Duration {
        let since = self
            .still_since
            .map_or(Duration::ZERO, |since| now.saturating_duration_since(since));
        self.stood_still + since
    }

    /// What the call counts in its caller's clock: as open, as asking.
    fn counts(&self) -> (bool, bool) {
        let is_open = self.place == Place::Open;
        (is_open, is_open && self.still_since.is_some())
    }
}

impl Node {
    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn set_place(&self, place: Place) {
        self.change(&mut |state| state.place = place);
    }

    /// Changes the state, and what follows from it here and above. The lock is held meanwhile, so that changes arrive above in
    /// the order in which they were made; locks are taken from below to above only.
    fn change(&self, change: &mut dyn FnMut(&mut State)) {
        let mut state = self.state();
        let before = state.counts();
        change(&mut state);
        match (state.still_since, state.is_still()) {
            (None, true) => {
                state.still_since = Some(Instant::now());
                self.changed.notify_waiters();
            }
            (Some(since), false) => {
                state.stood_still += Instant::now().saturating_duration_since(since);
                state.still_since = None;
                self.changed.notify_waiters();
            }
            (None, false) | (Some(_), true) => {}
        }
        let after = state.counts();
        if before != after
            && let Some(parent) = &self.parent
        {
            parent.change(&mut |parent| {
                adjust(&mut parent.open, before.0, after.0);
                adjust(&mut parent.asking, before.1, after.1);
            });
        }
    }
}

fn adjust(count: &mut usize, before: bool, after: bool) {
    match (before, after) {
        (false, true) => *count += 1,
        (true, false) => *count = count.saturating_sub(1),
        (false, false) | (true, true) => {}
    }
}
