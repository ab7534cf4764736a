//! The store behind `store()` and `load()`: values that outlive a script.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, Mutex, PoisonError};

use pirn_vm::{JsonText, StoreWrite};

/// Characters of JSON, keys included, that all values together may have; the contract's number.
pub const STORE_TOTAL_CHARACTERS_MAX: usize = 1_048_576;

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
    /// Keys that were not written, since the store as a whole would have grown over its limit.
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
        let state = State { values: values.into_iter().collect(), ..State::default() };
        Self { state: Arc::new(Mutex::new(state)) }
    }

    /// What a script that starts now sees.
    pub fn snapshot(&self) -> StoreSnapshot {
        let state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        StoreSnapshot {
            values: state.values.iter().map(|(key, value)| (key.clone(), value.clone())).collect(),
            generation: state.generation,
        }
    }

    /// All values, for saving.
    pub fn values(&self) -> BTreeMap<String, JsonText> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner).values.clone()
    }

    /// Merges the writes of a script that worked on `snapshot`.
    pub fn commit(&self, snapshot: &StoreSnapshot, writes: &[StoreWrite]) -> StoreCommit {
        let mut commit = StoreCommit::default();
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        state.generation += 1;
        let generation = state.generation;
        // Deletions first, since they make room.
        let (deletions, settings): (Vec<_>, Vec<_>) = writes.iter().partition(|write| write.value.is_none());
        let mut seen = BTreeSet::new();
        for write in deletions.into_iter().chain(settings) {
            let key = key_text(&write.key);
            if state.written_at.get(&key).is_some_and(|at| *at > snapshot.generation) && seen.insert(key.clone()) {
                commit.conflicts.push(key.clone());
            }
            let Some(value) = &write.value else {
                state.values.remove(&key);
                state.written_at.insert(key.clone(), generation);
                commit.deleted.push(key);
                continue;
            };
            let others: usize = state
                .values
                .iter()
                .filter(|(other, _)| **other != key)
                .map(|(other, value)| characters(other) + characters(value.as_str()))
                .sum();
            if others + characters(&key) + characters(value.as_str()) > STORE_TOTAL_CHARACTERS_MAX {
                commit.refused.push(key);
                continue;
            }
            state.values.insert(key.clone(), value.clone());
            state.written_at.insert(key.clone(), generation);
            commit.set.push((key, value.clone()));
        }
        commit
    }
}

/// A key as text; a lone surrogate, which no file can hold, becomes U+FFFD.
fn key_text(key: &JsonText) -> String {
    key.parse().ok().and_then(|value| value.as_str().map(str::to_owned)).unwrap_or_default()
}

fn characters(text: &str) -> usize {
    text.encode_utf16().count()
}
