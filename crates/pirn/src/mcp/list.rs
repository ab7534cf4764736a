//! `pirn mcp list`: connects to all servers and tells how they are.

use std::path::Path;

use pirn_mcp::{McpExposure, Scope, ServerSelection, ServerState, ServerStatus, ToolExposures};
use pirn_runtime::is_missing;
use serde_json::{Map, Value, json};

use super::configuration::Configuration;
use super::progress::tool_count;
use super::servers::{self, place, problem_text};
use super::{ListArguments, no_servers};
use crate::failure::{Exit, Failure};
use crate::invocation::Invocation;
use crate::standard;
use pirn_settings::Problem;
use pirn_terminal::on_one_line;

pub(super) fn run(arguments: &ListArguments, invocation: &Invocation) -> Result<Exit, Failure> {
    let configuration = Configuration::in_current_folder(&arguments.files, invocation)?;
    let Some(configuration) = configuration else {
        if arguments.json {
            standard::write_out(&as_json(&[], &[]))?;
        } else {
            no_servers();
        }
        return Ok(Exit::Success);
    };
    let problems = configuration.loaded.problems.clone();
    let statuses =
        servers::with_servers(&configuration, invocation, async |_, servers, stopped| {
            servers::settle(servers, ServerSelection::All, &stopped, invocation.display).await;
            Ok(servers.manager().servers())
        })?;
    if arguments.json {
        standard::write_out(&as_json(&statuses, &problems))?;
    } else {
        for problem in &problems {
            standard::note(&on_one_line(&problem.to_string()));
        }
        if statuses.is_empty() && problems.is_empty() {
            no_servers();
        }
        standard::write_out(&as_text(&statuses, invocation))?;
    }
    conclude(&statuses, &problems)
}

fn conclude(statuses: &[ServerStatus], problems: &[Problem]) -> Result<Exit, Failure> {
    let missing = statuses.iter().filter(|server| is_missing(server)).count();
    let invalid = problems.iter().filter(|problem| problem.is_error()).count();
    let count = |count: usize, one: &str, many: &str| match count {
        0 => None,
        1 => Some(format!("1 {one}")),
        count => Some(format!("{count} {many}")),
    };
    let parts: Vec<String> = [
        count(
            missing,
            "server is not connected",
            "servers are not connected",
        ),
        count(invalid, "entry is invalid", "entries are invalid"),
    ]
    .into_iter()
    .flatten()
    .collect();
    if parts.is_empty() {
        return Ok(Exit::Success);
    }
    Err(Failure::new(Exit::Failed, parts.join(", ")))
}

fn as_text(statuses: &[ServerStatus], invocation: &Invocation) -> String {
    let mut table = invocation.table();
    for server in statuses {
        let tools = match server.state {
            ServerState::Connected => tool_count(server),
            ServerState::Connecting
            | ServerState::Disconnected
            | ServerState::NeedsAuth
            | ServerState::Failed
            | ServerState::Disabled => String::new(),
        };
        table.row([
            &server.name,
            server.state.as_str(),
            &tools,
            &server.transport.target,
        ]);
        if let Some(sandbox) = sandbox_line(server) {
            table.below(&sandbox);
        }
        for warning in &server.warnings {
            table.below(&format!("warning: {warning}"));
        }
        if is_missing(server) {
            let place = place(&server.origin)
                .map(|place| format!(" ({place})"))
                .unwrap_or_default();
            table.below(&format!("{}{place}", problem_text(server)));
            for remedy in servers::remedies(server) {
                table.below(&remedy);
            }
        }
    }
    table.render()
}

fn as_json(statuses: &[ServerStatus], problems: &[Problem]) -> String {
    let servers: Vec<Value> = statuses.iter().map(server_json).collect();
    let errors: Vec<Value> = problems
        .iter()
        .map(|problem| {
            json!({
                "severity": problem.severity.as_str(),
                "file": problem.file().map(Path::to_string_lossy),
                "line": problem.line(),
                "server": problem.server,
                "field": problem.key,
                "message": problem.message,
            })
        })
        .collect();
    format!("{:#}\n", json!({"servers": servers, "errors": errors}))
}

/// A server without anything secret: its command or URL is as it was written.
fn server_json(server: &ServerStatus) -> Value {
    let tools: Vec<&str> = server
        .tools
        .iter()
        .map(|tool| tool.server.as_str())
        .collect();
    let mut value = json!({
        "name": server.name,
        "scope": scope_word(server.origin.scope),
        "source": place(&server.origin),
        "enabled": server.state != ServerState::Disabled,
        "exposure": exposure_word(server.exposure),
        "transport": server.transport.kind.as_str(),
        "target": server.transport.target,
        "state": server.state.as_str(),
        "tools": tools,
    });
    if !server.warnings.is_empty() {
        value["warnings"] = json!(server.warnings);
    }
    if let Some(file) = &server.origin.overridden_in {
        value["override"] = json!(file.to_string_lossy());
    }
    if let Some(exposures) = exposures_json(&server.tool_exposures) {
        value["toolExposure"] = exposures;
    }
    for (name, has) in [
        ("resources", server.has_resources),
        ("prompts", server.has_prompts),
    ] {
        if has {
            value[name] = json!(true);
        }
    }
    if let Some(facts) = &server.facts {
        value["server"] = json!({
            "name": facts.name,
            "version": facts.version,
            "protocolVersion": facts.protocol_version,
        });
    }
    if let Some(sandbox) = &server.transport.sandbox {
        value["sandbox"] = match server
            .facts
            .as_ref()
            .and_then(|facts| facts.sandbox.as_ref())
        {
            Some(report) => json!(report),
            None => json!({
                "profile": sandbox.profile.as_str(),
                "network": sandbox.network.as_str(),
            }),
        };
    }
    if is_missing(server) {
        value["error"] = json!({
            "message": problem_text(server),
            "hints": servers::remedies(server),
        });
    }
    value
}

/// How a server is confined, for people.
fn sandbox_line(server: &ServerStatus) -> Option<String> {
    let sandbox = server.transport.sandbox.as_ref()?;
    let report = server
        .facts
        .as_ref()
        .and_then(|facts| facts.sandbox.as_ref());
    let level = report.map_or_else(String::new, |report| match report.level {
        Some(level) => format!(", level {}", level.as_str()),
        None => ", but this machine cannot confine it".to_owned(),
    });
    Some(format!(
        "confined: {}, network {}{level}",
        sandbox.profile.as_str(),
        sandbox.network.as_str()
    ))
}

fn exposures_json(exposures: &ToolExposures) -> Option<Value> {
    let ToolExposures(rows) = exposures;
    let rows: Map<String, Value> = rows
        .iter()
        .map(|(tool, exposure)| (tool.clone(), json!(exposure_word(*exposure))))
        .collect();
    (!rows.is_empty()).then_some(Value::Object(rows))
}

fn scope_word(scope: Scope) -> &'static str {
    match scope {
        Scope::Runtime => "runtime",
        Scope::User => "user",
        Scope::Project => "project",
        Scope::CommandLine => "command-line",
    }
}

/// The word of an exposure in the configuration.
pub(super) fn exposure_word(exposure: McpExposure) -> &'static str {
    match exposure {
        McpExposure::Codemode => "codemode",
        McpExposure::Deferred => "deferred",
        McpExposure::Direct => "direct",
        McpExposure::Hidden => "hidden",
    }
}
