//! Setting aside what a confined program has made and what would start programs in the user's name.

use std::ffi::OsString;
use std::fs::OpenOptions;
use std::io::{self, Write as _};
use std::os::unix::ffi::OsStrExt as _;
use std::path::{Path, PathBuf};

use super::git::{GitFolder, harmless_settings};
use super::regular::{read_regular, unless_absent};
use crate::sys::Folder;

/// How the name of what is set aside goes on; a number follows.
const SUFFIX: &str = ".set-aside-";
/// Names that are tried: a program that has made all of them wants something.
const NAMES_MAX: u32 = 1_000;
/// Longer settings of a repository are set aside unread.
const SETTINGS_BYTES_MAX: u64 = 1 << 20;
/// The longest name of a file.
const NAME_BYTES_MAX: usize = 255;

/// Gives a file or folder another name beside its own. `None` where there is none.
pub(super) fn set_aside(path: &Path) -> io::Result<Option<PathBuf>> {
    let Some((folder, name)) = reach(path)? else {
        return Ok(None);
    };
    let entry = folder.entry(path)?;
    if unless_absent(path, entry.symlink_metadata())?.is_none() {
        return Ok(None);
    }
    for number in 1..=NAMES_MAX {
        let suffix = format!("{SUFFIX}{number}");
        let kept = NAME_BYTES_MAX.saturating_sub(suffix.len());
        let bytes = name.as_bytes().get(..kept).unwrap_or(name.as_bytes());
        let mut new_name = std::ffi::OsStr::from_bytes(bytes).to_owned();
        new_name.push(&suffix);
        let new = path.with_file_name(&new_name);
        let new_entry = folder.entry(&new)?;
        if new_entry.symlink_metadata().is_ok() {
            continue;
        }
        std::fs::rename(&entry, &new_entry).map_err(|error| failed(path, &error))?;
        return Ok(Some(new));
    }
    Err(io::Error::other(format!(
        "{} cannot be set aside: all names for it are taken.",
        path.display()
    )))
}

/// Puts a new file or link in the place of what is not there any more.
pub(super) fn put_back(path: &Path, content: &Content) -> io::Result<()> {
    let Some((folder, _name)) = reach(path)? else {
        return Ok(());
    };
    let entry = folder.entry(path)?;
    let put = match content {
        Content::File(bytes) => OpenOptions::new()
            .write(true)
            .create_new(true)
            .open(entry)
            .and_then(|mut file| file.write_all(bytes)),
        Content::Link(target) => std::os::unix::fs::symlink(target, entry),
    };
    put.map_err(|error| failed(path, &error))
}

/// What is put back.
pub(super) enum Content {
    File(Vec<u8>),
    Link(PathBuf),
}

/// Takes from a git folder what would run something: hooks and settings. Says what, one sentence each.
pub(super) fn disarm(git: &GitFolder) -> io::Result<Vec<String>> {
    let mut notes = Vec::new();
    let hooks = git.path.join("hooks");
    if has_hooks(&hooks)?
        && let Some(aside) = set_aside(&hooks)?
    {
        notes.push(sentence(
            "hooks of a repository that a command made",
            &hooks,
            &aside,
        ));
    }
    for name in ["config", "config.worktree"] {
        let settings = git.path.join(name);
        let Some(_there) = unless_absent(&settings, settings.symlink_metadata())? else {
            continue;
        };
        let kept = match read_regular(&settings, SETTINGS_BYTES_MAX)? {
            Some(bytes) => match harmless_settings(&bytes) {
                None => continue,
                Some(kept) => kept,
            },
            // A link, a pipe, or more than anybody writes.
            None => Vec::new(),
        };
        if let Some(aside) = set_aside(&settings)? {
            put_back(&settings, &Content::File(kept))?;
            notes.push(sentence(
                "settings of a repository that a command made",
                &settings,
                &aside,
            ));
        }
    }
    Ok(notes)
}

/// Whether git would find a hook in a folder. Its own examples are none.
fn has_hooks(hooks: &Path) -> io::Result<bool> {
    let Some(metadata) = unless_absent(hooks, hooks.symlink_metadata())? else {
        return Ok(false);
    };
    if !metadata.is_dir() {
        return Ok(true);
    }
    let Some(entries) = unless_absent(hooks, hooks.read_dir())? else {
        return Ok(false);
    };
    for entry in entries {
        if !entry?.file_name().as_bytes().ends_with(b".sample") {
            return Ok(true);
        }
    }
    Ok(false)
}

/// Says that something was set aside.
pub(super) fn sentence(what: &str, path: &Path, aside: &Path) -> String {
    format!(
        "Sandbox: {what} were set aside, because they would start programs in the user's name: {} is {} now. If they are wanted, \
         the user can look at them and move them back",
        path.display(),
        aside.file_name().map_or(aside, Path::new).display()
    )
}

/// The folder of a path, reached without links, and the path's name in it.
fn reach(path: &Path) -> io::Result<Option<(Folder, OsString)>> {
    let (Some(parent), Some(name)) = (path.parent(), path.file_name()) else {
        return Ok(None);
    };
    let folder = unless_absent(parent, Folder::open(parent))?;
    Ok(folder.map(|folder| (folder, name.to_owned())))
}

fn failed(path: &Path, error: &io::Error) -> io::Error {
    io::Error::new(
        error.kind(),
        format!(
            "{}, which a command made, cannot be set aside: {error}",
            path.display()
        ),
    )
}
