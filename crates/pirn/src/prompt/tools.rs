//! The tools of a run: what a client of the runtime sees, and the script tools.

use std::sync::Arc;
use std::time::Instant;

use futures_util::future::BoxFuture;
use pirn_agent::{Declarations, Tools, declared, result_message};
use pirn_model::{ToolCall, ToolResultMessage};
use pirn_runtime::{Client, ScriptTools};
use pirn_session::now_ms;
use pirn_tool::{CallRequest, Run};
use tokio_util::sync::CancellationToken;

use crate::failure::Failure;

/// What the system prompt says, by the names of its sections.
pub(super) type Sections = Vec<(String, String)>;

/// The tools of a client.
#[derive(Debug)]
pub(super) struct ClientTools {
    client: Client,
    sections: Sections,
    run: Arc<Run>,
}

impl ClientTools {
    /// Offers scripts to the client, too.
    pub(super) fn new(client: Client, sections: Sections) -> Result<Self, Failure> {
        client.offer_scripts(ScriptTools::default())?;
        Ok(Self {
            client,
            sections,
            run: Arc::new(Run::new("agent")),
        })
    }

    /// The advice of the declared tools, each once.
    fn rules(&self) -> String {
        let mut rules: Vec<String> = Vec::new();
        for declaration in self.client.registry().loadout().declarations {
            for guideline in &declaration.tool.spec().guidelines {
                let rule = format!("- {guideline}");
                if !rules.contains(&rule) {
                    rules.push(rule);
                }
            }
        }
        rules.join("\n")
    }
}

impl Tools for ClientTools {
    fn declarations(&self) -> Declarations {
        let mut sections = self.sections.clone();
        let rules = self.rules();
        if !rules.is_empty() {
            sections.push(("rules".to_owned(), rules));
        }
        Declarations {
            sections,
            tools: declared(&self.client.registry().loadout()),
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
}
