//! State in memory, for kernels whose state need not outlive the process.

use std::collections::BTreeMap;
use std::sync::{Mutex, MutexGuard, PoisonError};

use super::{Branches, StateStore, TOTAL_BYTES_MAX, total_bytes};
use crate::error::{Error, ErrorKind};
use crate::request::Language;

/// Keeps state in memory: what is committed lives as long as the store. Bounded; a commit that does not fit is refused.
#[derive(Debug, Default)]
pub struct MemoryStateStore {
    branches: Mutex<Branches<String>>,
}

impl MemoryStateStore {
    /// A store that holds no state yet.
    pub fn new() -> Self {
        Self::default()
    }

    fn branches(&self) -> MutexGuard<'_, Branches<String>> {
        self.branches.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl StateStore for MemoryStateStore {
    fn load(&self, branch: &str, language: Language) -> Result<Option<String>, Error> {
        let branches = self.branches();
        let states = branches.get(branch);
        Ok(states.and_then(|states| states.get(language.as_str()).cloned()))
    }

    fn commit(&self, branch: &str, language: Language, state: &str) -> Result<(), Error> {
        let mut branches = self.branches();
        let old = branches
            .get(branch)
            .and_then(|states| states.get(language.as_str()))
            .map_or(0, String::len);
        if total_bytes(&branches) - old + state.len() > TOTAL_BYTES_MAX {
            return Err(full());
        }
        branches
            .entry(branch.to_owned())
            .or_default()
            .insert(language.as_str().to_owned(), state.to_owned());
        Ok(())
    }

    fn clear(&self, branch: &str) -> Result<(), Error> {
        self.branches().remove(branch);
        Ok(())
    }

    fn fork(&self, from: &str, to: &str) -> Result<(), Error> {
        let mut branches = self.branches();
        let states: BTreeMap<_, _> = branches.get(from).cloned().unwrap_or_default();
        let size: usize = states.values().map(String::len).sum();
        if total_bytes(&branches) + size > TOTAL_BYTES_MAX {
            return Err(full());
        }
        if states.is_empty() {
            branches.remove(to);
        } else {
            branches.insert(to.to_owned(), states);
        }
        Ok(())
    }
}

/// Says that a store is full.
pub(super) fn full() -> Error {
    Error::new(
        ErrorKind::StateFull,
        format!(
            "the states of all branches together would take more than {} MiB; reset branches that are no longer needed",
            TOTAL_BYTES_MAX >> 20
        ),
    )
}
