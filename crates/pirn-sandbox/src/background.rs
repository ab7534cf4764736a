//! What commands leave running when they end.

use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

use crate::child::Child;

/// The children that were left running until some lifetime ends. Cheap to clone; clones share them. Their owner ends the
/// lifetimes and waits here until all are gone.
#[derive(Debug, Clone, Default)]
pub struct BackgroundChildren(TaskTracker);

impl BackgroundChildren {
    /// A set without children, to be cloned to those who start some.
    pub fn new() -> Self {
        Self::default()
    }

    /// Lets a child and its descendants live until `lifetime` fires, then kills them, as [`Child::detach_to`] does.
    pub fn keep(&self, child: Child, lifetime: CancellationToken) {
        self.0.spawn(child.live_until(lifetime));
    }

    /// Waits until all are gone. Whoever waits has ended their lifetimes; then it takes [`crate::KILL_WAIT`] at most.
    pub async fn gone(&self) {
        self.0.close();
        self.0.wait().await;
    }
}
