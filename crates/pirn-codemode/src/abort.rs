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
    parent: Option<Arc<Abort>>,
}

impl Abort {
    /// A handle nobody has used yet.
    pub fn new() -> Self {
        Self::default()
    }

    /// A handle that is also used when `token` fires.
    pub fn on(token: &CancellationToken) -> Self {
        Self {
            token: token.child_token(),
            reason: Arc::default(),
            parent: None,
        }
    }

    /// A handle that is also used when this one is; using it leaves this one alone.
    #[must_use]
    pub fn child(&self) -> Self {
        Self {
            token: self.token.child_token(),
            reason: Arc::default(),
            parent: Some(Arc::new(self.clone())),
        }
    }

    /// Stops the script; `reason` becomes the message of its error.
    pub fn abort(&self, reason: impl Into<String>) {
        if self.is_aborted() {
            return;
        }
        self.reason
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .get_or_insert_with(|| reason.into());
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
        self.given_reason()
            .unwrap_or_else(|| DEFAULT_REASON.to_owned())
    }

    fn given_reason(&self) -> Option<String> {
        let own = self
            .reason
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .clone();
        own.or_else(|| self.parent.as_ref()?.given_reason())
    }
}
