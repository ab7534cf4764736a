//! The tools of a runtime's client, with the scripts.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Instant;

use futures_util::future::BoxFuture;
use pirn_codemode::WAIT_TOOL_NAME;
use pirn_model::{BashExecutionMessage, ToolCall, ToolResultMessage, joined_text};
use pirn_runtime::{Client, ScriptTools};
use pirn_session::now_ms;
use pirn_tool::{CallRequest, Origin, Run};
use serde_json::json;
use tokio_util::sync::CancellationToken;

use crate::declare::{Declarations, declared};
use crate::instructions::Prompt;
use crate::ports::Tools;
use crate::result::result_message;
use crate::script_ends::ended_cell;

/// The tool that runs commands.
const COMMAND_TOOL: &str = "bash";

/// The tools of a runtime's client.
#[derive(Debug)]
pub struct ClientTools {
    client: Client,
    /// Runs the user's own commands.
    user: Client,
    prompt: Prompt,
    run: Arc<Run>,
    /// Numbers calls that no model made.
    calls: AtomicU64,
}

impl ClientTools {
    /// Offers scripts to `client`, too. `user` is a client whose policy allows what the user does. Fails where the script engine
    /// cannot start.
    pub fn new(
        client: Client,
        user: Client,
        scripts: ScriptTools,
        prompt: Prompt,
    ) -> Result<Self, pirn_runtime::Error> {
        client.offer_scripts(scripts)?;
        Ok(Self {
            client,
            user,
            prompt,
            run: Arc::new(Run::new("agent")),
            calls: AtomicU64::new(1),
        })
    }

    fn call_id(&self, kind: &str) -> String {
        format!("{kind}-{}", self.calls.fetch_add(1, Ordering::Relaxed))
    }
}

impl Tools for ClientTools {
    fn declarations(&self) -> Declarations {
        let loadout = self.client.registry().loadout();
        Declarations {
            sections: self.prompt.sections(&loadout),
            tools: declared(&loadout),
        }
    }

    fn call<'a>(
        &'a self,
        call: &'a ToolCall,
        cancel: &'a CancellationToken,
    ) -> BoxFuture<'a, ToolResultMessage> {
        Box::pin(async move {
            let started = Instant::now();
            let request = CallRequest::new(&call.id, &call.name, call.arguments.clone())
                .cancel(cancel.clone())
                .run(Arc::clone(&self.run));
            let outcome = self.client.call(request).await;
            result_message(call, &outcome, started.elapsed(), now_ms())
        })
    }

    fn script_end<'a>(&'a self, cancel: &'a CancellationToken) -> BoxFuture<'a, Option<String>> {
        Box::pin(async move {
            let scripts = self.client.runtime().scripts().ok()?;
            let cell_id = ended_cell(scripts, self.client.caller(), cancel).await?;
            let arguments = json!({"cell_id": cell_id});
            let request = CallRequest::new(self.call_id("wake"), WAIT_TOOL_NAME, arguments)
                .run(Arc::clone(&self.run));
            let outcome = self.client.call(request).await;
            let text = outcome.result.joined_text();
            Some(format!(
                "The script of cell {cell_id}, which went on after your answer, has ended:\n{text}"
            ))
        })
    }

    fn run_command<'a>(
        &'a self,
        command: &'a str,
        cancel: &'a CancellationToken,
    ) -> BoxFuture<'a, BashExecutionMessage> {
        Box::pin(async move {
            let arguments = json!({"command": command});
            let request = CallRequest::new(self.call_id("user"), COMMAND_TOOL, arguments.clone())
                .cancel(cancel.clone())
                // Whoever asked shows it: the output as it is, and the exit code apart.
                .origin(Origin::Nested);
            let outcome = self.user.call(request).await;
            let facts = outcome.result.structured.clone().unwrap_or_default();
            let call = ToolCall {
                id: String::new(),
                name: COMMAND_TOOL.to_owned(),
                arguments,
                thought_signature: None,
                namespace: None,
            };
            let told = result_message(&call, &outcome, std::time::Duration::ZERO, now_ms());
            let output = match facts["output"].as_str() {
                Some(output) => output.to_owned(),
                None => joined_text(&told.content),
            };
            BashExecutionMessage {
                command: command.to_owned(),
                output,
                exit_code: facts["exit_code"]
                    .as_i64()
                    .and_then(|code| i32::try_from(code).ok()),
                cancelled: cancel.is_cancelled(),
                truncated: facts["truncated"].as_bool().unwrap_or(false),
                full_output_path: facts["full_output_path"].as_str().map(str::to_owned),
                exclude_from_context: None,
                timestamp: now_ms(),
                other: serde_json::Map::new(),
            }
        })
    }
}
