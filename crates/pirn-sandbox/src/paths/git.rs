//! What a git repository runs or believes: hooks, settings, and where it looks for them.

mod settings;

use std::ffi::OsStr;
use std::io;
use std::os::unix::ffi::OsStrExt as _;
use std::path::{Component, Path, PathBuf};

use serde::{Deserialize, Serialize};

use super::plan::{Plan, WhenAbsent};
use super::regular::{read_regular, unless_absent};
use crate::os_text;
pub(crate) use settings::harmless_settings;

/// How deep folders of submodules may lie below `modules`, whose names are paths.
const MODULE_DEPTH_MAX: usize = 6;
/// The longest file that names a folder.
const POINTER_BYTES_MAX: u64 = 64 * 1024;
/// How many git folders one place may lead to; a repository with a thousand submodules has as many.
const FAMILY_MAX: usize = 10_000;
/// What makes git take the folder itself for the common one; an empty file would make it fail.
pub(super) const HERE: &[u8] = b".\n";

/// A git folder, without links in its path.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub(crate) struct GitFolder {
    #[serde(with = "os_text::path")]
    pub(crate) path: PathBuf,
    pub(crate) kind: GitFolderKind,
}

/// What git reads from a git folder.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum GitFolderKind {
    /// Everything in it is protected.
    Whole,
    /// What concerns one worktree; hooks and settings are elsewhere.
    Worktree,
}

/// The git folders that a place leads git to, by git's own rule: a folder, a file that names one, or a link to either; with the
/// folder that it shares, its submodules and worktrees.
pub(crate) fn folders_of(place: &Path) -> io::Result<Vec<GitFolder>> {
    let mut family = Vec::new();
    if let Some(start) = start_of(place)? {
        add_family(start, &mut family)?;
    }
    Ok(family)
}

/// The git folder that a place named `.git` stands for.
fn start_of(place: &Path) -> io::Result<Option<PathBuf>> {
    let Some(real) = unless_absent(place, place.canonicalize())? else {
        return Ok(None);
    };
    let Some(metadata) = unless_absent(&real, real.symlink_metadata())? else {
        return Ok(None);
    };
    if metadata.is_dir() {
        return Ok(Some(real));
    }
    let Some(named) = pointer(&real, b"gitdir:")? else {
        return Ok(None);
    };
    // Relative to where the file seems to be.
    let folder = place.parent().unwrap_or(place).join(named);
    folder_at(&folder)
}

/// The real path of a folder, if there is one.
fn folder_at(path: &Path) -> io::Result<Option<PathBuf>> {
    let Some(real) = unless_absent(path, path.canonicalize())? else {
        return Ok(None);
    };
    Ok(is_folder(&real)?.then_some(real))
}

fn is_folder(path: &Path) -> io::Result<bool> {
    let metadata = unless_absent(path, path.symlink_metadata())?;
    Ok(metadata.is_some_and(|metadata| metadata.is_dir()))
}

fn is_there(path: &Path) -> io::Result<bool> {
    Ok(unless_absent(path, path.symlink_metadata())?.is_some())
}

fn add_family(start: PathBuf, family: &mut Vec<GitFolder>) -> io::Result<()> {
    let mut open = vec![start];
    while let Some(path) = open.pop() {
        if family.iter().any(|known| known.path == path) {
            continue;
        }
        if family.len() >= FAMILY_MAX {
            return Err(io::Error::other(format!(
                "{} leads to more than {FAMILY_MAX} git folders.",
                path.display()
            )));
        }
        let common = match pointer(&path.join("commondir"), b"")? {
            Some(named) => folder_at(&path.join(named))?.filter(|common| *common != path),
            None => None,
        };
        let kind = match &common {
            Some(_) => GitFolderKind::Worktree,
            None => GitFolderKind::Whole,
        };
        open.extend(common);
        open.extend(folders_in(&path.join("worktrees"))?);
        let mut modules: Vec<(PathBuf, usize)> = vec![(path.join("modules"), 0)];
        while let Some((parent, depth)) = modules.pop() {
            for module in folders_in(&parent)? {
                let is_git = is_there(&module.join("HEAD"))? || is_there(&module.join("config"))?;
                if is_git {
                    open.push(module);
                } else if depth < MODULE_DEPTH_MAX {
                    modules.push((module, depth + 1));
                }
            }
        }
        family.push(GitFolder { path, kind });
    }
    Ok(())
}

fn folders_in(parent: &Path) -> io::Result<Vec<PathBuf>> {
    let Some(entries) = unless_absent(parent, parent.read_dir())? else {
        return Ok(Vec::new());
    };
    let mut found = Vec::new();
    for entry in entries {
        let entry = entry?;
        if entry.file_type()?.is_dir() {
            found.push(entry.path());
        }
    }
    found.sort();
    Ok(found)
}

/// The path in a small file, behind a word.
fn pointer(file: &Path, word: &[u8]) -> io::Result<Option<PathBuf>> {
    let Some(bytes) = read_regular(file, POINTER_BYTES_MAX)? else {
        return Ok(None);
    };
    Ok(bytes.strip_prefix(word).map(|named| {
        let named = named.trim_ascii();
        PathBuf::from(OsStr::from_bytes(named))
    }))
}

/// Protects what git reads from a folder.
pub(super) fn protect_folder(plan: &mut Plan<'_>, folder: &GitFolder) -> io::Result<()> {
    let GitFolder { path, kind } = folder;
    plan.pin(path);
    match kind {
        GitFolderKind::Worktree => {
            for name in ["commondir", "gitdir", "config.worktree"] {
                plan.protect(&path.join(name), WhenAbsent::Skip)?;
            }
        }
        GitFolderKind::Whole => {
            plan.protect(&path.join("hooks"), WhenAbsent::CreateFolder)?;
            plan.protect(&path.join("config"), WhenAbsent::CreateFile(Vec::new()))?;
            plan.protect(&path.join("config.worktree"), WhenAbsent::Skip)?;
            plan.protect(
                &path.join("commondir"),
                WhenAbsent::CreateFile(HERE.to_vec()),
            )?;
        }
    }
    Ok(())
}

/// The common git folder of a worktree. A program could have written the `.git` file, so the folder it names must lie where
/// the program could not write, and point back.
pub(super) fn common_outside(plan: &Plan<'_>, git_file: &Path) -> io::Result<Option<PathBuf>> {
    let Some(named) = pointer(git_file, b"gitdir:")? else {
        return Ok(None);
    };
    let Some(own) = folder_at(&git_file.parent().unwrap_or(git_file).join(named))? else {
        return Ok(None);
    };
    if plan.is_writable(&own) {
        return Ok(None);
    }
    let (Some(back), Some(shared)) = (
        pointer(&own.join("gitdir"), b"")?,
        pointer(&own.join("commondir"), b"")?,
    ) else {
        return Ok(None);
    };
    let back = own.join(back);
    let leads_back = match unless_absent(&back, back.canonicalize())? {
        Some(back) => unless_absent(git_file, git_file.canonicalize())? == Some(back),
        None => false,
    };
    let Some(common) = folder_at(&own.join(shared))?.filter(|_common| leads_back) else {
        return Ok(None);
    };
    // As git lays it out: <common>/worktrees/<name>.
    let mut below = own
        .strip_prefix(&common)
        .unwrap_or(Path::new(""))
        .components();
    let is_laid_out = below.next() == Some(Component::Normal("worktrees".as_ref()))
        && below.next().is_some()
        && below.next().is_none();
    let mut is_git = true;
    for name in ["HEAD", "objects", "refs"] {
        is_git &= is_there(&common.join(name))?;
    }
    Ok((is_laid_out && is_git).then_some(common))
}
