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
    /// The confinement that the policy requires cannot be had.
    Confinement,
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

    /// A confinement that cannot be had; `message` says why and what to do.
    pub(crate) fn confinement(message: String) -> Self {
        Self {
            kind: ErrorKind::Confinement,
            message,
            source: None,
        }
    }

    /// A confinement that the operating system could not prepare.
    #[cfg(target_os = "linux")]
    pub(crate) fn preparing(source: &io::Error) -> Self {
        Self::confinement(format!("A sandbox cannot be prepared: {source}"))
    }

    /// A directory that exists but cannot be entered from inside a sandbox.
    #[cfg(target_os = "linux")]
    pub(crate) fn outside_sandbox(directory: &Path) -> Self {
        Self {
            kind: ErrorKind::WorkingDirectory,
            message: format!(
                "Working directory cannot be entered inside the sandbox: {}",
                directory.display()
            ),
            source: None,
        }
    }

    /// A program that exists, but not inside its sandbox.
    #[cfg(unix)]
    pub(crate) fn hidden_program(program: &OsStr, source: io::Error) -> Self {
        Self {
            kind: ErrorKind::ProgramNotFound,
            message: format!(
                "Program is not visible inside the sandbox: {}",
                program.display()
            ),
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
