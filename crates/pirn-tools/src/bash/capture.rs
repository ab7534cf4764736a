//! What is kept of a command's output: its end for eyes, the whole for programs, and the whole in a file where that is longer
//! than its reader gets.

use std::path::PathBuf;

use pirn_file::create_unique;
use tokio::fs::File;
use tokio::io::AsyncWriteExt as _;
use tokio::task::spawn_blocking;

use crate::limits::{BYTES_MAX, LINES_MAX, Tail, keep_tail};
use crate::reader::{Reader, SCRIPT_RESULT_BYTES_MAX};

/// What is remembered of an output that is longer than its reader gets: far more than the limits for models.
const END_BYTES: usize = 512 * 1024;

/// The most output kept in a file, so that a runaway command does not fill the disk.
pub const FULL_OUTPUT_BYTES_MAX: u64 = 1024 * 1024 * 1024;

/// The output of one command.
pub(super) struct Capture {
    reader: Reader,
    temp_dir: PathBuf,
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
}

/// The file with the whole output.
enum FullOutput {
    /// Not needed so far.
    Unneeded,
    Open {
        file: File,
        path: PathBuf,
        written: u64,
    },
    /// Could not be written to the end; the reason.
    Failed(String),
}

impl Capture {
    pub(super) fn new(reader: Reader, temp_dir: PathBuf) -> Self {
        Self {
            reader,
            temp_dir,
            kept: Vec::new(),
            is_whole: true,
            total_bytes: 0,
            line_feeds: 0,
            open_line_bytes: 0,
            last_line_bytes: 0,
            file: FullOutput::Unneeded,
        }
    }

    /// Adds output; what is too much goes into the file alone.
    pub(super) async fn push(&mut self, chunk: &[u8]) {
        self.count(chunk);
        if matches!(self.file, FullOutput::Unneeded) && self.is_over_limits() {
            self.file = self.open_file().await;
        }
        self.append_to_file(chunk).await;
        self.kept.extend_from_slice(chunk);
        self.is_whole &= self.kept.len() <= self.kept_max();
        if !self.is_whole && self.kept.len() > 2 * END_BYTES {
            self.kept.drain(..self.kept.len() - END_BYTES);
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

    /// Finishes the file with the whole output. `None` when there is none; the error is a sentence for the model.
    pub(super) async fn full_output(&mut self) -> Result<Option<PathBuf>, String> {
        match std::mem::replace(&mut self.file, FullOutput::Unneeded) {
            FullOutput::Unneeded => Ok(None),
            FullOutput::Open { mut file, path, .. } => match file.flush().await {
                Ok(()) => Ok(Some(path)),
                Err(error) => Err(error.to_string()),
            },
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

    /// Opens the file and writes what came before, which is all still in memory.
    async fn open_file(&self) -> FullOutput {
        let opened = async {
            let folder = self.temp_dir.clone();
            let created = spawn_blocking(move || create_unique(&folder, "pirn-bash-", "log"));
            let (file, path) = created.await.map_err(std::io::Error::other)??;
            let mut file = File::from_std(file);
            file.write_all(&self.kept).await?;
            Ok::<_, std::io::Error>(FullOutput::Open {
                file,
                path,
                written: self.kept.len() as u64,
            })
        };
        opened
            .await
            .unwrap_or_else(|error| FullOutput::Failed(error.to_string()))
    }

    async fn append_to_file(&mut self, chunk: &[u8]) {
        let FullOutput::Open { file, written, .. } = &mut self.file else {
            return;
        };
        let room = usize::try_from(FULL_OUTPUT_BYTES_MAX - *written).unwrap_or(usize::MAX);
        let chunk = chunk.get(..room).unwrap_or(chunk);
        *written += chunk.len() as u64;
        if let Err(error) = file.write_all(chunk).await {
            self.file = FullOutput::Failed(error.to_string());
        }
    }
}

#[cfg(test)]
mod tests;
