//! `pirn mcp tools`: the tools of servers.

use pirn_mcp::{ServerSelection, ServerStatus, ToolName};
use pirn_tool::{Registry, ToolSpec};
use serde_json::{Value, json};

use super::configuration::Configuration;
use super::list::exposure_word;
use super::servers;
use super::{ToolsArguments, no_servers};
use crate::failure::{Exit, Failure};
use crate::invocation::Invocation;
use crate::standard;

pub(super) fn run(arguments: &ToolsArguments, invocation: &Invocation) -> Result<Exit, Failure> {
    let configuration = Configuration::in_current_folder(&arguments.files, invocation)?;
    let Some(configuration) = configuration else {
        if let Some(name) = &arguments.server {
            return Err(super::configuration::unknown_server(name, &[]));
        }
        if arguments.json {
            standard::write_out("[]\n")?;
        } else {
            no_servers();
        }
        return Ok(Exit::Success);
    };
    if let Some(name) = &arguments.server {
        configuration.server(name)?;
    }
    let waiting = match &arguments.server {
        Some(name) => ServerSelection::Server(name),
        None => ServerSelection::All,
    };
    let problems: Vec<_> = configuration.errors().cloned().collect();
    servers::with_servers(
        &configuration,
        invocation,
        async |runtime, servers, stopped| {
            let display = invocation.display;
            servers::settle_and_tell(servers, &problems, waiting, &stopped, display).await;
            let mut statuses = servers.manager().servers();
            statuses.retain(|server| waiting.includes(&server.name));
            let text = if arguments.json {
                as_json(&statuses, runtime.registry())
            } else {
                as_text(&statuses, runtime.registry(), invocation)
            };
            standard::write_out(&text)?;
            match servers.missing(waiting).len() {
                0 => Ok(Exit::Success),
                1 => Err(Failure::new(Exit::Failed, "1 server is not connected")),
                count => Err(Failure::new(
                    Exit::Failed,
                    format!("{count} servers are not connected"),
                )),
            }
        },
    )
}

fn rows<'a>(
    statuses: &'a [ServerStatus],
    registry: &Registry,
) -> impl Iterator<Item = (&'a ServerStatus, &'a ToolName, pirn_tool::Tool)> {
    statuses.iter().flat_map(move |server| {
        server.tools.iter().filter_map(move |name| {
            let tool = registry.get(&name.registry)?;
            Some((server, name, tool))
        })
    })
}

fn as_text(statuses: &[ServerStatus], registry: &Registry, invocation: &Invocation) -> String {
    let mut table = invocation.table();
    for (server, name, tool) in rows(statuses, registry) {
        let summary = tool.spec().description.lines().next().unwrap_or_default();
        table.row([
            &server.name,
            &name.server,
            exposure_word(name.exposure),
            summary,
        ]);
    }
    table.render()
}

fn as_json(statuses: &[ServerStatus], registry: &Registry) -> String {
    let tools: Vec<Value> = rows(statuses, registry)
        .map(|(server, name, tool)| {
            let ToolSpec {
                description,
                input_schema,
                output_schema,
                effects,
                ..
            } = tool.spec();
            json!({
                "server": server.name,
                "name": name.server,
                "registryName": name.registry,
                "description": description,
                "exposure": exposure_word(name.exposure),
                "effects": effects.names().collect::<Vec<_>>(),
                "inputSchema": input_schema,
                "outputSchema": output_schema,
            })
        })
        .collect();
    format!("{:#}\n", Value::Array(tools))
}
