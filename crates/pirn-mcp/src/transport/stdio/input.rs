//! What a child has read of its input, seen from the writing side.

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

#[cfg(unix)]
use std::os::fd::{AsFd as _, OwnedFd};

use tokio::process::ChildStdin;

/// Whether a child took anything of what was written to it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum InputUse {
    /// It read something, or this system does not tell.
    Read,
    /// It never read a byte.
    Unread,
}

/// Tells what a child has read, also after its end: what it left lies in the pipe. Cheap to clone.
#[derive(Debug, Clone, Default)]
pub(super) struct InputGauge {
    shared: Arc<Shared>,
}

#[derive(Debug, Default)]
struct Shared {
    written: AtomicU64,
    pipe: Mutex<Pipe>,
}

#[derive(Debug, Default)]
enum Pipe {
    /// The writing end once more. While it is open the child does not meet the end of its input.
    #[cfg(unix)]
    Open(OwnedFd),
    /// As it was when the pipe was let go; nothing where it was never there.
    #[default]
    Unknown,
    Released(InputUse),
}

impl InputGauge {
    /// A gauge of the pipe behind `stdin`.
    pub(super) fn of(stdin: Option<&ChildStdin>) -> Self {
        let gauge = Self::default();
        #[cfg(unix)]
        if let Some(pipe) = stdin.and_then(|stdin| stdin.as_fd().try_clone_to_owned().ok()) {
            *gauge.pipe() = Pipe::Open(pipe);
        }
        #[cfg(not(unix))]
        let _no_gauge_here = stdin;
        gauge
    }

    /// Counts what was written.
    pub(super) fn wrote(&self, bytes: usize) {
        let bytes = u64::try_from(bytes).unwrap_or(u64::MAX);
        self.shared.written.fetch_add(bytes, Ordering::Relaxed);
    }

    /// What the child has made of its input so far, or up to the release.
    pub(super) fn input_use(&self) -> InputUse {
        self.measure(&self.pipe())
    }

    /// Lets go of the pipe, so that the child can meet the end of its input.
    pub(super) fn release(&self) {
        let mut pipe = self.pipe();
        *pipe = Pipe::Released(self.measure(&pipe));
    }

    fn measure(&self, pipe: &Pipe) -> InputUse {
        let unread = match pipe {
            #[cfg(unix)]
            Pipe::Open(pipe) => rustix::io::ioctl_fionread(pipe).unwrap_or(0),
            Pipe::Unknown => 0,
            Pipe::Released(input_use) => return *input_use,
        };
        if self.shared.written.load(Ordering::Relaxed) > unread {
            InputUse::Read
        } else {
            InputUse::Unread
        }
    }

    fn pipe(&self) -> std::sync::MutexGuard<'_, Pipe> {
        self.shared
            .pipe
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
    }
}
