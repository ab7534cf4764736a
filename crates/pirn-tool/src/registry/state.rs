//! What one registry holds itself.

use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use super::{Entry, PENDING_MAX, Start, starts_active};
use crate::tool::{Exposure, Tool};

#[derive(Debug, Default)]
pub(super) struct State {
    pub(super) entries: Vec<Arc<Entry>>,
    index: HashMap<String, usize>,
    pub(super) active: ActiveNames,
    /// Whether `active` is all there is, in a view; before, what is active beneath is active too.
    pub(super) is_active_set: bool,
    /// Found by a search, and active besides.
    pub(super) loaded: ActiveNames,
    /// Names that become active once there are tools of these names.
    pub(super) pending: Vec<String>,
    pub(super) generation: u64,
}

/// Names declared to the model, in the order they were activated, so that a reordering changes nothing.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct ActiveNames {
    order: Vec<String>,
    set: HashSet<String>,
}

impl ActiveNames {
    fn new(order: Vec<String>) -> Self {
        let set = order.iter().cloned().collect();
        Self { order, set }
    }

    pub(super) fn names(&self) -> Vec<String> {
        self.order.clone()
    }

    pub(super) fn contains(&self, name: &str) -> bool {
        self.set.contains(name)
    }

    fn add(&mut self, name: &str) {
        if self.set.insert(name.to_owned()) {
            self.order.push(name.to_owned());
        }
    }

    fn remove(&mut self, name: &str) {
        if self.set.remove(name) {
            self.order.retain(|active| active != name);
        }
    }
}

impl State {
    pub(super) fn find(&self, name: &str) -> Option<&Arc<Entry>> {
        self.index
            .get(name)
            .and_then(|&position| self.entries.get(position))
    }

    pub(super) fn register(&mut self, tool: Tool, start: Start) {
        let name = tool.spec().name.clone();
        let exposure = tool.spec().exposure;
        let entry = Arc::new(Entry::new(tool));
        let place = self
            .index
            .get(&name)
            .and_then(|&position| self.entries.get_mut(position));
        // Registering again, as after a reconnect, must not undo what was activated or deactivated meanwhile.
        let started_active = if let Some(place) = place {
            let replaced = std::mem::replace(place, entry);
            starts_active(replaced.tool.spec().exposure)
        } else {
            self.index.insert(name.clone(), self.entries.len());
            self.entries.push(entry);
            false
        };
        let starts = starts_active(exposure) && start == Start::AsExposed;
        if exposure == Exposure::Hidden || (started_active && !starts_active(exposure)) {
            self.active.remove(&name);
        } else if starts && !started_active {
            self.active.add(&name);
        }
        if exposure != Exposure::Hidden && self.pending.contains(&name) {
            self.pending.retain(|pending| *pending != name);
            self.active.add(&name);
        }
        self.generation += 1;
    }

    /// Sets what was found by a search.
    pub(super) fn set_loaded(&mut self, mut names: Vec<String>) {
        names.truncate(PENDING_MAX);
        let next = ActiveNames::new(names);
        if next != self.loaded {
            self.loaded = next;
            self.generation += 1;
        }
    }

    /// Sets what is active and what becomes so later.
    pub(super) fn set_active(&mut self, names: Vec<String>, pending: Vec<String>, is_view: bool) {
        // A view that has its own list shows a pending name as soon as there is a tool, wherever that is registered.
        let (names, pending) = if is_view {
            ([names, pending].concat(), Vec::new())
        } else {
            (names, pending)
        };
        let next = ActiveNames::new(names);
        if next != self.active || pending != self.pending || is_view != self.is_active_set {
            self.active = next;
            self.pending = pending;
            self.is_active_set = is_view;
            self.generation += 1;
        }
    }
}
