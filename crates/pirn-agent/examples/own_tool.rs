//! A conversation over everything that Pirn has, and one tool more. The model is the first one of `models.json` in the folder that
//! is named first, and is told what is named second.
//!
//! `cargo run -p pirn-agent --example own_tool -- ~/.pirn "Shout hello with the tool shout"`

#![allow(
    clippy::disallowed_methods,
    reason = "an example reads its own environment"
)]
#![expect(clippy::print_stdout, reason = "an example shows what it does")]

use std::error::Error;
use std::path::Path;
use std::sync::Arc;

use pirn_agent::model::{Block, Catalog, Message, NoKeyCommands, ThinkingLevel, UserMessage};
use pirn_agent::session::{NewSession, Session, now_ms};
use pirn_agent::{
    Agent, AgentEvent, AgentOptions, AgentParts, CatalogModels, ClientTools, ContextFiles,
    ModelChoice, Prompt, WhileBusy,
};
use pirn_runtime::{
    ClientOptions, CodemodeMode, EffectPolicy, HostEnv, Otherwise, Permissions, Runtime,
    http_client,
};
use pirn_tool::{Effects, Tool, ToolResult, ToolSpec};

/// What the model answers.
pub(crate) async fn answer(folder: &Path, text: &str) -> Result<String, Box<dyn Error>> {
    let catalog = Catalog::read(
        Some(folder),
        std::env::vars().collect(),
        Arc::new(NoKeyCommands),
    )?;
    let model = catalog.models().first().ok_or("there is no model")?.clone();
    let http = http_client("own-tool/1.0").map_err(|error| error.to_string())?;
    let models = CatalogModels::new(catalog, http, Vec::new());

    let spec = ToolSpec::new("shout", "Makes a text loud")
        .input_schema(serde_json::json!({
            "type": "object", "properties": {"text": {"type": "string"}}, "required": ["text"],
        }))
        .effects(Effects::NONE);
    let shout = Tool::from_fn(spec, |arguments, _context| async move {
        let text = arguments["text"].as_str().unwrap_or_default();
        ToolResult::text(text.to_uppercase())
    });
    let cwd = std::env::current_dir()?;
    let host = HostEnv {
        temp_dir: std::env::temp_dir(),
        environment: std::env::vars_os().collect(),
        ..HostEnv::default()
    };
    let runtime = Runtime::builder(host, &cwd).tool(shout).build()?;
    // The model reads; with nobody to ask, the rest does not run. The user's own commands do.
    let policy = EffectPolicy::new(Effects::NONE, Otherwise::deny("nobody is here"));
    let tools = ClientTools::new(
        runtime.client(ClientOptions::new(policy)),
        runtime.client(ClientOptions::new(Permissions::of_user())),
        models.script_tools(model.api),
        CodemodeMode::On,
        Prompt::read(&cwd, None, None, ContextFiles::LeftOut)?,
    )?;
    let (agent, mut events) = Agent::start(AgentParts {
        session: Session::create(NewSession::default())?,
        models: Arc::new(models),
        tools: Arc::new(tools),
        choice: ModelChoice::new(model, ThinkingLevel::Off),
        options: AgentOptions::default(),
        runtime_events: Some(runtime.events().clone()),
        hooks: Vec::new(),
    })?;
    agent.prompt(UserMessage::text(text, now_ms()), WhileBusy::Refuse)?;
    let mut answer = String::new();
    while let Some(event) = events.next().await {
        match event {
            AgentEvent::MessageEnd {
                message: Message::Assistant(reply),
            } => answer = reply.content.iter().filter_map(Block::as_text).collect(),
            AgentEvent::AgentSettled { .. } => break,
            _ => {}
        }
    }
    agent.close().await;
    runtime.shutdown().await;
    Ok(answer)
}

#[allow(dead_code, reason = "a test uses the rest alone")]
#[tokio::main]
async fn main() -> Result<(), Box<dyn Error>> {
    let mut arguments = std::env::args().skip(1);
    let (Some(folder), Some(text)) = (arguments.next(), arguments.next()) else {
        return Err("usage: own_tool FOLDER TEXT".into());
    };
    println!("{}", answer(Path::new(&folder), &text).await?);
    Ok(())
}
