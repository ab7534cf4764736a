//! Stopping a script from outside, with a reason.

use std::sync::{Arc, Mutex, PoisonError};

use tokio_util::sync::CancellationToken;

/// The reason given when none was.
const DEFAULT_REASON: &str = "Execution aborted";

/// Stops scripts. Clones stop the same scripts; the first reason counts.
#[derive(Debug, Clone, Default)]
pub struct Abort {
    token: CancellationToken,
    reason: Arc<Mutex<Option<String>>>,
}

impl Abort {
    /// A handle nobody has used yet.
    pub fn new() -> Self {
        Self::default()
    }

    /// A handle that is also used when `token` fires.
    pub fn on(token: &CancellationToken) -> Self {
        Self { token: token.child_token(), reason: Arc::default() }
    }

    /// Stops the script; `reason` becomes the message of its error.
    pub fn abort(&self, reason: impl Into<String>) {
        self.reason.lock().unwrap_or_else(PoisonError::into_inner).get_or_insert_with(|| reason.into());
        self.token.cancel();
    }

    /// Whether the handle was used.
    pub fn is_aborted(&self) -> bool {
        self.token.is_cancelled()
    }

    pub(crate) async fn aborted(&self) {
        self.token.cancelled().await;
    }

    pub(crate) fn reason(&self) -> String {
        let reason = self.reason.lock().unwrap_or_else(PoisonError::into_inner);
        reason.clone().unwrap_or_else(|| DEFAULT_REASON.to_owned())
    }
}
