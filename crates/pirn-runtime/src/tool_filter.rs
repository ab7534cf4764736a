//! Which tools a client sees.

use pirn_tool::{Exposure, Registry, matches_pattern};

/// Which tools a client sees, by name; a name may hold `*`. The default is all.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ToolFilter {
    /// These only; empty: all.
    pub include: Vec<String>,
    /// All but these.
    pub exclude: Vec<String>,
    /// These, too, although they are hidden; no patterns.
    pub reveal: Vec<String>,
}

impl ToolFilter {
    /// Whether a tool of this name is seen.
    pub fn admits(&self, name: &str) -> bool {
        let is_in = |names: &[String]| names.iter().any(|pattern| matches_pattern(pattern, name));
        (self.include.is_empty() || is_in(&self.include)) && !is_in(&self.exclude)
    }

    /// The registry with these tools only.
    pub(crate) fn apply(&self, registry: &Registry) -> Registry {
        if *self == Self::default() {
            return registry.clone();
        }
        let selected = Registry::new();
        for tool in registry.callable() {
            if self.admits(&tool.spec().name) {
                selected.register(tool);
            }
        }
        for tool in self.reveal.iter().filter_map(|name| registry.get(name)) {
            if tool.spec().exposure == Exposure::Hidden {
                selected.register(tool.with_exposure(Exposure::Codemode));
            }
        }
        selected
    }
}
