//! What there was before a child, to be asked about each place that a walk has found: in a workspace of many repositories there are
//! thousands of both.

use std::collections::HashSet;
use std::path::Path;

use super::super::git::GitFolder;
use super::super::plan::Planned;

/// What there was before.
pub(super) struct Known<'before> {
    before: &'before Planned,
    git: HashSet<&'before GitFolder>,
    protected: HashSet<&'before Path>,
    placeholders: HashSet<&'before Path>,
    links: HashSet<&'before Path>,
}

impl<'before> Known<'before> {
    pub(super) fn of(before: &'before Planned) -> Self {
        Self {
            before,
            git: before.git.iter().collect(),
            protected: before
                .paths
                .protected
                .iter()
                .map(|place| &**place)
                .collect(),
            placeholders: before
                .paths
                .placeholders
                .iter()
                .map(|placeholder| &*placeholder.path)
                .collect(),
            links: before.links.iter().map(|(link, _)| &**link).collect(),
        }
    }

    /// Whether it was git's.
    pub(super) fn has_git(&self, folder: &GitFolder) -> bool {
        self.git.contains(folder)
    }

    /// Whether it was protected, or a link in the place of what is.
    pub(super) fn has_protected(&self, place: &Path) -> bool {
        self.protected.contains(place) || self.links.contains(place)
    }

    /// Whether what is guarded by its name was there, or stood in for it.
    pub(super) fn has_guarded(&self, place: &Path) -> bool {
        self.before.guarded.contains(place)
            || self.placeholders.contains(place)
            || self.protected.contains(place)
    }
}
