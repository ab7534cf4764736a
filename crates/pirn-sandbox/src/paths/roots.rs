//! Where work happens: resolved once, held open, and never what came in its place later.

use std::collections::BTreeMap;
use std::fs::File;
use std::io;
use std::os::unix::fs::{MetadataExt as _, OpenOptionsExt as _};
use std::path::{Component, Path, PathBuf};
use std::sync::{Mutex, PoisonError};

use super::regular::unless_absent;
use super::{can_write, is_never_writable, resolved};
use crate::policy::SandboxPolicy;

/// What the names in a policy led to when it was there for the first time.
#[derive(Debug, Default)]
pub(crate) struct HeldRoots {
    known: Mutex<BTreeMap<PathBuf, HeldRoot>>,
}

/// A place to work in, and what was there.
#[derive(Debug)]
struct HeldRoot {
    /// Its path, links resolved.
    real: PathBuf,
    /// The folder, held open, so that nothing else can be taken for it. A file has none: each change may put another in its place.
    folder: Option<File>,
}

/// Where work happens now.
#[derive(Debug, Default)]
pub(super) struct Roots {
    /// The working folder, links resolved.
    pub(super) working_folder: PathBuf,
    /// What may be written, links resolved, as far as it is there.
    pub(super) named: Vec<PathBuf>,
    /// What is left out though it exists, as sentences.
    pub(super) refused: Vec<String>,
}

impl HeldRoots {
    /// Where work happens for a policy. Fails where a link is now in the place of what was there before.
    pub(super) fn of(&self, policy: &SandboxPolicy) -> io::Result<Roots> {
        let mut known = self.known.lock().unwrap_or_else(PoisonError::into_inner);
        let named = &policy.working_folder;
        let is_there = unless_absent(named, named.symlink_metadata())?.is_some();
        let working_folder = match known.get_mut(named) {
            Some(held) => held.still()?.unwrap_or_else(|| held.real.clone()),
            None => resolved(named)?,
        };
        if is_there && !known.contains_key(named) {
            known.insert(named.clone(), HeldRoot::of(&working_folder)?);
        }
        let mut roots = Roots {
            working_folder,
            ..Roots::default()
        };
        if !can_write(policy.profile) {
            return Ok(roots);
        }
        if is_there {
            roots.add(roots.working_folder.clone());
        }
        for root in &policy.write_roots {
            let named = plain(&policy.working_folder.join(root));
            let real = match known.get_mut(&named) {
                Some(held) => held.still()?,
                None => match first(&named, &roots)? {
                    First::Absent => None,
                    First::Link(sentence) => {
                        roots.refused.push(sentence);
                        None
                    }
                    First::There(real) => {
                        known.insert(named, HeldRoot::of(&real)?);
                        Some(real)
                    }
                },
            };
            if let Some(real) = real {
                roots.add(real);
            }
        }
        Ok(roots)
    }
}

impl Roots {
    fn add(&mut self, root: PathBuf) {
        if is_never_writable(&root) {
            let sentence = format!("{} cannot be made writable as a whole.", root.display());
            self.refused.push(sentence);
        } else {
            self.named.push(root);
        }
    }
}

/// What a write root is when it is looked at for the first time.
enum First {
    Absent,
    /// It is a link, or is reached through one that a command may have made; says so.
    Link(String),
    There(PathBuf),
}

fn first(named: &Path, roots: &Roots) -> io::Result<First> {
    let Some(real) = unless_absent(named, named.canonicalize())? else {
        return Ok(First::Absent);
    };
    // Links on the way to a place that commands cannot write are the user's.
    let mut plain = match (named.parent(), named.file_name()) {
        (Some(parent), Some(name)) => parent.canonicalize()?.join(name),
        (_, _) => real.clone(),
    };
    for root in roots.named.iter().chain([&roots.working_folder]) {
        if let Ok(below) = named.strip_prefix(root) {
            plain = root.join(below);
        }
    }
    if plain == real {
        return Ok(First::There(real));
    }
    Ok(First::Link(format!(
        "{} is a link, so it is not made writable: what it leads to could be exchanged. Name {} itself in the setting \
         sandbox.writeRoots.",
        named.display(),
        real.display()
    )))
}

/// A path without `.` and `..`, by its text alone: what is in front of `..` may be a link that a command made.
fn plain(path: &Path) -> PathBuf {
    let mut plain = PathBuf::new();
    for part in path.components() {
        match part {
            Component::ParentDir => {
                plain.pop();
            }
            Component::CurDir => {}
            Component::Normal(_) | Component::RootDir | Component::Prefix(_) => plain.push(part),
        }
    }
    plain
}

impl HeldRoot {
    fn of(real: &Path) -> io::Result<Self> {
        Ok(Self {
            real: real.to_owned(),
            folder: open_folder(real)?,
        })
    }

    /// The path again, if something is there; fails where a link now is on the way, or another folder in its place.
    fn still(&mut self) -> io::Result<Option<PathBuf>> {
        let real = &self.real;
        match unless_absent(real, real.canonicalize())? {
            Some(now) if now == *real => {}
            Some(now) => {
                return Err(io::Error::other(format!(
                    "{} was a place to work in, and now a link leads from there to {}. Remove the link, or start Pirn anew.",
                    real.display(),
                    now.display()
                )));
            }
            // A link that leads nowhere could lead somewhere in a moment.
            None if real.is_symlink() => {
                return Err(io::Error::other(format!(
                    "{} was a place to work in, and is a link now. Remove the link, or start Pirn anew.",
                    real.display()
                )));
            }
            None => return Ok(None),
        }
        let now = open_folder(real)?;
        let is_same = match (&self.folder, &now) {
            (Some(before), Some(now)) => {
                let (before, now) = (before.metadata()?, now.metadata()?);
                // One that was removed and made anew, as builds do, is no other.
                (before.dev(), before.ino()) == (now.dev(), now.ino()) || before.nlink() == 0
            }
            (None, _) | (_, None) => true,
        };
        if !is_same {
            return Err(io::Error::other(format!(
                "{} was a place to work in, and another folder is in its place now. Put back the one that was there, or start \
                 Pirn anew.",
                real.display()
            )));
        }
        self.folder = now;
        Ok(Some(real.clone()))
    }
}

/// Opens a folder for nothing but to hold it. `None` where there is none.
fn open_folder(real: &Path) -> io::Result<Option<File>> {
    let opened = File::options()
        .read(true)
        .custom_flags(HOLD | libc::O_DIRECTORY | libc::O_NOFOLLOW | libc::O_CLOEXEC)
        .open(real);
    unless_absent(real, opened)
}

/// Needs no right to read.
#[cfg(target_os = "linux")]
const HOLD: libc::c_int = libc::O_PATH;
#[cfg(not(target_os = "linux"))]
const HOLD: libc::c_int = 0;

#[cfg(test)]
mod tests;
