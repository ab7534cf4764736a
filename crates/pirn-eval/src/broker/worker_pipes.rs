//! What leads to and from a worker: its frames and its two outputs.

use std::io;
use std::os::fd::AsFd;
use std::os::unix::net::UnixStream as StdUnixStream;

use pirn_sandbox::ChildOutput;
use tokio::io::{AsyncRead, AsyncReadExt as _};
use tokio::net::UnixStream;
use tokio::net::unix::{OwnedReadHalf, OwnedWriteHalf, pipe};

use super::line_writer::LineWriter;
use crate::frame::{LineReader, Stream};
use crate::limits::{OUTPUT_PIECE_BYTES, PIPE_BYTES_MAX};

/// An output of a worker.
pub(super) trait Source: AsyncRead + AsFd + Send + Unpin {}

impl Source for ChildOutput {}
impl Source for pipe::Receiver {}

/// The reading end of one output. Empty after its end.
pub(super) struct OutputPipe {
    source: Option<Box<dyn Source>>,
    buffer: Vec<u8>,
}

impl OutputPipe {
    pub(super) fn new(source: Option<Box<dyn Source>>) -> Self {
        Self {
            source,
            buffer: Vec::new(),
        }
    }

    pub(super) fn is_open(&self) -> bool {
        self.source.is_some()
    }

    /// Waits for bytes, which [`OutputPipe::take`] gives. Never ends when the pipe has ended.
    async fn fill(&mut self) {
        let Some(source) = &mut self.source else {
            return std::future::pending().await;
        };
        self.buffer.reserve(OUTPUT_PIECE_BYTES);
        if matches!(source.read_buf(&mut self.buffer).await, Ok(0) | Err(_)) {
            self.source = None;
        }
    }

    /// Reads what is there at this moment without waiting.
    pub(super) fn fill_now(&mut self) {
        while let Some(source) = &self.source
            && self.buffer.len() < PIPE_BYTES_MAX
        {
            self.buffer.reserve(OUTPUT_PIECE_BYTES);
            let spare = rustix::buffer::spare_capacity(&mut self.buffer);
            match rustix::io::read(source.as_fd(), spare) {
                Ok(1..) | Err(rustix::io::Errno::INTR) => {}
                Err(rustix::io::Errno::AGAIN) => return,
                Ok(0) | Err(_) => self.source = None,
            }
        }
    }

    /// Gives what was read to `use_bytes`.
    pub(super) fn take(&mut self, use_bytes: impl FnOnce(&[u8])) {
        if !self.buffer.is_empty() {
            use_bytes(&self.buffer);
            self.buffer.clear();
            self.buffer.shrink_to(2 * OUTPUT_PIECE_BYTES);
        }
    }
}

/// Which of the pipes had something to read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum PipeEvent {
    /// Bytes of frames, or their end.
    Frames,
    /// Bytes of an output, or its end.
    Output(Stream),
}

/// What leads to and from a worker.
pub(super) struct WorkerPipes {
    pub(super) frames: LineReader<OwnedReadHalf>,
    pub(super) are_frames_open: bool,
    pub(super) inbox: LineWriter<OwnedWriteHalf>,
    pub(super) stdout: OutputPipe,
    pub(super) stderr: OutputPipe,
}

impl WorkerPipes {
    pub(super) fn new(
        frames: StdUnixStream,
        stdout: Option<Box<dyn Source>>,
        stderr: Option<Box<dyn Source>>,
    ) -> io::Result<Self> {
        frames.set_nonblocking(true)?;
        let (reader, writer) = UnixStream::from_std(frames)?.into_split();
        Ok(Self {
            frames: LineReader::new(reader),
            are_frames_open: true,
            inbox: LineWriter::new(writer),
            stdout: OutputPipe::new(stdout),
            stderr: OutputPipe::new(stderr),
        })
    }

    /// Whether nothing can come any more.
    pub(super) fn have_ended(&self) -> bool {
        !self.are_frames_open && !self.stdout.is_open() && !self.stderr.is_open()
    }

    /// Waits for what comes first, and writes meanwhile what the worker could not take yet. `None`: some was written. Nothing
    /// is lost when it is dropped before it ends.
    pub(super) async fn event(&mut self, reads: Reads) -> Option<PipeEvent> {
        let is_clogged = self.inbox.is_clogged();
        let Self {
            frames,
            are_frames_open,
            inbox,
            stdout,
            stderr,
        } = self;
        let may_read = reads == Reads::Running;
        tokio::select! {
            filled = frames.fill(), if may_read && *are_frames_open => {
                *are_frames_open = filled.is_ok();
                Some(PipeEvent::Frames)
            }
            () = stdout.fill(), if may_read => Some(PipeEvent::Output(Stream::Stdout)),
            () = stderr.fill(), if may_read => Some(PipeEvent::Output(Stream::Stderr)),
            _worker_may_be_gone = inbox.flush(), if is_clogged => None,
            else => std::future::pending().await,
        }
    }
}

/// Whether reading goes on or waits for the host.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Reads {
    Running,
    Paused,
}
