//! What a policy comes to in the file system: links resolved, patterns looked up, git folders found.
//!
//! Nothing is changed here. What is missing and must not be created by a confined program comes back as a
//! [`Placeholder`], for the caller to create before a run and to remove after it. Whatever cannot be found out, and whatever is
//! more than a bound allows, is an error: what is fixed comes first, and nothing falls off a list.

#[cfg(target_os = "linux")]
mod aside;
#[cfg(target_os = "linux")]
mod baseline;
#[cfg(target_os = "linux")]
mod cache;
mod concealed;
mod file_rules;
mod git;
mod hard_links;
mod mount_aliases;
mod pattern;
mod placeholder;
mod plan;
mod regular;
mod roots;
mod scan;
mod system;

use std::path::{Path, PathBuf};
use std::time::Duration;

use crate::policy::Profile;
#[cfg(target_os = "linux")]
pub(crate) use baseline::Baseline;
#[cfg(target_os = "linux")]
pub(crate) use cache::{Look, PathCache};
pub(crate) use file_rules::FileRulesCache;
pub use file_rules::{FileRefusal, FileRules, FolderRules};
pub(crate) use placeholder::{Placeholder, PlaceholderKind};
use plan::Plan;
#[cfg(target_os = "linux")]
pub(crate) use plan::Planned;
#[cfg(target_os = "linux")]
pub(crate) use regular::{open_regular, unless_absent};
pub(crate) use roots::HeldRoots;
pub(crate) use scan::{EntriesMax, Found, Scan};
pub use system::{HOME_READABLE_DEFAULT, OtherProgram, UNWRITABLE_DEFAULT};

/// How long it is kept what lies outside of the writable folders, and what file tools may use.
const KEPT_FOR: Duration = Duration::from_secs(5);

/// What a policy comes to in the file system. All paths are absolute.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Paths {
    /// The working folder, links resolved.
    pub(crate) working_folder: PathBuf,
    /// Folders and files that may be written, links resolved, none inside another. Empty with [`Profile::ReadOnly`].
    pub(crate) write_roots: Vec<PathBuf>,
    /// What is missing of `pinned` and `protected`, parents first.
    pub(crate) placeholders: Vec<Placeholder>,
    /// Folders inside write roots that stay writable but must not be moved away, or something else could be put in the place
    /// of what is protected in them: to be mounted on themselves. Parents first. None is a write root.
    pub(crate) pinned: Vec<PathBuf>,
    /// Folders and files inside write roots that stay as they are: to be mounted read-only, after the pinned ones.
    pub(crate) protected: Vec<PathBuf>,
    /// What must not be read: to be covered last. Links resolved, none inside another.
    pub(crate) unreadable: Vec<Unreadable>,
    /// With [`crate::Readable::Only`]: everything that can be read, by the names programs use, and where those lead.
    pub(crate) read_roots: Option<Vec<PathBuf>>,
    /// What of the unreadable paths is not kept, as sentences.
    pub(crate) unreadable_gaps: Vec<String>,
    /// Write roots that were left out though they exist, as sentences.
    pub(crate) refused_roots: Vec<String>,
}

/// A place that must not be read.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Unreadable {
    pub(crate) path: PathBuf,
    /// Whether it is a folder.
    pub(crate) is_folder: bool,
}

impl Paths {
    /// Looks at the file system.
    #[cfg(any(test, target_os = "macos"))]
    pub(crate) fn of(policy: &crate::policy::SandboxPolicy) -> std::io::Result<Self> {
        let names = plan::names_of_interest(policy);
        let held = HeldRoots::default();
        let roots = plan::searched_roots(policy, &held)?;
        let bound = EntriesMax(policy.protection.files_max);
        let found = Scan::default().walk(&roots, &names, bound)?;
        let made = std::collections::BTreeSet::new();
        let mut links = plan::HardLinks::default();
        Ok(plan::make(policy, &held, &found, &made, &mut links)?.paths)
    }
}

/// The path with links resolved, or as it is where it does not exist.
fn resolved(path: &Path) -> std::io::Result<PathBuf> {
    let real = regular::unless_absent(path, path.canonicalize())?;
    Ok(real.unwrap_or_else(|| path.to_owned()))
}

/// Whether a link leads to a file that is none of the system's.
fn is_private_file(link: &Path) -> bool {
    link.canonicalize()
        .is_ok_and(|real| real.is_file() && !is_of_system(&real))
}

fn is_of_system(real: &Path) -> bool {
    system::READ_ROOTS
        .iter()
        .chain(system::NEVER_WRITABLE)
        .chain(&["/etc"])
        .any(|root| real.starts_with(root))
}

fn is_never_writable(path: &Path) -> bool {
    path.parent().is_none()
        || system::NEVER_WRITABLE
            .iter()
            .any(|never| path.starts_with(never))
}

/// Whether anything but the private temporary folder can be written.
fn can_write(profile: Profile) -> bool {
    match profile {
        Profile::Off | Profile::ReadOnly => false,
        Profile::WorkspaceWrite => true,
    }
}

/// Sorted, without what lies inside another one.
fn without_nested(mut paths: Vec<PathBuf>) -> Vec<PathBuf> {
    paths.sort();
    let mut outer: Vec<PathBuf> = Vec::with_capacity(paths.len());
    for path in paths {
        // Sorting by components puts everything inside a folder right after it.
        if !outer.last().is_some_and(|last| path.starts_with(last)) {
            outer.push(path);
        }
    }
    outer
}

#[cfg(test)]
mod tests;
