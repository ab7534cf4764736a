//! Questions about network hosts, which only the kernel's process can answer.

use std::collections::BTreeMap;
use std::sync::{Mutex, MutexGuard, PoisonError};

use pirn_sandbox::{NetworkAnswer, NetworkAsker, NetworkFuture};
use tokio::sync::mpsc::UnboundedSender;
use tokio::sync::oneshot;

use super::event::ProcessEvent;

/// Asks the kernel's process, by numbered questions. As many wait at most as the proxy has connections.
#[derive(Debug)]
pub(super) struct KernelAsker {
    events: UnboundedSender<ProcessEvent>,
    open: Mutex<Open>,
}

#[derive(Debug, Default)]
struct Open {
    last: u64,
    waiting: BTreeMap<u64, oneshot::Sender<NetworkAnswer>>,
}

impl KernelAsker {
    pub(super) fn new(events: UnboundedSender<ProcessEvent>) -> Self {
        Self {
            events,
            open: Mutex::default(),
        }
    }

    fn open(&self) -> MutexGuard<'_, Open> {
        self.open.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Takes an answer; one that nobody waits for any more is of no interest.
    pub(super) fn answer(&self, number: u64, answer: NetworkAnswer) {
        if let Some(waiting) = self.open().waiting.remove(&number) {
            // Its connection may be gone.
            let _unheard = waiting.send(answer);
        }
    }

    /// Leaves all questions unanswered: the eval that they belong to is over.
    pub(super) fn give_up(&self) {
        // Whoever waits learns it from the dropped sender.
        self.open().waiting.clear();
    }
}

impl NetworkAsker for KernelAsker {
    fn ask<'a>(&'a self, host: &'a str, port: u16) -> NetworkFuture<'a, NetworkAnswer> {
        let (sender, answer) = oneshot::channel();
        let number = {
            let mut open = self.open();
            open.last += 1;
            let number = open.last;
            open.waiting.insert(number, sender);
            number
        };
        // The broker may be ending.
        let _closed = self.events.send(ProcessEvent::HostAsked {
            number,
            host: host.to_owned(),
            port,
        });
        Box::pin(async move { answer.await.unwrap_or(NetworkAnswer::Unanswered) })
    }
}
