//! What stands in for something missing.

use std::path::PathBuf;
#[cfg(target_os = "linux")]
use std::path::{Component, Path};

#[cfg(target_os = "linux")]
use super::{git, system};

/// Something that is missing and must not be created by a confined program. To be created before a run, and removed after
/// it, in reverse order, if it is still as it was.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Placeholder {
    pub(crate) path: PathBuf,
    pub(crate) kind: PlaceholderKind,
}

/// What a [`Placeholder`] is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum PlaceholderKind {
    Folder,
    /// A file that holds this.
    File(Vec<u8>),
}

#[cfg(target_os = "linux")]
impl Placeholder {
    /// Whether a policy can come to it, by its name and what it holds. One that was read from a file may name anything.
    pub(crate) fn is_plausible(&self) -> bool {
        let is_plain = self.path.is_absolute()
            && self.path.components().all(|component| match component {
                Component::RootDir | Component::Normal(_) => true,
                Component::Prefix(_) | Component::CurDir | Component::ParentDir => false,
            });
        let is_called = |name: &Path| !name.as_os_str().is_empty() && self.path.ends_with(name);
        is_plain
            && match &self.kind {
                PlaceholderKind::Folder => system::STARTUP_FILES
                    .iter()
                    .map(|start_up| Path::new(start_up.path))
                    .flat_map(Path::ancestors)
                    .chain([Path::new("hooks")])
                    .any(is_called),
                PlaceholderKind::File(content) => {
                    is_text(content)
                        && system::STARTUP_FILES
                            .iter()
                            .map(|start_up| Path::new(start_up.path))
                            .chain(["config", "commondir"].map(Path::new))
                            .any(is_called)
                }
            }
    }
}

/// Whether it is what files that stand in for others hold.
#[cfg(target_os = "linux")]
fn is_text(content: &[u8]) -> bool {
    content.is_empty()
        || content == git::HERE
        || system::STARTUP_FILES
            .iter()
            .flat_map(|start_up| start_up.instead)
            .any(|name| content == system::passing_on(name))
}
