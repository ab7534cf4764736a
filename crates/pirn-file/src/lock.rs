//! Locks on files, which hold between processes.

use std::fs::{File, OpenOptions, TryLockError};
use std::io;
use std::path::Path;
use std::time::{Duration, Instant};

/// How often a lock is tried while somebody else holds it: the system offers no wait with a limit.
const RETRY: Duration = Duration::from_millis(5);

/// A lock between processes that is held. Dropping it lets it go, and so does the end of the process in any way.
///
/// It is a file of its own that only its owner can open: one that is replaced could not hold a lock. The file stays when the
/// lock goes, because removing it would let two processes lock two files.
#[derive(Debug)]
pub struct FileLock {
    #[cfg_attr(
        not(unix),
        expect(dead_code, reason = "held, and shared on Unix alone")
    )]
    file: File,
}

impl FileLock {
    /// Takes the lock where it is free; `None` where somebody holds it. Makes the file, whose folder must be there; a link is
    /// not followed.
    pub fn try_acquire(path: &Path) -> io::Result<Option<Self>> {
        let file = options().open(path)?;
        match file.try_lock() {
            Ok(()) => Ok(Some(Self { file })),
            Err(TryLockError::WouldBlock) => Ok(None),
            Err(TryLockError::Error(error)) => Err(error),
        }
    }

    /// The lock as a descriptor that holds it, too: it is free when all of them are closed, in whichever process.
    #[cfg(unix)]
    pub fn share(&self) -> io::Result<std::os::fd::OwnedFd> {
        Ok(self.file.try_clone()?.into())
    }

    /// Takes the lock, and waits on this thread until `limit` has passed; then `None`.
    pub fn acquire(path: &Path, limit: Duration) -> io::Result<Option<Self>> {
        let start = Instant::now();
        loop {
            if let Some(lock) = Self::try_acquire(path)? {
                return Ok(Some(lock));
            }
            if start.elapsed() >= limit {
                return Ok(None);
            }
            std::thread::sleep(RETRY);
        }
    }
}

fn options() -> OpenOptions {
    let mut options = OpenOptions::new();
    options.write(true).create(true).truncate(false);
    #[cfg(unix)]
    {
        use std::os::unix::fs::OpenOptionsExt as _;
        let flags = rustix::fs::OFlags::NOFOLLOW.bits().cast_signed();
        options.mode(0o600).custom_flags(flags);
    }
    options
}

#[cfg(test)]
mod tests;
