//! Why a child could not be started.

use std::ffi::OsStr;
use std::io;
use std::path::{Path, PathBuf};

/// What a caller may want to tell apart.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum ErrorKind {
    /// There is no such program.
    ProgramNotFound,
    /// The working directory does not exist or is no directory.
    WorkingDirectory,
    /// The program may not be executed.
    PermissionDenied,
    /// This system has no way to start children under supervision.
    Unsupported,
    /// Any other failure of the operating system.
    System,
}

/// Why a child could not be started.
#[derive(Debug, thiserror::Error)]
#[error("{message}")]
pub struct Error {
    kind: ErrorKind,
    message: String,
    source: Option<io::Error>,
}

impl Error {
    /// What kind of failure it was.
    pub fn kind(&self) -> ErrorKind {
        self.kind
    }

    /// Explains a failed start: the same error code may mean the program or its working directory.
    pub(crate) fn starting(
        program: &OsStr,
        directory: Option<&PathBuf>,
        source: io::Error,
    ) -> Self {
        if let Some(directory) = directory.filter(|directory| !directory.is_dir()) {
            return Self::working_directory(directory, source);
        }
        let program = program.display();
        let (kind, message) = match source.kind() {
            io::ErrorKind::NotFound => (
                ErrorKind::ProgramNotFound,
                format!("Program not found: {program}"),
            ),
            io::ErrorKind::PermissionDenied => (
                ErrorKind::PermissionDenied,
                format!("Not allowed to execute {program}"),
            ),
            io::ErrorKind::Unsupported => (
                ErrorKind::Unsupported,
                format!("Cannot start {program} on this system: {source}"),
            ),
            _ => (
                ErrorKind::System,
                format!("Cannot start {program}: {source}"),
            ),
        };
        Self {
            kind,
            message,
            source: Some(source),
        }
    }

    fn working_directory(directory: &Path, source: io::Error) -> Self {
        Self {
            kind: ErrorKind::WorkingDirectory,
            message: format!("Working directory does not exist: {}", directory.display()),
            source: Some(source),
        }
    }
}
