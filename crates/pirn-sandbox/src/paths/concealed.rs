//! Folders of which nothing can be read but what is listed: the dotfiles of a home folder, and Pirn's own folder.

use std::io;
use std::os::unix::ffi::OsStrExt as _;
use std::path::{Path, PathBuf};

use super::pattern::{self, Pattern};
use super::regular::unless_absent;
use super::resolved;
use crate::policy::SandboxPolicy;

/// How many entries of one folder are looked at.
const ENTRIES_MAX: usize = 10_000;

/// Which entries of a folder are concealed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Names {
    All,
    /// Those that begin with a point.
    Dotted,
}

/// Why a folder is concealed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum ConcealedKind {
    /// The home folder of a user.
    Home,
    /// Pirn's own folder, with keys and settings.
    PirnHome,
    /// One of [`SandboxPolicy::unreadable`], written in settings.
    Listed,
}

/// A folder of which nothing can be read but what is listed.
#[derive(Debug, Clone)]
pub(super) struct Concealed {
    /// The place itself, with links resolved.
    root: PathBuf,
    names: Names,
    kind: ConcealedKind,
    /// What can be read all the same, with all that is in it. Links resolved.
    shown: Vec<PathBuf>,
}

impl Concealed {
    /// Those of a policy. `work` is where work happens, links resolved.
    pub(super) fn of(policy: &SandboxPolicy, work: &[PathBuf]) -> io::Result<Vec<Self>> {
        let mut all = Vec::new();
        let protection = &policy.protection;
        if let Some(home) = policy
            .home
            .as_deref()
            .filter(|home| home.parent().is_some())
        {
            let root = resolved(home)?;
            let listed = protection.home_readable.iter();
            let listed =
                listed.filter_map(|text| pattern::expand(text, &policy.working_folder, Some(home)));
            // Home itself is no workspace, also where work happens in all of it.
            let inside = |folder: &&PathBuf| folder.starts_with(&root) && **folder != root;
            let mut shown: Vec<PathBuf> = work.iter().filter(inside).cloned().collect();
            for place in listed {
                shown.push(resolved(&place)?);
            }
            for text in &policy.unreadable {
                let Some(Pattern::At(place)) =
                    Pattern::parse(text, &policy.working_folder, Some(home))
                else {
                    continue;
                };
                let listed = resolved(&place)?;
                let inside: Vec<PathBuf> = shown
                    .iter()
                    .filter(|shown| shown.starts_with(&listed) && **shown != listed)
                    .cloned()
                    .collect();
                if !inside.is_empty() {
                    all.push(Self {
                        root: listed,
                        names: Names::All,
                        kind: ConcealedKind::Listed,
                        shown: inside,
                    });
                }
            }
            all.push(Self {
                root,
                names: Names::Dotted,
                kind: ConcealedKind::Home,
                shown,
            });
        }
        if let Some(own) = protection.pirn_home.as_deref() {
            let mut shown = Vec::new();
            for place in &protection.pirn_home_readable {
                shown.push(resolved(place)?);
            }
            all.push(Self {
                root: resolved(own)?,
                names: Names::All,
                kind: ConcealedKind::PirnHome,
                shown,
            });
        }
        Ok(all)
    }

    pub(super) fn kind(&self) -> ConcealedKind {
        self.kind
    }

    pub(super) fn root(&self) -> &Path {
        &self.root
    }

    /// Whether a path without links cannot be read. The folders on the way to what is listed can.
    pub(super) fn hides(&self, real: &Path) -> bool {
        let Ok(below) = real.strip_prefix(&self.root) else {
            return false;
        };
        let is_meant = match (self.names, below.components().next()) {
            (Names::All, _) => true,
            (Names::Dotted, None) => false,
            (Names::Dotted, Some(first)) => first.as_os_str().as_bytes().starts_with(b"."),
        };
        is_meant
            && !self.shown.iter().any(|shown| {
                real.starts_with(shown)
                    || shown.starts_with(real) && shown.symlink_metadata().is_ok()
            })
    }

    /// Whether some entries of a folder that is not hidden itself may be.
    pub(super) fn is_partly(&self, folder: &Path) -> bool {
        let is_on_the_way = folder.starts_with(&self.root)
            && self.shown.iter().any(|shown| shown.starts_with(folder));
        self.root == folder || self.root.parent() == Some(folder) || is_on_the_way
    }

    /// The entries of the folder itself that are there and begin with a point.
    pub(super) fn dotted(&self) -> io::Result<Vec<PathBuf>> {
        match self.names {
            Names::All => Ok(Vec::new()),
            Names::Dotted => entries(&self.root, Names::Dotted),
        }
    }

    /// The places that are there and cannot be read: as few as possible.
    pub(super) fn places(&self) -> io::Result<Vec<PathBuf>> {
        let mut found = Vec::new();
        let is_inside = |folder: &Path| {
            self.shown
                .iter()
                .any(|shown| shown.starts_with(folder) && shown.exists())
        };
        if self.names == Names::All && !is_inside(&self.root) {
            if self.root.symlink_metadata().is_ok() {
                found.push(self.root.clone());
            }
            return Ok(found);
        }
        let mut open = entries(&self.root, self.names)?;
        while let Some(place) = open.pop() {
            if self.shown.iter().any(|shown| place.starts_with(shown)) {
                continue;
            }
            if is_inside(&place) {
                open.extend(entries(&place, Names::All)?);
            } else {
                found.push(place);
            }
        }
        Ok(found)
    }
}

fn entries(folder: &Path, names: Names) -> io::Result<Vec<PathBuf>> {
    let Some(entries) = unless_absent(folder, folder.read_dir())? else {
        return Ok(Vec::new());
    };
    let mut found = Vec::new();
    for (index, entry) in entries.enumerate() {
        if index >= ENTRIES_MAX {
            return Err(io::Error::other(format!(
                "{} has more than {ENTRIES_MAX} entries, which are too many to tell what of them can be read.",
                folder.display()
            )));
        }
        let name = entry?.file_name();
        if names == Names::All || name.as_bytes().starts_with(b".") {
            found.push(folder.join(name));
        }
    }
    Ok(found)
}
