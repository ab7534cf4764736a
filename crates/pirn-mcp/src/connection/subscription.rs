//! Changes of lists in the protocol of 2026-07-28: they come only on a stream that the client opens.

use std::sync::Arc;
use std::time::Duration;

use rmcp::RoleClient;
use rmcp::model::{ServerNotification, SubscriptionFilter};
use rmcp::service::Peer;

use super::Changed;
use super::handler::HandlerState;

/// Pause before a stream that ended is opened again; doubles up to [`REOPEN_AFTER_MAX`].
const REOPEN_AFTER: Duration = Duration::from_secs(1);
const REOPEN_AFTER_MAX: Duration = Duration::from_mins(1);
/// A server that refuses this often in a row has no such stream.
const FAILURES_MAX: usize = 5;

/// Listens for as long as the connection lives. What is missed between two streams is made up for by reading the lists anew.
pub(super) async fn listen(
    peer: Peer<RoleClient>,
    handler: Arc<HandlerState>,
    filter: SubscriptionFilter,
) {
    let mut pause = REOPEN_AFTER;
    let mut failures = 0;
    let mut is_first = true;
    while failures < FAILURES_MAX && !peer.is_transport_closed() {
        if let Ok(mut subscription) = peer.listen(filter.clone()).await {
            failures = 0;
            pause = REOPEN_AFTER;
            if !std::mem::take(&mut is_first) {
                for changed in [Changed::Tools, Changed::Resources, Changed::Prompts] {
                    handler.changed(changed);
                }
            }
            while let Ok(Some(notification)) = subscription.next().await {
                match notification {
                    ServerNotification::ToolListChangedNotification(_) => {
                        handler.changed(Changed::Tools);
                    }
                    ServerNotification::ResourceListChangedNotification(_) => {
                        handler.changed(Changed::Resources);
                    }
                    ServerNotification::PromptListChangedNotification(_) => {
                        handler.changed(Changed::Prompts);
                    }
                    _ => {}
                }
            }
        } else {
            failures += 1;
        }
        tokio::time::sleep(pause).await;
        pause = (pause * 2).min(REOPEN_AFTER_MAX);
    }
}
