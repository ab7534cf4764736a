//! Reading a file within bounds, and replacing it at once.

use std::ffi::OsString;
use std::fs::{self, File};
use std::io::{self, Read as _, Write as _};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};

/// Links followed from a name to its file; as many as Linux follows.
const SYMLINKS_MAX: usize = 40;

/// The text of a file of at most `bytes_max` bytes.
pub fn read_bounded(path: &Path, bytes_max: u64) -> io::Result<String> {
    let mut text = String::new();
    let file = File::open(path)?;
    // One byte more tells a file that is too long from one that just fits.
    file.take(bytes_max + 1).read_to_string(&mut text)?;
    if text.len() as u64 > bytes_max {
        return Err(io::Error::other(format!(
            "it is longer than {bytes_max} bytes"
        )));
    }
    Ok(text)
}

/// Writes `content` to the file that `path` leads to, unless `is_current` says in the last moment that the file is not any
/// more what the content was made from. Whether it was written. A new file is readable by its owner only, an old one keeps
/// its mode; missing folders are made.
pub fn replace(path: &Path, content: &[u8], is_current: impl FnOnce() -> bool) -> io::Result<bool> {
    let target = real_target(path)?;
    let folder = target
        .parent()
        .filter(|folder| !folder.as_os_str().is_empty())
        .unwrap_or(Path::new("."));
    fs::create_dir_all(folder)?;
    let existing = match fs::metadata(&target) {
        Ok(metadata) => Some(metadata.permissions()),
        Err(error) if error.kind() == io::ErrorKind::NotFound => None,
        Err(error) => return Err(error),
    };
    // Renaming over it would ignore that the file itself may not be written.
    if existing.is_some() {
        File::options().write(true).open(&target)?;
    }
    let staged = Staged::new(&target, folder)?;
    (&staged.file).write_all(content)?;
    if let Some(permissions) = existing {
        staged.file.set_permissions(permissions)?;
    }
    // Without this a crash of the machine could leave the new name with no content.
    staged.file.sync_all()?;
    if !is_current() {
        return Ok(false);
    }
    fs::rename(&staged.path, &target)?;
    Ok(true)
}

/// The new content under a temporary name, which goes unless it was renamed.
struct Staged {
    file: File,
    path: PathBuf,
}

impl Staged {
    fn new(target: &Path, folder: &Path) -> io::Result<Self> {
        static NEXT: AtomicU64 = AtomicU64::new(0);
        let number = NEXT.fetch_add(1, Ordering::Relaxed);
        let mut name = OsString::from(".");
        name.push(target.file_name().unwrap_or_default());
        name.push(format!(".{}-{number}.tmp", std::process::id()));
        let path = folder.join(name);
        let mut options = File::options();
        options.write(true).create_new(true);
        #[cfg(unix)]
        std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
        let file = options.open(&path)?;
        Ok(Self { file, path })
    }
}

impl Drop for Staged {
    fn drop(&mut self) {
        // After the rename there is nothing left to remove.
        let _gone = fs::remove_file(&self.path);
    }
}

/// The file that a name leads to: symbolic links are followed, also to a file that does not exist yet.
fn real_target(path: &Path) -> io::Result<PathBuf> {
    let mut target = path.to_path_buf();
    for _link in 0..SYMLINKS_MAX {
        match fs::read_link(&target) {
            Ok(next) => {
                let folder = target.parent().unwrap_or(Path::new(""));
                target = folder.join(next);
            }
            Err(_not_a_link) => return Ok(target),
        }
    }
    Err(io::Error::other("too many symbolic links"))
}
