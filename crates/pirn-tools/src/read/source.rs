//! Reading a file of any kind without ever blocking for good.

use std::fs::File;
use std::io::{self, Read};
use std::path::Path;

use crate::blocking::Stop;

/// How long to wait for a pipe before looking at whether the call was stopped.
#[cfg(unix)]
const PIPE_POLL_MS: i64 = 50;

/// A file being read. A regular file ends at the size it had at opening, so that a file that is being written has an end; files
/// that report no size (`/proc`), pipes and devices are read to their end. Reading fails when the call is stopped.
pub(super) struct Source<'a> {
    file: File,
    remaining: u64,
    waits: bool,
    stop: &'a Stop,
}

impl<'a> Source<'a> {
    pub(super) fn open(path: &Path, stop: &'a Stop) -> io::Result<Self> {
        let file = open_without_waiting(path)?;
        let metadata = file.metadata()?;
        if metadata.is_dir() {
            return Err(io::ErrorKind::IsADirectory.into());
        }
        let sized = metadata.is_file() && metadata.len() > 0;
        let remaining = if sized { metadata.len() } else { u64::MAX };
        Ok(Self { file, remaining, waits: !metadata.is_file(), stop })
    }
}

impl Read for Source<'_> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        loop {
            if self.stop.is_set() {
                return Err(io::Error::other(crate::arguments::ABORTED));
            }
            if self.waits && !is_ready(&self.file)? {
                continue;
            }
            let wanted = usize::try_from(self.remaining).unwrap_or(usize::MAX).min(buffer.len());
            match self.file.read(buffer.get_mut(..wanted).unwrap_or_default()) {
                Ok(count) => {
                    self.remaining -= count as u64;
                    return Ok(count);
                }
                Err(error) if error.kind() == io::ErrorKind::WouldBlock && self.waits => {}
                Err(error) => return Err(error),
            }
        }
    }
}

/// Opening a pipe would otherwise wait for its other end.
#[cfg(unix)]
fn open_without_waiting(path: &Path) -> io::Result<File> {
    use rustix::fs::{Mode, OFlags};
    let flags = OFlags::RDONLY | OFlags::NONBLOCK | OFlags::CLOEXEC;
    Ok(rustix::fs::open(path, flags, Mode::empty())?.into())
}

#[cfg(not(unix))]
fn open_without_waiting(path: &Path) -> io::Result<File> {
    File::open(path)
}

/// Waits a moment until there is something to read, or the end.
#[cfg(unix)]
fn is_ready(file: &File) -> io::Result<bool> {
    use rustix::event::{PollFd, PollFlags, Timespec, poll};
    let mut watched = [PollFd::new(file, PollFlags::IN)];
    let timeout = Timespec { tv_sec: 0, tv_nsec: PIPE_POLL_MS * 1_000_000 };
    Ok(poll(&mut watched, Some(&timeout))? > 0)
}

#[cfg(not(unix))]
fn is_ready(_file: &File) -> io::Result<bool> {
    Ok(true)
}
