//! The policy for files that our own process opens for somebody: what confined children cannot read or write, it refuses.
//!
//! Nothing is walked through, so that a check costs some system calls only.

use std::path::{Component, Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Instant;

use super::pattern::{self, Pattern};
use super::{KEPT_FOR, Plan, resolved, system, without_nested};
use crate::policy::{Profile, SandboxPolicy};

/// Files in a git folder that name programs or lead git elsewhere.
const GIT_FILES: [&str; 4] = ["config", "config.worktree", "commondir", "gitdir"];
/// What every git folder has.
const GIT_MARKS: [&str; 3] = ["HEAD", "objects", "refs"];

/// Which files tools of our own process may use for somebody whose commands are confined: those that the commands may use.
/// The places that it names are those of some seconds ago at most; the path that is asked about is looked at anew each time.
///
/// A link that is changed between a check and the use is not noticed.
#[derive(Debug, Clone)]
pub struct FileRules {
    profile: Profile,
    /// The write roots as they were named, links resolved.
    named: Vec<PathBuf>,
    write_roots: Vec<PathBuf>,
    /// Below these the patterns for any depth hold.
    searched: Vec<PathBuf>,
    patterns: Vec<Pattern>,
    hidden: Vec<PathBuf>,
    read_roots: Option<Vec<PathBuf>>,
    protected: Vec<PathBuf>,
    private_temp: Option<PathBuf>,
}

/// Why a file may not be used, as a sentence that names the setting.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum FileRefusal {
    /// It is one of [`SandboxPolicy::unreadable`].
    #[error(
        "Sandbox: {} was refused: it is one of the places in the setting sandbox.unreadable. List that setting anew without it, or \
         run this once with --sandbox off", .0.display()
    )]
    Unreadable(PathBuf),
    /// It is none of [`crate::Readable::Only`].
    #[error(
        "Sandbox: reading {} was refused: it is none of the readable places; the setting sandbox.readRoots would allow it", .0.display()
    )]
    NotListed(PathBuf),
    /// It is outside [`SandboxPolicy::write_roots`] and the working folder.
    #[error(
        "Sandbox: writing {} was refused: it is outside the writable folders; the setting sandbox.writeRoots would allow it", .0.display()
    )]
    OutsideWriteRoots(PathBuf),
    /// Changing it would run programs in the user's name later.
    #[error(
        "Sandbox: writing {} was refused: hooks and settings of git, `.pirn` and start-up files stay as they are, because they start \
         programs in the user's name. Change it yourself, or run this once with --sandbox off", .0.display()
    )]
    Protected(PathBuf),
    /// The profile is [`Profile::ReadOnly`], which allows no writing.
    #[error(
        "Sandbox: writing {} was refused: sandbox.profile is read-only; only the private temporary folder can be written", .0.display()
    )]
    ReadOnly(PathBuf),
}

/// Keeps the rules of one policy for some seconds: looking up every place that a policy names takes longer than reading a file.
#[derive(Debug, Default)]
pub(crate) struct FileRulesCache {
    last: Mutex<Option<(Instant, Arc<FileRules>)>>,
}

impl FileRulesCache {
    /// The rules of `policy`, as old as what commands are confined by at most.
    pub(crate) fn get(
        &self,
        policy: &SandboxPolicy,
        private_temp: Option<&Path>,
        now: Instant,
    ) -> Arc<FileRules> {
        let mut last = self.last.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some((at, rules)) = &*last
            && now.saturating_duration_since(*at) < KEPT_FOR
            && rules.private_temp.is_some() == private_temp.is_some()
        {
            return Arc::clone(rules);
        }
        let rules = Arc::new(FileRules::of(policy, private_temp));
        *last = Some((now, Arc::clone(&rules)));
        rules
    }
}

impl FileRules {
    fn of(policy: &SandboxPolicy, private_temp: Option<&Path>) -> Self {
        let mut plan = Plan::new(policy);
        let patterns: Vec<Pattern> = policy
            .unreadable
            .iter()
            .filter_map(|text| Pattern::parse(text, &policy.working_folder, plan.home.as_deref()))
            .collect();
        let mut searched = plan.paths.write_roots.clone();
        searched.push(plan.paths.working_folder.clone());
        // Where work happens in a place, it cannot be hidden.
        let hidden = patterns
            .iter()
            .filter_map(|pattern| match pattern {
                Pattern::Anywhere(_) => None,
                Pattern::At(place) => Some(pattern::places(place).0),
            })
            .flatten()
            .filter_map(|place| place.canonicalize().ok())
            .filter(|place| !searched.iter().any(|root| root.starts_with(place)))
            .collect();
        let mut protected: Vec<PathBuf> = searched.iter().map(|root| root.join(".pirn")).collect();
        let start_up = system::STARTUP_FILES.iter().map(|start_up| start_up.path);
        if let Some(home) = &plan.home {
            protected.extend(start_up.map(|path| home.join(path)));
        }
        plan.allow_reading();
        Self {
            profile: policy.profile,
            write_roots: plan.paths.write_roots,
            named: plan.named,
            searched: without_nested(searched),
            patterns,
            hidden: without_nested(hidden),
            read_roots: plan.paths.read_roots,
            protected: protected.iter().map(|path| resolved(path)).collect(),
            private_temp: private_temp.map(resolved),
        }
    }

    /// Whether a file or folder may be read. Links in an absolute `path` are followed.
    pub fn check_read(&self, path: &Path) -> Result<(), FileRefusal> {
        let real = real_path(path);
        // The link itself may have a name that must not be read.
        let link = match (path.parent(), path.file_name()) {
            (Some(parent), Some(name)) if path.is_symlink() => real_path(parent).join(name),
            _ => real.clone(),
        };
        if self.hides(&real) || self.hides(&link) {
            return Err(FileRefusal::Unreadable(path.to_owned()));
        }
        match &self.read_roots {
            Some(roots)
                if self.profile != Profile::Off
                    && !self.is_private(&real)
                    && !roots.iter().any(|root| real.starts_with(root)) =>
            {
                Err(FileRefusal::NotListed(path.to_owned()))
            }
            Some(_) | None => Ok(()),
        }
    }

    /// Whether a file may be written or created. Links in an absolute `path` are followed.
    pub fn check_write(&self, path: &Path) -> Result<(), FileRefusal> {
        let real = real_path(path);
        if self.is_private(&real) {
            return Ok(());
        }
        match self.profile {
            Profile::Off => Ok(()),
            Profile::ReadOnly => Err(FileRefusal::ReadOnly(path.to_owned())),
            Profile::WorkspaceWrite => {
                let Some(root) = self.write_roots.iter().find(|root| real.starts_with(root)) else {
                    return Err(FileRefusal::OutsideWriteRoots(path.to_owned()));
                };
                if self.is_protected(&real, root) {
                    return Err(FileRefusal::Protected(path.to_owned()));
                }
                self.check_read(path)
            }
        }
    }

    /// Whether a path without links lies in a place that must not be read, for walks through folders.
    pub fn hides(&self, real: &Path) -> bool {
        if self.profile == Profile::Off || self.is_private(real) {
            return false;
        }
        self.hidden.iter().any(|place| real.starts_with(place))
            || self.searched.iter().any(|root| {
                real.ancestors()
                    .take_while(|path| path.starts_with(root) && path != root)
                    .any(|path| {
                        self.patterns
                            .iter()
                            .any(|pattern| pattern.matches_end(path))
                    })
            })
    }

    fn is_private(&self, real: &Path) -> bool {
        self.private_temp
            .as_ref()
            .is_some_and(|private| real.starts_with(private))
    }

    fn is_protected(&self, real: &Path, root: &Path) -> bool {
        // What is named outright may be written.
        let is_named = |place: &Path| self.named.iter().any(|named| named.starts_with(place));
        self.protected
            .iter()
            .any(|place| real.starts_with(place) && !is_named(place))
            || real
                .ancestors()
                .skip(1)
                .take_while(|folder| folder.starts_with(root))
                .any(|folder| {
                    real.strip_prefix(folder).is_ok_and(|rest| {
                        is_git(folder) && starts_programs(rest) && !is_named(real)
                    })
                })
            || is_git(real) && !real.is_dir()
    }
}

/// Whether a folder is git's own, by its name or by what is in it: a link may lead to it.
fn is_git(folder: &Path) -> bool {
    folder.file_name().is_some_and(|name| name == ".git")
        || GIT_MARKS.iter().all(|mark| folder.join(mark).exists())
}

/// Whether a path below a git folder is a hook or tells git what to do.
fn starts_programs(rest: &Path) -> bool {
    rest.components()
        .any(|component| component == Component::Normal("hooks".as_ref()))
        || rest
            .file_name()
            .is_some_and(|name| GIT_FILES.iter().any(|file| name == *file))
}

/// The path with links followed as far as it exists; behind that nothing is a link, and `..` goes by name.
fn real_path(path: &Path) -> PathBuf {
    let existing = path
        .ancestors()
        .find_map(|ancestor| Some((ancestor, ancestor.canonicalize().ok()?)));
    let Some((ancestor, mut real)) = existing else {
        return path.to_owned();
    };
    for component in path
        .strip_prefix(ancestor)
        .into_iter()
        .flat_map(Path::components)
    {
        match component {
            Component::ParentDir => {
                real.pop();
            }
            Component::Normal(name) => real.push(name),
            Component::CurDir | Component::RootDir | Component::Prefix(_) => {}
        }
    }
    real
}

#[cfg(test)]
mod tests;
