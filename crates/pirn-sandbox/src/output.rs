//! The reading end of a child's output.

use std::io;
use std::pin::Pin;
use std::task::{Context, Poll};

use tokio::io::{AsyncRead, AsyncReadExt as _, ReadBuf};

#[cfg(unix)]
type Source = tokio::net::unix::pipe::Receiver;
#[cfg(not(unix))]
type Source = tokio::io::Empty;

/// Bytes read at a time by [`ChildOutput::read_bounded`] and when draining: the size of a Linux pipe.
const CHUNK_BYTES: usize = 64 * 1024;

/// The reading end of a child's output. It ends when the last process that holds the other end is gone.
#[derive(Debug)]
pub struct ChildOutput {
    source: Source,
}

/// What [`ChildOutput::read_bounded`] read and kept.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CapturedOutput {
    /// The first bytes of the output, up to the bound.
    pub bytes: Vec<u8>,
    /// Bytes that were read and thrown away after the limit.
    pub dropped_bytes: u64,
}

impl ChildOutput {
    #[cfg(unix)]
    pub(crate) fn new(reader: io::PipeReader) -> io::Result<Self> {
        Ok(Self {
            source: Source::from_owned_fd(reader.into())?,
        })
    }

    /// Reads to the end and keeps at most `bytes_max` bytes, so that the child never blocks and memory stays bounded.
    pub async fn read_bounded(&mut self, bytes_max: usize) -> io::Result<CapturedOutput> {
        let mut captured = CapturedOutput {
            bytes: Vec::new(),
            dropped_bytes: 0,
        };
        let mut chunk = vec![0; CHUNK_BYTES];
        loop {
            let count = self.read(&mut chunk).await?;
            if count == 0 {
                return Ok(captured);
            }
            let kept = count.min(bytes_max - captured.bytes.len());
            captured.bytes.extend(chunk.iter().take(kept));
            captured.dropped_bytes += (count - kept) as u64;
        }
    }

    /// Reads to the end and keeps nothing.
    pub(crate) async fn drain(&mut self) {
        let mut chunk = vec![0; CHUNK_BYTES];
        while !matches!(self.read(&mut chunk).await, Ok(0) | Err(_)) {}
    }
}

/// For looking at a moment whether something is there; reading is better done through [`AsyncRead`].
#[cfg(unix)]
impl std::os::fd::AsFd for ChildOutput {
    fn as_fd(&self) -> std::os::fd::BorrowedFd<'_> {
        self.source.as_fd()
    }
}

impl AsyncRead for ChildOutput {
    fn poll_read(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        Pin::new(&mut self.source).poll_read(context, buffer)
    }
}
