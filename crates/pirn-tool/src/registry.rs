//! Which tools exist, which are declared to the model, and which may be called by whom.

mod state;
mod view;

use std::any::Any;
use std::sync::{Arc, Mutex, OnceLock, PoisonError, RwLock};

use serde_json::Value;

use crate::context::Origin;
use crate::loadout::{Loadout, PreparedLoadout};
use crate::panic::guarded;
use crate::schema::Validator;
use crate::tool::{Concurrency, Exposure, Tool, ToolSpec};
use state::State;
use view::View;

/// Names that may be activated before there are tools of these names, such as those of a server that is still starting; more
/// than a model can be told of.
const PENDING_MAX: usize = 1_024;

/// The tools of a session, in the order of registration. Cheap to clone; clones share their content.
///
/// A registry may be a view: [`Registry::filtered`] shows a part of another one, [`Registry::joined`] several as one. A view is
/// live: what is registered beneath it shows at once. What is registered in the view itself, and which tools a view declares
/// once that is set, does not show beneath.
#[derive(Debug, Clone, Default)]
pub struct Registry {
    state: Arc<RwLock<State>>,
    /// What the registry is a view of.
    beneath: Option<Arc<View>>,
    /// Held during a call of a sequential tool.
    turns: Arc<tokio::sync::Mutex<()>>,
    derived: Arc<Mutex<Option<Derived>>>,
}

/// What was made of a registry's tools, and the generation that they were of.
#[derive(Debug)]
struct Derived {
    generation: u64,
    made: Arc<dyn Any + Send + Sync>,
}

/// A registered tool with what is computed from it once.
#[derive(Debug)]
pub(crate) struct Entry {
    pub(crate) tool: Tool,
    validator: OnceLock<Validator>,
    definition: OnceLock<String>,
}

impl Entry {
    fn new(tool: Tool) -> Self {
        Self {
            tool,
            validator: OnceLock::new(),
            definition: OnceLock::new(),
        }
    }

    pub(crate) fn validator(&self) -> &Validator {
        self.validator
            .get_or_init(|| Validator::new(&self.tool.spec().input_schema))
    }

    /// What is wrong with arguments, as a call with them would be told.
    pub(crate) fn arguments_checked(&self, arguments: Value) -> Result<Value, String> {
        let name = &self.tool.spec().name;
        let prepared = guarded(|| self.tool.handler().prepare_arguments(arguments)).map_err(|panic| {
            format!(
                "Tool {name} panicked while it read the arguments, which is a bug in it: {panic}"
            )
        })?;
        self.validator().check(name, prepared)
    }

    /// The hash of what the tool says about itself.
    pub(crate) fn definition(&self) -> &str {
        self.definition
            .get_or_init(|| self.tool.spec().definition_hash())
    }

    pub(crate) fn is_sequential(&self) -> bool {
        self.tool.spec().concurrency == Concurrency::Sequential
    }
}

/// Whether a tool becomes active when it is first registered.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Start {
    /// If its exposure says so.
    AsExposed,
    /// Not until it is activated.
    Inactive,
}

impl Registry {
    /// A registry without tools.
    pub fn new() -> Self {
        Self::default()
    }

    /// A live view of those tools of this registry for which `filter` holds, for a client or a profile. Sequential calls of both
    /// wait for each other.
    #[must_use]
    pub fn filtered(&self, filter: impl Fn(&ToolSpec) -> bool + Send + Sync + 'static) -> Self {
        Self::over(View::new(vec![self.clone()], Some(Box::new(filter))))
    }

    /// A live view of several registries as one. Of tools with the same name the one of the first registry counts.
    #[must_use]
    pub fn joined(registries: impl IntoIterator<Item = Self>) -> Self {
        Self::over(View::new(registries.into_iter().collect(), None))
    }

    /// A live view of this registry with more tools. Those whose name is taken beneath do not show.
    #[must_use]
    pub fn extended(&self, tools: impl IntoIterator<Item = Tool>) -> Self {
        let extended = Self::joined([self.clone()]);
        for tool in tools {
            extended.register(tool);
        }
        extended
    }

    fn over(view: View) -> Self {
        let turns = view.turns().unwrap_or_default();
        Self {
            state: Arc::default(),
            beneath: Some(Arc::new(view)),
            turns,
            derived: Arc::default(),
        }
    }

    /// Adds a tool, or replaces the one of the same name at its place. A tool cannot be taken out; registering it again as
    /// [`Exposure::Hidden`] withdraws it. `Direct` and `ModelOnly` tools become active when they first appear as such, and so
    /// does a tool whose name was activated before.
    pub fn register(&self, tool: Tool) {
        self.write(|state| state.register(tool, Start::AsExposed));
    }

    /// Like [`Self::register`], but a new tool is not active until it is activated.
    pub fn register_inactive(&self, tool: Tool) {
        self.write(|state| state.register(tool, Start::Inactive));
    }

    /// The registered tool of that name, hidden ones included.
    pub fn get(&self, name: &str) -> Option<Tool> {
        self.entry(name).map(|entry| entry.tool.clone())
    }

    /// What is wrong with arguments for a tool, in the words that a call with them is refused with; nothing where they fit.
    pub fn arguments_complaint(&self, name: &str, arguments: &Value) -> Option<String> {
        let entry = self.entry(name)?;
        entry.arguments_checked(arguments.clone()).err()
    }

    /// Every registered tool, hidden ones included.
    pub fn registered(&self) -> Vec<Tool> {
        self.entries()
            .iter()
            .map(|entry| entry.tool.clone())
            .collect()
    }

    /// The tools declared to the model, in the order of activation.
    pub fn active(&self) -> Vec<Tool> {
        self.active_names()
            .iter()
            .filter_map(|name| self.get(name))
            .filter(|tool| tool.spec().exposure != Exposure::Hidden)
            .collect()
    }

    /// The tools that scripts and other tools may call: the active direct ones and every `codemode` or `deferred` one.
    pub fn callable(&self) -> Vec<Tool> {
        self.entries()
            .iter()
            .filter(|entry| self.is_callable(&entry.tool))
            .map(|entry| entry.tool.clone())
            .collect()
    }

    /// The active tools as the loadout hooks of the active tools reshape them.
    pub fn loadout(&self) -> PreparedLoadout {
        PreparedLoadout::new(&Loadout::of(self))
    }

    /// Sets which tools are declared to the model. Tools that stay active keep their order, new ones follow; hidden ones are left
    /// out. A name without a tool stays pending: its tool becomes active when it is registered.
    pub fn set_active(&self, names: &[&str]) {
        let present = self.active_names();
        let mut next: Vec<String> = present
            .into_iter()
            .filter(|active| names.contains(&active.as_str()))
            .collect();
        let mut pending = Vec::new();
        for name in names {
            match self.entry(name) {
                Some(entry) if entry.tool.spec().exposure == Exposure::Hidden => {}
                Some(_) if next.iter().any(|active| active == name) => {}
                Some(_) => next.push((*name).to_owned()),
                None if pending.len() < PENDING_MAX => pending.push((*name).to_owned()),
                None => {}
            }
        }
        let is_view = self.beneath.is_some();
        self.write(|state| state.set_active(next, pending, is_view));
    }

    /// Declares more tools to the model, after those that are declared already.
    pub fn activate(&self, names: &[&str]) {
        let present = self.active_names();
        let mut all: Vec<&str> = present.iter().map(String::as_str).collect();
        let pending = self.read(|state| state.pending.clone());
        all.extend(pending.iter().map(String::as_str));
        all.extend(names);
        self.set_active(&all);
    }

    /// Declares tools that were found by a search, after those that are declared already. A name without a tool counts as soon as
    /// there is one. In a view, unlike with [`Self::activate`], what becomes active beneath still shows.
    pub fn load(&self, names: &[&str]) {
        let mut all = self.read(|state| state.loaded.names());
        for name in names {
            if !self.is_active(name) && !all.iter().any(|known| known == name) {
                all.push((*name).to_owned());
            }
        }
        self.write(|state| state.set_loaded(all));
    }

    /// Declares these tools besides those that are active by themselves, and no others that were loaded before: what a
    /// conversation that is taken up had loaded.
    pub fn set_loaded(&self, names: &[&str]) {
        self.write(|state| state.set_loaded(Vec::new()));
        self.load(names);
    }

    /// A number that grows with every change, for caches of what depends on the tools. Costs no more than a look at a counter
    /// for every registry that is viewed.
    pub fn generation(&self) -> u64 {
        let own = self.read(|state| state.generation);
        own + self.beneath.as_ref().map_or(0, |view| view.generation())
    }

    /// What `make` gives of the callable tools, made again only when the tools have changed since. One thing is kept at a time.
    pub fn derived<T: Any + Send + Sync>(&self, make: impl FnOnce(Vec<Tool>) -> T) -> Arc<T> {
        // Read first: what changes meanwhile is of a later generation.
        let generation = self.generation();
        let mut kept = self.derived.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(derived) = kept.as_ref()
            && derived.generation == generation
            && let Ok(made) = Arc::clone(&derived.made).downcast()
        {
            return made;
        }
        let made = Arc::new(make(self.callable()));
        *kept = Some(Derived {
            generation,
            made: Arc::clone(&made) as Arc<dyn Any + Send + Sync>,
        });
        made
    }

    /// The queue of sequential calls.
    pub(crate) fn turns(&self) -> Arc<tokio::sync::Mutex<()>> {
        Arc::clone(&self.turns)
    }

    pub(crate) fn entry(&self, name: &str) -> Option<Arc<Entry>> {
        let beneath = self.beneath.as_ref().and_then(|view| view.entry(name));
        beneath.or_else(|| self.read(|state| state.find(name).cloned()))
    }

    /// The tool `name`, if `origin` may call it.
    pub(crate) fn resolve(&self, name: &str, origin: Origin) -> Option<Arc<Entry>> {
        let entry = self.entry(name)?;
        let exposure = entry.tool.spec().exposure;
        let is_allowed = match origin {
            Origin::Model => exposure != Exposure::Hidden && self.is_active(name),
            Origin::Nested => self.is_callable(&entry.tool),
            Origin::User | Origin::Extension => exposure != Exposure::Hidden,
        };
        is_allowed.then_some(entry)
    }

    /// Every entry, those beneath first.
    fn entries(&self) -> Vec<Arc<Entry>> {
        let mut entries = self
            .beneath
            .as_ref()
            .map_or_else(Vec::new, |view| view.entries());
        self.read(|state| {
            let own = state.entries.iter().filter(|entry| {
                self.beneath
                    .as_ref()
                    .is_none_or(|view| view.entry(&entry.tool.spec().name).is_none())
            });
            entries.extend(own.cloned());
        });
        entries
    }

    fn active_names(&self) -> Vec<String> {
        let (own, is_set) = self.read(|state| (state.active.names(), state.is_active_set));
        let mut names = match &self.beneath {
            Some(view) if !is_set => {
                let mut names = view.active_names();
                names.extend(own);
                names
            }
            Some(_) | None => own,
        };
        for loaded in self.read(|state| state.loaded.names()) {
            if !names.contains(&loaded) {
                names.push(loaded);
            }
        }
        names
    }

    fn is_active(&self, name: &str) -> bool {
        let (own, is_set) = self.read(|state| {
            let own = state.active.contains(name) || state.loaded.contains(name);
            (own, state.is_active_set)
        });
        own || (!is_set
            && self
                .beneath
                .as_ref()
                .is_some_and(|view| view.is_active(name)))
    }

    fn is_callable(&self, tool: &Tool) -> bool {
        match tool.spec().exposure {
            Exposure::Direct => self.is_active(&tool.spec().name),
            Exposure::Codemode | Exposure::Deferred => true,
            Exposure::ModelOnly | Exposure::Hidden => false,
        }
    }

    fn read<T>(&self, query: impl FnOnce(&State) -> T) -> T {
        query(&self.state.read().unwrap_or_else(PoisonError::into_inner))
    }

    fn write(&self, change: impl FnOnce(&mut State)) {
        change(&mut self.state.write().unwrap_or_else(PoisonError::into_inner));
    }
}

fn starts_active(exposure: Exposure) -> bool {
    match exposure {
        Exposure::Direct | Exposure::ModelOnly => true,
        Exposure::Codemode | Exposure::Deferred | Exposure::Hidden => false,
    }
}
