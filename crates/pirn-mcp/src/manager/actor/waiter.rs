//! Those who wait for a server to connect.

use tokio::sync::oneshot;

use crate::error::Error;
use crate::manager::uses::Lease;

/// Somebody who waits for the outcome of the present attempt to connect.
pub(super) enum Waiter {
    Lease(oneshot::Sender<Result<Lease, Error>>),
    Outcome(oneshot::Sender<Result<(), Error>>),
}

impl Waiter {
    pub(super) fn is_gone(&self) -> bool {
        match self {
            Self::Lease(reply) => reply.is_closed(),
            Self::Outcome(reply) => reply.is_closed(),
        }
    }

    pub(super) fn fail(self, error: Error) {
        match self {
            Self::Lease(reply) => {
                let _gone = reply.send(Err(error));
            }
            Self::Outcome(reply) => {
                let _gone = reply.send(Err(error));
            }
        }
    }
}
