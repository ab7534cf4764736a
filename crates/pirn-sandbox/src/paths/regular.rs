//! Looking at files that a confined program may have put there: nothing is waited for, and no link is followed.

use std::fs::File;
use std::io::{self, Read as _};
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::Path;

/// Whether an error says that there is nothing to look at: it is gone, or something else is in its place, or not even we may
/// look. Everything else, such as too many open files, says nothing about the place.
pub(crate) fn is_absence(error: &io::Error) -> bool {
    matches!(
        error.raw_os_error(),
        Some(libc::ENOENT | libc::ENOTDIR | libc::ELOOP | libc::EACCES | libc::ENXIO)
    )
}

/// Turns absence into `None`, and tells which place another error is about.
pub(crate) fn unless_absent<T>(path: &Path, done: io::Result<T>) -> io::Result<Option<T>> {
    match done {
        Ok(value) => Ok(Some(value)),
        Err(error) if is_absence(&error) => Ok(None),
        Err(error) => Err(io::Error::new(
            error.kind(),
            format!("{} cannot be looked at: {error}", path.display()),
        )),
    }
}

/// Opens a regular file to read it. `None` where there is none: a pipe or a device would block, or more.
pub(crate) fn open_regular(path: &Path) -> io::Result<Option<File>> {
    let opened = File::options()
        .read(true)
        .custom_flags(libc::O_NOFOLLOW | libc::O_NONBLOCK | libc::O_NOCTTY | libc::O_CLOEXEC)
        .open(path);
    let Some(file) = unless_absent(path, opened)? else {
        return Ok(None);
    };
    Ok(file.metadata()?.is_file().then_some(file))
}

/// What a small regular file holds. `None` where there is none, and where it holds more.
pub(crate) fn read_regular(path: &Path, bytes_max: u64) -> io::Result<Option<Vec<u8>>> {
    let Some(file) = open_regular(path)? else {
        return Ok(None);
    };
    let mut bytes = Vec::new();
    let read = file.take(bytes_max + 1).read_to_end(&mut bytes);
    if unless_absent(path, read)?.is_none() {
        return Ok(None);
    }
    let is_whole = u64::try_from(bytes.len()).is_ok_and(|length| length <= bytes_max);
    Ok(is_whole.then_some(bytes))
}
