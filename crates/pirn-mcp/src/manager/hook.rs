//! Waits for servers before calls that use them run.

use std::sync::{Arc, Weak};

use futures_util::future::BoxFuture;
use pirn_tool::{BeforeVerdict, Hook, HookCall};
use serde_json::Value;
use tokio_util::sync::CancellationToken;

use super::wait::{ServerSelection, WaitOutcome, reaches_all};
use super::{Inner, McpManager};

/// The tools that a program may call.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ReachedTools {
    /// Those with these names.
    Named(Vec<String>),
    /// Any: it computes names, or searches.
    All,
}

/// Finds the tools that a program may call, from the name and the arguments of the tool that runs it; `None` for a tool that runs
/// none.
pub type FindReachedTools = Arc<dyn Fn(&str, &Value) -> Option<ReachedTools> + Send + Sync>;

/// A hook for the pipeline: before a program runs it waits for the servers whose tools the program names, before a search or a
/// resource tool for all that can be seen, before an MCP tool for its own server. Ends with the call that it belongs to. Does not keep the
/// servers alive.
#[derive(Clone)]
pub struct WaitHook {
    manager: Weak<Inner>,
    find: FindReachedTools,
}

impl McpManager {
    /// The hook that waits for servers before calls run.
    /// `find` tells what the programs of tools that run some may call.
    pub fn wait_hook(&self, find: FindReachedTools) -> WaitHook {
        WaitHook {
            manager: Arc::downgrade(&self.inner),
            find,
        }
    }

    async fn wait_before(
        &self,
        tool: &str,
        arguments: &Value,
        find: &FindReachedTools,
    ) -> WaitOutcome {
        // The pipeline drops this future when the call is cancelled.
        let cancel = CancellationToken::new();
        if reaches_all(tool) {
            return self.wait_for(ServerSelection::Visible, &cancel).await;
        }
        if let Some(server) = self.inner.publisher.owner_of(tool) {
            return self
                .wait_for(ServerSelection::Server(&server), &cancel)
                .await;
        }
        match find(tool, arguments) {
            None => WaitOutcome::Settled,
            Some(ReachedTools::Named(names)) => {
                self.wait_for(ServerSelection::Names(&names), &cancel).await
            }
            Some(ReachedTools::All) => self.wait_for(ServerSelection::Visible, &cancel).await,
        }
    }
}

impl Hook for WaitHook {
    fn before<'a>(
        &'a self,
        call: HookCall<'a>,
        arguments: &'a mut Value,
    ) -> BoxFuture<'a, Result<BeforeVerdict, String>> {
        Box::pin(async move {
            if let Some(inner) = self.manager.upgrade() {
                let manager = McpManager { inner };
                let _waited = manager
                    .wait_before(call.tool_name, arguments, &self.find)
                    .await;
            }
            Ok(BeforeVerdict::Continue)
        })
    }
}

impl std::fmt::Debug for WaitHook {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.debug_struct("WaitHook").finish_non_exhaustive()
    }
}
