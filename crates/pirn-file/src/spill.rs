//! Files for what a result cannot show: one folder for a run or a session, bounded in bytes.

use std::collections::VecDeque;
use std::fs::File;
use std::io;
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use crate::new::{
    create_new, create_unique, make_private_folder, make_unique_folder, write_unique,
};

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
    /// Where this clone's files go instead.
    elsewhere: Option<PathBuf>,
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
    /// In the order in which they were made, the oldest in front.
    files: VecDeque<KeptFile>,
    bytes: u64,
    /// What is left of files that made room.
    tombstones: VecDeque<PathBuf>,
}

#[derive(Debug)]
struct KeptFile {
    path: PathBuf,
    bytes: u64,
    /// More of it comes, so that it makes no room.
    is_growing: bool,
}

/// A file whose content comes in pieces. Dropping it ends it; it stays.
#[derive(Debug)]
pub struct SpillFile {
    shared: Arc<Shared>,
    file: File,
    path: PathBuf,
    is_whole: bool,
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
            elsewhere: None,
        }
    }

    /// The same within the same bounds, with its files in `folder`, which must exist and is deleted by somebody else: for those
    /// that others than Pirn read, too.
    #[must_use]
    pub fn within(&self, folder: impl Into<PathBuf>) -> Self {
        Self {
            shared: self.shared.clone(),
            elsewhere: Some(folder.into()),
        }
    }

    /// Writes a new file `<prefix><16 hexadecimal digits>.<extension>`. The error is a clause for people.
    pub fn write(&self, prefix: &str, extension: &str, bytes: &[u8]) -> Result<PathBuf, String> {
        let shared = self.shared()?;
        let size = bytes.len() as u64;
        if size > SPILL_BYTES_MAX {
            return Err(format!("it is larger than {} MiB", SPILL_BYTES_MAX >> 20));
        }
        // Held while the file is written, so that the bounds hold at every moment.
        let mut state = shared.lock();
        let folder = self.folder(shared, &mut state)?;
        if !state.make_room(size, FILES_MAX) {
            return Err("files that are still being written take all the room".to_owned());
        }
        let path = write_unique(&folder, prefix, extension, bytes)
            .map_err(|error| format!("{}: {error}", folder.display()))?;
        state.add(path.clone(), size, false);
        Ok(path)
    }

    /// Starts a new file of such a name whose content comes in pieces. The error is a clause for people.
    pub fn create(&self, prefix: &str, extension: &str) -> Result<SpillFile, String> {
        let shared = self.shared()?;
        let mut state = shared.lock();
        let folder = self.folder(shared, &mut state)?;
        state.make_room(0, FILES_MAX);
        let (file, path) = create_unique(&folder, prefix, extension)
            .map_err(|error| format!("{}: {error}", folder.display()))?;
        state.add(path.clone(), 0, true);
        Ok(SpillFile {
            shared: Arc::clone(shared),
            file,
            path,
            is_whole: true,
        })
    }

    fn shared(&self) -> Result<&Arc<Shared>, String> {
        self.shared
            .as_ref()
            .ok_or_else(|| "no folder for such files is set".to_owned())
    }

    fn folder(&self, shared: &Shared, state: &mut State) -> Result<PathBuf, String> {
        match &self.elsewhere {
            Some(folder) => Ok(folder.clone()),
            None => state.folder(&shared.place),
        }
    }

    /// Whether a file that was written here still holds what it did.
    pub fn holds(&self, path: &Path) -> bool {
        let Some(shared) = &self.shared else {
            return false;
        };
        let state = shared.lock();
        state.files.iter().any(|known| known.path == path) && path.exists()
    }
}

impl SpillFile {
    /// Adds to the file. What has no room is left out, and then the file is not whole. Where it cannot be written it is deleted,
    /// and the error is a clause for people.
    pub fn append(&mut self, bytes: &[u8]) -> Result<(), String> {
        if !self.is_whole {
            return Ok(());
        }
        let shared = Arc::clone(&self.shared);
        let mut state = shared.lock();
        let room = SPILL_BYTES_MAX - state.growing_bytes();
        let kept = usize::try_from(room).map_or(bytes, |room| bytes.get(..room).unwrap_or(bytes));
        self.is_whole = kept.len() == bytes.len();
        state.make_room(kept.len() as u64, FILES_MAX);
        if let Err(error) = self.file.write_all(kept) {
            state.remove(&self.path);
            self.is_whole = false;
            // The disk may be full, or the folder gone.
            drop(std::fs::remove_file(&self.path));
            return Err(format!("{}: {error}", self.path.display()));
        }
        state.grow(&self.path, kept.len() as u64);
        Ok(())
    }

    /// Its place, which results name.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Whether all that was added is in it.
    pub fn is_whole(&self) -> bool {
        self.is_whole
    }
}

impl Drop for SpillFile {
    fn drop(&mut self) {
        let mut state = self.shared.lock();
        if let Some(file) = state.file(&self.path) {
            file.is_growing = false;
        }
    }
}

impl Shared {
    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
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

    fn add(&mut self, path: PathBuf, bytes: u64, is_growing: bool) {
        self.bytes += bytes;
        self.files.push_back(KeptFile {
            path,
            bytes,
            is_growing,
        });
    }

    /// A file that is kept; those that grow are among the latest.
    fn file(&mut self, path: &Path) -> Option<&mut KeptFile> {
        self.files.iter_mut().rev().find(|file| file.path == path)
    }

    fn grow(&mut self, path: &Path, bytes: u64) {
        if let Some(file) = self.file(path) {
            file.bytes += bytes;
            self.bytes += bytes;
        }
    }

    fn remove(&mut self, path: &Path) {
        if let Some(at) = self.files.iter().rposition(|file| file.path == path) {
            self.take(at);
        }
    }

    /// What files hold that make no room.
    fn growing_bytes(&self) -> u64 {
        let growing = self.files.iter().filter(|file| file.is_growing);
        growing.map(|file| file.bytes).sum()
    }

    /// Forgets the oldest file that does not grow.
    fn take_oldest(&mut self) -> Option<KeptFile> {
        let at = self.files.iter().position(|file| !file.is_growing)?;
        self.take(at)
    }

    fn take(&mut self, at: usize) -> Option<KeptFile> {
        let file = self.files.remove(at)?;
        self.bytes -= file.bytes;
        Some(file)
    }

    /// Deletes what is oldest until there is room for so many bytes and one more file. False where there is none.
    fn make_room(&mut self, size: u64, files_max: usize) -> bool {
        while self.bytes + size > SPILL_BYTES_MAX {
            let Some(KeptFile { path, .. }) = self.take_oldest() else {
                return false;
            };
            // Where it cannot be told, the file is gone all the same, and whoever reads it learns that much.
            if bury(&path).is_ok() {
                self.tombstones.push_back(path);
            }
        }
        while self.files.len() + self.tombstones.len() >= files_max {
            let tombstone = self.tombstones.pop_front();
            let Some(path) = tombstone.or_else(|| Some(self.take_oldest()?.path)) else {
                return true;
            };
            // Somebody else may have deleted it; what remains is deleted with the folder.
            drop(std::fs::remove_file(path));
        }
        true
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
