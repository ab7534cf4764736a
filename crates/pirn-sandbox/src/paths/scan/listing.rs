//! Listing one folder, on Linux.

use std::collections::HashMap;
use std::ffi::{OsStr, OsString};
use std::fs::File;
use std::io;
use std::os::unix::ffi::OsStrExt as _;
use std::os::unix::fs::{MetadataExt as _, OpenOptionsExt as _};
use std::path::Path;

use super::Stamp;
use crate::sys::{ENTRIES_BYTES, EntryKind, each_entry, keeps_change_times};

/// Names by which a folder shows that it may be git's.
const GIT_MARKS: [&[u8]; 4] = [b"HEAD", b"objects", b"refs", b"commondir"];

/// What a folder holds.
#[derive(Debug, Default)]
pub(super) struct Listed {
    /// `None` where changes do not show.
    pub(super) stamp: Option<Stamp>,
    pub(super) entries: u64,
    /// Names that were asked for.
    pub(super) candidates: Vec<OsString>,
    pub(super) git_marks: Vec<OsString>,
    pub(super) folders: Vec<OsString>,
}

/// Lists folders with few calls of the system.
#[derive(Debug)]
pub(super) struct Lister {
    buffer: Box<[u8]>,
    /// Whether changes show, by device.
    devices: HashMap<u64, bool>,
}

impl Default for Lister {
    fn default() -> Self {
        Self {
            buffer: vec![0; ENTRIES_BYTES].into_boxed_slice(),
            devices: HashMap::new(),
        }
    }
}

impl Lister {
    /// Lists a folder, not through a link, with the names that `is_wanted`.
    pub(super) fn list(
        &mut self,
        path: &Path,
        is_wanted: impl Fn(&[u8]) -> bool,
    ) -> io::Result<Listed> {
        // What is no folder is not opened, so nothing is waited for.
        let folder = File::options()
            .read(true)
            .custom_flags(libc::O_DIRECTORY | libc::O_NOFOLLOW | libc::O_NONBLOCK | libc::O_CLOEXEC)
            .open(path)?;
        let metadata = folder.metadata()?;
        let shows_changes = if let Some(shows) = self.devices.get(&metadata.dev()) {
            *shows
        } else {
            let shows = keeps_change_times(&folder)?;
            self.devices.insert(metadata.dev(), shows);
            shows
        };
        let mut listed = Listed {
            stamp: shows_changes.then(|| stamp_of(&metadata)),
            ..Listed::default()
        };
        let mut unknown: Vec<OsString> = Vec::new();
        each_entry(&folder, &mut self.buffer, |name, kind| {
            listed.entries += 1;
            let owned = || OsStr::from_bytes(name).to_owned();
            if GIT_MARKS.contains(&name) {
                listed.git_marks.push(owned());
            } else if is_wanted(name) {
                listed.candidates.push(owned());
            }
            match kind {
                EntryKind::Folder => listed.folders.push(owned()),
                EntryKind::Unknown => unknown.push(owned()),
                EntryKind::Other => {}
            }
        })?;
        for name in unknown {
            let metadata = path.join(&name).symlink_metadata();
            if metadata.is_ok_and(|metadata| metadata.is_dir()) {
                listed.folders.push(name);
            }
        }
        Ok(listed)
    }
}

/// The state of a folder; `None` where there is something else.
pub(super) fn stamp(path: &Path) -> io::Result<Option<Stamp>> {
    let metadata = path.symlink_metadata()?;
    Ok(metadata.is_dir().then(|| stamp_of(&metadata)))
}

fn stamp_of(metadata: &std::fs::Metadata) -> Stamp {
    Stamp {
        device: metadata.dev(),
        number: metadata.ino(),
        changed: (metadata.ctime(), metadata.ctime_nsec()),
    }
}
