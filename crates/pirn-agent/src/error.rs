//! Why something could not be asked of a conversation.

use std::fmt;

use crate::machine::QueueFull;

/// Why something could not be asked of a conversation.
#[derive(Debug)]
pub enum AgentError {
    /// A run goes on.
    Busy,
    /// Too many messages wait to be said.
    QueueFull(QueueFull),
    /// The session has no entry of this id.
    UnknownEntry(String),
    /// The conversation could not be made shorter.
    Compaction(String),
    /// The session cannot be written.
    Session(pirn_session::Error),
    /// The conversation was closed.
    Closed,
}

impl fmt::Display for AgentError {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Busy => formatter.write_str(
                "the model is at work; steer it, let the message follow, or stop it first",
            ),
            Self::QueueFull(full) => full.fmt(formatter),
            Self::UnknownEntry(id) => write!(formatter, "the session has no entry `{id}`"),
            Self::Compaction(why) => formatter.write_str(why),
            Self::Session(error) => error.fmt(formatter),
            Self::Closed => formatter.write_str("the conversation was closed"),
        }
    }
}

impl std::error::Error for AgentError {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        match self {
            Self::Session(error) => error.source(),
            Self::Busy
            | Self::QueueFull(_)
            | Self::UnknownEntry(_)
            | Self::Compaction(_)
            | Self::Closed => None,
        }
    }
}

impl From<QueueFull> for AgentError {
    fn from(full: QueueFull) -> Self {
        Self::QueueFull(full)
    }
}

impl From<pirn_session::Error> for AgentError {
    fn from(error: pirn_session::Error) -> Self {
        Self::Session(error)
    }
}
