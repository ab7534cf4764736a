//! The error of this crate.

use std::fmt;

/// What went wrong with a VM itself, as opposed to with a script.
#[derive(Debug)]
pub struct Error {
    kind: ErrorKind,
    detail: String,
}

/// Kinds of [`Error`] that a caller may treat differently.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum ErrorKind {
    /// The engine could not be set up on this machine.
    Engine,
    /// There is no room for another VM.
    Exhausted,
    /// The call does not fit the VM's state.
    State,
    /// The bytes are not a snapshot, or not one of this artifact.
    Snapshot,
}

impl Error {
    pub(crate) fn new(kind: ErrorKind, detail: impl Into<String>) -> Self {
        Self {
            kind,
            detail: detail.into(),
        }
    }

    /// What kind of error it is.
    pub fn kind(&self) -> ErrorKind {
        self.kind
    }
}

impl fmt::Display for Error {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let what = match self.kind {
            ErrorKind::Engine => "the script engine cannot start",
            ErrorKind::Exhausted => "no room for another script VM",
            ErrorKind::State => "the VM is not in the right state",
            ErrorKind::Snapshot => "not a snapshot this build can resume",
        };
        write!(formatter, "{what}: {}", self.detail)
    }
}

impl std::error::Error for Error {}
