//! The policy for files that our own process opens for somebody: what confined children cannot read or write, it refuses.
//!
//! Nothing is walked through, so that a check costs some system calls only.

use std::collections::{HashSet, VecDeque};
use std::ffi::OsStr;
use std::fs::Metadata;
use std::io;
use std::path::{Component, Path, PathBuf};
use std::sync::{Arc, Mutex, OnceLock, PoisonError};
use std::time::Instant;

use super::concealed::{Concealed, ConcealedKind};
use super::mount_aliases::MountAliases;
use super::pattern::{self, Pattern};
use super::regular::unless_absent;
use super::scan::NamesOfInterest;
use super::{EntriesMax, HeldRoots, KEPT_FOR, Plan, Scan, plan, resolved, system, without_nested};
use crate::policy::{Profile, SandboxPolicy};

/// Files in a git folder that name programs or lead git elsewhere.
const GIT_FILES: [&str; 4] = ["config", "config.worktree", "commondir", "gitdir"];
/// Files that are looked up by what they are: more than a home's secrets ever are.
const IDENTITIES_MAX: usize = 10_000;
/// What every git folder has.
const GIT_MARKS: [&str; 3] = ["HEAD", "objects", "refs"];

/// Which files tools of our own process may use for somebody whose commands are confined: those that the commands may use.
/// The places that it names are those of some seconds ago at most; the path that is asked about is looked at anew each time.
///
/// Whoever acts on a path opens it first and asks about what was opened ([`FileRules::check_read_opened`],
/// [`FileRules::check_write_opened`]): a link can change between a check of its path and the use.
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
    concealed: Vec<Concealed>,
    /// What cannot be written, at any depth.
    unwritable: Vec<Pattern>,
    home: Option<PathBuf>,
    read_roots: Option<Vec<PathBuf>>,
    protected: Vec<PathBuf>,
    private_temp: Option<PathBuf>,
    /// Why nothing is known, if that is so: then nothing may be used.
    unknown: Option<String>,
    /// Looked up when a file with several names comes up.
    identities: OnceLock<Result<Identities, String>>,
    names: NamesOfInterest,
    bound: EntriesMax,
    scan: Arc<Mutex<Scan>>,
}

/// Files by what they are, since a file can have several names.
#[derive(Debug, Clone, Default)]
struct Identities {
    hidden: HashSet<(u64, u64)>,
    protected: HashSet<(u64, u64)>,
}

/// What a walk leaves out of one folder.
#[derive(Debug)]
pub struct FolderRules<'a> {
    folder: PathBuf,
    hidden: Vec<&'a OsStr>,
    patterns: &'a [Pattern],
    /// Where the entries have to be asked about one by one.
    concealed: &'a [Concealed],
    is_unknown: bool,
}

impl FolderRules<'_> {
    /// Whether an entry must not be read.
    pub fn hides(&self, name: &OsStr) -> bool {
        self.is_unknown
            || self.hidden.contains(&name)
            || self
                .patterns
                .iter()
                .any(|pattern| pattern.matches_entry(&self.folder, name))
            || !self.concealed.is_empty() && {
                let entry = self.folder.join(name);
                self.concealed.iter().any(|place| place.hides(&entry))
            }
    }
}

/// Why a file may not be used, as a sentence that names the setting.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum FileRefusal {
    /// It is one of [`SandboxPolicy::unreadable`].
    #[error(
        "Sandbox: {} was refused: it is one of the places in the setting sandbox.unreadable. Redefine that setting without this entry, or \
         run this once with --sandbox off", .0.display()
    )]
    Unreadable(PathBuf),
    /// It is one of the dotfiles in the home folder that are not in [`crate::Protection::home_readable`].
    #[error(
        "Sandbox: {} was refused: of the dotfiles in the home folder only those in the setting sandbox.homeReadable are open to tools \
         and commands", .0.display()
    )]
    HomeFile(PathBuf),
    /// It is in Pirn's own folder.
    #[error("Sandbox: {} was refused: Pirn's own folder is closed to tools and commands", .0.display())]
    PirnHome(PathBuf),
    /// What may be used could not be found out.
    #[error("Sandbox: {} was refused: what is protected could not be found out: {}", .0.display(), .1)]
    Unknown(PathBuf, String),
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
        "Sandbox: writing {} was refused: hooks and settings of git, `.pirn`, start-up files and those in the setting sandbox.unwritable \
         stay as they are, because they start programs in the user's name. Change it yourself, or run this once with --sandbox off", .0.display()
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
    /// What is known of the folders in which files of other names are looked for.
    scan: Arc<Mutex<Scan>>,
}

impl FileRulesCache {
    /// The rules of `policy`, as old as what commands are confined by at most.
    pub(crate) fn get(
        &self,
        policy: &SandboxPolicy,
        roots: &HeldRoots,
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
        let rules = FileRules::of(policy, roots, private_temp, Arc::clone(&self.scan));
        let rules = Arc::new(rules.unwrap_or_else(|error| FileRules::unknown(policy, &error)));
        *last = Some((now, Arc::clone(&rules)));
        rules
    }
}

impl FileRules {
    fn of(
        policy: &SandboxPolicy,
        roots: &HeldRoots,
        private_temp: Option<&Path>,
        scan: Arc<Mutex<Scan>>,
    ) -> io::Result<Self> {
        let mut plan = Plan::new(policy, roots)?;
        let aliases = MountAliases::look()?;
        let home = plan.home.clone();
        let parse = |texts: &[String]| -> Vec<Pattern> {
            let parse = |text: &String| {
                Pattern::parse(text, &policy.working_folder, policy.home.as_deref())
            };
            texts.iter().filter_map(parse).collect()
        };
        let patterns = parse(&policy.unreadable);
        let searched = plan.searched();
        let concealed = Concealed::of(policy, &plan.work())?;
        // Where work happens in a place, it cannot be hidden.
        let mut hidden = Vec::new();
        for place in fixed_places(&patterns)? {
            let is_partly_shown = concealed.iter().any(|folder| folder.root() == place);
            if !is_partly_shown && !searched.iter().any(|root| root.starts_with(&place)) {
                hidden.push(place);
            }
        }
        for folder in &concealed {
            if aliases.are_any() {
                hidden.extend(folder.places()?.iter().flat_map(|place| aliases.of(place)));
            }
        }
        let other_names: Vec<PathBuf> = hidden.iter().flat_map(|place| aliases.of(place)).collect();
        hidden.extend(other_names);
        let unwritable = parse(&policy.protection.unwritable);
        let mut protected = fixed_places(&unwritable)?;
        let start_up = system::STARTUP_FILES.iter().map(|start_up| start_up.path);
        if let Some(home) = &home {
            for path in start_up {
                protected.push(resolved(&home.join(path))?);
            }
        }
        let other_names: Vec<PathBuf> = protected
            .iter()
            .flat_map(|place| aliases.of(place))
            .collect();
        protected.extend(other_names);
        plan.allow_reading()?;
        let named = std::mem::take(&mut plan.named);
        let paths = plan.into_paths();
        Ok(Self {
            profile: policy.profile,
            write_roots: paths.write_roots,
            named,
            searched,
            patterns,
            hidden: without_nested(hidden),
            concealed,
            unwritable,
            home,
            read_roots: paths.read_roots,
            protected,
            private_temp: private_temp.map(resolved).transpose()?,
            unknown: None,
            identities: OnceLock::new(),
            names: plan::names_of_interest(policy),
            bound: EntriesMax(policy.protection.files_max),
            scan,
        })
    }

    /// Rules that allow nothing.
    pub(crate) fn unknown(policy: &SandboxPolicy, error: &io::Error) -> Self {
        Self {
            profile: policy.profile,
            named: Vec::new(),
            write_roots: Vec::new(),
            searched: Vec::new(),
            patterns: Vec::new(),
            hidden: Vec::new(),
            concealed: Vec::new(),
            unwritable: Vec::new(),
            home: None,
            read_roots: None,
            protected: Vec::new(),
            private_temp: None,
            unknown: Some(error.to_string()),
            identities: OnceLock::new(),
            names: NamesOfInterest::default(),
            bound: EntriesMax(policy.protection.files_max),
            scan: Arc::default(),
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
        for place in [&real, &link] {
            if let Some(refusal) = self.hiding(place, path) {
                return Err(refusal);
            }
        }
        self.check_listed_as(&real, path)
    }

    fn check_listed(&self, real: &Path) -> Result<(), FileRefusal> {
        self.check_listed_as(real, real)
    }

    fn check_listed_as(&self, real: &Path, shown: &Path) -> Result<(), FileRefusal> {
        match &self.read_roots {
            Some(roots)
                if self.profile != Profile::Off
                    && !self.is_private(real)
                    && !roots.iter().any(|root| real.starts_with(root)) =>
            {
                Err(FileRefusal::NotListed(shown.to_owned()))
            }
            Some(_) | None => Ok(()),
        }
    }

    /// Whether a file may be written or created. Links in an absolute `path` are followed.
    pub fn check_write(&self, path: &Path) -> Result<(), FileRefusal> {
        let real = real_path(path);
        self.check_write_real(&real, path)?;
        if self.is_private(&real) || self.profile == Profile::Off {
            return Ok(());
        }
        self.check_read(path)
    }

    fn check_write_real(&self, real: &Path, shown: &Path) -> Result<(), FileRefusal> {
        if self.is_private(real) {
            return Ok(());
        }
        self.are_known(shown)?;
        match self.profile {
            Profile::Off => Ok(()),
            Profile::ReadOnly => Err(FileRefusal::ReadOnly(shown.to_owned())),
            Profile::WorkspaceWrite => {
                let Some(root) = self.write_roots.iter().find(|root| real.starts_with(root)) else {
                    return Err(FileRefusal::OutsideWriteRoots(shown.to_owned()));
                };
                if self.is_protected(real, root) {
                    return Err(FileRefusal::Protected(shown.to_owned()));
                }
                Ok(())
            }
        }
    }

    /// Whether a file or folder that is open may be read. `real` is where it is, without links.
    pub fn check_read_opened(&self, real: &Path, metadata: &Metadata) -> Result<(), FileRefusal> {
        self.check_hidden_file(real, metadata)?;
        self.check_read_real(real)
    }

    /// Whether a file may have been meant that must not be read, going by its name alone: for files that are judged again once they
    /// are open.
    pub fn check_name(&self, path: &Path) -> Result<(), FileRefusal> {
        self.hiding(path, path).map_or(Ok(()), Err)
    }

    /// Whether what is at a path without links may be read. For folders, which have one name only.
    pub fn check_read_real(&self, real: &Path) -> Result<(), FileRefusal> {
        match self.hiding(real, real) {
            Some(refusal) => Err(refusal),
            None => self.check_listed(real),
        }
    }

    /// Whether an entry of a folder that is open may be written or made. `real` is where the entry is; where it is a link, the link
    /// itself is meant.
    pub fn check_write_opened(&self, real: &Path) -> Result<(), FileRefusal> {
        self.check_write_real(real, real)?;
        if self.profile == Profile::Off || self.is_private(real) {
            return Ok(());
        }
        self.check_read_real(real)
    }

    /// Whether an entry of a folder that is open may be written or made although [`Self::check_write_opened`] refuses it, because a
    /// person said so. What nobody may see stays closed to everybody, and the profile holds.
    pub fn check_write_allowed(&self, real: &Path) -> Result<(), FileRefusal> {
        if self.profile == Profile::ReadOnly && !self.is_private(real) {
            return Err(FileRefusal::ReadOnly(real.to_owned()));
        }
        self.hiding(real, real).map_or(Ok(()), Err)
    }

    /// Whether a file that is about to be written over is one that must not be, under another of its names.
    pub fn check_other_names(&self, real: &Path, metadata: &Metadata) -> Result<(), FileRefusal> {
        self.check_hidden_file(real, metadata)?;
        if self.profile != Profile::Off
            && has_other_names(metadata)
            && self
                .identities(real)?
                .protected
                .contains(&identity(metadata))
        {
            return Err(FileRefusal::Protected(real.to_owned()));
        }
        Ok(())
    }

    /// Whether a file is one of the unreadable ones by another name.
    fn check_hidden_file(&self, real: &Path, metadata: &Metadata) -> Result<(), FileRefusal> {
        if self.profile != Profile::Off
            && has_other_names(metadata)
            && self.identities(real)?.hidden.contains(&identity(metadata))
        {
            return Err(FileRefusal::Unreadable(real.to_owned()));
        }
        Ok(())
    }

    fn identities(&self, asked: &Path) -> Result<&Identities, FileRefusal> {
        let found = self.identities.get_or_init(|| {
            let by_name = self.found_by_name().map_err(|error| error.to_string())?;
            Ok(Identities {
                hidden: files_in(&[by_name, self.hidden.clone(), self.concealed_files()].concat()),
                protected: files_in(&self.protected),
            })
        });
        found
            .as_ref()
            .map_err(|reason| FileRefusal::Unknown(asked.to_owned(), reason.clone()))
    }

    /// What has a name that must not be read, where work happens.
    fn found_by_name(&self) -> io::Result<Vec<PathBuf>> {
        let mut scan = self.scan.lock().unwrap_or_else(PoisonError::into_inner);
        Ok(scan.walk(&self.searched, &self.names, self.bound)?.hidden)
    }

    /// Files that are concealed by the folder they lie in, and Pirn's own folder.
    fn concealed_files(&self) -> Vec<PathBuf> {
        let mut files = Vec::new();
        for place in &self.concealed {
            match place.kind() {
                ConcealedKind::Home => {
                    let dotted = place.dotted().unwrap_or_default();
                    files.extend(dotted.into_iter().filter(|entry| place.hides(entry)));
                }
                ConcealedKind::PirnHome => files.push(place.root().to_owned()),
                ConcealedKind::Listed => {}
            }
        }
        files
    }

    /// Which entries of a folder without links are to be left out by a walk that has come to it.
    pub fn in_folder(&self, folder: &Path) -> FolderRules<'_> {
        let is_free = plan::is_off(self.profile) || self.is_private(folder);
        let is_partly = self.concealed.iter().any(|place| place.is_partly(folder));
        let hidden = self
            .hidden
            .iter()
            .filter(|place| place.parent() == Some(folder));
        let is_searched = self.searched.iter().any(|root| folder.starts_with(root));
        FolderRules {
            folder: folder.to_owned(),
            hidden: if is_free {
                Vec::new()
            } else {
                hidden.filter_map(|place| place.file_name()).collect()
            },
            patterns: if !is_free && is_searched {
                &self.patterns
            } else {
                &[]
            },
            concealed: if !is_free && is_partly {
                &self.concealed
            } else {
                &[]
            },
            is_unknown: !is_free && self.unknown.is_some(),
        }
    }

    /// Whether a path without links lies in a place that must not be read, for walks through folders.
    pub fn hides(&self, real: &Path) -> bool {
        self.hiding(real, real).is_some()
    }

    fn are_known(&self, path: &Path) -> Result<(), FileRefusal> {
        match (&self.unknown, self.profile) {
            (_, Profile::Off) | (None, _) => Ok(()),
            (Some(reason), _) => Err(FileRefusal::Unknown(path.to_owned(), reason.clone())),
        }
    }

    /// Why a path without links cannot be read, if so; `path` is how it was asked for.
    fn hiding(&self, real: &Path, path: &Path) -> Option<FileRefusal> {
        if plan::is_off(self.profile) || self.is_private(real) {
            return None;
        }
        if let Err(unknown) = self.are_known(path) {
            return Some(unknown);
        }
        if self.is_listed(real) {
            return Some(FileRefusal::Unreadable(path.to_owned()));
        }
        let folder = self.concealed.iter().find(|folder| folder.hides(real))?;
        Some(match folder.kind() {
            ConcealedKind::Home => FileRefusal::HomeFile(path.to_owned()),
            ConcealedKind::PirnHome => FileRefusal::PirnHome(path.to_owned()),
            ConcealedKind::Listed => FileRefusal::Unreadable(path.to_owned()),
        })
    }

    fn is_listed(&self, real: &Path) -> bool {
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

    /// Whether commands may have a folder, given without links, as their working directory: it lies in the working folder or in
    /// a write root.
    pub fn is_place_of_work(&self, real: &Path) -> bool {
        self.profile == Profile::Off || self.searched.iter().any(|root| real.starts_with(root))
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
            || self.is_guarded(real, root)
            || completes_repository(real)
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

impl FileRules {
    /// Whether a path is or lies in a place that is guarded by its name, or in a dotfile of a writable home folder.
    fn is_guarded(&self, real: &Path, root: &Path) -> bool {
        let is_named = |place: &Path| self.named.iter().any(|named| named.starts_with(place));
        let is_foreign = real.components().any(|name| {
            ["node_modules", "target"]
                .iter()
                .any(|f| name.as_os_str() == *f)
        });
        let is_dotted = |place: &Path| {
            let name = place.file_name().map(OsStr::as_encoded_bytes);
            self.home.as_deref() == place.parent()
                && name.is_some_and(|name| name.starts_with(b"."))
        };
        real.ancestors()
            .take_while(|place| place.starts_with(root) && *place != root)
            .filter(|place| !is_named(place))
            .any(|place| {
                let has_name = || {
                    self.unwritable
                        .iter()
                        .any(|pattern| pattern.matches_end(place))
                };
                place.ends_with(".pirn") || is_dotted(place) || !is_foreign && has_name()
            })
    }
}

/// The places that patterns name outright, as far as they are there.
fn fixed_places(patterns: &[Pattern]) -> io::Result<Vec<PathBuf>> {
    let mut found = Vec::new();
    for pattern in patterns {
        let Pattern::At(place) = pattern else {
            continue;
        };
        for place in pattern::places(place)? {
            found.extend(unless_absent(&place, place.canonicalize())?);
        }
    }
    Ok(found)
}

/// Whether writing a file would lay out a git folder under another name, with settings or hooks of somebody's choice.
fn completes_repository(real: &Path) -> bool {
    let Some(folder) = real.parent() else {
        return false;
    };
    let has = |name: &str| folder.join(name).symlink_metadata().is_ok();
    let is_called = |name: &str| real.file_name().is_some_and(|found| found == name);
    if is_called("HEAD") {
        return !is_git(folder) && (has("hooks") || GIT_FILES.iter().any(|name| has(name)));
    }
    let is_hook = folder.ends_with("hooks")
        && folder
            .parent()
            .is_some_and(|above| above.join("HEAD").symlink_metadata().is_ok());
    is_hook || GIT_FILES.iter().any(|name| is_called(name)) && has("HEAD")
}

/// The regular files among some places and in those that are folders, each by its device and number.
fn files_in(places: &[PathBuf]) -> HashSet<(u64, u64)> {
    // Those near the top first: secrets lie there, and caches deep below.
    let mut pending: VecDeque<PathBuf> = places.iter().cloned().collect();
    let mut found = HashSet::new();
    let mut looked_at = 0;
    while let Some(place) = pending.pop_front() {
        looked_at += 1;
        if looked_at > IDENTITIES_MAX {
            break;
        }
        let Ok(metadata) = place.symlink_metadata() else {
            continue;
        };
        if metadata.is_file() {
            found.insert(identity(&metadata));
        } else if metadata.is_dir() {
            let entries = place.read_dir().into_iter().flatten().flatten();
            pending.extend(entries.take(IDENTITIES_MAX).map(|entry| entry.path()));
        }
    }
    found
}

#[cfg(unix)]
fn identity(metadata: &Metadata) -> (u64, u64) {
    use std::os::unix::fs::MetadataExt as _;
    (metadata.dev(), metadata.ino())
}

#[cfg(not(unix))]
fn identity(_metadata: &Metadata) -> (u64, u64) {
    (0, 0)
}

#[cfg(unix)]
fn has_other_names(metadata: &Metadata) -> bool {
    use std::os::unix::fs::MetadataExt as _;
    metadata.is_file() && metadata.nlink() > 1
}

#[cfg(not(unix))]
fn has_other_names(_metadata: &Metadata) -> bool {
    false
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
