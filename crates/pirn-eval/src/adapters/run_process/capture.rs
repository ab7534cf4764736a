//! What is kept of both output streams of a process.

use std::pin::pin;
use std::time::Duration;

use pirn_sandbox::{Child, ChildOutput};
use tokio::io::AsyncReadExt as _;

use super::{PROCESS_STREAM_BYTES_MAX, Stream};

/// Bytes read at a time: what a Linux pipe holds.
const CHUNK_BYTES: usize = 64 * 1024;

/// How long the rest of the output may take when everything that could write is dead. Only a process that could not be killed
/// takes longer than no time.
const REST_WAIT: Duration = Duration::from_millis(200);

/// What is kept of both output streams. What is more than is kept is read and thrown away, so that no process blocks.
pub(super) struct Captures {
    stdout: Capture,
    stderr: Capture,
}

impl Captures {
    /// Takes the streams of a child.
    pub(super) fn of(child: &mut Child) -> Self {
        Self {
            stdout: Capture::new(child.take_output()),
            stderr: Capture::new(child.take_error_output()),
        }
    }

    /// Reads both to their ends. Nothing is lost when it is dropped midway.
    pub(super) async fn read(&mut self) {
        tokio::join!(self.stdout.read(), self.stderr.read());
    }

    /// Reads until `work` is done.
    pub(super) async fn read_until<T>(&mut self, work: impl Future<Output = T>) -> T {
        let mut work = pin!(work);
        tokio::select! {
            output = &mut work => output,
            () = self.read() => work.await,
        }
    }

    /// Reads what is left when everything that could write is dead.
    pub(super) async fn read_rest(&mut self) {
        let _cut = tokio::time::timeout(REST_WAIT, self.read()).await;
    }

    /// Standard output and standard error as text.
    pub(super) fn into_streams(self) -> (Stream, Stream) {
        (self.stdout.into_stream(), self.stderr.into_stream())
    }
}

struct Capture {
    /// `None` at the end.
    source: Option<ChildOutput>,
    kept: Vec<u8>,
    is_cut: bool,
    chunk: Vec<u8>,
}

impl Capture {
    fn new(source: Option<ChildOutput>) -> Self {
        Self {
            source,
            kept: Vec::new(),
            is_cut: false,
            chunk: vec![0; CHUNK_BYTES],
        }
    }

    async fn read(&mut self) {
        while let Some(source) = &mut self.source {
            let count = match source.read(&mut self.chunk).await {
                Ok(0) | Err(_) => {
                    self.source = None;
                    return;
                }
                Ok(count) => count,
            };
            let room = PROCESS_STREAM_BYTES_MAX - self.kept.len();
            let new = self.chunk.get(..count).unwrap_or_default();
            self.is_cut |= count > room;
            self.kept.extend(new.iter().take(room));
        }
    }

    /// A character that the limit cut in two is left out; other bytes that are no UTF-8 are replaced.
    fn into_stream(mut self) -> Stream {
        if self.is_cut
            && let Err(error) = std::str::from_utf8(&self.kept)
            && error.error_len().is_none()
        {
            self.kept.truncate(error.valid_up_to());
        }
        let text = match String::from_utf8(self.kept) {
            Ok(text) => text,
            Err(error) => String::from_utf8_lossy(error.as_bytes()).into_owned(),
        };
        Stream {
            text,
            is_cut: self.is_cut,
        }
    }
}
