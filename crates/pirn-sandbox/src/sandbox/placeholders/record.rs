//! What a sandbox writes down, for others while it lives and for a sweep after it was killed: what it has created, and what its
//! children's mounts stand on.
//!
//! It lies in the folder of the sandbox's parts, which confined programs do not see. Where they do, because somebody made the
//! temporary folder writable, one could write a record of its own. So a record is believed only as far as a policy could have
//! come to what it says.

use std::ffi::OsStr;
use std::fs::File;
use std::io::{self, Read as _, Write as _};
use std::os::unix::ffi::OsStrExt as _;
use std::path::{Path, PathBuf};

use crate::paths::{Placeholder, PlaceholderKind};

/// The name of the file. Its fields end in a zero byte: what something is, its path, and what a file holds.
const NAME: &str = "placeholders";
/// The file while it is written, so that no half of it is ever found.
const NEW: &str = "placeholders.new";
/// The longest record: as many places as can be protected, with long paths.
const BYTES_MAX: u64 = 64 * 1_024 * 1_024;

const FOLDER: &[u8] = b"folder";
const FILE: &[u8] = b"file";
const NEEDED: &[u8] = b"needed";

/// What one sandbox writes down.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct Record {
    /// What it has created or is about to.
    pub(super) made: Vec<Placeholder>,
    /// What must stay while it lives, whoever has created it.
    pub(super) needed: Vec<PathBuf>,
}

impl Record {
    /// Writes it into the folder of a sandbox's parts, in place of the one before.
    pub(super) fn write(&self, parts: &Path) -> io::Result<()> {
        let new = parts.join(NEW);
        // From when somebody was killed. What is made anew is no link.
        let _none = std::fs::remove_file(&new);
        File::create_new(&new)?.write_all(&self.encode())?;
        std::fs::rename(new, parts.join(NAME))
    }

    /// Whether there is one, or something in its place.
    pub(super) fn exists(parts: &Path) -> bool {
        parts.join(NAME).symlink_metadata().is_ok()
    }

    pub(super) fn remove(parts: &Path) {
        // It may never have been written.
        let _none = std::fs::remove_file(parts.join(NAME));
    }

    /// Reads it. `None` where there is one that cannot be understood.
    pub(super) fn read(parts: &Path) -> Option<Self> {
        let path = parts.join(NAME);
        match path.symlink_metadata() {
            // Anything else might block.
            Ok(metadata) if metadata.is_file() => {}
            Ok(_strange) => return None,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Some(Self::default()),
            Err(_error) => return None,
        }
        let mut bytes = Vec::new();
        let file = File::open(path).ok()?;
        file.take(BYTES_MAX).read_to_end(&mut bytes).ok()?;
        Self::decode(&bytes)
    }

    fn encode(&self) -> Vec<u8> {
        let mut bytes = Vec::new();
        let mut field = |field: &[u8]| {
            bytes.extend_from_slice(field);
            bytes.push(0);
        };
        for Placeholder { path, kind } in &self.made {
            match kind {
                PlaceholderKind::Folder => {
                    field(FOLDER);
                    field(path.as_os_str().as_bytes());
                }
                PlaceholderKind::File(content) => {
                    field(FILE);
                    field(path.as_os_str().as_bytes());
                    field(content);
                }
            }
        }
        for path in &self.needed {
            field(NEEDED);
            field(path.as_os_str().as_bytes());
        }
        bytes
    }

    fn decode(bytes: &[u8]) -> Option<Self> {
        let mut record = Self::default();
        if bytes.is_empty() {
            return Some(record);
        }
        let mut fields = bytes.strip_suffix(&[0])?.split(|byte| *byte == 0);
        while let Some(what) = fields.next() {
            let path = PathBuf::from(OsStr::from_bytes(fields.next()?));
            let kind = match what {
                FOLDER => PlaceholderKind::Folder,
                FILE => PlaceholderKind::File(fields.next()?.to_vec()),
                NEEDED => {
                    record.needed.push(path);
                    continue;
                }
                _ => return None,
            };
            record.made.push(Placeholder { path, kind });
        }
        Some(record)
    }
}

#[cfg(test)]
mod tests;
