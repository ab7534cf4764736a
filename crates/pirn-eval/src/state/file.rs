//! State in a file.

use std::ffi::OsString;
use std::fs::{File, OpenOptions};
use std::io::{self, Read as _};
use std::path::{Path, PathBuf};
use std::time::Duration;

use pirn_file::{Access, FileLock, real_target};
use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;

use super::memory::full;
use super::{Branches, StateStore, TOTAL_BYTES_MAX};
use crate::error::{Error, ErrorKind};
use crate::request::Language;

/// The name of the format, by which a file is recognised.
const FORMAT: &str = "pirn-eval-state";
/// The version of the format.
const VERSION: u64 = 1;
/// Bytes of the file: the states, and some room for names and for people who indented it.
const FILE_BYTES_MAX: u64 = 2 * TOTAL_BYTES_MAX as u64;
/// How long another process may hold the lock. It is held for one change, a matter of milliseconds.
const LOCK_WAIT: Duration = Duration::from_secs(10);

/// Keeps the states of a set of branches in one file that only its owner can read. A commit replaces the file as a whole: a
/// reader, and a process that is killed in between, finds the old states or the new. A file of another program, a damaged one
/// and one of a later version are never overwritten. Several processes may use one file.
#[derive(Debug)]
pub struct FileStateStore {
    path: PathBuf,
    /// The path as the caller wrote it.
    shown: String,
}

/// The content of the file, in the latest format.
#[derive(Debug, Serialize, Deserialize)]
struct Contents {
    format: String,
    version: u64,
    branches: Branches<Box<RawValue>>,
}

/// The part of the content that every version has.
#[derive(Debug, Deserialize)]
struct Header {
    format: String,
    version: u64,
}

impl FileStateStore {
    /// Opens the file, which need not exist yet; its folder must. Fails where the file holds something else. A link stays a link:
    /// what it points to is replaced.
    pub fn open(path: impl Into<PathBuf>) -> Result<Self, Error> {
        let path = path.into();
        let shown = path.display().to_string();
        let store = Self {
            path: real_target(&path).unwrap_or(path),
            shown,
        };
        store.read()?;
        Ok(store)
    }

    fn read(&self) -> Result<Branches<Box<RawValue>>, Error> {
        read(&self.path).map_err(|problem| {
            let message = format!(
                "the state file {} cannot be used: {problem}; repair the file or move it away, it was not changed",
                self.shown
            );
            Error::new(ErrorKind::StateUnreadable, message)
        })
    }

    /// Changes the states under the lock.
    fn change(&self, change: impl FnOnce(&mut Branches<Box<RawValue>>)) -> Result<(), Error> {
        let kept = |problem: String| {
            let message = format!("the state file {} cannot be written: {problem}", self.shown);
            Error::new(ErrorKind::StateNotWritten, message)
        };
        // Released when it is closed.
        let _lock = lock(&self.path).map_err(kept)?;
        let mut branches = self.read()?;
        change(&mut branches);
        let contents = Contents {
            format: FORMAT.to_owned(),
            version: VERSION,
            branches,
        };
        let mut text = serde_json::to_vec(&contents).map_err(|error| kept(error.to_string()))?;
        text.push(b'\n');
        if text.len() > TOTAL_BYTES_MAX {
            return Err(full());
        }
        pirn_file::replace(&self.path, &text, Access::Private)
            .map_err(|error| kept(error.to_string()))
    }
}

impl StateStore for FileStateStore {
    fn load(&self, branch: &str, language: Language) -> Result<Option<String>, Error> {
        let branches = self.read()?;
        let states = branches.get(branch);
        Ok(states
            .and_then(|states| states.get(language.as_str()))
            .map(|state| state.get().to_owned()))
    }

    fn commit(&self, branch: &str, language: Language, state: &str) -> Result<(), Error> {
        let state = RawValue::from_string(state.to_owned()).map_err(|error| {
            let message = format!("the state is not JSON: {error}");
            Error::new(ErrorKind::StateNotWritten, message)
        })?;
        self.change(|branches| {
            branches
                .entry(branch.to_owned())
                .or_default()
                .insert(language.as_str().to_owned(), state);
        })
    }

    fn clear(&self, branch: &str) -> Result<(), Error> {
        // Nothing to clear must not make a file.
        if !self.read()?.contains_key(branch) {
            return Ok(());
        }
        self.change(|branches| {
            branches.remove(branch);
        })
    }

    fn fork(&self, from: &str, to: &str) -> Result<(), Error> {
        self.change(|branches| {
            match branches.get(from).cloned() {
                Some(states) => branches.insert(to.to_owned(), states),
                None => branches.remove(to),
            };
        })
    }
}

fn read(path: &Path) -> Result<Branches<Box<RawValue>>, String> {
    let text = |error: io::Error| error.to_string();
    let file = match open_without_waiting(path) {
        Ok(file) => file,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Branches::new()),
        Err(error) => return Err(error.to_string()),
    };
    if !file.metadata().map_err(text)?.is_file() {
        return Err("it is not a regular file".to_owned());
    }
    let mut bytes = Vec::new();
    file.take(FILE_BYTES_MAX + 1)
        .read_to_end(&mut bytes)
        .map_err(text)?;
    if bytes.len() as u64 > FILE_BYTES_MAX {
        return Err(format!("it is larger than {} MiB", FILE_BYTES_MAX >> 20));
    }
    parse(&bytes)
}

fn parse(bytes: &[u8]) -> Result<Branches<Box<RawValue>>, String> {
    let header: Header = serde_json::from_slice(bytes)
        .map_err(|error| format!("it is not a file of this kind, or it is damaged ({error})"))?;
    if header.format != FORMAT {
        return Err("it is a file of another kind".to_owned());
    }
    if header.version > VERSION {
        return Err(format!(
            "it was written by a later version (format {}, this one knows {VERSION})",
            header.version
        ));
    }
    let contents: Contents =
        serde_json::from_slice(bytes).map_err(|error| format!("it is damaged ({error})"))?;
    Ok(contents.branches)
}

/// A pipe without a writer would keep a plain open waiting.
fn open_without_waiting(path: &Path) -> io::Result<File> {
    let mut options = OpenOptions::new();
    options.read(true);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::custom_flags(
        &mut options,
        rustix::fs::OFlags::NONBLOCK.bits().cast_signed(),
    );
    options.open(path)
}

/// Takes the lock: a file beside the other, which is replaced and so cannot hold it.
fn lock(path: &Path) -> Result<FileLock, String> {
    let mut name = OsString::from(".");
    name.push(path.file_name().unwrap_or_default());
    name.push(".lock");
    FileLock::acquire(&path.with_file_name(name), LOCK_WAIT)
        .map_err(|error| format!("it cannot be locked: {error}"))?
        .ok_or_else(|| "another process holds its lock".to_owned())
}
