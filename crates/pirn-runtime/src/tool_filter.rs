//! Which tools a client sees.

use pirn_tool::{Exposure, Registry, matches_pattern};

/// Which tools a client sees, by name; a name may hold `*`. The default is all.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ToolFilter {
    /// These only; empty: all.
    pub include: Vec<String>,
    /// Tools that are left out, although included.
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

    fn reveals(&self, name: &str, exposure: Exposure) -> bool {
        exposure == Exposure::Hidden && self.reveal.iter().any(|revealed| revealed == name)
    }

    /// A live view of the registry with these tools only; what is registered in it does not show in others.
    pub(crate) fn apply(&self, registry: &Registry) -> Registry {
        if *self == Self::default() {
            return Registry::joined([registry.clone()]);
        }
        let filter = self.clone();
        // A hidden tool beneath would stand before the one that is revealed.
        let view = registry.filtered(move |spec| {
            filter.admits(&spec.name) && !filter.reveals(&spec.name, spec.exposure)
        });
        let hidden = self.reveal.iter().filter_map(|name| registry.get(name));
        for tool in hidden.filter(|tool| self.reveals(&tool.spec().name, tool.spec().exposure)) {
            view.register(tool.with_exposure(Exposure::Codemode));
        }
        view
    }
}
