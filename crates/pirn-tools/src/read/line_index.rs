//! Where the lines of large files begin, remembered between calls that page through them.

use std::fs::Metadata;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, SystemTime};

/// Smaller files are read from the start in no time.
const INDEXED_BYTES_MIN: u64 = 1024 * 1024;

/// Files that are remembered, the ones used last.
const FILES_MAX: usize = 16;

/// Places remembered for one file, one for each piece that is read: those of 25 GB take 1.6 MB.
const PLACES_MAX: usize = 100_000;

/// The longest tick of the clock that files get their times from.
const CLOCK_TICK_MAX: Duration = Duration::from_millis(20);

/// The files that were read last, the latest at the end.
static INDEXES: Mutex<Vec<LineIndex>> = Mutex::new(Vec::new());

/// The beginning of a line.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct LineStart {
    /// The number of the line, from 0.
    pub(super) line: u64,
    /// The place of its first byte.
    pub(super) at: u64,
}

/// What is known of the lines of one file, as long as it stays as it is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct LineIndex {
    version: Version,
    starts: Vec<LineStart>,
    /// Of the whole file.
    total: Option<u64>,
}

/// A file as it was at some time.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Version {
    device: u64,
    number: u64,
    size: u64,
    modified: Option<SystemTime>,
    /// Of the file's record, which nobody can set back.
    changed: (i64, i64),
}

impl Version {
    #[cfg(unix)]
    fn of(metadata: &Metadata) -> Self {
        use std::os::unix::fs::MetadataExt as _;
        Self {
            device: metadata.dev(),
            number: metadata.ino(),
            size: metadata.len(),
            modified: metadata.modified().ok(),
            changed: (metadata.ctime(), metadata.ctime_nsec()),
        }
    }

    #[cfg(not(unix))]
    fn of(metadata: &Metadata) -> Self {
        Self {
            device: 0,
            number: 0,
            size: metadata.len(),
            modified: metadata.modified().ok(),
            changed: (0, 0),
        }
    }

    fn is_same_file(&self, other: &Self) -> bool {
        (self.device, self.number) == (other.device, other.number)
    }
}

impl LineIndex {
    /// What is known of an opened file; `None` for one that is too small to be worth it, or cannot be told from others.
    pub(super) fn of(metadata: &Metadata) -> Option<Self> {
        if metadata.len() < INDEXED_BYTES_MIN || !cfg!(unix) {
            return None;
        }
        let version = Version::of(metadata);
        let known = lock()
            .iter()
            .find(|index| index.version == version)
            .cloned();
        Some(known.unwrap_or_else(|| Self {
            version,
            starts: Vec::new(),
            total: None,
        }))
    }

    /// The last known beginning of a line that is not after this one.
    pub(super) fn start_before(&self, line: u64) -> Option<LineStart> {
        let after = self.starts.partition_point(|start| start.line <= line);
        self.starts.get(after.checked_sub(1)?).copied()
    }

    /// How many lines the file has, where that is known.
    pub(super) fn total(&self) -> Option<u64> {
        self.total
    }

    /// Notes the beginning of a line that was come to.
    pub(super) fn add(&mut self, start: LineStart) {
        let is_new = self.starts.last().is_none_or(|last| last.at < start.at);
        if is_new && self.starts.len() < PLACES_MAX {
            self.starts.push(start);
        }
    }

    /// Notes how many lines there are.
    pub(super) fn set_total(&mut self, total: u64) {
        self.total = Some(total);
    }

    /// Remembers it for the next call.
    pub(super) fn keep(self) {
        // Within one tick of the system's clock a file can change once more and look the same.
        let is_settled = self.version.modified.is_some_and(|modified| {
            modified
                .elapsed()
                .is_ok_and(|elapsed| elapsed > CLOCK_TICK_MAX)
        });
        if !is_settled {
            return;
        }
        let mut indexes = lock();
        indexes.retain(|index| !index.version.is_same_file(&self.version));
        if indexes.len() >= FILES_MAX {
            indexes.remove(0);
        }
        indexes.push(self);
    }
}

fn lock() -> MutexGuard<'static, Vec<LineIndex>> {
    INDEXES.lock().unwrap_or_else(PoisonError::into_inner)
}
