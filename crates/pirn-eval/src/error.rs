//! Why a kernel, or a store of its state, could not do what it was asked for.

/// What a caller may want to tell apart.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum ErrorKind {
    /// What is stored cannot be read, is of another kind or a later version, or is damaged. It was not changed.
    StateUnreadable,
    /// The store has no room for what it should take.
    StateFull,
    /// The store could not write; what it held before is still there.
    StateNotWritten,
    /// The process between kernel and workers could not be started, or ended before it was ready.
    Broker,
    /// Pirn's own JavaScript engine could not be made.
    ScriptEngine,
    /// The workers cannot be confined as they should be, so none is started.
    Confinement,
}

/// Why a kernel, or a store of its state, could not do what it was asked for. How a *program* failed is in
/// [`EvalOutcome::failure`](crate::EvalOutcome::failure) instead.
#[derive(Debug, thiserror::Error)]
#[error("{message}")]
pub struct Error {
    kind: ErrorKind,
    message: String,
    source: Option<Box<dyn std::error::Error + Send + Sync>>,
}

impl Error {
    /// An error for people: what happened, to which file or program, and what to do.
    pub fn new(kind: ErrorKind, message: impl Into<String>) -> Self {
        Self {
            kind,
            message: message.into(),
            source: None,
        }
    }

    /// Adds what brought it about.
    #[must_use]
    pub fn because(mut self, source: impl Into<Box<dyn std::error::Error + Send + Sync>>) -> Self {
        self.source = Some(source.into());
        self
    }

    /// What kind of failure it was.
    pub fn kind(&self) -> ErrorKind {
        self.kind
    }
}
