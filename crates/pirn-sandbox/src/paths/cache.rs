//! The paths of one policy, kept fresh beside the children that need them.
//!
//! A walk through a large tree takes 0.1 seconds, nearly all of it in the kernel, and a child cannot start before the answer is
//! there. So while children are started, a thread makes the next answer before the last one is too old. It takes nothing from
//! what is protected: an answer counts from the beginning of its walk, and no older one is used with the thread than without.
//! For small trees, and when no child was started for a while, there is no thread.

use std::ops::Range;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread::{Builder, JoinHandle};
use std::time::{Duration, Instant};

use super::{KEPT_FOR, Paths};
use crate::policy::SandboxPolicy;

/// When answers are made ahead.
#[derive(Debug, Clone)]
struct RefreshSchedule {
    /// How old an answer is when the next walk begins.
    after: Duration,
    /// How long after the start of a child.
    until: Duration,
    /// What the last walk took. Shorter ones are not worth a thread; longer ones are too much work to do for nothing, and
    /// would not be done in time.
    worth: Range<Duration>,
}

impl Default for RefreshSchedule {
    fn default() -> Self {
        Self {
            after: Duration::from_secs(4),
            // Longer than a model mostly needs for its next command.
            until: Duration::from_secs(30),
            worth: Duration::from_millis(2)..Duration::from_millis(500),
        }
    }
}

/// Keeps the paths of one policy for some seconds. Dropping it ends its thread.
#[derive(Debug, Default)]
pub(crate) struct PathCache {
    shared: Arc<Shared>,
    thread: Mutex<Option<JoinHandle<()>>>,
}

#[derive(Debug, Default)]
struct Shared {
    schedule: RefreshSchedule,
    state: Mutex<State>,
    changed: Condvar,
    /// Ends a walk at the next folder. Set under the lock of the state.
    stopped: AtomicBool,
}

#[derive(Debug, Default)]
struct State {
    last: Option<CachedPaths>,
    /// When a child was started last.
    used: Option<Instant>,
    has_thread: bool,
}

#[derive(Debug)]
struct CachedPaths {
    /// When its walk began.
    at: Instant,
    took: Duration,
    paths: Arc<Paths>,
}

impl PathCache {
    /// The paths of `policy`, at most some seconds old.
    pub(crate) fn get(&self, policy: &SandboxPolicy, now: Instant) -> Arc<Paths> {
        let mut state = self.shared.state();
        if let Some(last) = &state.last
            && now.saturating_duration_since(last.at) < KEPT_FOR
        {
            return Arc::clone(&last.paths);
        }
        self.walk(&mut state, policy, now)
    }

    /// The paths of `policy` as they are now.
    pub(crate) fn renew(&self, policy: &SandboxPolicy, now: Instant) -> Arc<Paths> {
        self.walk(&mut self.shared.state(), policy, now)
    }

    fn walk(&self, state: &mut State, policy: &SandboxPolicy, now: Instant) -> Arc<Paths> {
        let answer = CachedPaths::make(policy, now, &self.shared.stopped);
        let paths = Arc::clone(&answer.paths);
        state.last = Some(answer);
        paths
    }

    /// Makes answers ahead for a while: a child is started, and others may follow.
    pub(crate) fn expect_more(&self, policy: &SandboxPolicy, now: Instant) {
        let mut state = self.shared.state();
        state.used = Some(now);
        if state.has_thread || state.next_walk(&self.shared.schedule, now).is_none() {
            return;
        }
        let shared = Arc::clone(&self.shared);
        let policy = policy.clone();
        // Without the thread, who starts a child walks.
        let started = Builder::new()
            .name("sandbox-paths".to_owned())
            .spawn(move || shared.refresh(&policy));
        if let Ok(started) = started {
            state.has_thread = true;
            let mut thread = self.thread.lock().unwrap_or_else(PoisonError::into_inner);
            // The one before has said that it ends.
            *thread = Some(started);
        }
    }
}

impl Drop for PathCache {
    fn drop(&mut self) {
        {
            let _state = self.shared.state();
            self.shared.stopped.store(true, Ordering::Relaxed);
        }
        self.shared.changed.notify_all();
        let thread = self
            .thread
            .get_mut()
            .unwrap_or_else(PoisonError::into_inner);
        if let Some(thread) = thread.take() {
            // Fails when it has panicked, which it has told by itself.
            let _ended = thread.join();
        }
    }
}

impl Shared {
    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The thread: one answer after the other, until nobody has started a child for a while.
    fn refresh(&self, policy: &SandboxPolicy) {
        let mut state = self.state();
        while !self.stopped.load(Ordering::Relaxed)
            && let Some(wait) = state.next_walk(&self.schedule, Instant::now())
        {
            if !wait.is_zero() {
                let waited = self.changed.wait_timeout(state, wait);
                state = waited.unwrap_or_else(PoisonError::into_inner).0;
                continue;
            }
            drop(state);
            let answer = CachedPaths::make(policy, Instant::now(), &self.stopped);
            state = self.state();
            let is_newer = state.last.as_ref().is_none_or(|last| last.at < answer.at);
            if is_newer && !self.stopped.load(Ordering::Relaxed) {
                state.last = Some(answer);
            }
        }
        state.has_thread = false;
    }
}

impl State {
    /// How long until the next walk ahead; `None` if there is none.
    fn next_walk(&self, schedule: &RefreshSchedule, now: Instant) -> Option<Duration> {
        let last = self.last.as_ref()?;
        let due = last.at + schedule.after;
        let is_wanted = due.max(now) < self.used? + schedule.until;
        (is_wanted && schedule.worth.contains(&last.took))
            .then(|| due.saturating_duration_since(now))
    }
}

impl CachedPaths {
    fn make(policy: &SandboxPolicy, now: Instant, stopped: &AtomicBool) -> Self {
        let begun = Instant::now();
        let paths = Arc::new(Paths::unless_stopped(policy, stopped));
        Self {
            at: now,
            took: begun.elapsed(),
            paths,
        }
    }
}

#[cfg(test)]
mod tests;
