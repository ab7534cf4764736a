//! The tools of a run: what a client of the runtime sees, and the script tools.

use std::path::Path;
use std::sync::Arc;
use std::time::Instant;

use futures_util::future::BoxFuture;
use pirn_agent::{Declarations, Tools, declared, result_message};
use pirn_codemode::{ExecTool, OutputFolder, VmEngine};
use pirn_model::{ToolCall, ToolResultMessage};
use pirn_runtime::{Client, engine_options, script_limits};
use pirn_session::now_ms;
use pirn_settings::CodemodeSettings;
use pirn_tool::{CallRequest, Run};
use tokio_util::sync::CancellationToken;

use crate::failure::{Exit, Failure};

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
    pub(super) fn new(
        client: Client,
        sections: Sections,
        settings: &CodemodeSettings,
        temp_dir: &Path,
    ) -> Result<Self, Failure> {
        offer_scripts(&client, settings, temp_dir)?;
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

/// Gives the client the tools `exec` and `wait`.
fn offer_scripts(
    client: &Client,
    settings: &CodemodeSettings,
    temp_dir: &Path,
) -> Result<(), Failure> {
    let limits = script_limits(settings);
    let engine = VmEngine::new(engine_options(settings, &limits)).map_err(|error| {
        Failure::new(
            Exit::Failed,
            format!("the script engine cannot start: {error}"),
        )
    })?;
    let exec = ExecTool {
        limits,
        folder: Some(OutputFolder::new(temp_dir)),
        ..ExecTool::new(engine)
    };
    let registry = client.registry();
    registry.register(exec.wait_tool());
    let hook = Arc::new(exec.clone());
    registry.register(exec.into_tool().with_loadout_hook(hook));
    Ok(())
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
