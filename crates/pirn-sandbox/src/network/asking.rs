//! Asking somebody about a host.

use std::collections::HashMap;
use std::fmt::Debug;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use serde::{Deserialize, Serialize};
use tokio::sync::OnceCell;

use super::host::Host;
use super::uplink::NetworkFuture;

/// What somebody says about a host at a port.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum NetworkAnswer {
    /// Yes, for the requests that wait for this answer.
    Once,
    /// Yes, as long as this proxy lives.
    Session,
    /// Yes, and the caller keeps it.
    Always,
    /// No, as long as this proxy lives or until a rule allows it.
    Deny,
    /// Nobody answered, so no for now; whoever tries again is asked about again.
    Unanswered,
}

/// Somebody who can be asked about hosts that no rule decides.
pub trait NetworkAsker: Debug + Send + Sync {
    /// Whether children may reach the host at this port. Requests for the same host and port share one question. A future
    /// that is dropped is a question that is withdrawn: nobody waits for it any longer.
    fn ask<'a>(&'a self, host: &'a str, port: u16) -> NetworkFuture<'a, NetworkAnswer>;
}

type Question = Arc<OnceCell<NetworkAnswer>>;

/// The questions that wait for their answers.
#[derive(Debug, Default)]
pub(crate) struct Questions {
    open: Mutex<HashMap<(Host, u16), Question>>,
}

impl Questions {
    /// Asks, or waits for the answer to the same question.
    pub(crate) async fn ask(
        &self,
        asker: &dyn NetworkAsker,
        host: &Host,
        port: u16,
    ) -> NetworkAnswer {
        let key = (host.clone(), port);
        let question = {
            let mut open = self.open();
            // Questions whose last waiter left without an answer.
            open.retain(|_, question| Arc::strong_count(question) > 1);
            Arc::clone(open.entry(key.clone()).or_default())
        };
        let name = host.to_string();
        let answer = *question.get_or_init(|| asker.ask(&name, port)).await;
        let mut open = self.open();
        // A later question about the same host is a new one.
        if open
            .get(&key)
            .is_some_and(|waiting| Arc::ptr_eq(waiting, &question))
        {
            open.remove(&key);
        }
        answer
    }

    fn open(&self) -> MutexGuard<'_, HashMap<(Host, u16), Question>> {
        self.open.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
