//! Where committed state is kept: one JSON object per branch and language.

mod file;
mod memory;

use std::collections::BTreeMap;

use crate::error::Error;
use crate::request::Language;

pub use file::FileStateStore;
pub use memory::MemoryStateStore;

/// Bytes of all states of a store together: some sixty of the largest.
const TOTAL_BYTES_MAX: usize = 64 << 20;

/// States by branch and language.
type Branches<T> = BTreeMap<String, BTreeMap<String, T>>;

fn total_bytes(branches: &Branches<String>) -> usize {
    branches
        .values()
        .flat_map(BTreeMap::values)
        .map(String::len)
        .sum()
}

/// Keeps committed state. What [`StateStore::commit`] has acknowledged survives.
pub trait StateStore: Send + Sync {
    /// The committed state as JSON text, `None` where there is none.
    fn load(&self, branch: &str, language: Language) -> Result<Option<String>, Error>;

    /// Replaces the state of a branch and language as a whole.
    fn commit(&self, branch: &str, language: Language, state: &str) -> Result<(), Error>;

    /// Forgets the states of a branch.
    fn clear(&self, branch: &str) -> Result<(), Error>;

    /// Gives `to` what `from` has now.
    fn fork(&self, from: &str, to: &str) -> Result<(), Error>;
}

#[cfg(test)]
mod tests;
