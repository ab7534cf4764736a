//! Replacing the content of whatever a name leads to, at once where that can be.

use std::fs::{self, File};
use std::io::{self, Write as _};
use std::path::Path;

use pirn_file::{Access, Draft};

/// Writes `content` to `target`, a real file's name as [`pirn_file::real_target`] gives it. A file is replaced as a whole and
/// keeps its mode. What is no regular file (a device, a pipe), and a file in a folder that takes no new files, is written in
/// place.
pub(crate) fn replace(target: &Path, content: &[u8]) -> io::Result<()> {
    let existing = match fs::metadata(target) {
        Ok(metadata) => Some(metadata),
        Err(error) if error.kind() == io::ErrorKind::NotFound => None,
        Err(error) => return Err(error),
    };
    if existing
        .as_ref()
        .is_some_and(|metadata| !metadata.is_file() && !metadata.is_dir())
    {
        return write_in_place(target, content);
    }
    match Draft::new(target, content, Access::KeptOrUsual) {
        Ok(draft) => draft.publish(),
        // Where the file itself is what may not be written, this says so again.
        Err(error) if error.kind() == io::ErrorKind::PermissionDenied && existing.is_some() => {
            write_in_place(target, content)
        }
        Err(error) => Err(error),
    }
}

fn write_in_place(target: &Path, content: &[u8]) -> io::Result<()> {
    let mut file = File::options().write(true).truncate(true).open(target)?;
    file.write_all(content)?;
    // Devices and pipes cannot be synced.
    let _unsupported = file.sync_all();
    Ok(())
}
