//! What a git repository runs or believes: hooks, settings, and where it looks for them.

use std::io::Read as _;
use std::path::{Component, Path, PathBuf};

use super::{Plan, WhenAbsent};

/// How deep folders of submodules may lie below `modules`, whose names are paths.
const MODULE_DEPTH_MAX: usize = 6;
/// The longest file that names a folder.
const POINTER_BYTES_MAX: u64 = 64 * 1024;
/// What makes git take the folder itself for the common one; an empty file would make it fail.
pub(super) const HERE: &[u8] = b".\n";

/// Protects what was found under the name `.git`; returns a further folder that has to be writable for commits to work.
pub(super) fn protect(plan: &mut Plan<'_>, git: &Path) -> Option<PathBuf> {
    let metadata = git.symlink_metadata().ok()?;
    if metadata.is_symlink() {
        plan.gap(format!(
            "{} is a link, which can be replaced.",
            git.display()
        ));
        let real = git.canonicalize().ok()?;
        if real.is_dir() && plan.is_writable(&real) {
            protect_folder(plan, &real);
        }
        return None;
    }
    if metadata.is_dir() {
        protect_folder(plan, git);
        return None;
    }
    plan.protect(git, WhenAbsent::Skip);
    worktree(plan, git)
}

/// Protects a git folder with those of its submodules and what leads its worktrees to it.
pub(super) fn protect_folder(plan: &mut Plan<'_>, folder: &Path) {
    // Without it git takes the folder for something else, and a program can as well make a new one.
    if !folder.join("HEAD").exists() {
        return;
    }
    plan.pin(folder);
    plan.protect(&folder.join("hooks"), WhenAbsent::CreateFolder);
    plan.protect(&folder.join("config"), WhenAbsent::CreateFile(Vec::new()));
    plan.protect(&folder.join("config.worktree"), WhenAbsent::Skip);
    plan.protect(
        &folder.join("commondir"),
        WhenAbsent::CreateFile(HERE.to_vec()),
    );
    for worktree in folders(&folder.join("worktrees")) {
        for name in ["commondir", "gitdir", "config.worktree"] {
            plan.protect(&worktree.join(name), WhenAbsent::Skip);
        }
    }
    let mut modules: Vec<(PathBuf, usize)> = vec![(folder.join("modules"), 0)];
    while let Some((parent, depth)) = modules.pop() {
        for module in folders(&parent) {
            if module.join("HEAD").exists() {
                protect_folder(plan, &module);
            } else if depth < MODULE_DEPTH_MAX {
                modules.push((module, depth + 1));
            }
        }
    }
}

fn folders(parent: &Path) -> Vec<PathBuf> {
    let Ok(entries) = parent.read_dir() else {
        return Vec::new();
    };
    let mut found: Vec<PathBuf> = entries
        .flatten()
        .filter(|entry| entry.file_type().is_ok_and(|kind| kind.is_dir()))
        .map(|entry| entry.path())
        .collect();
    found.sort();
    found
}

/// The common git folder of a worktree. A program could have written the `.git` file, so the folder it names must lie where
/// the program could not write, and point back.
fn worktree(plan: &Plan<'_>, git_file: &Path) -> Option<PathBuf> {
    let folder = git_file.parent()?;
    let named = read_pointer(git_file)?;
    let named = named.strip_prefix("gitdir:")?.trim();
    let own = folder.join(named).canonicalize().ok()?;
    if plan.is_writable(&own) {
        return None;
    }
    let back = own.join(read_pointer(&own.join("gitdir"))?.trim());
    if back.canonicalize().ok()? != git_file.canonicalize().ok()? {
        return None;
    }
    let common = own
        .join(read_pointer(&own.join("commondir"))?.trim())
        .canonicalize()
        .ok()?;
    // As git lays it out: <common>/worktrees/<name>.
    let mut below = own.strip_prefix(&common).ok()?.components();
    let is_laid_out = below.next() == Some(Component::Normal("worktrees".as_ref()))
        && below.next().is_some()
        && below.next().is_none();
    let is_git = ["HEAD", "objects", "refs"]
        .iter()
        .all(|name| common.join(name).exists());
    (is_laid_out && is_git).then_some(common)
}

fn read_pointer(file: &Path) -> Option<String> {
    let mut text = String::new();
    std::fs::File::open(file)
        .ok()?
        .take(POINTER_BYTES_MAX)
        .read_to_string(&mut text)
        .ok()?;
    Some(text)
}
