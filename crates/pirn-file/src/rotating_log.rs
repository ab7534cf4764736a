//! Files that lines are appended to for as long as a program runs, bounded in size.

use std::fs::{File, OpenOptions};
use std::io::{self, Write as _};
use std::path::{Path, PathBuf};

use crate::new::make_private_folder;

/// A file for its owner alone that grows to a bound. Then it becomes `<file>.1`, in place of an earlier one, and a new file
/// begins. Several processes may append to the same file.
#[derive(Debug)]
pub struct RotatingLog {
    path: PathBuf,
    bytes_max: u64,
    /// Opened by the first append.
    file: Option<File>,
}

impl RotatingLog {
    /// A log at `path` of about `bytes_max` bytes: the append that exceeds them is still made in full. Nothing is created yet.
    pub fn new(path: PathBuf, bytes_max: u64) -> Self {
        Self {
            path,
            bytes_max,
            file: None,
        }
    }

    /// Where the file at `path` goes when it is full.
    pub fn rotated(path: &Path) -> PathBuf {
        let mut name = path.as_os_str().to_owned();
        name.push(".1");
        name.into()
    }

    /// Appends `bytes` in one write. The first time it makes the file, and the folders that lead to it.
    pub fn append(&mut self, bytes: &[u8]) -> io::Result<()> {
        if let Some(file) = &self.file
            // Asked each time, because other processes may append as well.
            && file.metadata()?.len() >= self.bytes_max
        {
            // One of them may have moved it away already; then this one goes on in the new one.
            if is_same_file(file, &self.path) {
                std::fs::rename(&self.path, Self::rotated(&self.path))?;
            }
            self.file = None;
        }
        let file = match &mut self.file {
            Some(file) => file,
            none => none.insert(open(&self.path)?),
        };
        file.write_all(bytes)
    }
}

fn open(path: &Path) -> io::Result<File> {
    let mut options = OpenOptions::new();
    options.append(true).create(true);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    if let Some(parent) = path.parent() {
        make_private_folder(parent)?;
    }
    options.open(path)
}

#[cfg(unix)]
fn is_same_file(file: &File, path: &Path) -> bool {
    use std::os::unix::fs::MetadataExt as _;
    match (file.metadata(), path.metadata()) {
        (Ok(open), Ok(named)) => open.ino() == named.ino() && open.dev() == named.dev(),
        (Ok(_) | Err(_), _) => false,
    }
}

/// Elsewhere an open file cannot be moved away by another process.
#[cfg(not(unix))]
fn is_same_file(_file: &File, path: &Path) -> bool {
    path.exists()
}

#[cfg(test)]
mod tests;
