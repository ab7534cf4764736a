//! The tools of a runtime's client, with the scripts.

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use futures_util::future::BoxFuture;
use pirn_codemode::{CatalogMode, EXEC_TOOL_NAME, WAIT_TOOL_NAME};
use pirn_model::{BashExecutionMessage, ToolCall, ToolResultMessage, joined_text};
use pirn_runtime::{
    Client, CodemodeMode, McpExposure, ScriptTools, SectionTools, ServerSelection, TOOL_SEARCH_NAME,
};
use pirn_session::now_ms;
use pirn_tool::{CallRequest, Origin, Run};
use serde_json::json;
use tokio_util::sync::CancellationToken;

use crate::agent::lock;
use crate::declare::{Declarations, declared};
use crate::instructions::Prompt;
use crate::ports::Tools;
use crate::result::result_message;
use crate::script_ends::ended_cell;

/// The section of the system prompt about servers.
const SERVERS_SECTION: &str = "mcp_servers";
/// The tool that runs commands.
const COMMAND_TOOL: &str = "bash";

/// How long the first message of a conversation is held up by servers whose tools are declared to the model.
const DIRECT_SERVERS_WAIT: Duration = Duration::from_secs(10);

/// The tools of a runtime's client.
#[derive(Debug)]
pub struct ClientTools {
    client: Client,
    /// Runs the user's own commands.
    user: Client,
    scripts: ScriptTools,
    prompt: Prompt,
    run: Arc<Run>,
    /// Numbers calls that no model made.
    calls: AtomicU64,
    state: Mutex<State>,
}

#[derive(Debug)]
struct State {
    mode: CodemodeMode,
    /// What the model is told about the servers. It stays the same during a run.
    servers: Option<String>,
    /// Whether servers were waited for.
    has_waited: bool,
    /// Tools that the conversation had loaded when it was taken up.
    loaded: Vec<String>,
}

impl ClientTools {
    /// Offers scripts to `client` as `mode` says, and a search for tools where servers have some that nothing else reaches. Lets
    /// the servers connect in the background. `user` is a client whose policy allows what the user does. Fails where the script
    /// engine cannot start.
    pub fn new(
        client: Client,
        user: Client,
        scripts: ScriptTools,
        mode: CodemodeMode,
        prompt: Prompt,
    ) -> Result<Self, pirn_runtime::Error> {
        let tools = Self {
            client,
            user,
            scripts,
            prompt,
            run: Arc::new(Run::new("agent")),
            calls: AtomicU64::new(1),
            state: Mutex::new(State {
                mode,
                servers: None,
                has_waited: false,
                loaded: Vec::new(),
            }),
        };
        tools.offer(mode)?;
        if let Some(servers) = tools.client.runtime().servers() {
            servers.manager().start();
        }
        Ok(tools)
    }

    /// Changes whether the model writes scripts, from its next request on. Fails where the script engine cannot start.
    pub fn set_mode(&self, mode: CodemodeMode) -> Result<(), pirn_runtime::Error> {
        self.offer(mode)?;
        lock(&self.state).mode = mode;
        Ok(())
    }

    fn offer(&self, mode: CodemodeMode) -> Result<(), pirn_runtime::Error> {
        let catalog_mode = match mode {
            CodemodeMode::Off => None,
            CodemodeMode::On => Some(CatalogMode::On),
            CodemodeMode::Only => Some(CatalogMode::Only),
        };
        match catalog_mode {
            None => self.client.withdraw_scripts(),
            Some(mode) => {
                let mut scripts = self.scripts.clone();
                scripts.catalog.mode = mode;
                self.client.offer_scripts(scripts)?;
            }
        }
        if self.searches(mode) {
            self.client.offer_tool_search();
        }
        Ok(())
    }

    /// Whether servers may have tools that only a search reaches.
    fn searches(&self, mode: CodemodeMode) -> bool {
        let servers = self.client.runtime().servers();
        servers.is_some_and(|servers| {
            servers.may_expose(McpExposure::Deferred)
                || (mode == CodemodeMode::Off && servers.may_expose(McpExposure::Codemode))
        })
    }

    /// What the model is told about the servers.
    fn servers_section(&self, mode: CodemodeMode) -> Option<String> {
        let is_declared = |name: &str| {
            let active = self.client.registry().active();
            active.iter().any(|tool| tool.spec().name == name)
        };
        let tools = SectionTools {
            script: (mode != CodemodeMode::Off && is_declared(EXEC_TOOL_NAME))
                .then(|| EXEC_TOOL_NAME.to_owned()),
            search: is_declared(TOOL_SEARCH_NAME).then(|| TOOL_SEARCH_NAME.to_owned()),
        };
        self.client.runtime().servers()?.section(&tools)
    }

    /// Waits for the servers that the first request needs: those whose tools are declared to the model.
    async fn wait_for_direct_servers(&self, loaded: &[String], cancel: &CancellationToken) {
        let Some(servers) = self.client.runtime().servers() else {
            return;
        };
        let manager = servers.manager();
        let waiting = async {
            manager.wait_for(ServerSelection::Direct, cancel).await;
            if !loaded.is_empty() {
                manager
                    .wait_for(ServerSelection::Names(loaded), cancel)
                    .await;
            }
        };
        // Those that take longer are declared when they are there.
        let _waited = tokio::time::timeout(DIRECT_SERVERS_WAIT, waiting).await;
    }

    fn call_id(&self, kind: &str) -> String {
        format!("{kind}-{}", self.calls.fetch_add(1, Ordering::Relaxed))
    }
}

impl Tools for ClientTools {
    fn declarations(&self) -> Declarations {
        let loadout = self.client.registry().loadout();
        let mut sections = self.prompt.sections(&loadout);
        let servers = lock(&self.state).servers.clone();
        sections.extend(servers.map(|text| (SERVERS_SECTION.to_owned(), text)));
        Declarations {
            sections,
            tools: declared(&loadout),
        }
    }

    fn before_prompt<'a>(&'a self, cancel: &'a CancellationToken) -> BoxFuture<'a, ()> {
        Box::pin(async move {
            let loaded = {
                let mut state = lock(&self.state);
                let is_first = !std::mem::replace(&mut state.has_waited, true);
                is_first.then(|| state.loaded.clone())
            };
            if let Some(loaded) = loaded {
                self.wait_for_direct_servers(&loaded, cancel).await;
            }
            let mode = lock(&self.state).mode;
            let section = self.servers_section(mode);
            lock(&self.state).servers = section;
        })
    }

    fn restore(&self, declared: &[String]) {
        let names: Vec<&str> = declared.iter().map(String::as_str).collect();
        self.client.registry().set_loaded(&names);
        lock(&self.state).loaded = declared.to_vec();
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
