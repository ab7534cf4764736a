//! Collecting what a policy comes to.

use std::collections::{BTreeSet, HashMap, HashSet};
use std::fs::{File, Metadata};
use std::io;
use std::os::unix::fs::{MetadataExt as _, OpenOptionsExt as _};
use std::path::{Path, PathBuf};

use super::concealed::{Concealed, ConcealedKind};
use super::git::{self, GitFolder};
use super::hard_links::FileIdentity;
pub(crate) use super::hard_links::HardLinks;
use super::mount_aliases::MountAliases;
use super::pattern::{self, Pattern};
use super::regular::{read_regular, unless_absent};
use super::roots::{HeldRoots, Roots};
use super::scan::{Found, NamesOfInterest};
use super::{
    EntriesMax, Paths, Placeholder, PlaceholderKind, Unreadable, can_write, is_never_writable,
    is_of_system, is_private_file, resolved, system, without_nested,
};
use crate::policy::{Profile, Readable, SandboxPolicy};
use crate::sys;

/// The longest `HEAD` of a repository: it names a branch or a commit.
const HEAD_BYTES_MAX: u64 = 4 * 1024;

/// What a policy comes to, and what is looked at again when a child has ended.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Planned {
    pub(crate) paths: Paths,
    /// The git folders in writable places that were there before.
    pub(crate) git: Vec<GitFolder>,
    /// What their `HEAD`s hold.
    pub(crate) heads: Vec<(PathBuf, Vec<u8>)>,
    /// Links in place of what is protected, and what they hold: nothing can be mounted over them.
    pub(crate) links: Vec<(PathBuf, PathBuf)>,
    /// What is guarded by its name, and was there before.
    pub(crate) guarded: BTreeSet<PathBuf>,
}

/// The patterns for names at any depth.
pub(crate) fn names_of_interest(policy: &SandboxPolicy) -> NamesOfInterest {
    let parse = |texts: &[String]| {
        let parsed = texts
            .iter()
            .filter_map(|text| Pattern::parse(text, &policy.working_folder, policy.home.as_deref()))
            .filter(|pattern| matches!(pattern, Pattern::Anywhere(_)));
        parsed.collect()
    };
    NamesOfInterest {
        hidden: parse(&policy.unreadable),
        unwritable: parse(&policy.protection.unwritable),
    }
}

/// The folders that are looked through: what may be written, and where work happens.
pub(crate) fn searched_roots(policy: &SandboxPolicy, held: &HeldRoots) -> io::Result<Vec<PathBuf>> {
    let plan = Plan::new(policy, held)?;
    Ok(plan.searched())
}

/// What a policy comes to, by what a walk has found. `made` are git folders that confined programs have made: they may use them.
pub(crate) fn make(
    policy: &SandboxPolicy,
    held: &HeldRoots,
    found: &Found,
    made: &BTreeSet<PathBuf>,
    links: &mut HardLinks,
) -> io::Result<Planned> {
    let mut plan = Plan::new(policy, held)?;
    plan.concealed = Concealed::of(policy, &plan.work())?;
    // What is fixed comes first.
    plan.hide_fixed()?;
    if can_write(policy.profile) {
        plan.protect_fixed()?;
        plan.protect_found(found, made)?;
    }
    plan.hide_found(&found.hidden)?;
    plan.hide_other_names(links)?;
    plan.allow_reading()?;
    Ok(plan.planned)
}

/// Whether the `HEAD`s hold what they held.
#[cfg(target_os = "linux")]
pub(crate) fn has_same_heads(planned: &Planned) -> io::Result<bool> {
    for (head, content) in &planned.heads {
        if read_regular(head, HEAD_BYTES_MAX)?.as_ref() != Some(content) {
            return Ok(false);
        }
    }
    Ok(true)
}

/// Entries of a writable home folder whose names begin with a point, but for those that work happens in.
pub(crate) fn dotted_in_home(
    policy: &SandboxPolicy,
    held: &HeldRoots,
    write_roots: &[PathBuf],
) -> io::Result<Vec<PathBuf>> {
    let Some(home) = policy.home.as_deref() else {
        return Ok(Vec::new());
    };
    let home = resolved(home)?;
    if !write_roots.iter().any(|root| home.starts_with(root)) {
        return Ok(Vec::new());
    }
    let plan = Plan::new(policy, held)?;
    let mut dotted: Vec<PathBuf> = Concealed::of(policy, &[])?
        .iter()
        .map(Concealed::dotted)
        .collect::<io::Result<Vec<_>>>()?
        .concat();
    dotted.retain(|place| {
        !plan.named.iter().any(|root| root.starts_with(place)) && !place.ends_with(".cache")
    });
    Ok(dotted)
}

/// What to do about a protected path that does not exist.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum WhenAbsent {
    /// It needs no protection.
    Skip,
    /// An empty folder stands in for it.
    CreateFolder,
    /// A file with this content stands in for it.
    CreateFile(Vec<u8>),
}

/// Paths of a policy, while they are collected.
pub(super) struct Plan<'policy> {
    policy: &'policy SandboxPolicy,
    pub(super) home: Option<PathBuf>,
    /// The write roots as the caller named them, links resolved: what is named outright is not protected.
    pub(super) named: Vec<PathBuf>,
    concealed: Vec<Concealed>,
    /// What is protected. A folder can be pinned for something in it and protected itself as well.
    known: HashSet<PathBuf>,
    pinned: HashSet<PathBuf>,
    hidden: HashSet<PathBuf>,
    /// Hidden files that have several names, and how many.
    linked: HashMap<FileIdentity, u64>,
    aliases: MountAliases,
    planned: Planned,
}

impl<'policy> Plan<'policy> {
    pub(super) fn new(policy: &'policy SandboxPolicy, held: &HeldRoots) -> io::Result<Self> {
        let Roots {
            working_folder,
            named,
            refused,
        } = held.of(policy)?;
        let mut paths = Paths {
            working_folder,
            refused_roots: refused,
            ..Paths::default()
        };
        paths.write_roots = without_nested(named.clone());
        Ok(Self {
            policy,
            home: match policy.home.as_deref() {
                Some(home) => Some(resolved(home)?),
                None => None,
            },
            named,
            concealed: Vec::new(),
            known: HashSet::new(),
            pinned: HashSet::new(),
            hidden: HashSet::new(),
            linked: HashMap::new(),
            aliases: MountAliases::look()?,
            planned: Planned {
                paths,
                ..Planned::default()
            },
        })
    }

    /// What it has come to so far.
    pub(super) fn into_paths(self) -> Paths {
        self.planned.paths
    }

    /// Where work happens, none inside another.
    pub(super) fn searched(&self) -> Vec<PathBuf> {
        let mut searched = self.planned.paths.write_roots.clone();
        searched.push(self.planned.paths.working_folder.clone());
        without_nested(searched)
    }

    /// Where work happens, all that was named.
    pub(super) fn work(&self) -> Vec<PathBuf> {
        let mut work = self.named.clone();
        work.push(self.planned.paths.working_folder.clone());
        work
    }

    pub(super) fn is_writable(&self, path: &Path) -> bool {
        self.root_of(path).is_some()
    }

    fn root_of(&self, path: &Path) -> Option<&PathBuf> {
        let roots = &self.planned.paths.write_roots;
        roots.iter().find(|root| path.starts_with(root))
    }

    /// A place more, which is a mount more.
    fn count(&self, list: usize) -> io::Result<()> {
        let most = self.policy.protection.places_max;
        if u64::try_from(list).is_ok_and(|count| count < most) {
            return Ok(());
        }
        Err(io::Error::other(format!(
            "There are more than {most} places to protect or to hide in the writable folders; the setting sandbox.placesMax raises \
             that bound."
        )))
    }

    /// Keeps a folder from being moved away, and those it lies in.
    pub(super) fn pin(&mut self, folder: &Path) {
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
            if self.pinned.insert(folder.clone()) {
                self.planned.paths.pinned.push(folder);
            }
        }
    }

    /// Keeps a path inside a write root as it is.
    pub(super) fn protect(&mut self, path: &Path, when_absent: WhenAbsent) -> io::Result<()> {
        let is_named = self.named.iter().any(|root| root.starts_with(path));
        if is_named || !self.is_writable(path) || self.known.contains(path) {
            return Ok(());
        }
        self.count(self.planned.paths.protected.len())?;
        match unless_absent(path, path.symlink_metadata())? {
            Some(metadata) if metadata.is_symlink() => {
                if let Some(target) = unless_absent(path, path.read_link())? {
                    self.planned.links.push((path.to_owned(), target));
                }
                let real = unless_absent(path, path.canonicalize())?;
                if let Some(real) = real.filter(|real| self.is_writable(real))
                    && self.known.insert(real.clone())
                {
                    self.planned.paths.protected.push(real);
                }
                return Ok(());
            }
            Some(_metadata) => {}
            None => {
                let kind = match when_absent {
                    WhenAbsent::Skip => return Ok(()),
                    WhenAbsent::CreateFolder => PlaceholderKind::Folder,
                    WhenAbsent::CreateFile(content) => PlaceholderKind::File(content),
                };
                self.add_placeholder(path, kind);
            }
        }
        if let Some(parent) = path.parent() {
            self.pin(parent);
        }
        self.known.insert(path.to_owned());
        self.planned.paths.protected.push(path.to_owned());
        for name in self.aliases.of(path) {
            if self.is_writable(&name) && self.known.insert(name.clone()) {
                self.planned.paths.protected.push(name);
            }
        }
        Ok(())
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
        let placeholders = &mut self.planned.paths.placeholders;
        for (path, kind) in parents.chain([(path.to_owned(), kind)]) {
            // A parent that is missing was added for a path just before, if it was added.
            if !placeholders.iter().rev().take(64).any(|p| p.path == path) {
                placeholders.push(Placeholder { path, kind });
            }
        }
    }

    /// Pirn's settings of this project, start-up files of shells, and what is named by its place.
    fn protect_fixed(&mut self) -> io::Result<()> {
        let working_folder = self.planned.paths.working_folder.join(".pirn");
        self.protect(&working_folder, WhenAbsent::CreateFolder)?;
        let home = self.home.clone().filter(|home| home.is_dir());
        for start_up in system::STARTUP_FILES {
            let Some(home) = &home else { break };
            let when_absent = if start_up.is_folder {
                WhenAbsent::CreateFolder
            } else {
                let next = start_up
                    .instead
                    .iter()
                    .find(|name| home.join(name).exists());
                WhenAbsent::CreateFile(next.map_or_else(Vec::new, |name| system::passing_on(name)))
            };
            self.protect(&home.join(start_up.path), when_absent)?;
        }
        let dotted: Vec<PathBuf> = self
            .concealed
            .iter()
            .map(Concealed::dotted)
            .collect::<io::Result<Vec<_>>>()?
            .concat();
        for place in dotted {
            // What work happens in is named.
            let holds_work = self.named.iter().any(|root| root.starts_with(&place));
            if self.is_writable(&place) && !holds_work {
                self.protect(&place, WhenAbsent::Skip)?;
                self.planned.guarded.insert(place);
            }
        }
        for text in &self.policy.protection.unwritable {
            let pattern = Pattern::parse(text, &self.policy.working_folder, self.home.as_deref());
            if let Some(Pattern::At(place)) = pattern {
                for place in pattern::places(&place)? {
                    self.protect(&place, WhenAbsent::Skip)?;
                }
            }
        }
        Ok(())
    }

    /// What a walk has found: repositories, settings of Pirn and files of other programs.
    fn protect_found(&mut self, found: &Found, made: &BTreeSet<PathBuf>) -> io::Result<()> {
        for place in found.git.iter().chain(&found.bare) {
            let folders = git::folders_of(place)?;
            let metadata = unless_absent(place, place.symlink_metadata())?;
            let is_file = metadata.is_some_and(|metadata| metadata.is_file());
            if is_file
                && !folders
                    .first()
                    .is_some_and(|first| made.contains(&first.path))
            {
                self.protect(place, WhenAbsent::Skip)?;
            }
            for folder in folders {
                self.add_git_folder(folder, made)?;
            }
            // Commits in a worktree write to the git folder of the repository it belongs to.
            if is_file && let Some(common) = git::common_outside(self, place)? {
                self.add_common(&common, made)?;
            }
        }
        for place in found.pirn.iter().chain(&found.unwritable) {
            self.protect(place, WhenAbsent::Skip)?;
            self.planned.guarded.insert(place.clone());
        }
        Ok(())
    }

    fn add_git_folder(&mut self, folder: GitFolder, made: &BTreeSet<PathBuf>) -> io::Result<()> {
        if !self.is_writable(&folder.path) || made.contains(&folder.path) {
            return Ok(());
        }
        git::protect_folder(self, &folder)?;
        let head = folder.path.join("HEAD");
        if let Some(content) = read_regular(&head, HEAD_BYTES_MAX)? {
            self.planned.heads.push((head, content));
        } else if let Some(target) = unless_absent(&head, head.read_link()).ok().flatten() {
            self.planned.links.push((head, target));
        }
        self.planned.git.push(folder);
        Ok(())
    }

    fn add_common(&mut self, common: &Path, made: &BTreeSet<PathBuf>) -> io::Result<()> {
        if is_never_writable(common) || self.is_writable(common) {
            return Ok(());
        }
        let mut roots = std::mem::take(&mut self.planned.paths.write_roots);
        roots.push(common.to_owned());
        self.planned.paths.write_roots = without_nested(roots);
        for folder in git::folders_of(common)? {
            self.add_git_folder(folder, made)?;
        }
        Ok(())
    }

    /// Where work happens in one of these, it cannot be hidden.
    fn holds_work(&self, path: &Path) -> bool {
        self.planned
            .paths
            .write_roots
            .iter()
            .chain([&self.planned.paths.working_folder])
            .any(|root| root.starts_with(path))
    }

    /// Places that a policy names, the dotfiles of the home folder and Pirn's own folder.
    fn hide_fixed(&mut self) -> io::Result<()> {
        let mut places = Vec::new();
        for text in &self.policy.unreadable {
            let pattern = Pattern::parse(text, &self.policy.working_folder, self.home.as_deref());
            if let Some(Pattern::At(place)) = pattern {
                for place in pattern::places(&place)? {
                    if let Some(real) = unless_absent(&place, place.canonicalize())? {
                        self.refuse_work_in(
                            &real,
                            "one of the places in the setting sandbox.unreadable",
                        )?;
                        // What can be read in it is left out below.
                        if !self.concealed.iter().any(|folder| folder.root() == real) {
                            places.push(real);
                        }
                    }
                }
            }
        }
        let concealed = std::mem::take(&mut self.concealed);
        for folder in &concealed {
            match folder.kind() {
                ConcealedKind::PirnHome => {
                    self.refuse_work_in(folder.root(), "Pirn's own folder")?;
                }
                ConcealedKind::Home | ConcealedKind::Listed => {}
            }
            for place in folder.places()? {
                let is_link = place.is_symlink();
                let Some(real) = unless_absent(&place, place.canonicalize())? else {
                    continue;
                };
                // A link may lead to what work happens in, or to what the system has for everybody.
                let is_elsewhere = is_link
                    && (self.holds_work(&real)
                        || self.is_inside_work(&real)
                        || is_of_system(&real));
                if !is_elsewhere && !self.holds_work(&real) {
                    places.push(real);
                }
            }
        }
        self.concealed = concealed;
        self.hide_all(places)
    }

    fn is_inside_work(&self, path: &Path) -> bool {
        self.searched().iter().any(|root| path.starts_with(root))
    }

    /// Work below a place that must not be read would show it.
    fn refuse_work_in(&self, place: &Path, what: &str) -> io::Result<()> {
        let names = self.aliases.of(place);
        let inside = self
            .planned
            .paths
            .write_roots
            .iter()
            .chain([&self.planned.paths.working_folder])
            .find(|root| {
                root.starts_with(place) || names.iter().any(|name| root.starts_with(name))
            });
        match inside {
            Some(root) => Err(io::Error::other(format!(
                "No work happens in {}: it lies in {}, which is {what}.",
                root.display(),
                place.display()
            ))),
            None => Ok(()),
        }
    }

    /// What a walk has found under names that must not be read.
    fn hide_found(&mut self, matches: &[PathBuf]) -> io::Result<()> {
        let mut places = Vec::new();
        for found in matches {
            // A confined program may have made a link, and the system must not be hidden from everybody after it.
            if found.is_symlink() && !is_private_file(found) {
                continue;
            }
            if let Some(real) = unless_absent(found, found.canonicalize())? {
                places.push(real);
            }
        }
        self.hide_all(places)
    }

    fn hide_all(&mut self, mut places: Vec<PathBuf>) -> io::Result<()> {
        let aliases: Vec<PathBuf> = places
            .iter()
            .flat_map(|place| self.aliases.of(place))
            .collect();
        places.extend(aliases);
        for path in without_nested(places) {
            if self.holds_work(&path) {
                self.planned.paths.unreadable_gaps.push(format!(
                    "{} stays readable: work happens in it.",
                    path.display()
                ));
                continue;
            }
            if path.ancestors().any(|above| self.hidden.contains(above)) {
                continue;
            }
            self.count(self.hidden.len())?;
            let Some(metadata) = unless_absent(&path, path.symlink_metadata())? else {
                continue;
            };
            if is_out_of_reach(&path, &metadata) {
                continue;
            }
            if metadata.is_file() && metadata.nlink() > 1 {
                self.linked
                    .insert(FileIdentity::of(&metadata), metadata.nlink());
            }
            self.hidden.insert(path.clone());
            self.planned.paths.unreadable.push(Unreadable {
                is_folder: metadata.is_dir(),
                path,
            });
        }
        Ok(())
    }

    /// Other names of hidden files, as far as they are where work happens.
    fn hide_other_names(&mut self, links: &mut HardLinks) -> io::Result<()> {
        let linked = std::mem::take(&mut self.linked);
        if linked.is_empty() {
            return Ok(());
        }
        let bound = EntriesMax(self.policy.protection.files_max);
        let names = links.names_of(&linked, &self.searched(), bound)?;
        self.hide_all(names)
    }

    pub(super) fn allow_reading(&mut self) -> io::Result<()> {
        let Readable::Only(chosen) = &self.policy.readable else {
            return Ok(());
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
        let mut roots: Vec<PathBuf> = self.planned.paths.write_roots.clone();
        roots.push(self.planned.paths.working_folder.clone());
        for path in named {
            if let Some(real) = unless_absent(&path, path.canonicalize())? {
                roots.push(path);
                roots.push(real);
            }
        }
        self.planned.paths.read_roots = Some(without_nested(roots));
        Ok(())
    }
}

/// Whether we cannot read a place ourselves, nor make it readable: then no child can, and there is nothing to hide.
fn is_out_of_reach(path: &Path, metadata: &Metadata) -> bool {
    if metadata.uid() == sys::user().id || !(metadata.is_file() || metadata.is_dir()) {
        return false;
    }
    let opened = File::options()
        .read(true)
        .custom_flags(libc::O_NOFOLLOW | libc::O_NONBLOCK | libc::O_NOCTTY | libc::O_CLOEXEC)
        .open(path);
    opened.is_err_and(|error| error.kind() == io::ErrorKind::PermissionDenied)
}

/// A profile under which nothing of a policy's places matters.
pub(super) fn is_off(profile: Profile) -> bool {
    profile == Profile::Off
}
