//! Which form of the protocol a server is spoken to in. Nothing else decides it: not the transports, not the life cycle.
//!
//! A server that is not known is asked (`server/discover`), and spoken to in the older way where it has no answer to that. One
//! that is known is spoken to as last time. Where that fails, and the failure may come from the way of speaking, the other way
//! is tried once. So a server is greeted at most twice in an attempt, and a process that ends before it has read anything is
//! not started a second time: it cannot have ended because of what it was told.

use super::Protocol;
use super::protocol_cache::ServerMemory;
use crate::error::{Error, ErrorKind, is_transient};

#[cfg(test)]
mod tests;

/// How a server is spoken to first.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Greeting {
    /// It is asked what it speaks.
    Probe,
    /// It is spoken to in this way.
    In(Protocol),
}

/// Why a greeting failed.
#[derive(Debug)]
pub(super) struct Refusal {
    pub(super) error: Error,
    pub(super) cause: RefusalCause,
    /// Whether something else may listen at the address: a server of the HTTP of 2024.
    pub(super) suggests_events: bool,
}

/// What a failed greeting says about the way of speaking.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum RefusalCause {
    /// Nothing: there was no server, or it ended before it read a word.
    Elsewhere,
    /// The server answered as only servers of the newer protocol do.
    NewerProtocol,
    /// It was spoken to in one way only, and the other may work.
    OneWay,
    /// It was spoken to in both ways already.
    BothWays,
}

impl Refusal {
    /// A failure that no other way of speaking helps with.
    pub(super) fn elsewhere(error: Error) -> Self {
        Self {
            error,
            cause: RefusalCause::Elsewhere,
            suggests_events: false,
        }
    }

    /// The way of speaking to try next.
    fn alternative(&self, greeting: Greeting) -> Option<Protocol> {
        let kind = self.error.kind();
        match greeting {
            Greeting::Probe if is_settled(kind) => None,
            Greeting::Probe => match self.cause {
                RefusalCause::Elsewhere | RefusalCause::BothWays => None,
                RefusalCause::NewerProtocol => Some(Protocol::Modern),
                // Some servers end because of a request they do not know, or speak of older versions only.
                RefusalCause::OneWay => Some(Protocol::Legacy),
            },
            // After a time-out it had all the time it may have.
            Greeting::In(_) if !self.casts_doubt() || *kind == ErrorKind::Timeout => None,
            // No server ends because of `initialize`.
            Greeting::In(Protocol::Legacy) if *kind == ErrorKind::Closed => None,
            Greeting::In(Protocol::Legacy) => Some(Protocol::Modern),
            Greeting::In(Protocol::Modern) => Some(Protocol::Legacy),
        }
    }

    /// Whether what is remembered of the server may be wrong.
    fn casts_doubt(&self) -> bool {
        self.cause != RefusalCause::Elsewhere && may_be_the_protocol(self.error.kind())
    }
}

/// Greets a server in the way it is known to understand, else asks, and tries the other way once where that may help.
pub(super) async fn negotiate<T, F>(
    memory: &ServerMemory,
    mut greet: impl FnMut(Greeting) -> F,
) -> Result<T, Refusal>
where
    F: Future<Output = Result<T, Refusal>>,
{
    let known = memory.get().await;
    let greeting = known.map_or(Greeting::Probe, Greeting::In);
    let refusal = match greet(greeting).await {
        Ok(connection) => return Ok(connection),
        Err(refusal) => refusal,
    };
    if known.is_some() && refusal.casts_doubt() {
        memory.forget().await;
    }
    let Some(other) = refusal.alternative(greeting) else {
        return Err(refusal);
    };
    match (greet(Greeting::In(other)).await, greeting) {
        (Ok(connection), _) => Ok(connection),
        (Err(second), Greeting::Probe) => Err(second),
        // What the server answers to the way it was known to understand says more.
        (Err(_), Greeting::In(_)) => Err(refusal),
    }
}

/// Whether a server may have refused because it was spoken to in the wrong way.
fn may_be_the_protocol(kind: &ErrorKind) -> bool {
    match kind {
        ErrorKind::Closed | ErrorKind::Protocol | ErrorKind::Timeout | ErrorKind::Server { .. } => {
            true
        }
        ErrorKind::Http { .. } => !is_transient(kind),
        ErrorKind::Start
        | ErrorKind::Config
        | ErrorKind::UnknownServer
        | ErrorKind::Disabled
        | ErrorKind::NeedsAuthorization
        | ErrorKind::Authorization
        | ErrorKind::Cancelled => false,
    }
}

/// Whether a server that was asked what it speaks has said, or shown, that no other question helps.
fn is_settled(kind: &ErrorKind) -> bool {
    match kind {
        ErrorKind::NeedsAuthorization
        | ErrorKind::Authorization
        | ErrorKind::Config
        | ErrorKind::Start
        | ErrorKind::Timeout => true,
        ErrorKind::Closed
        | ErrorKind::Protocol
        | ErrorKind::Server { .. }
        | ErrorKind::Http { .. }
        | ErrorKind::UnknownServer
        | ErrorKind::Disabled
        | ErrorKind::Cancelled => false,
    }
}
