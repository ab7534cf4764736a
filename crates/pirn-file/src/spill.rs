//! Files for what a result cannot show: one folder for a run or a session, bounded in bytes.

use std::collections::VecDeque;
use std::io;
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};

use crate::new::{create_new, make_private_folder, make_unique_folder, write_unique};

#[cfg(test)]
mod tests;

/// Bytes kept in all. A single result has some 16 MiB at most, so that the latest ones are there whole.
pub const SPILL_BYTES_MAX: u64 = 256 << 20;
/// Files kept, those that only say what was there included: a run that makes more is in a loop.
const FILES_MAX: usize = 4_096;
/// How the folder of a run begins.
const FOLDER_PREFIX: &str = "pirn-";

/// The folder of what results cannot show, for one run or session. Files are readable by their owner alone and hold
/// [`SPILL_BYTES_MAX`] in all; what is deleted to make room, the oldest first, leaves a file that says so. Clones share the
/// folder.
#[derive(Debug, Clone, Default)]
pub struct SpillFolder {
    shared: Option<Arc<Shared>>,
}

#[derive(Debug)]
struct Shared {
    place: Place,
    state: Mutex<State>,
}

/// Where the folder is, and who deletes it.
#[derive(Debug)]
enum Place {
    /// This one; whoever named it deletes it.
    Named(PathBuf),
    /// A new one below this, which is deleted with its last user.
    Below(PathBuf),
}

#[derive(Debug, Default)]
struct State {
    /// The folder, once the first file is there.
    folder: Option<PathBuf>,
    /// Files with their sizes, the oldest first.
    files: VecDeque<(PathBuf, u64)>,
    bytes: u64,
    /// What is left of files that made room.
    tombstones: VecDeque<PathBuf>,
}

impl SpillFolder {
    /// Files go into `path`, which is made with the first one where it is missing, and stay until somebody deletes them.
    pub fn new(path: impl Into<PathBuf>) -> Self {
        Self::at(Place::Named(path.into()))
    }

    /// Files go into a new folder in `parent`, which is made with the first one and deleted with the last clone of this.
    pub fn temporary(parent: impl Into<PathBuf>) -> Self {
        Self::at(Place::Below(parent.into()))
    }

    /// No folder: results say that nothing was saved.
    pub fn none() -> Self {
        Self::default()
    }

    fn at(place: Place) -> Self {
        Self {
            shared: Some(Arc::new(Shared {
                place,
                state: Mutex::default(),
            })),
        }
    }

    /// Writes a new file `<prefix><16 hexadecimal digits>.<extension>`. The error is a clause for people.
    pub fn write(&self, prefix: &str, extension: &str, bytes: &[u8]) -> Result<PathBuf, String> {
        let Some(shared) = &self.shared else {
            return Err("no folder for such files is set".to_owned());
        };
        let size = bytes.len() as u64;
        if size > SPILL_BYTES_MAX {
            return Err(format!("it is larger than {} MiB", SPILL_BYTES_MAX >> 20));
        }
        // Held while the file is written, so that the bounds hold at every moment.
        let mut state = shared.state.lock().unwrap_or_else(PoisonError::into_inner);
        let folder = state.folder(&shared.place)?;
        state.make_room(size, FILES_MAX);
        let path = write_unique(&folder, prefix, extension, bytes)
            .map_err(|error| format!("{}: {error}", folder.display()))?;
        state.files.push_back((path.clone(), size));
        state.bytes += size;
        Ok(path)
    }

    /// Whether a file that was written here still holds what it did.
    pub fn holds(&self, path: &Path) -> bool {
        let Some(shared) = &self.shared else {
            return false;
        };
        let state = shared.state.lock().unwrap_or_else(PoisonError::into_inner);
        state.files.iter().any(|(known, _)| known == path) && path.exists()
    }
}

impl State {
    fn folder(&mut self, place: &Place) -> Result<PathBuf, String> {
        if let Some(folder) = &self.folder {
            return Ok(folder.clone());
        }
        let (made, at) = match place {
            Place::Named(path) => (make_private_folder(path).map(|()| path.clone()), path),
            Place::Below(parent) => (make_unique_folder(parent, FOLDER_PREFIX), parent),
        };
        let folder = made.map_err(|error| format!("{}: {error}", at.display()))?;
        self.folder = Some(folder.clone());
        Ok(folder)
    }

    fn make_room(&mut self, size: u64, files_max: usize) {
        while self.bytes + size > SPILL_BYTES_MAX {
            let Some((path, bytes)) = self.files.pop_front() else {
                return;
            };
            self.bytes -= bytes;
            // Where it cannot be told, the file is gone all the same, and whoever reads it learns that much.
            if bury(&path).is_ok() {
                self.tombstones.push_back(path);
            }
        }
        while self.files.len() + self.tombstones.len() >= files_max {
            let oldest = self.tombstones.pop_front().or_else(|| {
                let (path, bytes) = self.files.pop_front()?;
                self.bytes -= bytes;
                Some(path)
            });
            let Some(path) = oldest else { return };
            // Somebody else may have deleted it; what remains is deleted with the folder.
            drop(std::fs::remove_file(path));
        }
    }
}

/// Deletes a file, and says in its place what became of it.
fn bury(path: &Path) -> io::Result<()> {
    std::fs::remove_file(path)?;
    let text = format!(
        "What was here is deleted: the files of one run hold at most {} MiB, and newer ones needed the room.\n",
        SPILL_BYTES_MAX >> 20
    );
    create_new(path)?.write_all(text.as_bytes())
}

/// A folder of its own ends with its last user.
impl Drop for Shared {
    fn drop(&mut self) {
        let state = self.state.get_mut().unwrap_or_else(PoisonError::into_inner);
        if let (Place::Below(_), Some(folder)) = (&self.place, &state.folder) {
            // Nobody is left who could be told.
            drop(std::fs::remove_dir_all(folder));
        }
    }
}
