//! What went over the wire, in a file per server.

mod lines;
mod secrets;

use std::fs::{File, OpenOptions};
use std::io::{self, Write as _};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};

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
    shared: Option<Arc<Shared>>,
}

#[derive(Debug)]
struct Shared {
    path: PathBuf,
    state: Mutex<State>,
}

#[derive(Debug)]
enum State {
    /// Nothing was written yet.
    New,
    /// The open file.
    Open(File),
    /// It cannot be written.
    Failed,
}

impl Trace {
    /// A trace that keeps nothing.
    pub(crate) fn off() -> Self {
        Self::default()
    }

    /// A trace into `file`, which is created with its folder when the first line is written.
    pub(crate) fn to_file(file: PathBuf) -> Self {
        Self {
            shared: Some(Arc::new(Shared {
                path: file,
                state: Mutex::new(State::New),
            })),
        }
    }

    /// Whether anything is written down; what is only for the trace need not be made where it is not.
    pub(crate) fn is_on(&self) -> bool {
        self.shared.is_some()
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
        let Some(shared) = &self.shared else {
            return;
        };
        let line = Line::new(direction, text, repaired, MESSAGE_BYTES_MAX).to_json();
        let mut state = shared.state.lock().unwrap_or_else(PoisonError::into_inner);
        if state.append(&shared.path, &line).is_err() {
            *state = State::Failed;
        }
    }
}

impl State {
    fn append(&mut self, path: &Path, line: &[u8]) -> io::Result<()> {
        if let Self::Open(file) = self
            // Asked each time, because other processes may write to the file as well.
            && file.metadata()?.len() >= FILE_BYTES_MAX
        {
            // One of them may have moved it away already; then this one goes on in the new one.
            if is_same_file(file, path) {
                std::fs::rename(path, moved_away(path))?;
            }
            *self = Self::New;
        }
        if matches!(self, Self::New) {
            *self = Self::Open(open(path)?);
        }
        if let Self::Open(file) = self {
            file.write_all(line)?;
        }
        Ok(())
    }
}

/// Where a full file goes.
fn moved_away(path: &Path) -> PathBuf {
    let mut name = path.as_os_str().to_owned();
    name.push(".1");
    name.into()
}

/// Opens the file for its owner alone.
fn open(path: &Path) -> io::Result<File> {
    let mut options = OpenOptions::new();
    options.append(true).create(true);
    let mut folder = std::fs::DirBuilder::new();
    folder.recursive(true);
    #[cfg(unix)]
    {
        use std::os::unix::fs::{DirBuilderExt as _, OpenOptionsExt as _};
        options.mode(0o600);
        folder.mode(0o700);
    }
    if let Some(parent) = path.parent() {
        folder.create(parent)?;
    }
    options.open(path)
}

#[cfg(unix)]
fn is_same_file(file: &File, path: &Path) -> bool {
    use std::os::unix::fs::MetadataExt as _;
    match (file.metadata(), path.metadata()) {
        (Ok(open), Ok(named)) => open.ino() == named.ino() && open.dev() == named.dev(),
        (Ok(_) | Err(_), _) => false,
    }
}

/// Elsewhere an open file cannot be moved away by another process.
#[cfg(not(unix))]
fn is_same_file(_file: &File, path: &Path) -> bool {
    path.exists()
}

#[cfg(test)]
mod tests;
