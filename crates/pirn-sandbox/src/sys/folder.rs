//! Folders that are reached without links, to do something in exactly them.

use std::ffi::CString;
use std::io;
use std::os::fd::{AsRawFd as _, FromRawFd as _, OwnedFd};
use std::os::unix::ffi::OsStrExt as _;
use std::path::{Path, PathBuf};

use super::descriptors::open_without_links;

/// A folder held open, so that a path below it cannot be redirected.
#[derive(Debug)]
pub(crate) struct Folder(OwnedFd);

impl Folder {
    /// Opens a folder by a path without symbolic links; one that has some is refused.
    pub(crate) fn open(path: &Path) -> io::Result<Self> {
        let path = CString::new(path.as_os_str().as_bytes())?;
        let opened =
            open_without_links(&path, libc::O_DIRECTORY).map_err(io::Error::from_raw_os_error)?;
        // SAFETY: the descriptor is new and owned by nobody else.
        Ok(Self(unsafe { OwnedFd::from_raw_fd(opened) }))
    }

    /// A path to an entry that leads through this folder whatever its name has become. Good for as long as the folder is open.
    pub(crate) fn entry(&self, path: &Path) -> io::Result<PathBuf> {
        let name = path
            .file_name()
            .ok_or_else(|| io::Error::from(io::ErrorKind::InvalidInput))?;
        Ok(Path::new("/proc/self/fd")
            .join(self.0.as_raw_fd().to_string())
            .join(name))
    }
}
