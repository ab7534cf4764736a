//! What is kept of a run besides its VM.

use std::time::Duration;

use pirn_tool::{CallStage, Receipt};
use pirn_vm::{JsString, JsonText, Output};

use crate::host::CallEnd;

/// What is kept of a run besides its VM.
pub(crate) struct SavedRun {
    pub(crate) wall: Duration,
    /// What of the time limit is used up; less than `wall` where the clock stood still.
    pub(crate) time_used: Duration,
    pub(crate) output: Vec<Output>,
    pub(crate) notifications: Vec<JsString>,
    pub(crate) notes: Vec<String>,
    pub(crate) records: Vec<Receipt>,
    pub(crate) open_calls: Vec<SavedCall>,
}

/// An open call of a saved script.
pub(crate) struct SavedCall {
    pub(crate) id: u32,
    pub(crate) record: Option<usize>,
    pub(crate) arguments: Option<JsonText>,
    pub(crate) stage: SavedStage,
}

/// What an open call had come to.
pub(crate) enum SavedStage {
    /// It was open, and so far.
    Open(CallStage),
    /// It ended while the script was saved.
    Ended(CallEnd),
}
