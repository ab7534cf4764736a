//! The store behind `store()` and `load()`: values that outlive a script.

mod file;

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::sync::{Arc, Mutex, PoisonError};

use base64::Engine as _;
use futures_util::future::BoxFuture;
use pirn_vm::{JsonText, StoreWrite};
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use sha2::{Digest as _, Sha256};

pub use file::FileStore;

/// Characters of JSON, keys included, that all values together may have; the contract's number.
pub const STORE_TOTAL_CHARACTERS_MAX: usize = 1_048_576;
/// Bytes of a digest: what a script saw is compared with what there is, and nobody gains by making two look alike.
const DIGEST_BYTES: usize = 16;

/// Where the values of scripts are kept. Each script works on a [`StoreSnapshot`]; when it succeeds its writes are merged key by
/// key ([`StoreCommit::merge`]). A key that has changed since the script saw it is reported as a conflict: the later write wins,
/// but nobody loses data without being told. That holds also for a script that was suspended and resumed in another process,
/// since its [`StoreBase`] can be saved with it.
pub trait StoreBackend: fmt::Debug + Send + Sync {
    /// What a script that starts now sees.
    fn snapshot(&self) -> BoxFuture<'static, Result<StoreSnapshot, StoreError>>;

    /// Merges the writes of a script that saw `base`.
    fn commit(
        &self,
        base: StoreBase,
        writes: Vec<StoreWrite>,
    ) -> BoxFuture<'static, Result<StoreCommit, StoreError>>;
}

/// Why a store cannot be read or written.
#[derive(Debug, thiserror::Error)]
#[error("{what}")]
pub struct StoreError {
    what: String,
    #[source]
    cause: Option<Box<dyn std::error::Error + Send + Sync>>,
}

impl StoreError {
    /// An error that says what could not be done with which store.
    pub fn new(what: impl Into<String>) -> Self {
        Self {
            what: what.into(),
            cause: None,
        }
    }

    /// The error with its causes, on one line.
    pub fn with_causes(&self) -> String {
        let mut text = self.to_string();
        let mut cause = std::error::Error::source(self);
        while let Some(error) = cause {
            text.push_str(": ");
            text.push_str(&error.to_string());
            cause = error.source();
        }
        text
    }

    /// Adds the error that is behind it.
    #[must_use]
    pub fn because(self, cause: impl Into<Box<dyn std::error::Error + Send + Sync>>) -> Self {
        Self {
            cause: Some(cause.into()),
            ..self
        }
    }
}

/// Values in memory, as of one session branch. Clones share their content.
#[derive(Debug, Clone, Default)]
pub struct ScriptStore {
    values: Arc<Mutex<Values>>,
}

type Values = Arc<BTreeMap<String, JsonText>>;

/// What a script sees of a store.
#[derive(Debug, Clone, Default)]
pub struct StoreSnapshot {
    /// The keys with their values, sorted.
    pub values: Vec<(String, JsonText)>,
    /// What its writes are compared with.
    pub base: StoreBase,
}

impl StoreSnapshot {
    /// A snapshot of these values.
    pub fn new(values: BTreeMap<String, JsonText>) -> Self {
        Self::of(&Arc::new(values))
    }

    fn of(values: &Values) -> Self {
        Self {
            values: values
                .iter()
                .map(|(key, value)| (key.clone(), value.clone()))
                .collect(),
            base: StoreBase(Seen::Values(Arc::clone(values))),
        }
    }
}

/// What a script saw when it started, to find out what others have changed since. Saved as digests of the values.
#[derive(Debug, Clone, Default)]
pub struct StoreBase(Seen);

#[derive(Debug, Clone)]
enum Seen {
    Values(Values),
    Digests(BTreeMap<String, String>),
}

impl Default for Seen {
    fn default() -> Self {
        Self::Values(Arc::default())
    }
}

impl StoreBase {
    /// Whether the script saw another value for this key than there is now.
    fn differs(&self, key: &str, now: Option<&JsonText>) -> bool {
        match &self.0 {
            Seen::Values(values) => values.get(key) != now,
            Seen::Digests(digests) => digests.get(key) != now.map(digest).as_ref(),
        }
    }
}

impl Serialize for StoreBase {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match &self.0 {
            Seen::Values(values) => {
                serializer.collect_map(values.iter().map(|(key, value)| (key, digest(value))))
            }
            Seen::Digests(digests) => digests.serialize(serializer),
        }
    }
}

impl<'de> Deserialize<'de> for StoreBase {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        BTreeMap::deserialize(deserializer).map(|digests| Self(Seen::Digests(digests)))
    }
}

fn digest(value: &JsonText) -> String {
    let digest = Sha256::digest(value.as_str());
    let start = digest.get(..DIGEST_BYTES).unwrap_or_default();
    base64::engine::general_purpose::STANDARD_NO_PAD.encode(start)
}

/// What became of a script's writes.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct StoreCommit {
    /// Keys that now have a new value, with it.
    pub set: Vec<(String, JsonText)>,
    /// Keys that were deleted, also such as never existed.
    pub deleted: Vec<String>,
    /// Keys that another script wrote meanwhile; this script's write replaced it.
    pub conflicts: Vec<String>,
    /// Keys that were not written: the store as a whole would have grown over its limit, or the value is nested deeper than 128
    /// levels.
    pub refused: Vec<String>,
}

impl StoreCommit {
    /// Whether anything was written.
    pub fn is_empty(&self) -> bool {
        self.set.is_empty() && self.deleted.is_empty()
    }

    /// Merges the writes of a script that saw `base` into what there is now.
    pub fn merge(
        values: &mut BTreeMap<String, JsonText>,
        base: &StoreBase,
        writes: &[StoreWrite],
    ) -> Self {
        let mut commit = Self::default();
        let mut characters: usize = values
            .iter()
            .map(|(key, value)| entry_characters(key, value))
            .sum();
        let mut seen = BTreeSet::new();
        // Deletions first, since they make room.
        let (deletions, settings): (Vec<_>, Vec<_>) =
            writes.iter().partition(|write| write.value.is_none());
        for write in deletions.into_iter().chain(settings) {
            let key = key_text(&write.key);
            let before = values.get(&key);
            let is_foreign = base.differs(&key, before);
            let freed = before.map_or(0, |value| entry_characters(&key, value));
            let Some(value) = &write.value else {
                characters -= freed;
                values.remove(&key);
                if is_foreign && seen.insert(key.clone()) {
                    commit.conflicts.push(key.clone());
                }
                commit.deleted.push(key);
                continue;
            };
            let after = characters - freed + entry_characters(&key, value);
            // Whoever saves the store needs to read the value; a script can nest deeper than a parser goes.
            if after > STORE_TOTAL_CHARACTERS_MAX || value.parse().is_err() {
                commit.refused.push(key);
                continue;
            }
            characters = after;
            values.insert(key.clone(), value.clone());
            if is_foreign && seen.insert(key.clone()) {
                commit.conflicts.push(key.clone());
            }
            commit.set.push((key, value.clone()));
        }
        commit
    }
}

impl ScriptStore {
    /// A store with these values.
    pub fn new(values: impl IntoIterator<Item = (String, JsonText)>) -> Self {
        let values = Arc::new(values.into_iter().collect());
        Self {
            values: Arc::new(Mutex::new(values)),
        }
    }

    /// What a script that starts now sees.
    pub fn snapshot(&self) -> StoreSnapshot {
        StoreSnapshot::of(&self.lock())
    }

    /// All values, for saving.
    pub fn values(&self) -> BTreeMap<String, JsonText> {
        self.lock().as_ref().clone()
    }

    /// Merges the writes of a script that saw `base`.
    pub fn commit(&self, base: &StoreBase, writes: &[StoreWrite]) -> StoreCommit {
        if writes.is_empty() {
            return StoreCommit::default();
        }
        StoreCommit::merge(Arc::make_mut(&mut self.lock()), base, writes)
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, Values> {
        self.values.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl StoreBackend for ScriptStore {
    fn snapshot(&self) -> BoxFuture<'static, Result<StoreSnapshot, StoreError>> {
        Box::pin(std::future::ready(Ok(self.snapshot())))
    }

    fn commit(
        &self,
        base: StoreBase,
        writes: Vec<StoreWrite>,
    ) -> BoxFuture<'static, Result<StoreCommit, StoreError>> {
        Box::pin(std::future::ready(Ok(self.commit(&base, &writes))))
    }
}

/// A key as text; a lone surrogate, which no file can hold, becomes U+FFFD.
fn key_text(key: &JsonText) -> String {
    key.parse()
        .ok()
        .and_then(|value| value.as_str().map(str::to_owned))
        .unwrap_or_default()
}

fn entry_characters(key: &str, value: &JsonText) -> usize {
    key.encode_utf16().count() + value.as_str().encode_utf16().count()
}
