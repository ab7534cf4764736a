//! Which evals there are: what a reset or the close of a kernel has to reject and to wait for.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use tokio::sync::Notify;
use tokio_util::sync::CancellationToken;

/// The evals and resets of a kernel, numbered in the order in which they came.
#[derive(Debug, Default)]
pub(super) struct EvalRegistry {
    inner: Mutex<Inner>,
    changed: Notify,
}

#[derive(Debug, Default)]
struct Inner {
    is_closed: bool,
    next: u64,
    evals: BTreeMap<u64, Entry>,
    resets: BTreeMap<u64, String>,
}

#[derive(Debug)]
struct Entry {
    branch: String,
    stage: Stage,
    invalidated: CancellationToken,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Stage {
    Queued,
    Active,
    /// Nobody waits for it.
    Withdrawn,
}

/// One eval. It is over when this is dropped.
#[derive(Debug)]
pub(super) struct Ticket {
    handle: Handle,
}

/// Looks at an eval without keeping it.
#[derive(Debug, Clone)]
pub(super) struct Handle {
    registry: Arc<EvalRegistry>,
    number: u64,
    /// Fires when a reset or the close rejects the eval.
    pub(super) invalidated: CancellationToken,
}

/// One reset. It is over when this is dropped.
#[derive(Debug)]
pub(super) struct Reset {
    registry: Arc<EvalRegistry>,
    number: u64,
}

impl EvalRegistry {
    fn lock(&self) -> MutexGuard<'_, Inner> {
        self.inner.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Notes a new eval; `None` when the kernel is closed.
    pub(super) fn register(self: &Arc<Self>, branch: &str) -> Option<Ticket> {
        let mut inner = self.lock();
        if inner.is_closed {
            return None;
        }
        inner.next += 1;
        let number = inner.next;
        let invalidated = CancellationToken::new();
        inner.evals.insert(
            number,
            Entry {
                branch: branch.to_owned(),
                stage: Stage::Queued,
                invalidated: invalidated.clone(),
            },
        );
        Some(Ticket {
            handle: Handle {
                registry: Arc::clone(self),
                number,
                invalidated,
            },
        })
    }

    /// Rejects every eval of a branch that came before, and gives the reset; later ones of the branch wait for its end.
    pub(super) fn begin_reset(self: &Arc<Self>, branch: &str) -> Reset {
        let mut inner = self.lock();
        inner.next += 1;
        let number = inner.next;
        inner.resets.insert(number, branch.to_owned());
        for entry in inner.evals.values().filter(|entry| entry.branch == branch) {
            entry.invalidated.cancel();
        }
        Reset {
            registry: Arc::clone(self),
            number,
        }
    }

    /// Rejects every eval, now and for good.
    pub(super) fn close(&self) {
        let mut inner = self.lock();
        inner.is_closed = true;
        for entry in inner.evals.values() {
            entry.invalidated.cancel();
        }
    }

    pub(super) fn is_closed(&self) -> bool {
        self.lock().is_closed
    }

    /// Waits until no eval is active.
    pub(super) async fn wait_until_idle(&self) {
        self.wait_until(|inner| {
            inner
                .evals
                .values()
                .all(|entry| entry.stage != Stage::Active)
        })
        .await;
    }

    async fn wait_until(&self, condition: impl Fn(&Inner) -> bool) {
        loop {
            let changed = self.changed.notified();
            tokio::pin!(changed);
            // Before looking, so that no change is missed.
            changed.as_mut().enable();
            if condition(&self.lock()) {
                return;
            }
            changed.await;
        }
    }
}

impl Reset {
    /// Waits until no eval of the branch that came before it is active, and no earlier reset of the branch is under way.
    pub(super) async fn wait_for_earlier(&self) {
        let number = self.number;
        self.registry
            .wait_until(|inner| {
                let Some(branch) = inner.resets.get(&number) else {
                    return true;
                };
                let mut evals = inner.evals.range(..number);
                let mut resets = inner.resets.range(..number);
                evals.all(|(_, entry)| entry.stage != Stage::Active || entry.branch != *branch)
                    && resets.all(|(_, other)| other != branch)
            })
            .await;
    }
}

impl Drop for Reset {
    fn drop(&mut self) {
        self.registry.lock().resets.remove(&self.number);
        self.registry.changed.notify_waiters();
    }
}

impl Ticket {
    pub(super) fn handle(&self) -> &Handle {
        &self.handle
    }

    /// The eval begins, unless it was rejected or nobody waits for it.
    pub(super) fn activate(&self) -> bool {
        let mut inner = self.handle.registry.lock();
        let Some(entry) = inner.evals.get_mut(&self.handle.number) else {
            return false;
        };
        if entry.stage != Stage::Queued || entry.invalidated.is_cancelled() {
            return false;
        }
        entry.stage = Stage::Active;
        true
    }
}

impl Drop for Ticket {
    fn drop(&mut self) {
        let Handle {
            registry, number, ..
        } = &self.handle;
        registry.lock().evals.remove(number);
        registry.changed.notify_waiters();
    }
}

impl Handle {
    /// Gives the eval up, unless it has begun; whether it was given up.
    pub(super) fn withdraw(&self) -> bool {
        let mut inner = self.registry.lock();
        match inner.evals.get_mut(&self.number) {
            Some(entry) if entry.stage == Stage::Active => false,
            Some(entry) => {
                entry.stage = Stage::Withdrawn;
                true
            }
            None => false,
        }
    }

    /// Waits until no reset of its branch that came before it is under way.
    pub(super) async fn wait_for_resets(&self) {
        let number = self.number;
        self.registry
            .wait_until(|inner| {
                let Some(entry) = inner.evals.get(&number) else {
                    return true;
                };
                let mut earlier = inner.resets.range(..number);
                earlier.all(|(_, branch)| *branch != entry.branch)
            })
            .await;
    }
}

#[cfg(test)]
mod tests;
