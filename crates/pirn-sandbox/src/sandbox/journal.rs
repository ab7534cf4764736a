//! The list of sandboxes whose commands may be running, in Pirn's own folder. Where Pirn was killed, the next one finds there what
//! to look at.
//!
//! Each sandbox has a file with a [`Baseline`], and a lock beside it that its owner and the supervisors of its commands hold: free,
//! it says that nobody is left. Neither can be written by a command, because Pirn's own folder is closed to them.

use std::fs::{DirBuilder, File};
use std::io::{self, Read as _};
use std::os::fd::OwnedFd;
use std::os::unix::fs::DirBuilderExt as _;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use pirn_file::{FileLock, create_unique, write_unique};
use serde::{Deserialize, Serialize};

use crate::paths::{Baseline, Look, Planned};
use crate::policy::{Profile, SandboxPolicy};

/// The folder in Pirn's own.
const FOLDER: &str = "sandboxes";
/// Held while a lock is made or tried, so that none is taken for left behind that is just being made.
const TURN: &str = "turn";
/// What the names of a sandbox's files end in.
const LOCK: &str = "lock";
const RECORD: &str = "json";
/// Which form records have; others are not understood.
const VERSION: u32 = 1;
/// How long others may have the turn: trying a lock takes some microseconds.
const TURN_WAIT: Duration = Duration::from_secs(5);
/// How long the commands of a killed Pirn may take to disappear; their supervisors kill them within milliseconds.
const END_WAIT: Duration = Duration::from_secs(5);
/// The longest record: as many places as can be protected, with long paths.
const RECORD_BYTES_MAX: u64 = 64 << 20;
/// How many entries of the folder are looked at: each is a sandbox that lives or was killed.
const ENTRIES_MAX: usize = 10_000;

/// What is kept of one sandbox.
#[derive(Debug, Serialize, Deserialize)]
struct Record {
    version: u32,
    /// The number of the process that owns it.
    owner: u32,
    before: Baseline,
}

/// The entry of one sandbox.
#[derive(Debug, Default)]
pub(super) struct Journal {
    entry: Mutex<Option<JournalEntry>>,
}

#[derive(Debug)]
struct JournalEntry {
    lock: Arc<OwnedFd>,
    lock_path: PathBuf,
    /// What the record says.
    written: Option<Arc<Planned>>,
}

impl Journal {
    /// Writes down what places are like before a command runs in them. Gives a lock for the command's supervisor to hold; `None`
    /// where nothing can be written or Pirn has no folder of its own.
    pub(super) fn enter(
        &self,
        policy: &SandboxPolicy,
        planned: &Arc<Planned>,
    ) -> io::Result<Option<Arc<OwnedFd>>> {
        let Some(folder) = folder_of(policy) else {
            return Ok(None);
        };
        let mut entry = self.entry.lock().unwrap_or_else(PoisonError::into_inner);
        let written = entry.as_ref().and_then(|entry| entry.written.as_ref());
        if written.is_none_or(|written| !Arc::ptr_eq(written, planned)) {
            write(&mut entry, &folder, policy, planned).map_err(|error| {
                io::Error::new(
                    error.kind(),
                    format!(
                        "{}, where commands that run are written down, cannot be written: {error}",
                        folder.display()
                    ),
                )
            })?;
        }
        Ok(entry.as_ref().map(|entry| Arc::clone(&entry.lock)))
    }

    /// Whether all of its commands are gone, and waits for them a little: those that nobody waited for are being killed.
    pub(super) fn wait_for_children(&self) -> bool {
        let mut entry = self.entry.lock().unwrap_or_else(PoisonError::into_inner);
        let Some(found) = entry.take() else {
            return true;
        };
        let JournalEntry {
            lock, lock_path, ..
        } = found;
        drop(lock);
        match FileLock::acquire(&lock_path, END_WAIT) {
            Ok(Some(lock)) => {
                let shared = lock.share().map(Arc::new);
                *entry = shared.ok().map(|lock| JournalEntry {
                    lock,
                    lock_path,
                    written: None,
                });
                true
            }
            Ok(None) | Err(_) => false,
        }
    }

    /// Forgets it: everything that its commands made has been looked at.
    pub(super) fn leave(&self) {
        let mut entry = self.entry.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(entry) = entry.take() {
            forget(&entry.lock_path);
        }
    }
}

fn write(
    entry: &mut Option<JournalEntry>,
    folder: &Path,
    policy: &SandboxPolicy,
    planned: &Arc<Planned>,
) -> io::Result<()> {
    let entry = match entry {
        Some(entry) => entry,
        None => entry.insert(make_entry(folder)?),
    };
    let record = Record {
        version: VERSION,
        owner: std::process::id(),
        before: Baseline::of(policy, planned),
    };
    let bytes = serde_json::to_vec(&record).map_err(io::Error::other)?;
    let path = entry.lock_path.with_extension(RECORD);
    // Not synced: who dies with the machine leaves no commands behind that go on.
    let new = write_unique(folder, "new-", "part", &bytes)?;
    std::fs::rename(new, path)?;
    entry.written = Some(Arc::clone(planned));
    Ok(())
}

fn make_entry(folder: &Path) -> io::Result<JournalEntry> {
    DirBuilder::new()
        .recursive(true)
        .mode(0o700)
        .create(folder)?;
    let _turn = turn(folder)?;
    let (_file, lock_path) = create_unique(folder, "", LOCK)?;
    let lock = FileLock::try_acquire(&lock_path)?
        .ok_or_else(|| io::Error::other("a new lock is held by somebody else"))?;
    Ok(JournalEntry {
        lock: Arc::new(lock.share()?),
        lock_path,
        written: None,
    })
}

fn turn(folder: &Path) -> io::Result<FileLock> {
    FileLock::acquire(&folder.join(TURN), TURN_WAIT)?
        .ok_or_else(|| io::Error::other("another process holds the lock of the folder"))
}

/// The record goes first: a lock without one says nothing.
fn forget(lock_path: &Path) {
    let _none = std::fs::remove_file(lock_path.with_extension(RECORD));
    let _none = std::fs::remove_file(lock_path);
}

/// The folder of the list; `None` where it is not kept: where commands can write nothing, they make nothing.
fn folder_of(policy: &SandboxPolicy) -> Option<PathBuf> {
    match policy.profile {
        Profile::Off | Profile::ReadOnly => None,
        Profile::WorkspaceWrite => Some(policy.protection.pirn_home.as_deref()?.join(FOLDER)),
    }
}

/// Looks at what was made by commands of sandboxes whose owner was killed. Says what was set aside, one sentence each. Fails where
/// that could not be looked at in places that this policy's commands may write.
pub(super) fn recover(policy: &SandboxPolicy) -> io::Result<Look> {
    let mut notes = Vec::new();
    let Some(folder) = folder_of(policy) else {
        return Ok(notes);
    };
    let entries = match folder.read_dir() {
        Ok(entries) => entries,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(notes),
        Err(error) => return Err(unknown(&folder, &error)),
    };
    for entry in entries.take(ENTRIES_MAX) {
        let path = entry.map_err(|error| unknown(&folder, &error))?.path();
        if path.extension().is_some_and(|extension| extension == LOCK) {
            recover_one(&folder, &path, policy, &mut notes)
                .map_err(|error| unknown(&path, &error))?;
        }
    }
    Ok(notes)
}

fn recover_one(
    folder: &Path,
    lock_path: &Path,
    policy: &SandboxPolicy,
    notes: &mut Look,
) -> io::Result<()> {
    let Some(lock) = take_left(folder, lock_path)? else {
        return Ok(());
    };
    let Some(record) = read(&lock_path.with_extension(RECORD))? else {
        // Killed before anything ran.
        forget(lock_path);
        return Ok(());
    };
    let concerns_us = record.before.concerns(policy);
    match record.before.look() {
        Ok(found) => {
            if !found.is_empty() {
                notes.push("Sandbox: Pirn was killed while commands ran, and what they made was looked at now".to_owned());
            }
            notes.extend(found);
            forget(lock_path);
        }
        Err(error) if concerns_us => return Err(error),
        // Left to who works there.
        Err(_elsewhere) => {}
    }
    drop(lock);
    Ok(())
}

/// The lock of a sandbox whose owner and commands are gone.
fn take_left(folder: &Path, lock_path: &Path) -> io::Result<Option<FileLock>> {
    let try_lock = || {
        let _turn = turn(folder)?;
        // Whoever had the turn may have removed it, and trying would make it anew.
        if lock_path.symlink_metadata().is_err() {
            return Ok(None);
        }
        FileLock::try_acquire(lock_path)
    };
    if let Some(lock) = try_lock()? {
        return Ok(Some(lock));
    }
    let record = read(&lock_path.with_extension(RECORD))?;
    let is_owned = record.is_none_or(|record| is_alive(record.owner));
    if is_owned {
        return Ok(None);
    }
    // Its commands are being killed.
    FileLock::acquire(lock_path, END_WAIT)
}

/// Whether there is a process of a number, as far as can be seen.
fn is_alive(process: u32) -> bool {
    Path::new("/proc").join(process.to_string()).exists() || !Path::new("/proc/self").exists()
}

/// Reads a record; `None` where there is none.
fn read(path: &Path) -> io::Result<Option<Record>> {
    let file = match File::open(path) {
        Ok(file) => file,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
        Err(error) => return Err(error),
    };
    let mut bytes = Vec::new();
    file.take(RECORD_BYTES_MAX).read_to_end(&mut bytes)?;
    let record: Record = serde_json::from_slice(&bytes).map_err(io::Error::other)?;
    if record.version != VERSION {
        return Err(io::Error::other(format!(
            "it has the version {}, which this Pirn does not know",
            record.version
        )));
    }
    Ok(Some(record))
}

fn unknown(place: &Path, error: &io::Error) -> io::Error {
    io::Error::new(
        error.kind(),
        format!(
            "What commands made before Pirn was killed cannot be looked at, so nothing is run: {} says what they were: {error}. Look at \
             the folders that they worked in, then remove that file",
            place.display()
        ),
    )
}
