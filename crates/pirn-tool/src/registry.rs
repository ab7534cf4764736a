//! Which tools exist, which are declared to the model, and which may be called by whom.

use std::collections::HashMap;
use std::sync::{Arc, OnceLock, PoisonError, RwLock};

use crate::context::Origin;
use crate::schema::Validator;
use crate::tool::{Concurrency, Exposure, Tool};

/// The tools of a session, in the order of registration. Cheap to clone; clones share their content.
#[derive(Debug, Clone, Default)]
pub struct Registry {
    state: Arc<RwLock<State>>,
    /// Held during a call of a sequential tool.
    turns: Arc<tokio::sync::Mutex<()>>,
}

#[derive(Debug, Default)]
struct State {
    entries: Vec<Arc<Entry>>,
    index: HashMap<String, usize>,
    /// Names declared to the model, in the order they were activated, so that a reordering changes nothing.
    active: Vec<String>,
    generation: u64,
}

/// A registered tool with what is computed from it once.
#[derive(Debug)]
pub(crate) struct Entry {
    pub(crate) tool: Tool,
    validator: OnceLock<Validator>,
}

impl Entry {
    pub(crate) fn validator(&self) -> &Validator {
        self.validator
            .get_or_init(|| Validator::new(&self.tool.spec().input_schema))
    }

    pub(crate) fn is_sequential(&self) -> bool {
        self.tool.spec().concurrency == Concurrency::Sequential
    }
}

impl Registry {
    /// An empty registry.
    pub fn new() -> Self {
        Self::default()
    }

    /// Adds a tool, or replaces the one of the same name at its place. A tool cannot be taken out; registering it again as
    /// [`Exposure::Hidden`] withdraws it. `Direct` and `ModelOnly` tools become active when they first appear as such.
    pub fn register(&self, tool: Tool) {
        let mut state = self.state.write().unwrap_or_else(PoisonError::into_inner);
        let name = tool.spec().name.clone();
        let exposure = tool.spec().exposure;
        let is_hidden = exposure == Exposure::Hidden;
        let entry = Arc::new(Entry {
            tool,
            validator: OnceLock::new(),
        });
        // Registering again, as after a reconnect, must not undo what was activated or deactivated meanwhile.
        let started_active = if let Some(&position) = state.index.get(&name) {
            let replaced = std::mem::replace(&mut state.entries[position], entry);
            starts_active(replaced.tool.spec().exposure)
        } else {
            let position = state.entries.len();
            state.index.insert(name.clone(), position);
            state.entries.push(entry);
            false
        };
        if is_hidden || (started_active && !starts_active(exposure)) {
            state.active.retain(|active| *active != name);
        } else if starts_active(exposure) && !started_active && !state.active.contains(&name) {
            state.active.push(name);
        }
        state.generation += 1;
    }

    /// The registered tool of that name, hidden ones included.
    pub fn get(&self, name: &str) -> Option<Tool> {
        self.entry(name).map(|entry| entry.tool.clone())
    }

    /// Every registered tool, hidden ones included.
    pub fn registered(&self) -> Vec<Tool> {
        self.read(|state| {
            state
                .entries
                .iter()
                .map(|entry| entry.tool.clone())
                .collect()
        })
    }

    /// The tools declared to the model, in the order of activation.
    pub fn active(&self) -> Vec<Tool> {
        self.read(|state| {
            state
                .active
                .iter()
                .filter_map(|name| state.find(name))
                .map(|entry| entry.tool.clone())
                .collect()
        })
    }

    /// The tools that scripts and other tools may call: the active direct ones and every `codemode` or `deferred` one.
    pub fn callable(&self) -> Vec<Tool> {
        self.read(|state| {
            state
                .entries
                .iter()
                .filter(|entry| state.is_callable(&entry.tool))
                .map(|entry| entry.tool.clone())
                .collect()
        })
    }

    /// Sets which tools are declared to the model. Tools that stay active keep their order, new ones follow; unknown and
    /// hidden names are ignored.
    pub fn set_active(&self, names: &[&str]) {
        let mut state = self.state.write().unwrap_or_else(PoisonError::into_inner);
        let mut next: Vec<String> = state
            .active
            .iter()
            .filter(|active| names.contains(&active.as_str()))
            .cloned()
            .collect();
        for name in names {
            let known = state
                .find(name)
                .is_some_and(|entry| entry.tool.spec().exposure != Exposure::Hidden);
            if known && !next.iter().any(|active| active == name) {
                next.push((*name).to_owned());
            }
        }
        if next != state.active {
            state.active = next;
            state.generation += 1;
        }
    }

    /// A registry with the present tools of this one and with `tools`, as they are declared and callable now: what changes later
    /// in one does not change the other. Tools whose name is taken are left out. Sequential calls of both wait for each other.
    #[must_use]
    pub fn extended(&self, tools: impl IntoIterator<Item = Tool>) -> Self {
        let state = self.read(|state| State {
            entries: state.entries.clone(),
            index: state.index.clone(),
            active: state.active.clone(),
            generation: state.generation,
        });
        let extended = Self {
            state: Arc::new(RwLock::new(state)),
            turns: Arc::clone(&self.turns),
        };
        for tool in tools {
            if extended.entry(&tool.spec().name).is_none() {
                extended.register(tool);
            }
        }
        extended
    }

    /// A number that grows with every change, for caches of what depends on the tools.
    pub fn generation(&self) -> u64 {
        self.read(|state| state.generation)
    }

    /// The queue of sequential calls.
    pub(crate) fn turns(&self) -> Arc<tokio::sync::Mutex<()>> {
        Arc::clone(&self.turns)
    }

    pub(crate) fn entry(&self, name: &str) -> Option<Arc<Entry>> {
        self.read(|state| state.find(name).cloned())
    }

    /// The tool `name`, if `origin` may call it.
    pub(crate) fn resolve(&self, name: &str, origin: Origin) -> Option<Arc<Entry>> {
        self.read(|state| {
            let entry = state.find(name)?;
            let allowed = match origin {
                Origin::Model => state.active.iter().any(|active| active == name),
                Origin::Nested => state.is_callable(&entry.tool),
                Origin::User | Origin::Extension => entry.tool.spec().exposure != Exposure::Hidden,
            };
            allowed.then(|| Arc::clone(entry))
        })
    }

    fn read<T>(&self, query: impl FnOnce(&State) -> T) -> T {
        query(&self.state.read().unwrap_or_else(PoisonError::into_inner))
    }
}

fn starts_active(exposure: Exposure) -> bool {
    match exposure {
        Exposure::Direct | Exposure::ModelOnly => true,
        Exposure::Codemode | Exposure::Deferred | Exposure::Hidden => false,
    }
}

impl State {
    fn find(&self, name: &str) -> Option<&Arc<Entry>> {
        self.index
            .get(name)
            .and_then(|&position| self.entries.get(position))
    }

    fn is_callable(&self, tool: &Tool) -> bool {
        match tool.spec().exposure {
            Exposure::Direct => self.active.contains(&tool.spec().name),
            Exposure::Codemode | Exposure::Deferred => true,
            Exposure::ModelOnly | Exposure::Hidden => false,
        }
    }
}
