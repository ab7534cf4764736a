//! `approvals.json`: the answers that a user gave for good.

use std::fs::File;
use std::io::{self, Read as _};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, SystemTime};

use pirn_file::{Access, FileLock};
use pirn_tool::{ApprovalRequest, Grant, GrantStore, GrantStoreError};
use serde::{Deserialize, Serialize};

/// The file's name in Pirn's folder.
const FILE_NAME: &str = "approvals.json";
/// The file that is locked while grants change: their own is replaced, so a lock on it would hold nothing.
const LOCK_NAME: &str = "approvals.json.lock";
/// How long another process may hold the lock. It is held for one small write, and a person waits meanwhile.
const LOCK_WAIT: Duration = Duration::from_secs(2);
/// The version of the file that this build writes and reads.
const VERSION: u32 = 1;
/// Grants in the file; each is a person's answer, so more is a fault.
const GRANTS_MAX: usize = 1_000;
/// Bytes of the file; [`GRANTS_MAX`] grants with long paths fit.
const FILE_BYTES_MAX: u64 = 4 << 20;

/// The answers "always" of one user, in a file of their own that other processes share. Read again whenever it has changed.
#[derive(Debug)]
pub struct FileGrants {
    folder: PathBuf,
    cached: Mutex<Option<(Stamp, Arc<Vec<Grant>>)>>,
}

/// What tells one content of the file from another. Whoever changes it replaces it, so its inode changes too.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Stamp {
    inode: u64,
    bytes: u64,
    modified: Option<SystemTime>,
}

#[derive(Debug, Serialize, Deserialize)]
struct Content {
    version: u32,
    grants: Vec<Grant>,
}

impl FileGrants {
    /// The answers kept in Pirn's folder. The file is made with the first one.
    pub fn new(pirn_home: &Path) -> Self {
        Self {
            folder: pirn_home.to_owned(),
            cached: Mutex::default(),
        }
    }

    /// The file that the grants are kept in.
    pub fn path(&self) -> PathBuf {
        self.folder.join(FILE_NAME)
    }

    fn grants(&self) -> Result<Arc<Vec<Grant>>, GrantStoreError> {
        let path = self.path();
        let file = match File::open(&path) {
            Ok(file) => file,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Arc::default()),
            Err(error) => return Err(failed(&path, "cannot be read", &error)),
        };
        let stamp = Stamp::of(&file).map_err(|error| failed(&path, "cannot be read", &error))?;
        if let Some((known, grants)) = &*self.lock_cache()
            && *known == stamp
        {
            return Ok(Arc::clone(grants));
        }
        let grants = Arc::new(read(file, &path)?);
        *self.lock_cache() = Some((stamp, Arc::clone(&grants)));
        Ok(grants)
    }

    /// Changes the file under its lock; what `change` returns decides whether it is written.
    fn change(
        &self,
        change: impl FnOnce(&mut Vec<Grant>) -> Result<bool, GrantStoreError>,
    ) -> Result<bool, GrantStoreError> {
        let path = self.path();
        create_private(&self.folder)
            .map_err(|error| failed(&self.folder, "cannot be made", &error))?;
        let lock_path = self.folder.join(LOCK_NAME);
        let _lock = FileLock::acquire(&lock_path, LOCK_WAIT)
            .map_err(|error| failed(&lock_path, "cannot be locked", &error))?
            .ok_or_else(|| {
                GrantStoreError(format!(
                    "{} is held by another process; try again",
                    lock_path.display()
                ))
            })?;
        let mut grants = Vec::clone(&*self.grants()?);
        if !change(&mut grants)? {
            return Ok(false);
        }
        let content = Content {
            version: VERSION,
            grants,
        };
        let text = serde_json::to_string_pretty(&content)
            .map_err(|error| GrantStoreError(format!("{}: {error}", path.display())))?;
        pirn_file::replace(&path, format!("{text}\n").as_bytes(), Access::Private)
            .map_err(|error| failed(&path, "cannot be written", &error))?;
        *self.lock_cache() = None;
        Ok(true)
    }

    fn lock_cache(&self) -> MutexGuard<'_, Option<(Stamp, Arc<Vec<Grant>>)>> {
        self.cached.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl GrantStore for FileGrants {
    fn list(&self) -> Result<Vec<Grant>, GrantStoreError> {
        Ok(Vec::clone(&*self.grants()?))
    }

    fn find(&self, request: &ApprovalRequest) -> Result<Option<Grant>, GrantStoreError> {
        let grants = self.grants()?;
        Ok(grants.iter().find(|grant| grant.covers(request)).cloned())
    }

    fn add(&self, grant: Grant) -> Result<(), GrantStoreError> {
        let path = self.path();
        self.change(|grants| {
            if grants.len() >= GRANTS_MAX {
                return Err(GrantStoreError(format!(
                    "{} holds {GRANTS_MAX} approvals already; `pirn approvals revoke` takes some back",
                    path.display()
                )));
            }
            grants.push(grant);
            Ok(true)
        })
        .map(drop)
    }

    fn revoke(&self, id: &str) -> Result<bool, GrantStoreError> {
        if self.grants()?.iter().all(|grant| grant.id != id) {
            return Ok(false);
        }
        self.change(|grants| {
            let before = grants.len();
            grants.retain(|grant| grant.id != id);
            Ok(grants.len() < before)
        })
    }
}

impl Stamp {
    fn of(file: &File) -> io::Result<Self> {
        let metadata = file.metadata()?;
        #[cfg(unix)]
        let inode = std::os::unix::fs::MetadataExt::ino(&metadata);
        #[cfg(not(unix))]
        let inode = 0;
        Ok(Self {
            inode,
            bytes: metadata.len(),
            modified: metadata.modified().ok(),
        })
    }
}

fn read(file: File, path: &Path) -> Result<Vec<Grant>, GrantStoreError> {
    let mut text = String::new();
    file.take(FILE_BYTES_MAX + 1)
        .read_to_string(&mut text)
        .map_err(|error| failed(path, "cannot be read", &error))?;
    if text.len() as u64 > FILE_BYTES_MAX {
        return Err(GrantStoreError(format!(
            "{} is larger than {} MiB",
            path.display(),
            FILE_BYTES_MAX >> 20
        )));
    }
    let content: Content = serde_json::from_str(&text).map_err(|error| {
        GrantStoreError(format!(
            "{} is not a list of approvals: {error}",
            path.display()
        ))
    })?;
    if content.version != VERSION {
        return Err(GrantStoreError(format!(
            "{} has version {}; this Pirn reads version {VERSION}",
            path.display(),
            content.version
        )));
    }
    Ok(content.grants)
}

fn create_private(folder: &Path) -> io::Result<()> {
    let mut builder = std::fs::DirBuilder::new();
    builder.recursive(true);
    #[cfg(unix)]
    std::os::unix::fs::DirBuilderExt::mode(&mut builder, 0o700);
    builder.create(folder)
}

fn failed(path: &Path, problem: &str, error: &io::Error) -> GrantStoreError {
    GrantStoreError(format!("{} {problem}: {error}", path.display()))
}

#[cfg(test)]
mod tests;
