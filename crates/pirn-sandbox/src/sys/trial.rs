//! Trying out whether a child can be set up, without a program.

use std::io;
use std::os::fd::AsRawFd as _;
use std::os::unix::process::CommandExt as _;
use std::process::{Command, Stdio};

use super::launch::Launch;
use super::message::{Failure, Message, receive};
use super::start::{lifeline, split};

/// Why a child could not be set up.
#[derive(Debug)]
pub(crate) enum TrialError {
    /// Here it went wrong.
    Failed(Failure),
    /// It did not get that far.
    Io(io::Error),
}

/// Starts a child that does everything but exec, and waits for its end: some milliseconds.
pub(crate) fn try_out(mut launch: Launch) -> Result<(), TrialError> {
    let (ours, theirs) = lifeline().map_err(TrialError::Io)?;
    // Never executed.
    let mut command = Command::new("/");
    command
        .env_clear()
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::null());
    let end = theirs.as_raw_fd();
    // SAFETY: the closure runs between fork and exec and keeps to what is allowed there, see `start`.
    unsafe { command.pre_exec(move || split(end, &mut launch)) };
    let started = command.spawn();
    drop(theirs);
    let waited = match started {
        Ok(mut child) => child.wait().map(|_status| ()),
        Err(error) => Err(error),
    };
    while let Some((message, _listener)) = receive(&ours) {
        match message {
            Message::Ended(report) if report.wait_status == 0 => return Ok(()),
            Message::Failed(failure) => return Err(TrialError::Failed(failure)),
            Message::Ended(_) | Message::Listener => {}
        }
    }
    Err(TrialError::Io(waited.err().unwrap_or_else(|| {
        io::Error::other("the child ended before it was set up")
    })))
}
