//! The file of credentials, shared by all processes of a user.
//!
//! A JSON object with one entry per server. Whoever changes it holds a lock, reads it anew and replaces it as a whole, so
//! that readers need no lock. Entries and fields of others stay. A file that cannot be understood is never replaced.

use std::fmt;
use std::fs::{self, File};
use std::io;
use std::path::PathBuf;
use std::time::{Duration, SystemTime};

use pirn_file::{Access, FileLock};
use serde_json::{Map, Value};
use sha2::{Digest, Sha256};

mod entry;

pub(super) use entry::{ClientInformation, Entry, Tokens};

/// How long a change waits for others' changes, which take milliseconds.
const CHANGE_LOCK_TIMEOUT: Duration = Duration::from_secs(5);
/// More than thousands of servers need; a larger file is none of ours.
const FILE_BYTES_MAX: u64 = 16 * 1024 * 1024;

#[derive(Debug, Clone)]
pub(super) struct Store {
    path: PathBuf,
}

/// Which entry of the file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Key {
    name: String,
    /// How others write it, who have no hyphens in names.
    alternative: String,
}

/// Tells whether the file is still the one that was read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Stamp {
    modified: SystemTime,
    bytes: u64,
    /// Every replacement is a new file, also within one tick of the clock.
    file: u64,
}

/// The file could not be read or changed.
#[derive(Debug)]
pub(super) struct StoreError {
    path: PathBuf,
    what: String,
    source: Option<io::Error>,
}

impl Key {
    /// The entry of a server.
    pub(super) fn new(server: &str, url: &str) -> Self {
        Self {
            name: format!("mcp__{server}|{url}"),
            alternative: format!("mcp__{}|{url}", server.replace('-', "_")),
        }
    }
}

impl Store {
    pub(super) fn new(path: PathBuf) -> Self {
        Self { path }
    }

    /// What would change if somebody changed the file; `None` where there is none.
    pub(super) async fn stamp(&self) -> Option<Stamp> {
        let metadata = tokio::fs::metadata(&self.path).await.ok()?;
        Some(Stamp {
            modified: metadata.modified().ok()?,
            bytes: metadata.len(),
            file: file_number(&metadata),
        })
    }

    /// The entry of a server, where there is one.
    pub(super) async fn read(&self, key: &Key) -> Result<Option<Entry>, StoreError> {
        let key = key.clone();
        self.blocking(move |store| {
            let document = store.load()?;
            let Some(value) = document.get(find(&document, &key)) else {
                return Ok(None);
            };
            store.parse(&key, value).map(Some)
        })
        .await
    }

    /// Changes the entry of a server; `None` is none. Nothing is written where `change` changes nothing.
    pub(super) async fn change<R: Send + 'static>(
        &self,
        key: &Key,
        change: impl FnOnce(&mut Option<Entry>) -> R + Send + 'static,
    ) -> Result<R, StoreError> {
        let key = key.clone();
        self.blocking(move |store| store.change_blocking(&key, change))
            .await
    }

    /// Where the lock of refreshes of one server lies; its folder is created.
    pub(super) async fn refresh_lock(&self, key: &Key) -> Result<PathBuf, StoreError> {
        let digest = Sha256::digest(&key.name);
        let number = digest
            .iter()
            .take(8)
            .fold(0_u64, |number, byte| number << 8 | u64::from(*byte));
        let name = format!("{number:016x}");
        self.blocking(move |store| {
            let folder = store.beside(".locks");
            pirn_file::make_private_folder(&folder)
                .map_err(|error| store.failure("the folder of its locks cannot be made", error))?;
            Ok(folder.join(name))
        })
        .await
    }

    async fn blocking<R: Send + 'static>(
        &self,
        work: impl FnOnce(&Self) -> Result<R, StoreError> + Send + 'static,
    ) -> Result<R, StoreError> {
        let store = self.clone();
        let task = tokio::task::spawn_blocking(move || work(&store));
        task.await.unwrap_or_else(|error| {
            Err(self.failure("the work on it ended early", io::Error::other(error)))
        })
    }

    fn change_blocking<R>(
        &self,
        key: &Key,
        change: impl FnOnce(&mut Option<Entry>) -> R,
    ) -> Result<R, StoreError> {
        if let Some(folder) = self.path.parent() {
            pirn_file::make_private_folder(folder)
                .map_err(|error| self.failure("its folder cannot be made", error))?;
        }
        let lock = FileLock::acquire(&self.beside(".lock"), CHANGE_LOCK_TIMEOUT)
            .map_err(|error| self.failure("it cannot be locked", error))?;
        let Some(_lock) = lock else {
            return Err(self.unusable("another process keeps it locked".to_owned()));
        };
        let mut document = self.load()?;
        let name = find(&document, key).to_owned();
        let before = document
            .get(&name)
            .map(|value| self.parse(key, value))
            .transpose()?;
        let mut after = before.clone();
        let answer = change(&mut after);
        if before == after {
            return Ok(answer);
        }
        match after {
            None => {
                document.shift_remove(&name);
            }
            Some(entry) => {
                let value = serde_json::to_value(entry)
                    .map_err(|error| self.failure("an entry is not JSON", error.into()))?;
                if name == key.name {
                    document.insert(name, value);
                } else {
                    document.shift_remove(&name);
                    document.insert(key.name.clone(), value);
                }
            }
        }
        self.save(&document)
            .map_err(|error| self.failure("it cannot be written", error))?;
        Ok(answer)
    }

    fn load(&self) -> Result<Map<String, Value>, StoreError> {
        let unreadable = |error| self.failure("it cannot be read", error);
        let text = match File::open(&self.path) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Map::new()),
            Err(error) => return Err(unreadable(error)),
            Ok(file) => {
                if file.metadata().map_err(unreadable)?.len() > FILE_BYTES_MAX {
                    return Err(self.unusable("it is too large".to_owned()));
                }
                io::read_to_string(file).map_err(unreadable)?
            }
        };
        let text = text.trim_start_matches('\u{feff}').trim();
        if text.is_empty() {
            return Ok(Map::new());
        }
        // The parser's message tells the place but, unlike one of a typed parse, no value.
        match serde_json::from_str(text) {
            Ok(Value::Object(document)) => Ok(document),
            Ok(_) => Err(self.unusable("it is not a JSON object".to_owned())),
            Err(error) => Err(self.unusable(format!(
                "it is not JSON: line {}, column {}",
                error.line(),
                error.column()
            ))),
        }
    }

    /// A typed parse quotes what it dislikes, which may be a secret: only the place is told.
    fn parse(&self, key: &Key, value: &Value) -> Result<Entry, StoreError> {
        serde_json::from_value(value.clone()).map_err(|_quotes_values| {
            self.unusable(format!(
                "its entry `{}` is not what a sign-in stores",
                key.name
            ))
        })
    }

    fn save(&self, document: &Map<String, Value>) -> io::Result<()> {
        let mut text = serde_json::to_vec_pretty(document)?;
        text.push(b'\n');
        pirn_file::replace(&self.path, &text, Access::Private)
    }

    fn beside(&self, ending: &str) -> PathBuf {
        let mut path = self.path.clone().into_os_string();
        path.push(ending);
        PathBuf::from(path)
    }

    fn failure(&self, what: &str, source: io::Error) -> StoreError {
        StoreError {
            path: self.path.clone(),
            what: what.to_owned(),
            source: Some(source),
        }
    }

    fn unusable(&self, what: String) -> StoreError {
        StoreError {
            path: self.path.clone(),
            what,
            source: None,
        }
    }
}

impl fmt::Display for StoreError {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let path = self.path.display();
        write!(formatter, "the credentials in {path}: {}", self.what)?;
        match &self.source {
            Some(source) => write!(formatter, ": {source}"),
            None => Ok(()),
        }
    }
}

fn find<'a>(document: &Map<String, Value>, key: &'a Key) -> &'a str {
    let is_alternative =
        !document.contains_key(&key.name) && document.contains_key(&key.alternative);
    if is_alternative {
        &key.alternative
    } else {
        &key.name
    }
}

#[cfg(unix)]
fn file_number(metadata: &fs::Metadata) -> u64 {
    std::os::unix::fs::MetadataExt::ino(metadata)
}

#[cfg(not(unix))]
fn file_number(_metadata: &fs::Metadata) -> u64 {
    0
}

#[cfg(test)]
mod tests;
