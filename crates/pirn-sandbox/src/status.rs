//! How a child ended.

use std::fmt;

/// How a child ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum ExitStatus {
    /// It exited by itself with this code.
    Code(i32),
    /// This signal ended it.
    Signal(i32),
    /// Nobody knows: its supervisor was killed from outside.
    Lost,
}

impl ExitStatus {
    /// The code a shell would report: the exit code, or 128 plus the signal's number; `None` when nobody knows.
    pub fn shell_code(self) -> Option<i32> {
        match self {
            Self::Code(code) => Some(code),
            Self::Signal(signal) => Some(128 + signal),
            Self::Lost => None,
        }
    }

    /// Whether it exited with code 0.
    pub fn is_success(self) -> bool {
        self == Self::Code(0)
    }

    /// Reads a wait status as `waitpid` gives it.
    #[cfg(unix)]
    pub(crate) fn from_wait_status(raw: i32) -> Self {
        use std::os::unix::process::ExitStatusExt as _;
        let status = std::process::ExitStatus::from_raw(raw);
        match (status.code(), status.signal()) {
            (Some(code), _) => Self::Code(code),
            (None, Some(signal)) => Self::Signal(signal),
            (None, None) => Self::Lost,
        }
    }
}

impl fmt::Display for ExitStatus {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Code(code) => write!(formatter, "exit code {code}"),
            Self::Signal(signal) => write!(formatter, "signal {signal}"),
            Self::Lost => formatter.write_str("unknown end"),
        }
    }
}
