//! What is kept of a command's output: its end for eyes, the whole for programs, and the whole in a file where that is longer
//! than its reader gets.

use std::path::PathBuf;

use pirn_file::{SpillFile, SpillFolder};
use tokio::task::{JoinHandle, spawn_blocking};

use crate::limits::{BYTES_MAX, LINES_MAX, Tail, keep_tail};
use crate::reader::{Reader, SCRIPT_RESULT_BYTES_MAX};

/// What is remembered of an output that is longer than its reader gets: far more than the limits for models.
const END_BYTES: usize = 512 * 1024;

/// The output of one command.
pub(super) struct Capture {
    reader: Reader,
    spill: SpillFolder,
    /// The whole output as long as its reader may get it, then its end, at least [`END_BYTES`] of it.
    kept: Vec<u8>,
    is_whole: bool,
    total_bytes: u64,
    line_feeds: u64,
    /// Bytes since the last line feed.
    open_line_bytes: u64,
    /// Bytes of the last line that a line feed ended.
    last_line_bytes: u64,
    file: FullOutput,
    /// What came since it was opened and nobody has begun to write.
    unwritten: Vec<u8>,
}

/// Where the output is kept.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct KeptOutput {
    pub(super) path: PathBuf,
    /// Whether all of it had room.
    pub(super) is_whole: bool,
}

/// The file with the whole output.
enum FullOutput {
    /// Not needed so far.
    Unneeded,
    Open(SpillFile),
    /// Something is being written, on a thread that may wait; also when nobody waits for it any more.
    Writing(JoinHandle<Result<SpillFile, String>>),
    /// Could not be written to the end; the reason.
    Failed(String),
}

impl Capture {
    pub(super) fn new(reader: Reader, spill: SpillFolder) -> Self {
        Self {
            reader,
            spill,
            kept: Vec::new(),
            is_whole: true,
            total_bytes: 0,
            line_feeds: 0,
            open_line_bytes: 0,
            last_line_bytes: 0,
            file: FullOutput::Unneeded,
            unwritten: Vec::new(),
        }
    }

    /// Adds output; what is too much goes into the file alone.
    pub(super) async fn push(&mut self, chunk: &[u8]) {
        self.count(chunk);
        self.kept.extend_from_slice(chunk);
        let is_open = !matches!(self.file, FullOutput::Unneeded);
        if is_open {
            self.unwritten.extend_from_slice(chunk);
        } else if self.is_over_limits() {
            self.file = self.open_file();
        }
        self.is_whole &= self.kept.len() <= self.kept_max();
        if !self.is_whole && self.kept.len() > 2 * END_BYTES {
            self.kept.drain(..self.kept.len() - END_BYTES);
        }
        if is_open {
            self.append_to_file().await;
        }
    }

    /// The most output that is kept whole.
    fn kept_max(&self) -> usize {
        match self.reader {
            Reader::Eyes => END_BYTES,
            Reader::Program => SCRIPT_RESULT_BYTES_MAX,
        }
    }

    /// The end of the output, within the limits for models.
    pub(super) fn tail(&self) -> Tail<'_> {
        // Cutting within the kept end is the same as cutting the whole.
        keep_tail(&self.kept)
    }

    /// All lines of the output, also an open last one.
    pub(super) fn total_lines(&self) -> u64 {
        self.line_feeds + u64::from(self.open_line_bytes > 0)
    }

    /// The length of the last line.
    pub(super) fn last_line_bytes(&self) -> u64 {
        if self.open_line_bytes > 0 {
            self.open_line_bytes
        } else {
            self.last_line_bytes
        }
    }

    /// The whole output; `None` where it is longer than its reader may get.
    pub(super) fn whole(&self) -> Option<String> {
        self.is_whole
            .then(|| String::from_utf8_lossy(&self.kept).into_owned())
    }

    /// The size of the whole output.
    pub(super) fn total_bytes(&self) -> u64 {
        self.total_bytes
    }

    /// Finishes the file with the output. `None` when there is none; the error is a sentence for the model.
    pub(super) async fn full_output(&mut self) -> Result<Option<KeptOutput>, String> {
        self.append_to_file().await;
        self.written().await;
        match std::mem::replace(&mut self.file, FullOutput::Unneeded) {
            FullOutput::Unneeded | FullOutput::Writing(_) => Ok(None),
            FullOutput::Open(file) => Ok(Some(KeptOutput {
                path: file.path().to_owned(),
                is_whole: file.is_whole(),
            })),
            FullOutput::Failed(reason) => Err(reason),
        }
    }

    fn count(&mut self, chunk: &[u8]) {
        self.total_bytes += chunk.len() as u64;
        let mut line_start = 0;
        for at in memchr::memchr_iter(b'\n', chunk) {
            self.line_feeds += 1;
            self.last_line_bytes = self.open_line_bytes + (at - line_start) as u64;
            self.open_line_bytes = 0;
            line_start = at + 1;
        }
        self.open_line_bytes += (chunk.len() - line_start) as u64;
    }

    /// Whether the reader gets less than the whole.
    fn is_over_limits(&self) -> bool {
        match self.reader {
            Reader::Eyes => {
                self.total_bytes > BYTES_MAX as u64 || self.total_lines() > LINES_MAX as u64
            }
            Reader::Program => self.total_bytes > SCRIPT_RESULT_BYTES_MAX as u64,
        }
    }

    /// Opens the file and writes what there is so far, which is all still in memory.
    fn open_file(&self) -> FullOutput {
        let (spill, content) = (self.spill.clone(), self.kept.clone());
        FullOutput::Writing(spawn_blocking(move || {
            let mut file = spill.create("pirn-bash-", "log")?;
            file.append(&content)?;
            Ok(file)
        }))
    }

    /// Begins to write what is not written yet. Where this is dropped before, the next time does it.
    async fn append_to_file(&mut self) {
        self.written().await;
        let chunk = std::mem::take(&mut self.unwritten);
        self.file = match std::mem::replace(&mut self.file, FullOutput::Unneeded) {
            FullOutput::Open(mut file) => FullOutput::Writing(spawn_blocking(move || {
                file.append(&chunk)?;
                Ok(file)
            })),
            other => other,
        };
    }

    /// Waits until nothing is being written.
    async fn written(&mut self) {
        if let FullOutput::Writing(writing) = &mut self.file {
            self.file = match writing.await {
                Ok(Ok(file)) => FullOutput::Open(file),
                Ok(Err(reason)) => FullOutput::Failed(reason),
                Err(panic) => FullOutput::Failed(panic.to_string()),
            };
        }
    }
}

#[cfg(test)]
mod tests;
