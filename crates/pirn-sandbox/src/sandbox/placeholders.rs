//! Empty files and folders that keep confined programs from creating something in their place.

use std::collections::BTreeMap;
use std::fs::{DirBuilder, File, OpenOptions};
use std::io::{Read as _, Write as _};
use std::path::{Path, PathBuf};
use std::sync::{Mutex, MutexGuard, PoisonError};

use crate::paths::{Placeholder, PlaceholderKind};
use crate::sys::Folder;

/// Those that this process has created, with the number of sandboxes that need them: one must not be removed under the mounts
/// of another's children.
static CREATED: Mutex<BTreeMap<PathBuf, Created>> = Mutex::new(BTreeMap::new());

#[derive(Debug)]
struct Created {
    kind: PlaceholderKind,
    users: usize,
}

/// The placeholders that one sandbox needs. Dropping it removes those that nobody else needs, if they are as they were.
#[derive(Debug, Default)]
pub(super) struct Placeholders {
    used: Mutex<Vec<PathBuf>>,
}

impl Placeholders {
    /// Creates what is missing. What cannot be created cannot be created by a confined program either.
    pub(super) fn hold(&self, placeholders: &[Placeholder], protected: &[PathBuf]) {
        let mut created = created();
        let mut used = self.used.lock().unwrap_or_else(PoisonError::into_inner);
        for placeholder in placeholders {
            if !created.contains_key(&placeholder.path) && create(placeholder) {
                created.insert(
                    placeholder.path.clone(),
                    Created {
                        kind: placeholder.kind.clone(),
                        users: 0,
                    },
                );
            }
        }
        // Also those that another sandbox of ours has created: to this one they are just there.
        for (path, entry) in created.iter_mut() {
            let is_needed = protected
                .iter()
                .any(|protected| protected.starts_with(path));
            if is_needed && !used.contains(path) {
                used.push(path.clone());
                entry.users += 1;
            }
        }
    }
}

impl Drop for Placeholders {
    fn drop(&mut self) {
        let mut created = created();
        let used = self.used.get_mut().unwrap_or_else(PoisonError::into_inner);
        // What is inside comes first.
        used.sort();
        for path in used.iter().rev() {
            let Some(entry) = created.get_mut(path) else {
                continue;
            };
            entry.users = entry.users.saturating_sub(1);
            if entry.users == 0 {
                remove(path, &entry.kind);
                created.remove(path);
            }
        }
    }
}

fn created() -> MutexGuard<'static, BTreeMap<PathBuf, Created>> {
    CREATED.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Confined programs may put links into the way, so the folder is opened without following any.
fn create(placeholder: &Placeholder) -> bool {
    let Some((_folder, entry)) = reach(&placeholder.path) else {
        return false;
    };
    match &placeholder.kind {
        PlaceholderKind::Folder => DirBuilder::new().create(entry).is_ok(),
        PlaceholderKind::File(content) => OpenOptions::new()
            .write(true)
            .create_new(true)
            .open(entry)
            .is_ok_and(|mut file| file.write_all(content).is_ok()),
    }
}

/// Leaves what somebody has changed since.
fn remove(path: &Path, kind: &PlaceholderKind) {
    let Some((_folder, entry)) = reach(path) else {
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
fn reach(path: &Path) -> Option<(Folder, PathBuf)> {
    let folder = Folder::open(path.parent()?).ok()?;
    let entry = folder.entry(path).ok()?;
    Some((folder, entry))
}

fn holds(path: &Path, content: &[u8]) -> bool {
    let mut found = Vec::new();
    path.symlink_metadata()
        .is_ok_and(|metadata| metadata.is_file())
        && File::open(path).is_ok_and(|file| {
            let limit = content.len() as u64 + 1;
            file.take(limit).read_to_end(&mut found).is_ok() && found == content
        })
}

#[cfg(test)]
mod tests;
