//! What a server says of its tools, as the specs of Pirn's tools.

use std::collections::HashSet;
use std::sync::Arc;

use pirn_file::SpillFolder;
use pirn_tool::{
    Annotations, Containment, Effects, Namespace, Tool, ToolSpec, mcp_namespace, mcp_tool_names,
};
use serde_json::Value;

use super::exposure::{exposure_of, to_exposure};
use super::handler::{McpToolHandler, ToolCaller};
use super::schema::{input_schema, output_schema};
use super::text::{cut_end, quoted};
use crate::config::{
    AnnotationTrust, EffectRules, McpExposure, ServerEntry, ToolExposures, TransportEntry,
};
use crate::connection::ServerFacts;

#[cfg(test)]
mod tests;

/// Tools taken of one server. The largest known servers have some hundred; more would only be an attack on memory.
const TOOLS_MAX: usize = 5_000;
/// Bytes of a tool's description; the longest real ones have some thousand.
const DESCRIPTION_BYTES_MAX: usize = 32 * 1024;

/// What the tools of a server have in common.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct ServerProfile {
    pub(crate) name: String,
    /// The line about it in the configuration.
    pub(crate) description: Option<String>,
    /// What it says about its use.
    pub(crate) instructions: Option<String>,
    /// Who sees its tools.
    pub(crate) exposure: McpExposure,
    pub(crate) tool_exposures: ToolExposures,
    /// What the user says its tools can do.
    pub(crate) effects: EffectRules,
    pub(crate) reach: ServerReach,
}

/// Where a server runs, as far as Pirn knows.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum ServerReach {
    /// A process of this machine that may do what the user may.
    Machine,
    /// A process of this machine that is confined.
    Sandbox,
    /// Behind a URL: each call goes over the network.
    Network,
}

impl ServerProfile {
    /// What is configured of a server together with what it said.
    pub(crate) fn new(entry: &ServerEntry, facts: &ServerFacts) -> Self {
        Self {
            name: entry.name.clone(),
            description: entry.description.clone(),
            instructions: facts.instructions.clone(),
            exposure: entry.exposure,
            tool_exposures: entry.tool_exposures.clone(),
            effects: entry.effects.clone(),
            reach: match &entry.transport {
                TransportEntry::Stdio(stdio) if stdio.sandbox.is_some() => ServerReach::Sandbox,
                TransportEntry::Stdio(_) => ServerReach::Machine,
                TransportEntry::Http(_) => ServerReach::Network,
            },
        }
    }
}

/// A tool of a server as Pirn describes it.
#[derive(Debug, Clone)]
pub(crate) struct DefinedTool {
    /// The description, under the name Pirn gives the tool.
    pub(crate) spec: ToolSpec,
    /// What the server calls it.
    pub(crate) tool_name: String,
    server: String,
    /// What the server says of its structured results.
    structured_schema: Option<Value>,
}

impl DefinedTool {
    pub(crate) fn into_tool(self, caller: Arc<dyn ToolCaller>, spill: SpillFolder) -> Tool {
        let handler = McpToolHandler::new(
            self.server,
            self.tool_name,
            self.structured_schema,
            caller,
            spill,
        );
        Tool::new(self.spec, handler)
    }
}

/// Describes the tools of a server. Also returns what was wrong with them, one sentence each; a tool that cannot be used at all
/// is left out, and costs no other.
pub(crate) fn tool_specs(
    server: &ServerProfile,
    tools: &[Value],
) -> (Vec<DefinedTool>, Vec<String>) {
    let mut warnings = Vec::new();
    let tools = named_tools(tools, &mut warnings);
    let names = mcp_tool_names(&server.name, tools.iter().map(|(name, _)| *name));
    let namespace = Arc::new(Namespace {
        name: mcp_namespace(&server.name),
        aliases: vec![server.name.clone()],
        description: server.description.clone(),
        instructions: server.instructions.clone(),
    });
    let mut taken = HashSet::new();
    let mut defined = Vec::with_capacity(tools.len());
    for ((tool_name, tool), name) in tools.into_iter().zip(names) {
        if !taken.insert(name.clone()) {
            warnings.push(format!(
                "the tool {} is left out: its name would be `{name}`, as another one's is",
                quoted(tool_name)
            ));
            continue;
        }
        let spec = tool_spec(server, &namespace, name, (tool_name, tool), &mut warnings);
        defined.push(DefinedTool {
            spec,
            tool_name: tool_name.to_owned(),
            server: server.name.clone(),
            structured_schema: tool
                .get("outputSchema")
                .filter(|schema| schema.is_object())
                .cloned(),
        });
    }
    (defined, warnings)
}

/// The tools that can be used, with their names: of equal names the first.
fn named_tools<'a>(tools: &'a [Value], warnings: &mut Vec<String>) -> Vec<(&'a str, &'a Value)> {
    let mut seen = HashSet::new();
    let mut named = Vec::with_capacity(tools.len().min(TOOLS_MAX));
    for tool in tools {
        let name = tool.get("name").and_then(Value::as_str).unwrap_or_default();
        if name.is_empty() {
            warnings.push("a tool without a name is left out".to_owned());
        } else if !seen.insert(name) {
            warnings.push(format!(
                "the tool {} is listed more than once; the first one is used",
                quoted(name)
            ));
        } else if named.len() == TOOLS_MAX {
            warnings.push(format!("only its first {TOOLS_MAX} tools are used"));
            break;
        } else {
            named.push((name, tool));
        }
    }
    named
}

fn tool_spec(
    server: &ServerProfile,
    namespace: &Arc<Namespace>,
    name: String,
    (tool_name, tool): (&str, &Value),
    warnings: &mut Vec<String>,
) -> ToolSpec {
    let annotations = annotations(tool);
    let mut about = |what: String| warnings.push(format!("tool {}: {what}", quoted(tool_name)));
    let exposure = exposure_of(&server.tool_exposures, server.exposure, tool_name);
    ToolSpec::new(name, description(tool))
        .namespace(Arc::clone(namespace))
        .input_schema(input_schema(tool.get("inputSchema"), &mut about))
        .output_schema(output_schema(tool.get("outputSchema"), &mut about))
        .annotations(annotations)
        .effects(effects(annotations, server, tool_name))
        .containment(containment(server.reach))
        .exposure(to_exposure(exposure))
}

/// What the server says the tool does; its title where it says nothing.
fn description(tool: &Value) -> String {
    [
        tool.get("description"),
        tool.get("title"),
        tool.pointer("/annotations/title"),
    ]
    .into_iter()
    .flatten()
    .filter_map(Value::as_str)
    .find(|text| !text.trim().is_empty())
    .map(|text| cut_end(text, DESCRIPTION_BYTES_MAX))
    .unwrap_or_default()
}

/// The hints that are booleans; servers send all kinds of things.
fn annotations(tool: &Value) -> Annotations {
    let hint = |name: &str| tool.get("annotations")?.get(name)?.as_bool();
    Annotations {
        read_only_hint: hint("readOnlyHint"),
        destructive_hint: hint("destructiveHint"),
        idempotent_hint: hint("idempotentHint"),
        open_world_hint: hint("openWorldHint"),
    }
}

/// What a call can do. The user's own word counts, and the server's only where the user believes it. Any other tool is a
/// stranger's program: it can change files, start processes and reach the network, whatever it says.
fn effects(annotations: Annotations, server: &ServerProfile, tool: &str) -> Effects {
    const ANYTHING: Effects = Effects::READ
        .union(Effects::WRITE)
        .union(Effects::PROCESS)
        .union(Effects::NETWORK);
    if let Some(effects) = server.effects.of(tool) {
        return effects;
    }
    let is_read_only = match server.effects.annotations {
        AnnotationTrust::Stricter => false,
        AnnotationTrust::Believed => annotations.read_only_hint == Some(true),
    };
    match (is_read_only, annotations.open_world_hint, server.reach) {
        (false, _, _) => ANYTHING,
        (true, Some(false), ServerReach::Machine | ServerReach::Sandbox) => Effects::READ,
        (true, Some(false), ServerReach::Network) | (true, Some(true) | None, _) => {
            Effects::READ | Effects::NETWORK
        }
    }
}

/// What holds the processes that a call may start.
fn containment(reach: ServerReach) -> Containment {
    match reach {
        ServerReach::Sandbox => Containment::Held,
        ServerReach::Machine | ServerReach::Network => Containment::Free,
    }
}
