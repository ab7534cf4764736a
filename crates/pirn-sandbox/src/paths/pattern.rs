//! Patterns for file names: `*` and `?` within a name, `**/` in front for any depth.

use std::ffi::OsStr;
use std::io;
use std::path::{Component, Path, PathBuf};

use super::regular::unless_absent;

/// How many entries of folders one absolute pattern may look at.
const ENTRIES_MAX: usize = 10_000;

/// An entry of [`crate::SandboxPolicy::unreadable`].
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Pattern {
    /// One place; it may hold wildcards.
    At(PathBuf),
    /// Names at any depth below the working folder and the write roots: the last ones of a path.
    Anywhere(Vec<Vec<u8>>),
}

impl Pattern {
    /// Reads an entry. `None` for an empty one, and for `~` where no home is known.
    pub(super) fn parse(text: &str, working_folder: &Path, home: Option<&Path>) -> Option<Self> {
        if let Some(names) = text.strip_prefix("**/") {
            let names: Vec<Vec<u8>> = names
                .split('/')
                .filter(|name| !name.is_empty())
                .map(|name| name.as_bytes().to_vec())
                .collect();
            return (!names.is_empty()).then_some(Self::Anywhere(names));
        }
        expand(text, working_folder, home).map(Self::At)
    }

    /// Whether a path, given by its names, ends in this pattern's. Never for a fixed place.
    pub(super) fn matches_end(&self, path: &Path) -> bool {
        path.file_name().is_some_and(|name| {
            self.matches_entry(path.parent().unwrap_or_else(|| Path::new("")), name)
        })
    }

    /// What this pattern ends in. `None` for a fixed place.
    pub(super) fn last_name(&self) -> Option<&[u8]> {
        match self {
            Self::At(_) => None,
            Self::Anywhere(names) => names.last().map(Vec::as_slice),
        }
    }

    /// Whether a name is what this pattern ends in. Never for a fixed place.
    pub(super) fn matches_name(&self, name: &[u8]) -> bool {
        match self {
            Self::At(_) => false,
            Self::Anywhere(names) => names.last().is_some_and(|last| name_matches(last, name)),
        }
    }

    /// Whether the path of an entry of a folder ends in this pattern's names. Looks at the folder only where the name matches.
    pub(super) fn matches_entry(&self, folder: &Path, entry: &OsStr) -> bool {
        let Self::Anywhere(names) = self else {
            return false;
        };
        let Some((last, above)) = names.split_last() else {
            return false;
        };
        let mut of_folder = folder.components().rev();
        name_matches(last, entry.as_encoded_bytes())
            && above.iter().rev().all(|name| {
                of_folder.next().is_some_and(|component| match component {
                    Component::Normal(found) => name_matches(name, found.as_encoded_bytes()),
                    Component::Prefix(_)
                    | Component::RootDir
                    | Component::CurDir
                    | Component::ParentDir => false,
                })
            })
    }
}

/// An absolute path from a path as people write it: `~/…`, relative to the working folder, or absolute. `None` for an empty
/// one, and for `~` where no home is known.
pub(super) fn expand(text: &str, working_folder: &Path, home: Option<&Path>) -> Option<PathBuf> {
    let text = text.trim_end_matches('/');
    if text == "~" {
        return home.map(Path::to_owned);
    }
    if let Some(rest) = text.strip_prefix("~/") {
        return home.map(|home| home.join(rest));
    }
    (!text.is_empty()).then(|| working_folder.join(text))
}

/// The existing places that a path with wildcards stands for.
pub(super) fn places(pattern: &Path) -> io::Result<Vec<PathBuf>> {
    let mut found = vec![PathBuf::new()];
    let mut entries_left = ENTRIES_MAX;
    for component in pattern.components() {
        let name = component.as_os_str();
        let bytes = name.as_encoded_bytes();
        if !bytes.iter().any(|byte| matches!(byte, b'*' | b'?')) {
            for place in &mut found {
                place.push(name);
            }
            continue;
        }
        let mut next = Vec::new();
        for folder in found {
            let Some(entries) = unless_absent(&folder, folder.read_dir())? else {
                continue;
            };
            for entry in entries {
                if entries_left == 0 {
                    return Err(io::Error::other(format!(
                        "{} stands for more files than the {ENTRIES_MAX} that are looked at.",
                        pattern.display()
                    )));
                }
                entries_left -= 1;
                let entry = entry?;
                if name_matches(bytes, entry.file_name().as_encoded_bytes()) {
                    next.push(entry.path());
                }
            }
        }
        found = next;
    }
    let mut places = Vec::new();
    for place in found {
        if unless_absent(&place, place.symlink_metadata())?.is_some() {
            places.push(place);
        }
    }
    Ok(places)
}

/// Whether a name matches: `*` stands for any bytes, `?` for one.
pub(super) fn name_matches(pattern: &[u8], name: &[u8]) -> bool {
    let (mut pattern, mut name) = (pattern, name);
    // Where to go on when the bytes taken for the last `*` were too few.
    let mut retry: Option<(&[u8], &[u8])> = None;
    loop {
        match (pattern, name) {
            ([b'*', rest @ ..], _) => {
                retry = Some((rest, name));
                pattern = rest;
            }
            ([], []) => return true,
            ([wanted, pattern_rest @ ..], [byte, name_rest @ ..])
                if *wanted == b'?' || wanted == byte =>
            {
                (pattern, name) = (pattern_rest, name_rest);
            }
            _ => match retry {
                Some((after_star, [_taken, later @ ..])) => {
                    retry = Some((after_star, later));
                    (pattern, name) = (after_star, later);
                }
                Some((_, [])) | None => return false,
            },
        }
    }
}
