//! The questions of one eval about network hosts.

use std::sync::Arc;

use futures_util::StreamExt as _;
use futures_util::future::BoxFuture;
use futures_util::stream::FuturesUnordered;
use pirn_sandbox::{NetworkAnswer, NetworkAsker};
use pirn_tool::WaitClock;

/// The questions of one eval that have no answer yet. Dropping it withdraws them. As many wait at most as the broker's proxy has
/// connections.
pub(super) struct Questions {
    asker: Option<Arc<dyn NetworkAsker>>,
    /// Stands still while one is open.
    clock: WaitClock,
    open: FuturesUnordered<BoxFuture<'static, Answer>>,
}

/// An answer to the question with this number.
pub(super) type Answer = (u64, NetworkAnswer);

impl Questions {
    pub(super) fn new(asker: Option<Arc<dyn NetworkAsker>>, clock: WaitClock) -> Self {
        Self {
            asker,
            clock,
            open: FuturesUnordered::new(),
        }
    }

    /// Asks whether the program may reach a host.
    pub(super) fn ask(&mut self, number: u64, host: String, port: u16) {
        let asker = self.asker.clone();
        let asking = self.clock.asking();
        self.open.push(Box::pin(async move {
            let _asking = asking;
            let answer = match asker {
                Some(asker) => asker.ask(&host, port).await,
                None => NetworkAnswer::Unanswered,
            };
            (number, answer)
        }));
    }

    /// Whether an answer may come.
    pub(super) fn are_open(&self) -> bool {
        !self.open.is_empty()
    }

    /// Waits for the next answer; only while [`Questions::are_open`]. Nothing is lost when it is dropped before it ends.
    pub(super) async fn next(&mut self) -> Option<Answer> {
        self.open.next().await
    }

    /// Withdraws all, and asks no further ones.
    pub(super) fn close(&mut self) {
        self.asker = None;
        self.open.clear();
    }
}
