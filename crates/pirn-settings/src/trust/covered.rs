//! Which folders of projects a decision about a folder above was given for: those that were there, as they were.

use std::fs::File;
use std::io::{self, Read as _};
use std::path::{Path, PathBuf};

use sha2::{Digest as _, Sha256};

use super::files::PROJECT_FOLDER;

/// How many files and folders are looked through for projects when a folder is trusted. Projects beyond are asked about when
/// they are used.
const ENTRIES_MAX: usize = 200_000;
/// How many files and how many bytes a project's folder may have to be covered by a decision about a folder above.
const FILES_MAX: usize = 2_000;
const BYTES_MAX: u64 = 64 << 20;

/// The folders of projects below a folder, with what they hold.
pub(super) fn projects_below(folder: &Path) -> Vec<(PathBuf, String)> {
    let mut found = Vec::new();
    let mut open = vec![folder.to_owned()];
    let mut entries_left = ENTRIES_MAX;
    while let Some(folder) = open.pop() {
        let Ok(entries) = folder.read_dir() else {
            continue;
        };
        for entry in entries.flatten() {
            let Some(left) = entries_left.checked_sub(1) else {
                return found;
            };
            entries_left = left;
            if !entry.file_type().is_ok_and(|kind| kind.is_dir()) {
                continue;
            }
            let path = entry.path();
            if entry.file_name() != PROJECT_FOLDER {
                open.push(path);
            } else if let Some(digest) = digest(&path) {
                found.push((path, digest));
            }
        }
    }
    found
}

/// What a folder holds, as one number. `None` where it holds links or more than can be looked at, and where there is none.
pub(super) fn digest(folder: &Path) -> Option<String> {
    let mut files = Vec::new();
    let mut open = vec![folder.to_owned()];
    while let Some(folder) = open.pop() {
        for entry in folder.read_dir().ok()? {
            let entry = entry.ok()?;
            let kind = entry.file_type().ok()?;
            if kind.is_dir() {
                open.push(entry.path());
            } else if kind.is_file() {
                files.push(entry.path());
            } else {
                return None;
            }
            if files.len() + open.len() > FILES_MAX {
                return None;
            }
        }
    }
    files.sort();
    let mut all = Sha256::new();
    let mut bytes_left = BYTES_MAX;
    for file in files {
        let name = file
            .strip_prefix(folder)
            .ok()?
            .as_os_str()
            .as_encoded_bytes();
        let content = read(&file, bytes_left).ok()?;
        let length = u64::try_from(content.len()).ok()?;
        bytes_left = bytes_left.checked_sub(length)?;
        for part in [name, &content] {
            all.update(u64::try_from(part.len()).ok()?.to_le_bytes());
            all.update(part);
        }
    }
    Some(format!("{:x}", all.finalize()))
}

fn read(file: &Path, bytes_max: u64) -> io::Result<Vec<u8>> {
    let mut content = Vec::new();
    File::open(file)?
        .take(bytes_max.saturating_add(1))
        .read_to_end(&mut content)?;
    Ok(content)
}
