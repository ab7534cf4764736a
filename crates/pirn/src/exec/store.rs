//! The file behind `store()` and `load()`: read at the start, merged and replaced after success.

use std::collections::BTreeMap;
use std::fs::File;
use std::io::{self, Read as _};
use std::path::{Path, PathBuf};
use std::time::Duration;

use anyhow::Context as _;
use pirn_codemode::{STORE_TOTAL_CHARACTERS_MAX, ScriptStore, StoreCommit};
use pirn_file::{Access, FileLock, real_target};
use pirn_vm::{JsonText, StoreWrite};
use serde_json::value::RawValue;

use crate::failure::Failure;

/// The version of the format.
const VERSION: u64 = 1;
/// Bytes of the file: a character of JSON takes six bytes at most, and people may have indented it.
const FILE_BYTES_MAX: u64 = 16 << 20;
/// How long another process may hold the lock. It is held for one merge, a matter of milliseconds.
const LOCK_WAIT: Duration = Duration::from_secs(30);

type Values = BTreeMap<String, JsonText>;

/// A store file, as it was when the script started.
#[derive(Debug)]
pub(super) struct StoreFile {
    path: PathBuf,
    /// The path as the user wrote it.
    shown: String,
    /// Locked while the file is changed.
    lock: PathBuf,
    values: Values,
}

/// What a store file holds.
#[derive(Debug, Default)]
struct Contents {
    values: Values,
    /// Fields of others, which stay.
    rest: BTreeMap<String, Box<RawValue>>,
}

impl StoreFile {
    /// Reads the file, or starts empty when there is none.
    pub(super) fn open(path: PathBuf) -> Result<Self, Failure> {
        let shown = path.display().to_string();
        // The lock lies beside the real file.
        let path = real_target(&path).unwrap_or(path);
        let contents = read(&path).map_err(|error| {
            Failure::usage_because(error, format!("the store {shown} cannot be used"))
                .hint("repair the file or move it away; it was not changed")
        })?;
        let lock = lock_of(&path);
        // Not to be kept: whether it can be had at all is better known before the script runs.
        FileLock::try_acquire(&lock).map_err(|error| {
            Failure::usage_because(error, format!("the store {shown} cannot be kept"))
                .hint("its folder must exist and be writable; a lock file lies beside the store")
        })?;
        Ok(Self {
            path,
            shown,
            lock,
            values: contents.values,
        })
    }

    /// What `load()` finds.
    pub(super) fn values(&self) -> Vec<(String, JsonText)> {
        self.values
            .iter()
            .map(|(key, value)| (key.clone(), value.clone()))
            .collect()
    }

    /// Merges a script's writes with what is in the file by now. Returns what the user should know.
    pub(super) fn commit(&self, writes: &[StoreWrite]) -> Result<Vec<String>, Failure> {
        let shown = &self.shown;
        let commit = self
            .merge(writes)
            .with_context(|| format!("what the script stored could not be written to {shown}"))?;
        let mut notes = Vec::new();
        if !commit.conflicts.is_empty() {
            notes.push(format!(
                "another script wrote {} to {shown} meanwhile; this script's value replaced it",
                commit.conflicts.join(", ")
            ));
        }
        if !commit.refused.is_empty() {
            notes.push(format!(
                "{shown} is full, so {} was not stored; delete keys first",
                commit.refused.join(", ")
            ));
        }
        Ok(notes)
    }

    fn merge(&self, writes: &[StoreWrite]) -> anyhow::Result<StoreCommit> {
        let _lock = FileLock::acquire(&self.lock, LOCK_WAIT)
            .context("it cannot be locked")?
            .context("another process holds its lock")?;
        let contents = read(&self.path)?;
        let store = ScriptStore::new(contents.values.clone());
        let mut commit = store.commit(&store.snapshot(), writes);
        let written = commit.set.iter().map(|(key, _)| key).chain(&commit.deleted);
        commit.conflicts = written
            .filter(|key| contents.values.get(*key) != self.values.get(*key))
            .cloned()
            .collect();
        write(
            &self.path,
            &Contents {
                values: store.values(),
                rest: contents.rest,
            },
        )?;
        Ok(commit)
    }
}

/// The file that is locked for another one.
fn lock_of(path: &Path) -> PathBuf {
    let mut name = path.file_name().unwrap_or_default().to_owned();
    name.push(".lock");
    path.with_file_name(name)
}

fn read(path: &Path) -> anyhow::Result<Contents> {
    let file = match File::open(path) {
        Ok(file) => file,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Contents::default()),
        Err(error) => return Err(error.into()),
    };
    if file.metadata()?.is_dir() {
        anyhow::bail!("it is a folder");
    }
    let mut text = String::new();
    file.take(FILE_BYTES_MAX + 1).read_to_string(&mut text)?;
    if text.len() as u64 > FILE_BYTES_MAX {
        anyhow::bail!("it is larger than {} MiB", FILE_BYTES_MAX >> 20);
    }
    parse(&text)
}

fn parse(text: &str) -> anyhow::Result<Contents> {
    let mut rest: BTreeMap<String, Box<RawValue>> =
        serde_json::from_str(text).context("it is not a JSON object")?;
    let version = rest
        .remove("version")
        .map(|version| version.get().to_owned());
    match version.as_deref().map(str::parse::<u64>) {
        Some(Ok(VERSION)) => {}
        Some(Ok(newer)) if newer > VERSION => {
            anyhow::bail!("it has version {newer}; this Pirn reads version {VERSION}")
        }
        Some(_) | None => {
            anyhow::bail!("it does not look like a store: \"version\" should be {VERSION}")
        }
    }
    let values: BTreeMap<String, Box<RawValue>> = match rest.remove("values") {
        Some(values) => {
            serde_json::from_str(values.get()).context("\"values\" is not an object")?
        }
        None => BTreeMap::new(),
    };
    let values: Values = values
        .into_iter()
        .map(|(key, value)| (key, JsonText::new(Box::<str>::from(value))))
        .collect();
    let characters: usize = values
        .iter()
        .map(|(key, value)| utf16_length(key) + utf16_length(value.as_str()))
        .sum();
    if characters > STORE_TOTAL_CHARACTERS_MAX {
        anyhow::bail!(
            "its values have {characters} characters; a store may have {STORE_TOTAL_CHARACTERS_MAX}"
        );
    }
    Ok(Contents { values, rest })
}

fn utf16_length(text: &str) -> usize {
    text.encode_utf16().count()
}

/// Replaces the file: whoever reads it sees the old one or the new one. Only its owner may read it.
fn write(path: &Path, contents: &Contents) -> anyhow::Result<()> {
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
