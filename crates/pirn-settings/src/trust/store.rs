//! `trust.json`: what the user decided, folder by folder.

use std::collections::BTreeMap;
use std::fmt;
use std::fs::File;
use std::io::{self, Read as _};
use std::path::{Path, PathBuf};
use std::time::Duration;

use pirn_file::{Access, FileLock};
use serde::Serialize;
use serde::de::DeserializeOwned;

use super::{Trust, covered};

/// The file's name in Pirn's folder.
const FILE_NAME: &str = "trust.json";
/// The file that is locked while decisions change: their own is replaced, so a lock on it would hold nothing.
const LOCK_NAME: &str = "trust.json.lock";
/// How long another process may hold the lock. It is held for one small write.
const LOCK_WAIT: Duration = Duration::from_millis(200);
/// What the files of projects held when a folder above was trusted, in Pirn's folder.
const COVERED_NAME: &str = "trusted-files.json";
/// Bytes of the file; thousands of decisions fit.
const FILE_BYTES_MAX: u64 = 1 << 20;

/// Whether the system takes `A` and `a` in a path for the same.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum PathCase {
    Matters,
    /// They are the same.
    Ignored,
}

impl PathCase {
    /// That of the system Pirn was built for.
    const OF_SYSTEM: Self = if cfg!(windows) {
        Self::Ignored
    } else {
        Self::Matters
    };

    fn same(self, left: &str, right: &str) -> bool {
        match self {
            Self::Matters => left == right,
            Self::Ignored => left.to_lowercase() == right.to_lowercase(),
        }
    }
}

/// The decisions, read from the file each time: other processes change it, too.
#[derive(Debug, Clone)]
pub struct TrustStore {
    /// Pirn's folder; without one there are no decisions.
    folder: Option<PathBuf>,
    path_case: PathCase,
}

/// Folders and decisions. Null is that of nobody.
type Decisions = BTreeMap<String, Option<bool>>;

impl TrustStore {
    /// The decisions kept in Pirn's folder.
    pub fn new(pirn_home: Option<&Path>) -> Self {
        Self {
            folder: pirn_home.map(Path::to_owned),
            path_case: PathCase::OF_SYSTEM,
        }
    }

    /// For other systems than this one.
    #[cfg(test)]
    pub(super) fn with_path_case(self, path_case: PathCase) -> Self {
        Self { path_case, ..self }
    }

    /// The path of the file that decisions are kept in.
    pub fn path(&self) -> Option<PathBuf> {
        self.folder.as_ref().map(|folder| folder.join(FILE_NAME))
    }

    /// The decision for `folder` or the nearest one above it that has one. `folder` is without links.
    pub fn nearest(&self, folder: &Path) -> Result<Option<(PathBuf, Trust)>, StoreError> {
        let Some(path) = self.path() else {
            return Ok(None);
        };
        let decisions: Decisions = read(&path)?;
        Ok(folder.ancestors().find_map(|folder| {
            // A name that is not text cannot be a key; another folder's name must not stand for it.
            let key = folder.to_str()?;
            let is_trusted = decisions
                .iter()
                .find(|(other, decision)| decision.is_some() && self.path_case.same(other, key))
                .and_then(|(_, decision)| *decision)?;
            let trust = if is_trusted {
                Trust::Trusted
            } else {
                Trust::Untrusted
            };
            Some((folder.to_owned(), trust))
        }))
    }

    /// Keeps decisions, or forgets them where there is none. Folders are without links.
    pub fn save(&self, changes: &[(&Path, Option<Trust>)]) -> Result<(), StoreError> {
        let Some(home) = &self.folder else {
            return Err(StoreError {
                path: PathBuf::from(FILE_NAME),
                problem: "cannot be kept: there is no home folder; set HOME or PIRN_HOME"
                    .to_owned(),
                source: None,
            });
        };
        let path = home.join(FILE_NAME);
        pirn_file::make_private_folder(home)
            .map_err(|error| StoreError::io(home, "cannot be made", error))?;
        let _lock = lock(&home.join(LOCK_NAME))?;
        let mut decisions: Decisions = read(&path)?;
        for (folder, trust) in changes {
            let Some(key) = folder.to_str() else {
                return Err(StoreError {
                    path,
                    problem: format!("cannot name {}, which is not valid UTF-8", folder.display()),
                    source: None,
                });
            };
            decisions.retain(|other, _| !self.path_case.same(other, key));
            if let Some(trust) = trust {
                decisions.insert(key.to_owned(), Some(*trust == Trust::Trusted));
            }
        }
        write(&path, &decisions).map_err(|error| StoreError::io(&path, "cannot be written", error))
    }
}

/// Folders of projects, and what they held.
type Covered = BTreeMap<String, String>;

impl TrustStore {
    /// Keeps what the projects below a trusted folder hold: the decision is given for that, and not for what comes later.
    pub(super) fn cover(&self, folder: &Path) -> Result<(), StoreError> {
        let Some(home) = &self.folder else {
            return Ok(());
        };
        let path = home.join(COVERED_NAME);
        let below = covered::projects_below(folder);
        let _lock = lock(&home.join(LOCK_NAME))?;
        let mut all: Covered = read(&path)?;
        all.retain(|other, _| !Path::new(other).starts_with(folder));
        all.extend(
            below
                .into_iter()
                .filter_map(|(project, digest)| Some((project.to_str()?.to_owned(), digest))),
        );
        write(&path, &all).map_err(|error| StoreError::io(&path, "cannot be written", error))
    }

    /// What a project's folder held when a folder above was trusted.
    pub(super) fn covered(&self, project: &Path) -> Result<Option<String>, StoreError> {
        let (Some(home), Some(key)) = (&self.folder, project.to_str()) else {
            return Ok(None);
        };
        let all: Covered = read(&home.join(COVERED_NAME))?;
        Ok(all.get(key).cloned())
    }
}

fn lock(path: &Path) -> Result<FileLock, StoreError> {
    FileLock::acquire(path, LOCK_WAIT)
        .map_err(|error| StoreError::io(path, "cannot be locked", error))?
        .ok_or_else(|| StoreError {
            path: path.to_owned(),
            problem: "is held by another process; try again".to_owned(),
            source: None,
        })
}

fn read<T: DeserializeOwned + Default>(path: &Path) -> Result<T, StoreError> {
    let unreadable = |error| StoreError::io(path, "cannot be read", error);
    let file = match File::open(path) {
        Ok(file) => file,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(T::default()),
        Err(error) => return Err(unreadable(error)),
    };
    let mut text = String::new();
    file.take(FILE_BYTES_MAX + 1)
        .read_to_string(&mut text)
        .map_err(unreadable)?;
    if text.len() as u64 > FILE_BYTES_MAX {
        return Err(StoreError {
            path: path.to_owned(),
            problem: format!("is larger than {} MiB", FILE_BYTES_MAX >> 20),
            source: None,
        });
    }
    serde_json::from_str(&text).map_err(|error| StoreError {
        path: path.to_owned(),
        problem: "is not a JSON object of folders with true, false or null".to_owned(),
        source: Some(error.into()),
    })
}

fn write(path: &Path, value: &impl Serialize) -> io::Result<()> {
    let text = format!("{}\n", serde_json::to_string_pretty(value)?);
    pirn_file::replace(path, text.as_bytes(), Access::Private)
}

/// Why decisions cannot be read or kept. What is on the disk was not changed.
#[derive(Debug)]
pub struct StoreError {
    path: PathBuf,
    problem: String,
    source: Option<Box<dyn std::error::Error + Send + Sync>>,
}

impl StoreError {
    fn io(path: &Path, problem: &str, source: io::Error) -> Self {
        Self {
            path: path.to_owned(),
            problem: problem.to_owned(),
            source: Some(source.into()),
        }
    }
}

impl fmt::Display for StoreError {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "{} {}", self.path.display(), self.problem)
    }
}

impl std::error::Error for StoreError {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        self.source
            .as_deref()
            .map(|source| source as &(dyn std::error::Error + 'static))
    }
}
