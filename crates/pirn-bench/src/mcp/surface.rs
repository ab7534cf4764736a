//! What a model reads of many servers: every tool declared to it, against one script tool and a section that names the servers.

use pirn_codemode::{CatalogOptions, ExecTool, prepare_loadout};
use pirn_mcp::{SectionTools, ServerSummary, servers_section};
use pirn_tool::{Loadout, Tool};
use serde_json::json;

use super::Servers;
use crate::report::Report;
use crate::stats::Samples;

/// Characters of a token, on average; the same rule for both sides.
const CHARACTERS_PER_TOKEN: f64 = 4.0;

/// Adds the figures of servers that are connected.
pub(super) fn measure(servers: &Servers, exec: ExecTool, report: &mut Report) {
    let exec = exec.into_tool();
    let callable = servers.registry.callable();
    let loadout = Loadout {
        registered: servers.registry.registered(),
        declared: vec![exec.clone()],
        callable: callable.clone(),
    };
    let mut changes = prepare_loadout(&loadout, &CatalogOptions::default());
    let spec = exec.spec();
    let description = changes.descriptions.remove(&spec.name).unwrap_or_default();
    let definition = declaration(&spec.name, &description, &spec.input_schema);
    let section = section(servers);
    let declared: usize = callable.iter().map(|tool| characters(&direct(tool))).sum();
    let tokens = |count: usize| {
        #[expect(clippy::cast_precision_loss, reason = "some ten thousand characters")]
        let count = count as f64;
        Samples::new(vec![count / CHARACTERS_PER_TOKEN])
    };
    report.add(
        "mcp.exec_tokens",
        "tokens",
        1_000.0,
        &tokens(characters(&definition)),
    );
    report.add_plain(
        "mcp.section_tokens",
        "tokens",
        &tokens(characters(&section)),
    );
    report.add_plain("mcp.declared_tokens", "tokens", &tokens(declared));
}

fn section(servers: &Servers) -> String {
    let summaries: Vec<ServerSummary> = servers
        .manager
        .servers()
        .iter()
        .map(pirn_mcp::ServerStatus::summary)
        .collect();
    let tools = SectionTools {
        script: Some("exec".to_owned()),
        search: None,
    };
    servers_section(&summaries, &tools).unwrap_or_default()
}

fn direct(tool: &Tool) -> String {
    let spec = tool.spec();
    declaration(&spec.name, &spec.description, &spec.input_schema)
}

/// A declaration as model providers take it.
fn declaration(name: &str, description: &str, schema: &serde_json::Value) -> String {
    json!({"name": name, "description": description, "input_schema": schema}).to_string()
}

fn characters(text: &str) -> usize {
    text.chars().count()
}
