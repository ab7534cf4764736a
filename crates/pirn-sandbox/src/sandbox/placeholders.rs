//! Empty files and folders that keep confined programs from creating something in their place.

mod record;

use std::collections::{BTreeMap, BTreeSet};
use std::fs::{DirBuilder, OpenOptions};
use std::io::{self, Read as _, Write as _};
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, MutexGuard, PoisonError};

use super::folders::{CleanupLock, needed_by_living};
use crate::paths::{Paths, Placeholder, PlaceholderKind, open_regular};
use crate::sys::{self, Folder};
use record::Record;

/// Those that this process has created, with the number of sandboxes that need them: one must not be removed under the mounts
/// of another's children.
static CREATED: Mutex<BTreeMap<PathBuf, Created>> = Mutex::new(BTreeMap::new());

#[derive(Debug)]
struct Created {
    kind: PlaceholderKind,
    users: usize,
}

/// The placeholders that one sandbox needs. Dropping it removes those that nobody else needs, if they are as they were.
#[derive(Debug)]
pub(super) struct Placeholders {
    /// The folder of the sandbox's parts, where it keeps its record.
    parts: PathBuf,
    used: Mutex<BTreeSet<PathBuf>>,
}

/// Whether what children need is as it was when it was looked at.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum PlaceholderCheck {
    /// Everything that is needed is there.
    All,
    /// Something has gone since.
    Outdated,
}

impl Placeholders {
    /// For the sandbox whose parts lie in this folder.
    pub(super) fn new(parts: &Path) -> Self {
        Self {
            parts: parts.to_owned(),
            used: Mutex::default(),
        }
    }

    /// The folder in which sandboxes have theirs.
    fn temp_dir(&self) -> &Path {
        self.parts.parent().unwrap_or(&self.parts)
    }

    /// Creates what is missing. What may not be created may not be created by a confined program either; for every other reason,
    /// such as a full disk, it fails.
    pub(super) fn hold(&self, paths: &Paths) -> io::Result<PlaceholderCheck> {
        let mut created = created();
        let mut used = self.used.lock().unwrap_or_else(PoisonError::into_inner);
        // Without it, what is there may be removed in this very moment; the next look finds that out.
        let _lock = CleanupLock::take(self.temp_dir());
        let mut planned = made_for(paths, &created, &used);
        planned.extend_from_slice(&paths.placeholders);
        self.record(paths, planned)?;
        let mut failed = false;
        for placeholder in &paths.placeholders {
            if create(placeholder)? {
                let entry = created.entry(placeholder.path.clone());
                entry.or_insert_with(|| Created {
                    kind: placeholder.kind.clone(),
                    users: 0,
                });
            } else {
                failed = true;
            }
        }
        if failed {
            let made = made_for(paths, &created, &used);
            self.record(paths, made)?;
        }
        let protected = Needed::of(&paths.protected);
        for (path, entry) in created.iter_mut() {
            if is_needed(path, &protected) && !used.contains(path) {
                used.insert(path.clone());
                entry.users += 1;
            }
        }
        let new: BTreeSet<&Path> = paths.placeholders.iter().map(|new| &*new.path).collect();
        let is_new = |path: &Path| new.contains(path);
        let is_gone = |path: &PathBuf| !is_new(path) && path.symlink_metadata().is_err();
        Ok(if paths.protected.iter().any(is_gone) {
            PlaceholderCheck::Outdated
        } else {
            PlaceholderCheck::All
        })
    }

    /// Writes down what must be removed after us, and what must stay while we live.
    fn record(&self, paths: &Paths, made: Vec<Placeholder>) -> io::Result<()> {
        let roots = &paths.write_roots;
        if roots.iter().any(|root| self.parts.starts_with(root)) {
            // Programs could write to it, so it would be worth nothing.
            return Ok(());
        }
        let needed = paths.protected.clone();
        Record { made, needed }.write(&self.parts)
    }
}

/// What of the created ones a sandbox needs, also those that another sandbox of ours has created: to this one they are just
/// there.
fn made_for(
    paths: &Paths,
    created: &BTreeMap<PathBuf, Created>,
    used: &BTreeSet<PathBuf>,
) -> Vec<Placeholder> {
    let protected = Needed::of(&paths.protected);
    created
        .iter()
        .filter(|(path, _)| used.contains(*path) || is_needed(path, &protected))
        .map(|(path, entry)| Placeholder {
            path: path.clone(),
            kind: entry.kind.clone(),
        })
        .collect()
}

/// Places that are needed, in the order of their paths.
struct Needed<'paths>(BTreeSet<&'paths Path>);

impl<'paths> Needed<'paths> {
    fn of(places: &'paths [PathBuf]) -> Self {
        Self(places.iter().map(PathBuf::as_path).collect())
    }
}

/// Whether one of these is a path or lies in it: it would come right after.
fn is_needed(path: &Path, needed: &Needed<'_>) -> bool {
    let next = needed.0.range(path..).next();
    next.is_some_and(|next| next.starts_with(path))
}

impl Drop for Placeholders {
    fn drop(&mut self) {
        let mut created = created();
        let used = self.used.get_mut().unwrap_or_else(PoisonError::into_inner);
        let mut unused = Vec::new();
        for path in std::mem::take(used) {
            let Some(entry) = created.get_mut(&path) else {
                continue;
            };
            entry.users = entry.users.saturating_sub(1);
            if entry.users == 0
                && let Some(Created { kind, .. }) = created.remove(&path)
            {
                unused.push(Placeholder { path, kind });
            }
        }
        if unused.is_empty() {
            Record::remove(&self.parts);
            return;
        }
        let lock = CleanupLock::take(self.temp_dir());
        let needed = lock
            .as_ref()
            .and_then(|_lock| needed_by_living(self.temp_dir(), Some(&self.parts)));
        remove_all(&self.parts, unused, needed.as_deref());
    }
}

/// What children of the living sandbox with these parts cannot do without. `None` when that cannot be understood.
pub(super) fn needed(parts: &Path) -> Option<Vec<PathBuf>> {
    Record::read(parts).map(|record| record.needed)
}

/// Removes what a dead sandbox has created, but for what living ones need; `None` is everything.
pub(super) fn clear(parts: &Path, needed: Option<&[PathBuf]>) {
    let mut made = Record::read(parts).unwrap_or_default().made;
    made.retain(Placeholder::is_plausible);
    remove_all(parts, made, needed);
}

/// Whether a dead sandbox has created something that is still there because others need it.
pub(super) fn are_left(parts: &Path) -> bool {
    Record::exists(parts)
}

/// Removes what nobody needs, and keeps a record of the rest for the sweep of a later process.
fn remove_all(parts: &Path, mut placeholders: Vec<Placeholder>, needed: Option<&[PathBuf]>) {
    // What is inside comes first.
    placeholders.sort_by(|one, other| other.path.cmp(&one.path));
    placeholders.retain(|Placeholder { path, kind }| {
        let is_needed = needed.is_none_or(|needed| is_needed(path, &Needed::of(needed)));
        if !is_needed {
            remove(path, kind);
        }
        is_needed
    });
    let rest = Record {
        made: placeholders,
        needed: Vec::new(),
    };
    if rest.made.is_empty() || rest.write(parts).is_err() {
        Record::remove(parts);
    }
}

fn created() -> MutexGuard<'static, BTreeMap<PathBuf, Created>> {
    CREATED.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Confined programs may put links into the way, so the folder is opened without following any. Says whether it is there now.
fn create(placeholder: &Placeholder) -> io::Result<bool> {
    let created = reach(&placeholder.path).and_then(|(_folder, entry)| match &placeholder.kind {
        PlaceholderKind::Folder => DirBuilder::new().create(entry),
        PlaceholderKind::File(content) => OpenOptions::new()
            .write(true)
            .create_new(true)
            .open(entry)
            .and_then(|mut file| file.write_all(content)),
    });
    match created {
        Ok(()) => Ok(true),
        // Somebody was faster, or it is refused to every program of this user: to one that owns the folder only until it changes
        // its mode.
        Err(error)
            if matches!(error.raw_os_error(), Some(libc::EACCES))
                && !is_ours(placeholder.path.parent())
                || matches!(
                    error.raw_os_error(),
                    Some(
                        libc::EEXIST
                            | libc::EPERM
                            | libc::EROFS
                            | libc::ENOENT
                            | libc::ENOTDIR
                            | libc::ELOOP
                    )
                ) =>
        {
            Ok(false)
        }
        Err(error) => Err(io::Error::new(
            error.kind(),
            format!(
                "{} cannot be put in the place of something that is protected: {error}",
                placeholder.path.display()
            ),
        )),
    }
}

fn is_ours(folder: Option<&Path>) -> bool {
    folder.is_some_and(|folder| {
        folder
            .symlink_metadata()
            .is_ok_and(|metadata| metadata.uid() == sys::user().id)
    })
}

/// Leaves what somebody has changed since.
fn remove(path: &Path, kind: &PlaceholderKind) {
    let Ok((_folder, entry)) = reach(path) else {
        return;
    };
    let _left = match kind {
        // Fails when something is in it.
        PlaceholderKind::Folder => std::fs::remove_dir(entry),
        PlaceholderKind::File(content) if holds(&entry, content) => std::fs::remove_file(entry),
        PlaceholderKind::File(_) => Ok(()),
    };
}

/// The folder of a path, and a way to the path through it.
fn reach(path: &Path) -> io::Result<(Folder, PathBuf)> {
    let folder = Folder::open(path.parent().unwrap_or(path))?;
    let entry = folder.entry(path)?;
    Ok((folder, entry))
}

fn holds(path: &Path, content: &[u8]) -> bool {
    let mut found = Vec::new();
    open_regular(path).is_ok_and(|file| {
        file.is_some_and(|file| {
            let limit = content.len() as u64 + 1;
            file.take(limit).read_to_end(&mut found).is_ok() && found == content
        })
    })
}

#[cfg(test)]
mod tests;
