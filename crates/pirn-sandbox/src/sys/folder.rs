//! Folders that are reached without links, to do something in exactly them.

use std::ffi::CString;
use std::io;
use std::mem::MaybeUninit;
use std::os::fd::{AsRawFd as _, FromRawFd as _, OwnedFd, RawFd};
use std::os::unix::ffi::OsStrExt as _;
use std::path::{Path, PathBuf};

/// An open folder.
#[derive(Debug)]
pub(crate) struct Folder(OwnedFd);

impl Folder {
    /// Opens a folder by a path without symbolic links; one that has some is refused.
    pub(crate) fn open(path: &Path) -> io::Result<Self> {
        let path = CString::new(path.as_os_str().as_bytes())?;
        // SAFETY: all zeroes are a valid value of this structure of integers.
        let mut how = unsafe { MaybeUninit::<libc::open_how>::zeroed().assume_init() };
        how.flags = u64::from((libc::O_PATH | libc::O_DIRECTORY | libc::O_CLOEXEC).cast_unsigned());
        how.resolve = libc::RESOLVE_NO_SYMLINKS | libc::RESOLVE_NO_MAGICLINKS;
        // SAFETY: the path ends in zero and the structure has the given size.
        let opened = unsafe {
            libc::syscall(
                libc::SYS_openat2,
                libc::AT_FDCWD,
                path.as_ptr(),
                &raw const how,
                size_of::<libc::open_how>(),
            )
        };
        match RawFd::try_from(opened) {
            Ok(descriptor) if descriptor >= 0 => {
                // SAFETY: the descriptor is new and owned by nobody else.
                Ok(Self(unsafe { OwnedFd::from_raw_fd(descriptor) }))
            }
            _ => Err(io::Error::last_os_error()),
        }
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
