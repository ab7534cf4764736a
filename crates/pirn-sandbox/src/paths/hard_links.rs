//! Other names (hard links) of files that must not be read.

use std::collections::HashMap;
use std::fs::Metadata;
use std::io;
use std::os::unix::fs::{DirEntryExt as _, MetadataExt as _};
use std::path::PathBuf;

use super::EntriesMax;
use super::regular::unless_absent;

/// Which file something is, whatever its name.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(crate) struct FileIdentity {
    device: u64,
    number: u64,
}

impl FileIdentity {
    pub(super) fn of(metadata: &Metadata) -> Self {
        Self {
            device: metadata.dev(),
            number: metadata.ino(),
        }
    }
}

/// Looks for other names, and keeps the answer while no folder has changed: most workspaces have none, and looking reads every
/// folder.
#[derive(Debug, Default)]
pub(crate) struct HardLinks {
    /// How many folders the walks before had read.
    listings: u64,
    last: Option<Answer>,
}

#[derive(Debug)]
struct Answer {
    files: HashMap<FileIdentity, u64>,
    roots: Vec<PathBuf>,
    listings: u64,
    names: Vec<PathBuf>,
}

impl HardLinks {
    /// A walk through the same roots has come so far; see `Scan::listings`.
    #[cfg(target_os = "linux")]
    pub(super) fn after_walk(&mut self, listings: u64) {
        self.listings = listings;
    }

    /// All names below `roots` of files, given with how many names each has.
    pub(super) fn names_of(
        &mut self,
        files: &HashMap<FileIdentity, u64>,
        roots: &[PathBuf],
        entries_max: EntriesMax,
    ) -> io::Result<Vec<PathBuf>> {
        if let Some(last) = &self.last
            && last.listings == self.listings
            && last.files == *files
            && last.roots == roots
        {
            return Ok(last.names.clone());
        }
        let names = look(files, roots, entries_max)?;
        self.last = Some(Answer {
            files: files.clone(),
            roots: roots.to_vec(),
            listings: self.listings,
            names: names.clone(),
        });
        Ok(names)
    }
}

fn look(
    files: &HashMap<FileIdentity, u64>,
    roots: &[PathBuf],
    entries_max: EntriesMax,
) -> io::Result<Vec<PathBuf>> {
    let numbers: std::collections::HashSet<u64> = files.keys().map(|file| file.number).collect();
    let mut names = Vec::new();
    let mut entries_left = entries_max.0;
    let mut open = roots.to_vec();
    while let Some(folder) = open.pop() {
        let Some(entries) = unless_absent(&folder, folder.read_dir())? else {
            continue;
        };
        for entry in entries {
            let Some(entry) = unless_absent(&folder, entry)? else {
                continue;
            };
            entries_left = entries_left
                .checked_sub(1)
                .ok_or_else(|| super::scan::too_many(entries_max))?;
            let Some(kind) = unless_absent(&folder, entry.file_type())? else {
                continue;
            };
            if kind.is_dir() {
                open.push(entry.path());
            } else if kind.is_file() && numbers.contains(&entry.ino()) {
                let path = entry.path();
                if let Some(metadata) = unless_absent(&path, path.symlink_metadata())?
                    && files.contains_key(&FileIdentity::of(&metadata))
                {
                    names.push(path);
                }
            }
        }
    }
    names.sort();
    Ok(names)
}
