//! New files and folders that only their owner can use.

use std::fs::{File, OpenOptions};
use std::io::{self, Write as _};
use std::path::{Path, PathBuf};

/// How often another name is tried: more than one is needed only when somebody has guessed it.
const NAME_TRIES_MAX: usize = 8;

/// Makes a folder, and those above it, where they are missing; what is made only its owner can use.
pub fn make_private_folder(folder: &Path) -> io::Result<()> {
    let mut builder = std::fs::DirBuilder::new();
    builder.recursive(true);
    #[cfg(unix)]
    std::os::unix::fs::DirBuilderExt::mode(&mut builder, 0o700);
    builder.create(folder)
}

/// Makes a new folder in one that must exist, with a name that nobody can foresee: `<prefix><16 hexadecimal digits>`. Only its
/// owner can use it.
pub(crate) fn make_unique_folder(parent: &Path, prefix: &str) -> io::Result<PathBuf> {
    let mut builder = std::fs::DirBuilder::new();
    #[cfg(unix)]
    std::os::unix::fs::DirBuilderExt::mode(&mut builder, 0o700);
    let mut last = io::Error::from(io::ErrorKind::AlreadyExists);
    for _ in 0..NAME_TRIES_MAX {
        let random = getrandom::u64().map_err(|error| io::Error::other(error.to_string()))?;
        let path = parent.join(format!("{prefix}{random:016x}"));
        match builder.create(&path) {
            Ok(()) => return Ok(path),
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => last = error,
            Err(error) => return Err(error),
        }
    }
    Err(last)
}

/// Makes a file that only its owner can use. Fails with [`io::ErrorKind::AlreadyExists`] where the name is taken, also by a link.
pub fn create_new(path: &Path) -> io::Result<File> {
    let mut options = OpenOptions::new();
    options.write(true).create_new(true);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    options.open(path)
}

/// Makes such a file in a folder that must exist, with a name that nobody can foresee:
/// `<prefix><16 hexadecimal digits>.<extension>`.
pub fn create_unique(folder: &Path, prefix: &str, extension: &str) -> io::Result<(File, PathBuf)> {
    let mut last = io::Error::from(io::ErrorKind::AlreadyExists);
    for _ in 0..NAME_TRIES_MAX {
        let random = getrandom::u64().map_err(|error| io::Error::other(error.to_string()))?;
        let path = folder.join(format!("{prefix}{random:016x}.{extension}"));
        match create_new(&path) {
            Ok(file) => return Ok((file, path)),
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => last = error,
            Err(error) => return Err(error),
        }
    }
    Err(last)
}

/// Makes such a file with this content. Where that fails, nothing stays: half a file would pass for the whole.
pub fn write_unique(
    folder: &Path,
    prefix: &str,
    extension: &str,
    content: &[u8],
) -> io::Result<PathBuf> {
    let (mut file, path) = create_unique(folder, prefix, extension)?;
    if let Err(error) = file.write_all(content) {
        drop(std::fs::remove_file(&path));
        return Err(error);
    }
    Ok(path)
}

#[cfg(test)]
mod tests;
