//! Locks between processes: on a file, held by the system for as long as the process holds the file open, so that a process
//! that dies leaves no lock behind.

use std::fs::{File, OpenOptions, TryLockError};
use std::io;
use std::path::Path;
use std::time::{Duration, Instant};

/// A lock that is held. Dropping it lets it go; the file stays, because removing it would let two processes lock two files.
#[derive(Debug)]
pub(super) struct FileLock {
    _file: File,
}

impl FileLock {
    /// Takes the lock where it is free. The folder must be there.
    pub(super) fn try_acquire(path: &Path) -> io::Result<Option<Self>> {
        let file = options().open(path)?;
        match file.try_lock() {
            Ok(()) => Ok(Some(Self { _file: file })),
            Err(TryLockError::WouldBlock) => Ok(None),
            Err(TryLockError::Error(error)) => Err(error),
        }
    }

    /// Takes the lock, waiting on this thread until `limit` has passed; then `None`.
    pub(super) fn acquire_blocking(
        path: &Path,
        limit: Duration,
        poll: Duration,
    ) -> io::Result<Option<Self>> {
        let start = Instant::now();
        loop {
            if let Some(lock) = Self::try_acquire(path)? {
                return Ok(Some(lock));
            }
            if start.elapsed() >= limit {
                return Ok(None);
            }
            std::thread::sleep(poll);
        }
    }
}

fn options() -> OpenOptions {
    let mut options = OpenOptions::new();
    options.write(true).create(true).truncate(false);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    options
}
