//! What a machine says is to be done, and what it is told of it.

use std::time::Duration;

use pirn_model::{AssistantMessage, FailureKind, Message, ToolCall};

/// What has to be done next.
#[derive(Debug, Clone, PartialEq)]
pub enum Step {
    /// Keep this message at the end of the conversation, and go on.
    Append(Message),
    /// Leave the reply that failed out of the conversation, and go on. It stays in the session.
    Omit(Box<AssistantMessage>),
    /// Ask the model, and give what it replies to [`Machine::replied`](super::Machine::replied).
    Ask,
    /// Make these calls, in parallel where they allow it, and give each result to [`Machine::called`](super::Machine::called).
    Call(Vec<ToolCall>),
    /// Wait this long before asking again, then call [`Machine::waited`](super::Machine::waited).
    Wait {
        /// How long to wait before it.
        delay: Duration,
        /// Which try comes then, from 1.
        attempt: u32,
        /// How many there are at most.
        attempts_max: u32,
        /// Why a further try is made.
        reason: String,
    },
    /// Make the conversation shorter, since the model cannot hold it, and say to [`Machine::compacted`](super::Machine::compacted) what became of it.
    Compact,
    /// Nothing more happens by itself.
    Settled(End),
}

/// What became of the attempt to make a conversation shorter.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Compacted {
    /// A summary stands for its beginning.
    Done,
    /// It is as it was.
    Failed {
        /// Why it is made shorter.
        reason: String,
    },
}

/// How a run ended.
#[derive(Debug, Clone, PartialEq)]
pub enum End {
    /// The model has said all.
    Done,
    /// Its reply reached the limit on its length.
    Length,
    /// The user stopped it.
    Aborted,
    /// It failed for good.
    Failed {
        /// What kind of failure it was.
        kind: FailureKind,
        /// What happened, for people and the model.
        message: String,
    },
    /// It would go on, but for the bound on turns.
    TurnsUsedUp,
    /// It would go on, but for the bound on its cost.
    CostUsedUp,
    /// A hook of the embedding program did not let the model be asked.
    Refused {
        /// Which hook, and why.
        message: String,
    },
    /// What was said cannot be written to the session.
    NotKept {
        /// Why nothing can be written.
        message: String,
    },
}
