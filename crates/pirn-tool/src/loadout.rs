//! How an orchestrating tool reshapes what the model sees while it is active.

use std::collections::{BTreeMap, BTreeSet};

use crate::panic::guarded;
use crate::registry::Registry;
use crate::tool::Tool;

/// The tools as a [`LoadoutHook`] sees them.
#[derive(Debug, Clone)]
pub struct Loadout {
    /// Declared to the model.
    pub declared: Vec<Tool>,
    /// Callable by other tools.
    pub callable: Vec<Tool>,
    /// Every registered tool, hidden ones included.
    pub registered: Vec<Tool>,
}

impl Loadout {
    /// The present loadout of a registry.
    pub fn of(registry: &Registry) -> Self {
        Self {
            declared: registry.active(),
            callable: registry.callable(),
            registered: registry.registered(),
        }
    }
}

/// What a [`LoadoutHook`] changes.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct LoadoutChanges {
    /// New descriptions of declared tools, by name.
    pub descriptions: BTreeMap<String, String>,
    /// Declared tools that are left out of requests. They stay active and callable.
    pub hidden_declarations: Vec<String>,
}

/// Runs whenever the declared tools change, while the tool it was registered with is declared
/// ([`Tool::with_loadout_hook`]).
pub trait LoadoutHook: Send + Sync {
    /// Describes the changes for this loadout. The same loadout must give the same changes, so that prompt caches hold.
    fn prepare_loadout(&self, loadout: &Loadout) -> LoadoutChanges;
}

/// What is declared to the model, after the loadout hooks.
#[derive(Debug, Clone, Default)]
pub struct PreparedLoadout {
    /// The declarations, in the order of activation.
    pub declarations: Vec<Declaration>,
    /// Hooks that panicked, with the message; their changes are left out.
    pub problems: Vec<String>,
}

/// One tool as it is declared to the model.
#[derive(Debug, Clone)]
pub struct Declaration {
    /// The tool that is declared, with its own description.
    pub tool: Tool,
    /// Its description for the model.
    pub description: String,
}

impl PreparedLoadout {
    /// Runs the hooks of the declared tools, in the order of activation, over the same loadout, and merges what they change: of
    /// two descriptions of one tool the later counts, and what one hides stays hidden.
    pub(crate) fn new(loadout: &Loadout) -> Self {
        let mut descriptions = BTreeMap::new();
        let mut hidden = BTreeSet::new();
        let mut problems = Vec::new();
        for tool in &loadout.declared {
            let Some(hook) = tool.loadout_hook() else {
                continue;
            };
            match guarded(|| hook.prepare_loadout(loadout)) {
                Ok(changes) => {
                    descriptions.extend(changes.descriptions);
                    hidden.extend(changes.hidden_declarations);
                }
                Err(panic) => problems.push(format!(
                    "The loadout hook of {} panicked, which is a bug in it: {panic}",
                    tool.spec().name
                )),
            }
        }
        let declarations = loadout
            .declared
            .iter()
            .filter(|tool| !hidden.contains(&tool.spec().name))
            .map(|tool| Declaration {
                tool: tool.clone(),
                description: descriptions
                    .remove(&tool.spec().name)
                    .unwrap_or_else(|| tool.spec().description.clone()),
            })
            .collect();
        Self {
            declarations,
            problems,
        }
    }
}
