//! Where a name leads.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

/// Links followed from a name to its file; as many as Linux follows.
const SYMLINKS_MAX: usize = 40;

/// The file that a name leads to: symbolic links are followed, also to a file that does not exist yet.
pub fn real_target(path: &Path) -> io::Result<PathBuf> {
    let mut target = path.to_path_buf();
    for _link in 0..SYMLINKS_MAX {
        match fs::canonicalize(&target) {
            Ok(real) => return Ok(real),
            Err(error) if error.kind() == io::ErrorKind::NotFound => {}
            Err(error) => return Err(error),
        }
        // Nothing there, or a link to nothing: the folder may still be reached through links.
        match fs::read_link(&target) {
            Ok(next) => target = folder_of(&target).join(next),
            Err(_not_a_link) => {
                let name = target.file_name().unwrap_or_default();
                let folder = fs::canonicalize(folder_of(&target));
                return Ok(folder.map_or_else(|_| target.clone(), |folder| folder.join(name)));
            }
        }
    }
    Err(io::Error::other("too many symbolic links"))
}

/// The folder of a file.
pub(crate) fn folder_of(path: &Path) -> &Path {
    path.parent()
        .filter(|folder| !folder.as_os_str().is_empty())
        .unwrap_or(Path::new("."))
}
