//! Files for what a result cannot show: whole texts, and data that is no text.

use std::collections::VecDeque;
use std::fs::DirBuilder;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};

#[cfg(test)]
mod tests;

/// Files kept. A session that spills more is in a loop.
const FILES_MAX: usize = 500;
/// Bytes kept in all; a single result has at most some 16 MiB.
const BYTES_MAX: u64 = 512 << 20;

/// A folder for what results cannot show. Files are readable by their owner alone. At most 500 files of 512 MiB in all are kept:
/// the oldest of those written here are deleted first. Clones share what they know. Whoever made the folder deletes it.
#[derive(Debug, Clone, Default)]
pub struct SpillFolder {
    path: Option<PathBuf>,
    written: Arc<Mutex<Written>>,
}

#[derive(Debug, Default)]
struct Written {
    files: VecDeque<(PathBuf, u64)>,
    bytes: u64,
}

impl SpillFolder {
    /// Files go into `path`, which is created with the first one where it is missing.
    pub fn new(path: impl Into<PathBuf>) -> Self {
        Self {
            path: Some(path.into()),
            written: Arc::default(),
        }
    }

    /// No folder: results say that nothing was saved.
    pub fn none() -> Self {
        Self::default()
    }

    /// Writes a new file `pirn-mcp-<hex>.<extension>`. The error is a clause for people.
    pub(super) fn write(&self, bytes: &[u8], extension: &str) -> Result<PathBuf, String> {
        let Some(folder) = &self.path else {
            return Err("no folder for such files is set".to_owned());
        };
        let size = bytes.len() as u64;
        if size > BYTES_MAX {
            return Err(format!("it is larger than {} MiB", BYTES_MAX >> 20));
        }
        // Held while the file is written, so that the bounds hold at every moment.
        let mut written = self.written.lock().unwrap_or_else(PoisonError::into_inner);
        written.make_room(size);
        let path = create_private_folder(folder)
            .and_then(|()| pirn_file::write_unique(folder, "pirn-mcp-", extension, bytes))
            .map_err(|error| format!("{}: {error}", folder.display()))?;
        written.files.push_back((path.clone(), size));
        written.bytes += size;
        Ok(path)
    }
}

impl Written {
    fn make_room(&mut self, size: u64) {
        while self.files.len() >= FILES_MAX || self.bytes + size > BYTES_MAX {
            let Some((path, bytes)) = self.files.pop_front() else {
                return;
            };
            self.bytes -= bytes;
            // Somebody else may have deleted it; what remains is deleted with the folder.
            drop(std::fs::remove_file(path));
        }
    }
}

fn create_private_folder(folder: &Path) -> io::Result<()> {
    if folder.is_dir() {
        return Ok(());
    }
    let mut builder = DirBuilder::new();
    builder.recursive(true);
    #[cfg(unix)]
    std::os::unix::fs::DirBuilderExt::mode(&mut builder, 0o700);
    builder.create(folder)
}
