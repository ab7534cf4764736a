//! What a policy comes to in the file system: links resolved, patterns looked up, git folders found.
//!
//! Nothing is changed here. What is missing and must not be created by a confined program comes back as a
//! [`Placeholder`], for the caller to create before a run and to remove after it.

#[cfg(target_os = "linux")]
mod cache;
mod file_rules;
mod find;
mod git;
mod pattern;
mod placeholder;
mod system;

use std::path::{Path, PathBuf};
use std::sync::atomic::AtomicBool;
use std::time::Duration;

use crate::policy::{Profile, Readable, SandboxPolicy};
#[cfg(target_os = "linux")]
pub(crate) use cache::PathCache;
pub(crate) use file_rules::FileRulesCache;
pub use file_rules::{FileRefusal, FileRules};
use pattern::Pattern;
pub(crate) use placeholder::{Placeholder, PlaceholderKind};

/// How long an answer is kept: what is spawned in a row does not walk through the working folder each time.
const KEPT_FOR: Duration = Duration::from_secs(5);
/// How many places may be protected, and how many made unreadable: each is a mount.
const PLACES_MAX: usize = 1_000;

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
    /// With [`Readable::Only`]: everything that can be read, by the names programs use, and where those lead.
    pub(crate) read_roots: Option<Vec<PathBuf>>,
    /// What of the protected paths is not kept, as sentences.
    pub(crate) protected_gaps: Vec<String>,
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
    pub(crate) fn of(policy: &SandboxPolicy) -> Self {
        Self::unless_stopped(policy, &AtomicBool::new(false))
    }

    /// Looks at the file system. When it is stopped meanwhile, the answer is of no use.
    fn unless_stopped(policy: &SandboxPolicy, stopped: &AtomicBool) -> Self {
        let mut plan = Plan::new(policy);
        let patterns: Vec<Pattern> = policy
            .unreadable
            .iter()
            .filter_map(|text| Pattern::parse(text, &policy.working_folder, plan.home.as_deref()))
            .collect();
        let mut searched = plan.paths.write_roots.clone();
        searched.push(plan.paths.working_folder.clone());
        let found = find::find(&without_nested(searched), &patterns, stopped);
        if found.cut_short {
            let sentence = "There are more files in writable folders than are looked at: only those near the top are covered.";
            plan.gap(sentence.to_owned());
            plan.paths.unreadable_gaps.push(sentence.to_owned());
        }
        match policy.profile {
            Profile::Off | Profile::ReadOnly => {}
            Profile::WorkspaceWrite => {
                let further: Vec<PathBuf> = found
                    .git
                    .iter()
                    .filter_map(|git| git::protect(&mut plan, git))
                    .collect();
                plan.add_git_folders(further);
                plan.protect_pirn();
                plan.protect_start_up();
            }
        }
        plan.hide(&patterns, found.matches);
        plan.allow_reading();
        plan.finish()
    }
}

/// What to do about a protected path that does not exist.
#[derive(Debug, Clone, PartialEq, Eq)]
enum WhenAbsent {
    /// It needs no protection.
    Skip,
    /// An empty folder stands in for it.
    CreateFolder,
    /// A file with this content stands in for it.
    CreateFile(Vec<u8>),
}

/// Paths of a policy, while they are collected.
struct Plan<'policy> {
    policy: &'policy SandboxPolicy,
    home: Option<PathBuf>,
    /// The write roots as the caller named them, links resolved: what is named outright is not protected.
    named: Vec<PathBuf>,
    paths: Paths,
}

impl<'policy> Plan<'policy> {
    fn new(policy: &'policy SandboxPolicy) -> Self {
        let working_folder = resolved(&policy.working_folder);
        let mut paths = Paths {
            working_folder,
            ..Paths::default()
        };
        let mut named = Vec::new();
        match policy.profile {
            Profile::Off | Profile::ReadOnly => {}
            Profile::WorkspaceWrite => {
                let roots = policy
                    .write_roots
                    .iter()
                    .map(|root| policy.working_folder.join(root));
                for root in std::iter::once(policy.working_folder.clone()).chain(roots) {
                    let Ok(root) = root.canonicalize() else {
                        continue;
                    };
                    if is_never_writable(&root) {
                        paths.refused_roots.push(format!(
                            "{} cannot be made writable as a whole.",
                            root.display()
                        ));
                    } else {
                        named.push(root);
                    }
                }
            }
        }
        paths.write_roots = without_nested(named.clone());
        Self {
            policy,
            home: policy.home.as_deref().map(resolved),
            named,
            paths,
        }
    }

    fn is_writable(&self, path: &Path) -> bool {
        self.root_of(path).is_some()
    }

    fn root_of(&self, path: &Path) -> Option<&PathBuf> {
        self.paths
            .write_roots
            .iter()
            .find(|root| path.starts_with(root))
    }

    fn gap(&mut self, sentence: String) {
        if !self.paths.protected_gaps.contains(&sentence) {
            self.paths.protected_gaps.push(sentence);
        }
    }

    /// Keeps a folder from being moved away, and those it lies in.
    fn pin(&mut self, folder: &Path) {
        let Some(root) = self.root_of(folder).cloned() else {
            return;
        };
        let mut pinned: Vec<PathBuf> = folder
            .ancestors()
            .take_while(|ancestor| **ancestor != *root)
            .map(Path::to_owned)
            .collect();
        pinned.reverse();
        for folder in pinned {
            if !self.paths.pinned.contains(&folder) {
                self.paths.pinned.push(folder);
            }
        }
    }

    /// Keeps a path inside a write root as it is.
    fn protect(&mut self, path: &Path, when_absent: WhenAbsent) {
        let is_named = self.named.iter().any(|root| root.starts_with(path));
        if is_named || !self.is_writable(path) || self.paths.protected.iter().any(|p| p == path) {
            return;
        }
        if self.paths.protected.len() >= PLACES_MAX {
            self.gap(format!(
                "There are more than {PLACES_MAX} files to protect; the rest is not."
            ));
            return;
        }
        match path.symlink_metadata() {
            Ok(metadata) if metadata.is_symlink() => {
                self.gap(format!(
                    "{} is a link, which can be replaced.",
                    path.display()
                ));
                match path.canonicalize() {
                    Ok(real) if self.is_writable(&real) => self.paths.protected.push(real),
                    Ok(_) | Err(_) => {}
                }
                return;
            }
            Ok(_metadata) => {}
            Err(_missing) => {
                let kind = match when_absent {
                    WhenAbsent::Skip => return,
                    WhenAbsent::CreateFolder => PlaceholderKind::Folder,
                    WhenAbsent::CreateFile(content) => PlaceholderKind::File(content),
                };
                self.add_placeholder(path, kind);
            }
        }
        if let Some(parent) = path.parent() {
            self.pin(parent);
        }
        self.paths.protected.push(path.to_owned());
    }

    fn add_placeholder(&mut self, path: &Path, kind: PlaceholderKind) {
        let mut missing: Vec<PathBuf> = path
            .ancestors()
            .skip(1)
            .take_while(|parent| parent.symlink_metadata().is_err())
            .map(Path::to_owned)
            .collect();
        missing.reverse();
        let parents = missing
            .into_iter()
            .map(|path| (path, PlaceholderKind::Folder));
        for (path, kind) in parents.chain([(path.to_owned(), kind)]) {
            if !self.paths.placeholders.iter().any(|p| p.path == path) {
                self.paths.placeholders.push(Placeholder { path, kind });
            }
        }
    }

    /// Commits in a worktree write to the git folder of the repository it belongs to.
    fn add_git_folders(&mut self, folders: Vec<PathBuf>) {
        for folder in folders {
            if is_never_writable(&folder) || self.is_writable(&folder) {
                continue;
            }
            self.paths.write_roots.push(folder.clone());
            git::protect_folder(self, &folder);
        }
        self.paths.write_roots = without_nested(std::mem::take(&mut self.paths.write_roots));
    }

    /// Pirn's settings of this project, and of every other one that is writable.
    fn protect_pirn(&mut self) {
        let working_folder = self.paths.working_folder.join(".pirn");
        self.protect(&working_folder, WhenAbsent::CreateFolder);
        for root in self.paths.write_roots.clone() {
            self.protect(&root.join(".pirn"), WhenAbsent::Skip);
        }
    }

    fn protect_start_up(&mut self) {
        let Some(home) = self.home.clone().filter(|home| home.is_dir()) else {
            return;
        };
        for start_up in system::STARTUP_FILES {
            let when_absent = if start_up.is_folder {
                WhenAbsent::CreateFolder
            } else {
                let next = start_up
                    .instead
                    .iter()
                    .find(|name| home.join(name).exists());
                WhenAbsent::CreateFile(next.map_or_else(Vec::new, |name| system::passing_on(name)))
            };
            self.protect(&home.join(start_up.path), when_absent);
        }
    }

    fn hide(&mut self, patterns: &[Pattern], matches: Vec<PathBuf>) {
        // A confined program may have made a link, and the system must not be hidden from everybody after it.
        let mut hidden: Vec<PathBuf> = matches
            .into_iter()
            .filter(|found| !found.is_symlink() || is_private_file(found))
            .collect();
        for pattern in patterns {
            match pattern {
                Pattern::Anywhere(_) => {}
                Pattern::At(place) => {
                    let (places, all) = pattern::places(place);
                    hidden.extend(places);
                    if !all {
                        self.paths.unreadable_gaps.push(format!(
                            "{} stands for more files than are looked at.",
                            place.display()
                        ));
                    }
                }
            }
        }
        let hidden = hidden
            .into_iter()
            .filter_map(|place| place.canonicalize().ok())
            .collect();
        for path in without_nested(hidden) {
            let needed = self
                .paths
                .write_roots
                .iter()
                .chain([&self.paths.working_folder])
                .any(|root| root.starts_with(&path));
            if needed {
                self.paths.unreadable_gaps.push(format!(
                    "{} stays readable: work happens in it.",
                    path.display()
                ));
            } else if self.paths.unreadable.len() >= PLACES_MAX {
                self.paths.unreadable_gaps.push(format!(
                    "There are more than {PLACES_MAX} places to hide; the rest is readable."
                ));
                break;
            } else {
                let is_folder = path.is_dir();
                if !can_read(&path, is_folder) {
                    // Nor can the child, so there is nothing to hide.
                    continue;
                }
                self.paths.unreadable.push(Unreadable { path, is_folder });
            }
        }
    }

    fn allow_reading(&mut self) {
        let Readable::Only(chosen) = &self.policy.readable else {
            return;
        };
        let home = self.home.as_deref();
        let chosen = chosen
            .iter()
            .filter_map(|path| pattern::expand(path.to_str()?, &self.policy.working_folder, home));
        let etc = Path::new("/etc");
        let named = system::READ_ROOTS
            .iter()
            .map(PathBuf::from)
            .chain(system::ETC.iter().map(|name| etc.join(name)))
            .chain(chosen)
            .chain([self.policy.working_folder.clone()]);
        let mut roots: Vec<PathBuf> = self.paths.write_roots.clone();
        roots.push(self.paths.working_folder.clone());
        for path in named {
            if let Ok(real) = path.canonicalize() {
                roots.push(path);
                roots.push(real);
            }
        }
        self.paths.read_roots = Some(without_nested(roots));
    }

    fn finish(self) -> Paths {
        self.paths
    }
}

/// The path with links resolved, or as it is where it does not exist.
fn resolved(path: &Path) -> PathBuf {
    path.canonicalize()
        .unwrap_or_else(|_missing| path.to_owned())
}

/// Whether we can read a place ourselves. What is neither file nor folder is not opened: that may block.
fn can_read(path: &Path, is_folder: bool) -> bool {
    let opened = if is_folder {
        path.read_dir().map(drop)
    } else if path.is_file() {
        std::fs::File::open(path).map(drop)
    } else {
        return true;
    };
    !opened.is_err_and(|error| error.kind() == std::io::ErrorKind::PermissionDenied)
}

/// Whether a link leads to a file that is none of the system's.
fn is_private_file(link: &Path) -> bool {
    link.canonicalize().is_ok_and(|real| {
        real.is_file()
            && !system::READ_ROOTS
                .iter()
                .chain(system::NEVER_WRITABLE)
                .chain(&["/etc"])
                .any(|root| real.starts_with(root))
    })
}

fn is_never_writable(path: &Path) -> bool {
    path.parent().is_none()
        || system::NEVER_WRITABLE
            .iter()
            .any(|never| path.starts_with(never))
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
