//! What a registry shows of others.

use std::collections::HashSet;
use std::fmt;
use std::sync::Arc;

use super::{Entry, Registry};
use crate::tool::ToolSpec;

type Filter = Box<dyn Fn(&ToolSpec) -> bool + Send + Sync>;

pub(super) struct View {
    registries: Vec<Registry>,
    filter: Option<Filter>,
}

impl fmt::Debug for View {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter
            .debug_struct("View")
            .field("registries", &self.registries)
            .finish_non_exhaustive()
    }
}

impl View {
    pub(super) fn new(registries: Vec<Registry>, filter: Option<Filter>) -> Self {
        Self { registries, filter }
    }

    /// The queue of sequential calls of the first registry.
    pub(super) fn turns(&self) -> Option<Arc<tokio::sync::Mutex<()>>> {
        self.registries.first().map(Registry::turns)
    }

    pub(super) fn generation(&self) -> u64 {
        self.registries.iter().map(Registry::generation).sum()
    }

    pub(super) fn entry(&self, name: &str) -> Option<Arc<Entry>> {
        let entry = self
            .registries
            .iter()
            .find_map(|registry| registry.entry(name))?;
        self.shows(&entry).then_some(entry)
    }

    pub(super) fn entries(&self) -> Vec<Arc<Entry>> {
        let mut entries = match self.registries.as_slice() {
            [only] => only.entries(),
            several => {
                let mut names = HashSet::new();
                several
                    .iter()
                    .flat_map(Registry::entries)
                    .filter(|entry| names.insert(entry.tool.spec().name.clone()))
                    .collect()
            }
        };
        entries.retain(|entry| self.shows(entry));
        entries
    }

    pub(super) fn active_names(&self) -> Vec<String> {
        let mut names: Vec<String> = Vec::new();
        let mut known = HashSet::new();
        for registry in &self.registries {
            for name in registry.active_names() {
                let is_its_own = self.owner(&name).is_some_and(|owner| owner.is(registry));
                let is_shown = is_its_own && self.entry(&name).is_some();
                if is_shown && known.insert(name.clone()) {
                    names.push(name);
                }
            }
        }
        names
    }

    pub(super) fn is_active(&self, name: &str) -> bool {
        self.entry(name).is_some() && self.owner(name).is_some_and(|owner| owner.is_active(name))
    }

    /// The registry whose tool of this name counts.
    fn owner(&self, name: &str) -> Option<&Registry> {
        self.registries
            .iter()
            .find(|registry| registry.entry(name).is_some())
    }

    fn shows(&self, entry: &Entry) -> bool {
        self.filter
            .as_ref()
            .is_none_or(|filter| filter(entry.tool.spec()))
    }
}

impl Registry {
    fn is(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.state, &other.state)
    }
}
