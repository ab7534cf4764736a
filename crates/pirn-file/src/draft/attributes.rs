//! What belongs to a file besides its content.

use std::fs::{File, Metadata};
use std::io;
use std::path::Path;

/// Gives a new file the owner, mode and extended attributes of the one it replaces. Says whether it has all of them now: some
/// need rights that only few have.
#[cfg(unix)]
pub(super) fn keep(file: &File, target: &Path, existing: &Metadata) -> io::Result<bool> {
    use std::os::unix::fs::MetadataExt as _;
    let created = file.metadata()?;
    let has_owner = (created.uid(), created.gid()) == (existing.uid(), existing.gid())
        || std::os::unix::fs::fchown(file, Some(existing.uid()), Some(existing.gid())).is_ok();
    file.set_permissions(existing.permissions())?;
    // Lists of who may do what are among them, so they come after the mode.
    let has_extended = extended::copy(target, file);
    Ok(has_owner && has_extended && file.metadata()?.mode() == existing.mode())
}

#[cfg(not(unix))]
pub(super) fn keep(file: &File, _target: &Path, existing: &Metadata) -> io::Result<bool> {
    file.set_permissions(existing.permissions())?;
    Ok(true)
}

#[cfg(any(target_os = "linux", target_vendor = "apple"))]
mod extended {
    use std::ffi::CString;
    use std::fs::File;
    use std::path::Path;

    use rustix::fs::{XattrFlags, fgetxattr, fsetxattr, getxattr, listxattr};
    use rustix::io::Errno;

    /// The longest list of names, and the longest value, that Linux gives.
    const BYTES_MAX: usize = 64 * 1024;

    /// Copies the extended attributes; false where one could not be.
    pub(super) fn copy(from: &Path, to: &File) -> bool {
        let mut list = vec![0_u8; BYTES_MAX];
        let length = match listxattr(from, &mut list[..]) {
            Ok(length) => length,
            // A file system without any.
            Err(error) => return error == Errno::NOTSUP,
        };
        list.truncate(length);
        list.split(|byte| *byte == 0)
            .filter(|name| !name.is_empty())
            .all(|name| CString::new(name).is_ok_and(|name| copy_one(from, to, &name)))
    }

    fn copy_one(from: &Path, to: &File, name: &CString) -> bool {
        let mut value = vec![0_u8; BYTES_MAX];
        let Ok(length) = getxattr(from, name, &mut value[..]) else {
            return false;
        };
        value.truncate(length);
        let mut present = vec![0_u8; BYTES_MAX];
        let has_it = fgetxattr(to, name, &mut present[..])
            .is_ok_and(|length| present.get(..length) == Some(&value[..]));
        has_it || fsetxattr(to, name, &value, XattrFlags::empty()).is_ok()
    }
}

#[cfg(all(unix, not(any(target_os = "linux", target_vendor = "apple"))))]
mod extended {
    use std::fs::File;
    use std::path::Path;

    pub(super) fn copy(_from: &Path, _to: &File) -> bool {
        true
    }
}
