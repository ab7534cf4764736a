//! What is kept of a command's output: its end for the model, more of it for scripts, and all of it in a file.

use std::fmt::Write as _;
use std::path::PathBuf;

use pirn_file::create_unique;
use tokio::fs::File;
use tokio::io::AsyncWriteExt as _;
use tokio::task::spawn_blocking;

use crate::limits::{BYTES_MAX, LINES_MAX, Tail, keep_tail};

/// The most output a script gets whole; of more it gets the first and the last half of this.
pub const STRUCTURED_OUTPUT_BYTES_MAX: usize = 1024 * 1024;

/// The most output kept in a file, so that a runaway command does not fill the disk.
pub const FULL_OUTPUT_BYTES_MAX: u64 = 1024 * 1024 * 1024;

const HALF: usize = STRUCTURED_OUTPUT_BYTES_MAX / 2;

/// The output of one command.
pub(super) struct Capture {
    temp_dir: PathBuf,
    /// The whole output until it is too long, then its first half.
    head: Vec<u8>,
    /// Once the whole is too long: at least its last half, cut from time to time.
    tail: Vec<u8>,
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
    pub(super) fn new(temp_dir: PathBuf) -> Self {
        Self {
            temp_dir,
            head: Vec::new(),
            tail: Vec::new(),
            total_bytes: 0,
            line_feeds: 0,
            open_line_bytes: 0,
            last_line_bytes: 0,
            file: FullOutput::Unneeded,
        }
    }

    /// Adds output.
    pub(super) async fn push(&mut self, chunk: &[u8]) {
        self.count(chunk);
        if matches!(self.file, FullOutput::Unneeded) && self.is_over_limits() {
            self.file = self.open_file().await;
        }
        self.append_to_file(chunk).await;
        if self.tail.is_empty() && self.head.len() + chunk.len() <= STRUCTURED_OUTPUT_BYTES_MAX {
            self.head.extend_from_slice(chunk);
            return;
        }
        if self.tail.is_empty() {
            self.tail = self.head.split_off(HALF.min(self.head.len()));
            let missing = HALF - self.head.len();
            // Only where one chunk is larger than half of all.
            if missing > 0 {
                self.head.extend(chunk.iter().take(missing));
                self.tail.extend(chunk.iter().skip(missing));
                return;
            }
        }
        self.tail.extend_from_slice(chunk);
        if self.tail.len() > 2 * HALF {
            self.tail.drain(..self.tail.len() - HALF);
        }
    }

    /// The end of the output, within the limits for models.
    pub(super) fn tail(&self) -> Tail<'_> {
        // The half is far more than the limits, so cutting within it is the same as cutting the whole.
        keep_tail(if self.tail.is_empty() {
            &self.head
        } else {
            &self.tail
        })
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

    /// The output for scripts, and whether something was left out of it.
    pub(super) fn structured(&self) -> (String, bool) {
        let mut text = String::from_utf8_lossy(&self.head).into_owned();
        if self.tail.is_empty() {
            return (text, false);
        }
        let last = self.tail.len().saturating_sub(HALF);
        let end = self.tail.get(last..).unwrap_or_default();
        let omitted = self.total_bytes - self.head.len() as u64 - end.len() as u64;
        if omitted > 0 {
            let _infallible = write!(text, "\n[... {omitted} bytes omitted ...]\n");
        }
        text.push_str(&String::from_utf8_lossy(end));
        (text, omitted > 0)
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

    fn is_over_limits(&self) -> bool {
        self.total_bytes > BYTES_MAX as u64 || self.total_lines() > LINES_MAX as u64
    }

    /// Opens the file and writes what came before, which is all still in memory.
    async fn open_file(&self) -> FullOutput {
        let opened = async {
            let folder = self.temp_dir.clone();
            let created = spawn_blocking(move || create_unique(&folder, "pirn-bash-", "log"));
            let (file, path) = created.await.map_err(std::io::Error::other)??;
            let mut file = File::from_std(file);
            file.write_all(&self.head).await?;
            Ok::<_, std::io::Error>(FullOutput::Open {
                file,
                path,
                written: self.head.len() as u64,
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
