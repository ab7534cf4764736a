//! One change of a file at a time, whichever tool set or call it comes from.

use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, OnceLock, PoisonError, Weak};

use tokio::sync::OwnedMutexGuard;

type Turns = Mutex<HashMap<PathBuf, Weak<tokio::sync::Mutex<()>>>>;

/// Waits for the turn to change a file, and holds it until the guard is dropped. `target` is the real file, see
/// [`pirn_file::real_target`]. Waiters come in order. The table is one for the process, since the files are.
pub(crate) async fn turn(target: &Path) -> OwnedMutexGuard<()> {
    static TURNS: OnceLock<Turns> = OnceLock::new();
    let turn = {
        let mut turns = TURNS
            .get_or_init(Mutex::default)
            .lock()
            .unwrap_or_else(PoisonError::into_inner);
        // Bounded by the calls in flight: finished ones go whenever another one comes.
        turns.retain(|_, turn| turn.strong_count() > 0);
        turns
            .get(target)
            .and_then(Weak::upgrade)
            .unwrap_or_else(|| {
                let turn = Arc::new(tokio::sync::Mutex::new(()));
                turns.insert(target.to_path_buf(), Arc::downgrade(&turn));
                turn
            })
    };
    turn.lock_owned().await
}
