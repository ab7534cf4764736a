//! Waits for servers before calls that use them run.

use std::sync::Weak;

use futures_util::future::BoxFuture;
use pirn_tool::{BeforeVerdict, Effects, Hook, HookCall};
use serde_json::Value;
use tokio_util::sync::CancellationToken;

use super::publisher::is_resource_tool;
use super::wait::{ServerSelection, WaitOutcome};
use super::{Inner, McpManager};

/// Tools that search the others.
const SEARCH_TOOLS: [&str; 2] = ["tool_search", "search_tools"];

/// A hook for the pipeline: before a script runs it waits for the servers that the script names, before a search or a
/// resource tool for all that can be seen, before an MCP tool for its own server. Ends with the call that it belongs to. Does not keep the
/// servers alive.
#[derive(Clone)]
pub struct WaitHook {
    manager: Weak<Inner>,
}

impl McpManager {
    /// The hook that waits for servers before calls run.
    pub fn wait_hook(&self) -> WaitHook {
        WaitHook {
            manager: std::sync::Arc::downgrade(&self.inner),
        }
    }

    async fn wait_before(&self, tool: &str, arguments: &Value) -> WaitOutcome {
        // The pipeline drops this future when the call is cancelled.
        let cancel = CancellationToken::new();
        if is_resource_tool(tool) || SEARCH_TOOLS.contains(&tool) {
            return self.wait_for(ServerSelection::Visible, &cancel).await;
        }
        if let Some(server) = self.inner.publisher.owner_of(tool) {
            return self
                .wait_for(ServerSelection::Server(&server), &cancel)
                .await;
        }
        let reaches_tools = self
            .inner
            .publisher
            .registry()
            .get(tool)
            .is_some_and(|tool| tool.spec().effects.contains(Effects::ORCHESTRATION));
        if !reaches_tools {
            return WaitOutcome::Settled;
        }
        let mut source = String::new();
        collect_texts(arguments, &mut source);
        self.wait_for(ServerSelection::Words(&source), &cancel)
            .await
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
                let _waited = manager.wait_before(call.tool_name, arguments).await;
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

/// Every text in the arguments, one after the other: one of them is the source.
fn collect_texts(value: &Value, texts: &mut String) {
    match value {
        Value::String(text) => {
            texts.push_str(text);
            texts.push('\n');
        }
        Value::Array(items) => items.iter().for_each(|item| collect_texts(item, texts)),
        Value::Object(members) => members
            .values()
            .for_each(|member| collect_texts(member, texts)),
        Value::Null | Value::Bool(_) | Value::Number(_) => {}
    }
}
