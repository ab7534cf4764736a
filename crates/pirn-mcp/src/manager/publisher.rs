//! Puts the tools of servers into the registry, and takes them out of sight again.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use pirn_tool::{Exposure, Registry, Tool, ToolResult};
use serde_json::Value;
use tokio_util::sync::CancellationToken;

use super::status::ToolName;
use crate::config::{McpExposure, ServerEntry};
use crate::connection::ServerFacts;
use crate::tools::{
    ResourceSource, ServerProfile, SpillFolder, ToolCaller, exposure_of, resource_tools,
    to_exposure, tool_specs, widest_exposure,
};

/// Makes the way by which the tools of a server are called.
pub(super) type CallerOf = Box<dyn Fn(&str) -> Arc<dyn ToolCaller> + Send + Sync>;

/// The tools of all servers in the registry.
pub(super) struct Publisher {
    registry: Registry,
    spill: SpillFolder,
    caller_of: CallerOf,
    resources: Arc<dyn ResourceSource>,
    state: Mutex<State>,
}

#[derive(Default)]
struct State {
    servers: BTreeMap<String, PublishedServer>,
    /// How the resource tools are registered.
    resource_exposure: ResourceToolsState,
}

/// What is registered for one server.
struct PublishedServer {
    list: Vec<Value>,
    names: BTreeSet<String>,
    resources: McpExposure,
}

#[derive(Clone, Copy, Default, PartialEq, Eq)]
enum ResourceToolsState {
    #[default]
    Never,
    As(McpExposure),
}

/// What is to be registered.
pub(super) enum Publication {
    List(Vec<Value>),
    /// The tools known already, as the entry now wants them.
    Facts,
    Hide,
}

/// What came of a publication.
#[derive(Default)]
pub(super) struct PublishReport {
    pub(super) tools: Vec<ToolName>,
    /// Sentences for people, without the server's name.
    pub(super) warnings: Vec<String>,
}

impl Publisher {
    pub(super) fn new(
        registry: Registry,
        spill: SpillFolder,
        caller_of: CallerOf,
        resources: Arc<dyn ResourceSource>,
    ) -> Self {
        Self {
            registry,
            spill,
            caller_of,
            resources,
            state: Mutex::default(),
        }
    }

    /// Registers a server's tools; those it had before and has no longer are hidden. Does nothing once `ending` has fired:
    /// the server was removed meanwhile.
    pub(super) fn publish(
        &self,
        entry: &ServerEntry,
        facts: Option<&ServerFacts>,
        publication: Publication,
        ending: &CancellationToken,
    ) -> PublishReport {
        let mut state = self.lock();
        if ending.is_cancelled() {
            return PublishReport::default();
        }
        let mut shown = state
            .servers
            .remove(&entry.name)
            .unwrap_or_else(PublishedServer::new);
        let published = match publication {
            Publication::List(list) => {
                shown.list = list;
                self.show(&state, &mut shown, entry, facts)
            }
            Publication::Facts => self.show(&state, &mut shown, entry, facts),
            Publication::Hide => {
                self.hide_except(&mut shown, &BTreeSet::new());
                shown.resources = McpExposure::Hidden;
                PublishReport::default()
            }
        };
        state.servers.insert(entry.name.clone(), shown);
        self.show_resource_tools(&mut state);
        published
    }

    /// Hides the tools of a server that is gone.
    pub(super) fn remove(&self, server: &str) {
        let mut state = self.lock();
        if let Some(mut shown) = state.servers.remove(server) {
            self.hide_except(&mut shown, &BTreeSet::new());
            self.show_resource_tools(&mut state);
        }
    }

    /// The server that a registered tool belongs to.
    pub(super) fn owner_of(&self, tool: &str) -> Option<String> {
        self.lock().owner_of(tool).map(str::to_owned)
    }

    fn show(
        &self,
        others: &State,
        shown: &mut PublishedServer,
        entry: &ServerEntry,
        facts: Option<&ServerFacts>,
    ) -> PublishReport {
        let no_facts = ServerFacts::default();
        let facts = facts.unwrap_or(&no_facts);
        let profile = ServerProfile::new(entry, facts);
        let (defined, mut warnings) = tool_specs(&profile, &shown.list);
        let caller = (self.caller_of)(&entry.name);
        let mut tools = Vec::with_capacity(defined.len());
        let mut names = BTreeSet::new();
        for tool in defined {
            let name = tool.spec.name.clone();
            if let Some(owner) = self.foreign_owner(others, shown, &name) {
                warnings.push(format!(
                    "the tool \"{}\" is left out: {owner} has a tool named {name} already",
                    tool.tool_name
                ));
                continue;
            }
            let exposure = exposure_of(&entry.tool_exposures, entry.exposure, &tool.tool_name);
            tools.push(ToolName {
                registry: name.clone(),
                server: tool.tool_name.clone(),
                exposure,
            });
            names.insert(name);
            self.registry
                .register(tool.into_tool(Arc::clone(&caller), self.spill.clone()));
        }
        self.hide_except(shown, &names);
        shown.names = names;
        shown.resources = if facts.has_resources {
            entry.exposure
        } else {
            McpExposure::Hidden
        };
        PublishReport { tools, warnings }
    }

    /// Who else has a visible tool of that name.
    fn foreign_owner(&self, others: &State, own: &PublishedServer, name: &str) -> Option<String> {
        if let Some(server) = others.owner_of(name) {
            return Some(format!("the server \"{server}\""));
        }
        let is_free = own.names.contains(name)
            || self
                .registry
                .get(name)
                .is_none_or(|tool| tool.spec().exposure == Exposure::Hidden);
        (!is_free).then(|| "this session".to_owned())
    }

    fn hide_except(&self, shown: &mut PublishedServer, kept: &BTreeSet<String>) {
        for name in std::mem::take(&mut shown.names) {
            if kept.contains(&name) {
                continue;
            }
            let Some(tool) = self.registry.get(&name) else {
                continue;
            };
            let mut spec = tool.spec().clone();
            spec.exposure = Exposure::Hidden;
            let gone = format!("The tool {name} was withdrawn by its server");
            let tool = Tool::from_fn(spec, move |_arguments, _context| {
                std::future::ready(ToolResult::error(gone.clone()))
            });
            self.registry.register(tool);
        }
    }

    /// Registers the resource tools as the servers with resources now want them.
    fn show_resource_tools(&self, state: &mut State) {
        let widest = widest_exposure(state.servers.values().map(|shown| shown.resources));
        let wanted = ResourceToolsState::As(widest);
        let is_needless =
            widest == McpExposure::Hidden && state.resource_exposure == ResourceToolsState::Never;
        if is_needless || state.resource_exposure == wanted {
            return;
        }
        let tools = resource_tools(to_exposure(widest), &self.resources, &self.spill);
        for tool in tools {
            self.registry.register(tool);
        }
        state.resource_exposure = wanted;
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl State {
    fn owner_of(&self, tool: &str) -> Option<&str> {
        self.servers
            .iter()
            .find(|(_, shown)| shown.names.contains(tool))
            .map(|(server, _)| server.as_str())
    }
}

impl PublishedServer {
    fn new() -> Self {
        Self {
            list: Vec::new(),
            names: BTreeSet::new(),
            resources: McpExposure::Hidden,
        }
    }
}
