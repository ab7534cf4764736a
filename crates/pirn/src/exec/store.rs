//! The file behind `store()` and `load()`, as the command line names it.

use std::path::PathBuf;

use pirn_codemode::{FileStore, JsonText, StoreError, StoreSnapshot};
use pirn_vm::StoreWrite;

use crate::failure::Failure;

/// A store file, and what was in it when the script started.
#[derive(Debug)]
pub(super) struct StoreFile {
    store: FileStore,
    /// The path as the user wrote it.
    shown: String,
    snapshot: StoreSnapshot,
}

impl StoreFile {
    /// Reads the file, or starts empty when there is none.
    pub(super) fn open(path: PathBuf) -> Result<Self, Failure> {
        let shown = path.display().to_string();
        let refused = |error: StoreError| {
            let cause = std::error::Error::source(&error).map(ToString::to_string);
            Failure::usage_because(
                anyhow::Error::msg(cause.unwrap_or_default()),
                error.to_string(),
            )
        };
        let unusable =
            |error| refused(error).hint("repair the file or move it away; it was not changed");
        let store = FileStore::open(path).map_err(unusable)?;
        let snapshot = store.snapshot_now().map_err(unusable)?;
        // Whether it can be kept at all is better known before the script runs.
        store.check_writable().map_err(|error| {
            refused(error)
                .hint("its folder must exist and be writable; a lock file lies beside the store")
        })?;
        Ok(Self {
            store,
            shown,
            snapshot,
        })
    }

    /// What `load()` finds.
    pub(super) fn values(&self) -> Vec<(String, JsonText)> {
        self.snapshot.values.clone()
    }

    /// Merges a script's writes with what is in the file by now. Returns what the user should know.
    pub(super) fn commit(&self, writes: &[StoreWrite]) -> Result<Vec<String>, Failure> {
        let shown = &self.shown;
        let commit = self
            .store
            .commit_now(&self.snapshot.base, writes)
            .map_err(anyhow::Error::from)?;
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
}
