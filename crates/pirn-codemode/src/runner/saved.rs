//! What is kept of a run besides its VM.

use std::time::Duration;

use pirn_vm::{JsString, JsonText, Output};

use crate::host::CallEnd;
use crate::result::CallRecord;

/// What is kept of a run besides its VM.
pub(crate) struct SavedRun {
    pub(crate) wall: Duration,
    pub(crate) output: Vec<Output>,
    pub(crate) notifications: Vec<JsString>,
    pub(crate) records: Vec<CallRecord>,
    pub(crate) open_calls: Vec<SavedCall>,
}

/// An open call of a saved script.
pub(crate) struct SavedCall {
    pub(crate) id: u32,
    pub(crate) record: Option<usize>,
    pub(crate) arguments: Option<JsonText>,
    pub(crate) stage: SavedStage,
}

/// How far an open call had come.
pub(crate) enum SavedStage {
    /// It waited for room; nothing happened yet.
    Queued,
    /// It was made, and did not confirm that it stopped.
    Started,
    /// It ended while the script was saved.
    Ended(CallEnd),
}
