//! Writing lines without waiting: one system call in the usual case, a bounded rest where the reader is slow.

use std::io;
use std::os::fd::{AsFd, BorrowedFd};

use tokio::net::unix::OwnedWriteHalf;
use tokio::net::unix::pipe;

/// A descriptor that lines are written to, without blocking the thread.
pub(super) trait Sink: Send {
    fn descriptor(&self) -> BorrowedFd<'_>;
    /// Waits until something can be written, or the other side is gone.
    fn writable(&self) -> impl Future<Output = io::Result<()>> + Send;
    /// Writes what fits, and learns when nothing does.
    fn try_write(&self, bytes: &[u8]) -> io::Result<usize>;
}

impl Sink for pipe::Sender {
    fn descriptor(&self) -> BorrowedFd<'_> {
        self.as_fd()
    }

    fn writable(&self) -> impl Future<Output = io::Result<()>> + Send {
        self.writable()
    }

    fn try_write(&self, bytes: &[u8]) -> io::Result<usize> {
        self.try_write(bytes)
    }
}

impl Sink for OwnedWriteHalf {
    fn descriptor(&self) -> BorrowedFd<'_> {
        let stream: &tokio::net::UnixStream = self.as_ref();
        stream.as_fd()
    }

    fn writable(&self) -> impl Future<Output = io::Result<()>> + Send {
        self.writable()
    }

    fn try_write(&self, bytes: &[u8]) -> io::Result<usize> {
        self.try_write(bytes)
    }
}

/// The other side does not read any more.
#[derive(Debug, Clone, Copy)]
pub(super) struct Closed;

/// A sink with what it could not take yet.
#[derive(Debug)]
pub(super) struct LineWriter<S> {
    sink: S,
    pending: Vec<u8>,
    written: usize,
}

impl<S: Sink> LineWriter<S> {
    pub(super) fn new(sink: S) -> Self {
        Self {
            sink,
            pending: Vec::new(),
            written: 0,
        }
    }

    /// Whether something waits. Sources that lead here should be paused then; what is sent all the same is kept.
    pub(super) fn is_clogged(&self) -> bool {
        !self.pending.is_empty()
    }

    /// Sends whole lines, or keeps what the reader does not take yet.
    pub(super) fn send(&mut self, lines: &[u8]) -> Result<(), Closed> {
        if self.is_clogged() {
            self.pending.extend_from_slice(lines);
            return Ok(());
        }
        let mut rest = lines;
        while !rest.is_empty() {
            // Not through tokio, which refuses before it has heard from the system that it could.
            match rustix::io::write(self.sink.descriptor(), rest) {
                Ok(count) => rest = rest.get(count..).unwrap_or_default(),
                Err(rustix::io::Errno::AGAIN) => {
                    self.pending.extend_from_slice(rest);
                    return Ok(());
                }
                Err(rustix::io::Errno::INTR) => {}
                Err(_) => return Err(Closed),
            }
        }
        Ok(())
    }

    /// Waits until some of what waits is written. Nothing is lost when it is dropped before it ends.
    pub(super) async fn flush(&mut self) -> Result<(), Closed> {
        self.sink.writable().await.map_err(|_| Closed)?;
        let rest = self.pending.get(self.written..).unwrap_or_default();
        match self.sink.try_write(rest) {
            Ok(count) => self.written += count,
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => {}
            Err(_) => return Err(Closed),
        }
        if self.written == self.pending.len() {
            self.pending = Vec::new();
            self.written = 0;
        }
        Ok(())
    }
}
