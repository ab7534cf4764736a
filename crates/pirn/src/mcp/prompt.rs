//! `pirn mcp prompt`: the prompts of a server, and one of them filled in.

use pirn_mcp::{CallOptions, ServerSelection};
use pirn_runtime::Servers;
use serde_json::{Map, Value, json};
use tokio_util::sync::CancellationToken;

use super::configuration::Configuration;
use super::servers::{self, failure};
use super::{PromptArguments, call, pair};
use crate::failure::{Exit, Failure};
use crate::invocation::Invocation;
use crate::standard;
use pirn_terminal::on_one_line;

pub(super) fn run(arguments: &PromptArguments, invocation: &Invocation) -> Result<Exit, Failure> {
    let mut values = Map::new();
    for typed in &arguments.values {
        let (key, value) = pair(typed, &['='], "KEY=VALUE")?;
        values.insert(key, json!(value));
    }
    let configuration =
        Configuration::with_server(&arguments.server, &arguments.files, invocation)?;
    let text = servers::with_servers(&configuration, invocation, async |_, servers, stopped| {
        connect(servers, &arguments.server, &stopped, invocation).await?;
        let options = CallOptions {
            cancel: stopped,
            ..CallOptions::default()
        };
        match &arguments.name {
            None => list(servers, arguments, options, invocation).await,
            Some(name) => fill_in(servers, arguments, name, values, options).await,
        }
    })?;
    standard::write_out(&text)?;
    Ok(Exit::Success)
}

async fn connect(
    servers: &Servers,
    name: &str,
    stopped: &CancellationToken,
    invocation: &Invocation,
) -> Result<(), Failure> {
    let waiting = ServerSelection::Server(name);
    servers::settle(servers, waiting, stopped, invocation.display).await;
    match servers.manager().server(name) {
        Some(server) if server.state != pirn_mcp::ServerState::Connected => {
            Err(call::not_connected(&server))
        }
        Some(_) | None => Ok(()),
    }
}

async fn list(
    servers: &Servers,
    arguments: &PromptArguments,
    options: CallOptions,
    invocation: &Invocation,
) -> Result<String, Failure> {
    let prompts = servers
        .manager()
        .list_prompts(&arguments.server, options)
        .await
        .map_err(|error| failed(servers, &arguments.server, error))?;
    if arguments.json {
        return Ok(format!("{:#}\n", Value::Array(prompts)));
    }
    if prompts.is_empty() {
        standard::note(&format!("{} has no prompts", arguments.server));
    }
    let mut table = invocation.table();
    for prompt in &prompts {
        let text = |key: &str| prompt[key].as_str().unwrap_or_default();
        let wanted = prompt["arguments"].as_array().into_iter().flatten();
        let names: Vec<String> = wanted
            .map(|argument| {
                let name = argument["name"].as_str().unwrap_or_default();
                if argument["required"] == true {
                    name.to_owned()
                } else {
                    format!("[{name}]")
                }
            })
            .collect();
        let summary = text("description").lines().next().unwrap_or_default();
        table.row([text("name"), &names.join(" "), summary]);
    }
    Ok(table.render())
}

async fn fill_in(
    servers: &Servers,
    arguments: &PromptArguments,
    name: &str,
    values: Map<String, Value>,
    options: CallOptions,
) -> Result<String, Failure> {
    let prompt = servers
        .manager()
        .get_prompt(&arguments.server, name, values, options)
        .await
        .map_err(|error| {
            failed(servers, &arguments.server, error).hint(format!(
                "`pirn mcp prompt {}` lists the prompts with what they need",
                arguments.server
            ))
        })?;
    if arguments.json {
        return Ok(format!("{prompt:#}\n"));
    }
    let messages = prompt["messages"].as_array().into_iter().flatten();
    let texts: Vec<String> = messages
        .map(|message| {
            let role = on_one_line(message["role"].as_str().unwrap_or("user"));
            let text = block_text(&message["content"]);
            format!("{role}:\n{}\n", text.trim_end())
        })
        .collect();
    Ok(texts.join("\n"))
}

/// A block of a message; what is no text is named.
fn block_text(block: &Value) -> String {
    match block["type"].as_str() {
        Some("text") => block["text"].as_str().unwrap_or_default().to_owned(),
        Some("resource") => match block["resource"]["text"].as_str() {
            Some(text) => text.to_owned(),
            None => format!(
                "[{}; --json has it]",
                block["resource"]["uri"].as_str().unwrap_or("resource")
            ),
        },
        Some(kind) => format!("[{kind}; --json has it]"),
        None => block.to_string(),
    }
}

fn failed(servers: &Servers, name: &str, error: pirn_mcp::Error) -> Failure {
    let origin = servers.manager().server(name).map(|server| server.origin);
    failure(error, origin.as_ref())
}
