//! Listing one folder, by the standard library alone.

use std::ffi::{OsStr, OsString};
use std::io;
use std::path::Path;

use super::Stamp;

/// Names by which a folder shows that it may be git's.
const GIT_MARKS: [&str; 4] = ["HEAD", "objects", "refs", "commondir"];

/// What a folder holds.
#[derive(Debug, Default)]
pub(super) struct Listed {
    /// `None`: changes do not show.
    pub(super) stamp: Option<Stamp>,
    pub(super) entries: u64,
    /// Names that were asked for.
    pub(super) candidates: Vec<OsString>,
    pub(super) git_marks: Vec<OsString>,
    pub(super) folders: Vec<OsString>,
}

/// Lists folders with the standard library alone.
#[derive(Debug, Default)]
pub(super) struct Lister;

impl Lister {
    /// Lists a folder with the names that `is_wanted`.
    pub(super) fn list(
        &mut self,
        path: &Path,
        is_wanted: impl Fn(&[u8]) -> bool,
    ) -> io::Result<Listed> {
        let mut listed = Listed::default();
        for entry in path.read_dir()? {
            let entry = entry?;
            let name = entry.file_name();
            listed.entries += 1;
            if GIT_MARKS.iter().any(|mark| name == *mark) {
                listed.git_marks.push(name.clone());
            } else if is_wanted(OsStr::as_encoded_bytes(&name)) {
                listed.candidates.push(name.clone());
            }
            if entry.file_type()?.is_dir() {
                listed.folders.push(name);
            }
        }
        Ok(listed)
    }
}

/// The state of a folder is not kept.
pub(super) fn stamp(_path: &Path) -> io::Result<Option<Stamp>> {
    Ok(None)
}
