//! Splitting a stream of bytes into lines of bounded length.

use std::pin::pin;
use std::task::Poll;
use std::time::{Duration, Instant};

use futures_util::poll;
use tokio::io::{AsyncRead, AsyncReadExt as _};

use crate::limits::FRAME_BYTES_MAX;

/// Free space before each read: the size of a Linux pipe.
const READ_BYTES: usize = 64 * 1024;

/// Free space in the middle of a long line, so that it does not take a hundred reads.
const LONG_READ_BYTES: usize = 512 * 1024;

/// How long a reader stays awake for bytes. A program that calls in a loop has its next call on the way by then, and waking a
/// sleeping processor of a virtual machine takes 30 µs alone.
const AWAKE: Duration = Duration::from_micros(50);

/// A buffer above this size is given back when it is empty.
const KEEP_BYTES: usize = 256 * 1024;

/// A line is longer than [`FRAME_BYTES_MAX`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct LineTooLong;

/// The other side has closed the stream, or it broke.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct SourceEnded;

/// Reads a stream and gives its lines.
#[derive(Debug)]
pub(crate) struct LineReader<S> {
    source: S,
    buffer: Vec<u8>,
    /// Where the first line that was not given begins.
    start: usize,
    /// Up to where there is no newline after `start`.
    searched: usize,
}

impl<S> LineReader<S> {
    pub(crate) fn new(source: S) -> Self {
        Self {
            source,
            buffer: Vec::new(),
            start: 0,
            searched: 0,
        }
    }

    /// The next whole line with its newline, if one is there. The length is tested after splitting and without the newline.
    pub(crate) fn next_line(&mut self) -> Result<Option<&[u8]>, LineTooLong> {
        let rest = self.buffer.get(self.searched..).unwrap_or_default();
        let Some(offset) = memchr::memchr(b'\n', rest) else {
            self.searched = self.buffer.len();
            return if self.searched - self.start > FRAME_BYTES_MAX {
                Err(LineTooLong)
            } else {
                Ok(None)
            };
        };
        let start = self.start;
        let newline = self.searched + offset;
        if newline - start > FRAME_BYTES_MAX {
            return Err(LineTooLong);
        }
        self.start = newline + 1;
        self.searched = self.start;
        Ok(self.buffer.get(start..=newline))
    }

    /// Makes room for the next read.
    fn make_room(&mut self) {
        if self.start == self.buffer.len() {
            self.buffer.clear();
            if self.buffer.capacity() > KEEP_BYTES {
                self.buffer = Vec::new();
            }
        } else if self.start > 0 {
            self.buffer.drain(..self.start);
        }
        self.searched -= self.start;
        self.start = 0;
        let room = if self.buffer.len() < READ_BYTES {
            READ_BYTES
        } else {
            LONG_READ_BYTES
        };
        self.buffer.reserve(room);
    }
}

impl<S: AsyncRead + Unpin> LineReader<S> {
    /// Waits for more bytes. Nothing is lost when it is dropped before it ends.
    pub(crate) async fn fill(&mut self) -> Result<(), SourceEnded> {
        self.make_room();
        match awake(AWAKE, self.source.read_buf(&mut self.buffer)).await {
            Ok(0) | Err(_) => Err(SourceEnded),
            Ok(_) => Ok(()),
        }
    }
}

/// Waits for `future`, at first for `time` without sleeping; other tasks and processes work meanwhile.
async fn awake<F: Future>(time: Duration, future: F) -> F::Output {
    let mut future = pin!(future);
    let sleeps_at = Instant::now() + time;
    while Instant::now() < sleeps_at {
        if let Poll::Ready(output) = poll!(future.as_mut()) {
            return output;
        }
        std::thread::yield_now();
        tokio::task::yield_now().await;
    }
    future.await
}
