//! The store behind `store()` and `load()`: values that outlive a script.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, Mutex, PoisonError};

use pirn_vm::{JsonText, StoreWrite};

/// Characters of JSON, keys included, that all values together may have; the contract's number.
pub const STORE_TOTAL_CHARACTERS_MAX: usize = 1_048_576;

/// Deleted keys whose deletion is remembered, to report conflicts; a session may delete any number.
const DELETIONS_REMEMBERED_MAX: usize = 10_000;

/// The values of one session branch. Clones share their content.
///
/// Each script works on a [`StoreSnapshot`]; when it succeeds its writes are merged key by key. A key that another script wrote
/// since the snapshot is reported as a conflict: the later write wins, but nobody loses data without being told.
#[derive(Debug, Clone, Default)]
pub struct ScriptStore {
    state: Arc<Mutex<State>>,
}

#[derive(Debug, Default)]
struct State {
    values: BTreeMap<String, JsonText>,
    /// Of all keys and values.
    characters: usize,
    /// When each key was last written or deleted.
    written_at: BTreeMap<String, u64>,
    generation: u64,
}

/// What a script sees of a [`ScriptStore`].
#[derive(Debug, Clone, Default)]
pub struct StoreSnapshot {
    /// Keys and values.
    pub values: Vec<(String, JsonText)>,
    generation: u64,
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
}

impl ScriptStore {
    /// A store with these values.
    pub fn new(values: impl IntoIterator<Item = (String, JsonText)>) -> Self {
        Self {
            state: Arc::new(Mutex::new(State::new(values.into_iter().collect()))),
        }
    }

    /// What a script that starts now sees.
    pub fn snapshot(&self) -> StoreSnapshot {
        let state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        StoreSnapshot {
            values: state
                .values
                .iter()
                .map(|(key, value)| (key.clone(), value.clone()))
                .collect(),
            generation: state.generation,
        }
    }

    /// All values, for saving.
    pub fn values(&self) -> BTreeMap<String, JsonText> {
        self.state
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .values
            .clone()
    }

    /// Merges the writes of a script that worked on `snapshot`.
    pub fn commit(&self, snapshot: &StoreSnapshot, writes: &[StoreWrite]) -> StoreCommit {
        let mut commit = StoreCommit::default();
        if writes.is_empty() {
            return commit;
        }
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        state.generation += 1;
        let mut seen = BTreeSet::new();
        // Deletions first, since they make room.
        let (deletions, settings): (Vec<_>, Vec<_>) =
            writes.iter().partition(|write| write.value.is_none());
        for write in deletions.into_iter().chain(settings) {
            let key = key_text(&write.key);
            let is_foreign = state
                .written_at
                .get(&key)
                .is_some_and(|at| *at > snapshot.generation);
            match state.write(&key, write.value.as_ref()) {
                Written::Set(value) => commit.set.push((key.clone(), value)),
                Written::Deleted => commit.deleted.push(key.clone()),
                Written::Refused => {
                    commit.refused.push(key);
                    continue;
                }
            }
            if is_foreign && seen.insert(key.clone()) {
                commit.conflicts.push(key);
            }
        }
        state.forget_old_deletions();
        commit
    }
}

enum Written {
    Set(JsonText),
    Deleted,
    Refused,
}

impl State {
    fn new(values: BTreeMap<String, JsonText>) -> Self {
        let characters = values
            .iter()
            .map(|(key, value)| entry_characters(key, value))
            .sum();
        Self {
            values,
            characters,
            ..Self::default()
        }
    }

    fn write(&mut self, key: &str, value: Option<&JsonText>) -> Written {
        let before = self
            .values
            .get(key)
            .map_or(0, |value| entry_characters(key, value));
        let Some(value) = value else {
            self.values.remove(key);
            self.characters -= before;
            self.written_at.insert(key.to_owned(), self.generation);
            return Written::Deleted;
        };
        let after = self.characters - before + entry_characters(key, value);
        // Whoever saves the store needs to read the value; a script can nest deeper than a parser goes.
        if after > STORE_TOTAL_CHARACTERS_MAX || value.parse().is_err() {
            return Written::Refused;
        }
        self.characters = after;
        self.values.insert(key.to_owned(), value.clone());
        self.written_at.insert(key.to_owned(), self.generation);
        Written::Set(value.clone())
    }

    /// Drops the oldest marks of deleted keys. A script that has run since before them may then miss a conflict about a key
    /// that has not existed for [`DELETIONS_REMEMBERED_MAX`] deletions.
    fn forget_old_deletions(&mut self) {
        let deleted = self.written_at.len().saturating_sub(self.values.len());
        if deleted <= DELETIONS_REMEMBERED_MAX {
            return;
        }
        let mut ages: Vec<u64> = self
            .written_at
            .iter()
            .filter(|(key, _)| !self.values.contains_key(*key))
            .map(|(_, at)| *at)
            .collect();
        ages.sort_unstable();
        let oldest_kept = ages
            .get(ages.len().saturating_sub(DELETIONS_REMEMBERED_MAX))
            .copied()
            .unwrap_or(0);
        let values = &self.values;
        self.written_at
            .retain(|key, at| *at >= oldest_kept || values.contains_key(key));
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
