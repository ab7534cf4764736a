//! Children that set something up and end: no program.

use std::io;
use std::os::fd::{AsRawFd as _, RawFd};
use std::os::unix::net::UnixStream;
use std::os::unix::process::CommandExt as _;
use std::process::{Command, Stdio};

use super::launch::Launch;
use super::message::{Failure, Message, receive};
use super::start::{Start, lifeline, split};

/// Why a child could not be set up.
#[derive(Debug)]
pub(crate) enum TrialError {
    /// Here it went wrong.
    Failed(Failure),
    /// It did not get that far.
    Io(io::Error),
}

/// Starts a child that does everything but exec, and waits for its end: some milliseconds.
pub(crate) fn try_out(launch: Launch) -> Result<(), TrialError> {
    let mut start = Start::trial(launch).map_err(TrialError::Io)?;
    let (messages, waited) = in_child(move |lifeline| Err(split(&mut start, lifeline)))?;
    while let Some((message, _descriptor)) = receive(&messages) {
        match message {
            Message::Ended(report) if report.wait_status == 0 => return Ok(()),
            Message::Failed(failure) => return Err(TrialError::Failed(failure)),
            Message::Ended(_) | Message::PassedDescriptor(_) => {}
        }
    }
    Err(TrialError::Io(waited.err().unwrap_or_else(|| {
        io::Error::other("the child ended before it was set up")
    })))
}

/// Forks a child that only sets something up, and waits for its end. Gives what it wrote to its end of the lifeline, and
/// whether it could be started. `set_up` runs after the fork, so on system calls alone.
pub(super) fn in_child(
    mut set_up: impl FnMut(RawFd) -> io::Result<()> + Send + Sync + 'static,
) -> Result<(UnixStream, io::Result<()>), TrialError> {
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
    unsafe { command.pre_exec(move || set_up(end)) };
    let started = command.spawn();
    drop(theirs);
    let waited = match started {
        Ok(mut child) => child.wait().map(|_status| ()),
        Err(error) => Err(error),
    };
    Ok((ours, waited))
}
