//! How an orchestrating tool reshapes what the model sees while it is active.

use std::collections::BTreeMap;

use crate::registry::Registry;
use crate::tool::Tool;

/// The tools as a [`LoadoutHook`] sees them.
#[derive(Debug, Clone)]
pub struct Loadout {
    /// Declared to the model.
    pub declared: Vec<Tool>,
    /// Callable by other tools.
    pub callable: Vec<Tool>,
    /// All there are.
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

/// Runs whenever the declared tools change, while the tool it belongs to is declared.
pub trait LoadoutHook: Send + Sync {
    /// Describes the changes for this loadout. The same loadout must give the same changes, so that prompt caches hold.
    fn prepare_loadout(&self, loadout: &Loadout) -> LoadoutChanges;
}
