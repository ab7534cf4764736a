//! The file behind `store()` and `load()`, as the command line names it.

use std::path::PathBuf;
use std::sync::Arc;

use pirn_codemode::{FileStore, StoreBackend, StoreError};

use crate::failure::Failure;

/// The store in this file, which need not exist. Fails on one that cannot be used, before the script runs.
pub(super) fn open(path: PathBuf) -> Result<Arc<dyn StoreBackend>, Failure> {
    let refused = |error: StoreError| {
        let cause = std::error::Error::source(&error).map(ToString::to_string);
        Failure::usage_because(
            anyhow::Error::msg(cause.unwrap_or_default()),
            error.to_string(),
        )
    };
    let store = FileStore::open(path).map_err(|error| {
        refused(error).hint("repair the file or move it away; it was not changed")
    })?;
    // Whether it can be kept at all is better known before the script runs.
    store.check_writable().map_err(|error| {
        refused(error)
            .hint("its folder must exist and be writable; a lock file lies beside the store")
    })?;
    Ok(Arc::new(store))
}
