//! A store in a file: read for each script, merged and replaced when one succeeds.

use std::collections::BTreeMap;
use std::fs::File;
use std::io::{self, Read as _};
use std::path::{Path, PathBuf};
use std::time::Duration;

use futures_util::future::BoxFuture;
use pirn_file::{Access, FileLock, real_target};
use pirn_vm::{JsonText, StoreWrite};
use serde_json::value::RawValue;

use super::{
    STORE_TOTAL_CHARACTERS_MAX, StoreBackend, StoreBase, StoreCommit, StoreError, StoreSnapshot,
    entry_characters,
};

/// The version of the format.
const VERSION: u64 = 1;
/// Bytes of the file: a character of JSON takes six bytes at most, and people may have indented it.
const FILE_BYTES_MAX: u64 = 16 << 20;
/// How long another process may hold the lock. It is held for one merge, a matter of milliseconds.
const LOCK_WAIT: Duration = Duration::from_secs(30);

/// Values in a file of the user's, for one process or several: `{"version": 1, "values": {...}}`. Other fields stay.
#[derive(Debug, Clone)]
pub struct FileStore {
    path: PathBuf,
    /// The path as the user wrote it.
    shown: String,
    /// Locked while the file is changed.
    lock: PathBuf,
}

/// What a store file holds.
#[derive(Debug, Default)]
struct Contents {
    values: BTreeMap<String, JsonText>,
    /// Fields of others, which stay.
    rest: BTreeMap<String, Box<RawValue>>,
}

impl FileStore {
    /// A store in this file, which need not exist. Reads it, so that what cannot be used is known before a script runs.
    ///
    /// # Errors
    /// When the file cannot be read or is no store.
    pub fn open(path: PathBuf) -> Result<Self, StoreError> {
        let shown = path.display().to_string();
        // The lock lies beside the real file.
        let path = real_target(&path).unwrap_or(path);
        let store = Self {
            lock: lock_of(&path),
            path,
            shown,
        };
        store.read()?;
        Ok(store)
    }

    /// Says whether the store could be kept: a lock file lies beside it, so its folder must exist and be writable.
    ///
    /// # Errors
    /// When the lock cannot be had at all. That another process holds it now is no error.
    pub fn check_writable(&self) -> Result<(), StoreError> {
        match FileLock::try_acquire(&self.lock) {
            Ok(_) => Ok(()),
            Err(cause) => {
                let shown = &self.shown;
                Err(StoreError::new(format!("the store {shown} cannot be kept")).because(cause))
            }
        }
    }

    /// What is in the file now.
    ///
    /// # Errors
    /// When it cannot be read or is no store.
    pub fn snapshot_now(&self) -> Result<StoreSnapshot, StoreError> {
        Ok(StoreSnapshot::new(self.read()?.values))
    }

    /// Merges writes with what is in the file by now. Waits for its lock.
    ///
    /// # Errors
    /// When the file cannot be locked, read or written.
    pub fn commit_now(
        &self,
        base: &StoreBase,
        writes: &[StoreWrite],
    ) -> Result<StoreCommit, StoreError> {
        let failed = |cause: Box<dyn std::error::Error + Send + Sync>| {
            let shown = &self.shown;
            StoreError::new(format!(
                "what the script stored could not be written to {shown}"
            ))
            .because(cause)
        };
        let _lock = FileLock::acquire(&self.lock, LOCK_WAIT)
            .map_err(|error| failed(error.into()))?
            .ok_or_else(|| failed("another process holds its lock".into()))?;
        let mut contents = self.read().map_err(|error| failed(error.into()))?;
        let commit = StoreCommit::merge(&mut contents.values, base, writes);
        write(&self.path, &contents).map_err(|error| failed(error.into()))?;
        Ok(commit)
    }

    fn read(&self) -> Result<Contents, StoreError> {
        read(&self.path).map_err(|cause| {
            let shown = &self.shown;
            StoreError::new(format!("the store {shown} cannot be used")).because(cause)
        })
    }
}

impl StoreBackend for FileStore {
    fn snapshot(&self) -> BoxFuture<'static, Result<StoreSnapshot, StoreError>> {
        let store = self.clone();
        off_the_executor(move || store.snapshot_now())
    }

    fn commit(
        &self,
        base: StoreBase,
        writes: Vec<StoreWrite>,
    ) -> BoxFuture<'static, Result<StoreCommit, StoreError>> {
        let store = self.clone();
        off_the_executor(move || store.commit_now(&base, &writes))
    }
}

fn off_the_executor<T: Send + 'static>(
    work: impl FnOnce() -> Result<T, StoreError> + Send + 'static,
) -> BoxFuture<'static, Result<T, StoreError>> {
    Box::pin(async move {
        tokio::task::spawn_blocking(work)
            .await
            .unwrap_or_else(|error| Err(StoreError::new("the store's thread ended").because(error)))
    })
}

/// The file that is locked for another one.
fn lock_of(path: &Path) -> PathBuf {
    let mut name = path.file_name().unwrap_or_default().to_owned();
    name.push(".lock");
    path.with_file_name(name)
}

fn read(path: &Path) -> Result<Contents, Box<dyn std::error::Error + Send + Sync>> {
    let file = match File::open(path) {
        Ok(file) => file,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Contents::default()),
        Err(error) => return Err(error.into()),
    };
    if file.metadata()?.is_dir() {
        return Err("it is a folder".into());
    }
    let mut text = String::new();
    file.take(FILE_BYTES_MAX + 1).read_to_string(&mut text)?;
    if text.len() as u64 > FILE_BYTES_MAX {
        return Err(format!("it is larger than {} MiB", FILE_BYTES_MAX >> 20).into());
    }
    parse(&text)
}

fn parse(text: &str) -> Result<Contents, Box<dyn std::error::Error + Send + Sync>> {
    let mut rest: BTreeMap<String, Box<RawValue>> =
        serde_json::from_str(text).map_err(|error| format!("it is not a JSON object: {error}"))?;
    let version = rest
        .remove("version")
        .map(|version| version.get().to_owned());
    match version.as_deref().map(str::parse::<u64>) {
        Some(Ok(VERSION)) => {}
        Some(Ok(newer)) if newer > VERSION => {
            return Err(
                format!("it has version {newer}; this Pirn reads version {VERSION}").into(),
            );
        }
        Some(_) | None => {
            return Err(
                format!("it does not look like a store: \"version\" should be {VERSION}").into(),
            );
        }
    }
    let values: BTreeMap<String, Box<RawValue>> = match rest.remove("values") {
        Some(values) => serde_json::from_str(values.get())
            .map_err(|error| format!("\"values\" is not an object: {error}"))?,
        None => BTreeMap::new(),
    };
    let values: BTreeMap<String, JsonText> = values
        .into_iter()
        .map(|(key, value)| (key, JsonText::new(Box::<str>::from(value))))
        .collect();
    let characters: usize = values
        .iter()
        .map(|(key, value)| entry_characters(key, value))
        .sum();
    if characters > STORE_TOTAL_CHARACTERS_MAX {
        return Err(format!(
            "its values have {characters} characters; a store may have {STORE_TOTAL_CHARACTERS_MAX}"
        )
        .into());
    }
    Ok(Contents { values, rest })
}

/// Replaces the file: whoever reads it sees the old one or the new one. Only its owner may read it.
fn write(path: &Path, contents: &Contents) -> io::Result<()> {
    let raw = |value: &JsonText| RawValue::from_string(value.as_str().to_owned());
    let mut values = BTreeMap::new();
    for (key, value) in &contents.values {
        values.insert(key, raw(value)?);
    }
    let mut fields = BTreeMap::from([("version", serde_json::value::to_raw_value(&VERSION)?)]);
    fields.insert("values", serde_json::value::to_raw_value(&values)?);
    for (name, value) in &contents.rest {
        fields.insert(name, value.clone());
    }
    let text = format!("{}\n", serde_json::to_string(&fields)?);
    pirn_file::replace(path, text.as_bytes(), Access::Private)?;
    Ok(())
}
