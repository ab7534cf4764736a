//! What went over the wire, in a file per server.

mod lines;
mod secrets;

use std::path::PathBuf;
use std::sync::{Arc, Mutex, PoisonError};

use pirn_file::RotatingLog;

use lines::Line;

pub use lines::{TraceDirection, TraceLine, read_trace};

/// A file larger than this is moved away, to `.1`; two of them are some thousand calls.
const FILE_BYTES_MAX: u64 = 5_000_000;
/// What of a message is written down at most. The shape of a message shows in much less.
const MESSAGE_BYTES_MAX: usize = 64 << 10;

/// Writes a server's traffic down. Cheap to clone; clones share the file.
///
/// A line is one write to the system's cache; the lock is held for no longer. What cannot be written is not: no connection fails
/// because of its trace.
#[derive(Debug, Clone, Default)]
pub(crate) struct Trace {
    /// `None` inside once the file could not be written.
    log: Option<Arc<Mutex<Option<RotatingLog>>>>,
}

impl Trace {
    /// A trace that keeps nothing.
    pub(crate) fn off() -> Self {
        Self::default()
    }

    /// A trace into `file`, which is created with its folder when the first line is written.
    pub(crate) fn to_file(file: PathBuf) -> Self {
        Self {
            log: Some(Arc::new(Mutex::new(Some(RotatingLog::new(
                file,
                FILE_BYTES_MAX,
            ))))),
        }
    }

    /// Whether anything is written down; what is only for the trace need not be made where it is not.
    pub(crate) fn is_on(&self) -> bool {
        self.log.is_some()
    }

    /// A message to the server.
    pub(crate) fn sent(&self, text: &str) {
        self.write(TraceDirection::Sent, text.as_bytes(), &[]);
    }

    /// A text of the server as it came, and what its messages look like after repair, those that had to be repaired.
    pub(crate) fn received(&self, text: &[u8], repaired: &[String]) {
        self.write(TraceDirection::Received, text, repaired);
    }

    /// Something that happened to the connection, in words.
    pub(crate) fn note(&self, text: &str) {
        self.write(TraceDirection::Note, text.as_bytes(), &[]);
    }

    fn write(&self, direction: TraceDirection, text: &[u8], repaired: &[String]) {
        let Some(log) = &self.log else {
            return;
        };
        let line = Line::new(direction, text, repaired, MESSAGE_BYTES_MAX).to_json();
        let mut log = log.lock().unwrap_or_else(PoisonError::into_inner);
        if log.as_mut().is_some_and(|log| log.append(&line).is_err()) {
            *log = None;
        }
    }
}

#[cfg(test)]
mod tests;
