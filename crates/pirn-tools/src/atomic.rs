//! Replacing a file's content at once: a reader, and a process that is killed in between, finds the old content or the new.

use std::ffi::{OsStr, OsString};
use std::fs::{self, File, Metadata};
use std::io::{self, Write as _};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};

/// Links followed from a name to its file; as many as Linux follows.
const SYMLINKS_MAX: usize = 40;

/// Entries of a folder looked at for stale temporary files; in larger folders the sweep stays incomplete rather than slow.
const SWEEP_ENTRIES_MAX: usize = 20_000;

/// Attempts to find a free temporary name; more than one is needed only when a sweep or a stale file interferes.
const NAME_ATTEMPTS_MAX: usize = 8;

/// The file that a name leads to: symbolic links are followed, also to a file that does not exist yet.
pub(crate) fn real_target(path: &Path) -> io::Result<PathBuf> {
    let mut target = path.to_path_buf();
    for _link in 0..SYMLINKS_MAX {
        match fs::canonicalize(&target) {
            Ok(real) => return Ok(real),
            Err(error) if error.kind() == io::ErrorKind::NotFound => {}
            Err(error) => return Err(error),
        }
        // Nothing there, or a link to nothing: the folder may still be reached through links.
        match fs::read_link(&target) {
            Ok(next) => target = parent_of(&target).join(next),
            Err(_not_a_link) => {
                let name = target.file_name().unwrap_or_default();
                let parent = fs::canonicalize(parent_of(&target));
                return Ok(parent.map_or_else(|_| target.clone(), |parent| parent.join(name)));
            }
        }
    }
    Err(io::Error::other("too many symbolic links"))
}

/// Writes `content` to `target`, a real file's name as [`real_target`] gives it. A file that exists keeps its mode. Other hard
/// links of it keep the old content. What is no regular file (a device, a pipe), and a file in a folder that takes no new
/// files, is written in place.
///
/// On Linux the new content starts as a file without a name, so a process that is killed while writing leaves nothing behind.
/// Giving it a name over an existing one takes two steps, a temporary name and a rename, and only a kill between the two leaves
/// a temporary file; the next write into the folder removes it. Elsewhere the temporary name exists from the start.
pub(crate) fn replace(target: &Path, content: &[u8]) -> io::Result<()> {
    let existing = match fs::metadata(target) {
        Ok(metadata) => Some(metadata),
        Err(error) if error.kind() == io::ErrorKind::NotFound => None,
        Err(error) => return Err(error),
    };
    if let Some(metadata) = &existing {
        if metadata.is_dir() {
            return Err(io::ErrorKind::IsADirectory.into());
        }
        if !metadata.is_file() {
            return write_in_place(target, content);
        }
        // Renaming over it would ignore that the file itself may not be written.
        if let Err(error) = File::options().write(true).open(target)
            && error.kind() == io::ErrorKind::PermissionDenied
        {
            return Err(error);
        }
    }
    let folder = parent_of(target);
    sweep(folder);
    let staged = match Staged::new(folder, target.file_name().unwrap_or_default()) {
        Ok(staged) => staged,
        Err(error) if error.kind() == io::ErrorKind::PermissionDenied && existing.is_some() => {
            return write_in_place(target, content);
        }
        Err(error) => return Err(error),
    };
    staged.fill(content, existing.as_ref())?;
    staged.publish(target, existing.is_some())?;
    sync_folder(folder);
    Ok(())
}

/// New content that does not have the target's name yet.
struct Staged {
    file: File,
    folder: PathBuf,
    target_name: OsString,
    /// The name it has on systems without nameless files. Removed on drop unless published.
    named: Option<PathBuf>,
}

impl Staged {
    fn new(folder: &Path, target_name: &OsStr) -> io::Result<Self> {
        let staged = |file, named| Self {
            file,
            folder: folder.to_path_buf(),
            target_name: target_name.to_owned(),
            named,
        };
        if let Some(file) = open_nameless(folder)? {
            lock(&file);
            return Ok(staged(file, None));
        }
        for _attempt in 0..NAME_ATTEMPTS_MAX {
            let path = folder.join(temporary_name(target_name));
            match File::options().write(true).create_new(true).open(&path) {
                Ok(file) => {
                    lock(&file);
                    return Ok(staged(file, Some(path)));
                }
                Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {}
                Err(error) => return Err(error),
            }
        }
        Err(io::Error::other("no free name for a temporary file"))
    }

    fn fill(&self, content: &[u8], existing: Option<&Metadata>) -> io::Result<()> {
        (&self.file).write_all(content)?;
        if let Some(metadata) = existing {
            keep_owner_and_mode(&self.file, metadata)?;
        }
        // Without this a crash of the machine could leave the new name with no content.
        self.file.sync_all()
    }

    fn publish(mut self, target: &Path, replaces: bool) -> io::Result<()> {
        let mut last_error = None;
        for _attempt in 0..NAME_ATTEMPTS_MAX {
            if self.named.is_none() {
                if !replaces && link(&self.file, target).is_ok() {
                    return Ok(());
                }
                let path = self.folder.join(temporary_name(&self.target_name));
                match link(&self.file, &path) {
                    Ok(()) => self.named = Some(path),
                    Err(error) if error.kind() == io::ErrorKind::AlreadyExists => continue,
                    Err(error) => return Err(error),
                }
            }
            let Some(path) = &self.named else { continue };
            match fs::rename(path, target) {
                Ok(()) => {
                    self.named = None;
                    return Ok(());
                }
                // A sweep took the name between its creation and our lock.
                Err(error) if error.kind() == io::ErrorKind::NotFound => {
                    self.named = None;
                    last_error = Some(error);
                }
                Err(error) => return Err(error),
            }
        }
        Err(last_error.unwrap_or_else(|| io::Error::other("no free name for a temporary file")))
    }
}

impl Drop for Staged {
    fn drop(&mut self) {
        if let Some(path) = &self.named {
            // What cannot be removed now is swept later.
            let _left = fs::remove_file(path);
        }
    }
}

/// `.<name>.pirn-<process>-<number>.tmp`, hidden and recognisable.
fn temporary_name(target_name: &OsStr) -> OsString {
    static NEXT: AtomicU64 = AtomicU64::new(0);
    /// Leaves room for the rest within the 255 bytes of a file name.
    const NAME_BYTES_MAX: usize = 150;
    let mut name = OsString::from(".");
    if target_name.len() <= NAME_BYTES_MAX {
        name.push(target_name);
    } else {
        name.push("long-name");
    }
    let number = NEXT.fetch_add(1, Ordering::Relaxed);
    name.push(format!(".pirn-{}-{number}.tmp", std::process::id()));
    name
}

fn is_temporary_name(name: &str) -> bool {
    let Some((stem, numbers)) = name
        .strip_suffix(".tmp")
        .and_then(|name| name.rsplit_once(".pirn-"))
    else {
        return false;
    };
    stem.starts_with('.')
        && numbers.split_once('-').is_some_and(|(process, number)| {
            [process, number]
                .iter()
                .all(|n| !n.is_empty() && n.bytes().all(|b| b.is_ascii_digit()))
        })
}

/// Removes temporary files whose writer is dead. A living writer holds a lock on its file, which ends with the process, so this
/// also works for writers in other containers, whose process numbers mean nothing here.
fn sweep(folder: &Path) {
    let Ok(entries) = fs::read_dir(folder) else {
        return;
    };
    for entry in entries.take(SWEEP_ENTRIES_MAX).flatten() {
        if entry.file_name().to_str().is_some_and(is_temporary_name) {
            let path = entry.path();
            if File::open(&path).is_ok_and(|file| file.try_lock().is_ok()) {
                // Somebody else may have been faster.
                let _gone = fs::remove_file(&path);
            }
        }
    }
}

/// Marks a temporary file as in use. Where locks are missing, the sweep cannot tell and the writer tries again.
fn lock(file: &File) {
    let _unsupported = file.try_lock();
}

fn write_in_place(target: &Path, content: &[u8]) -> io::Result<()> {
    let mut file = File::options().write(true).truncate(true).open(target)?;
    file.write_all(content)?;
    // Devices and pipes cannot be synced.
    let _unsupported = file.sync_all();
    Ok(())
}

fn parent_of(path: &Path) -> &Path {
    path.parent()
        .filter(|parent| !parent.as_os_str().is_empty())
        .unwrap_or(Path::new("."))
}

/// Opens a file without a name in `folder`; `None` where the file system has none.
#[cfg(target_os = "linux")]
fn open_nameless(folder: &Path) -> io::Result<Option<File>> {
    use rustix::fs::{Mode, OFlags};
    use rustix::io::Errno;
    let flags = OFlags::TMPFILE | OFlags::WRONLY | OFlags::CLOEXEC;
    let mode = Mode::from_bits_truncate(0o666);
    match rustix::fs::open(folder, flags, mode) {
        Ok(file) => Ok(Some(file.into())),
        Err(Errno::OPNOTSUPP | Errno::ISDIR | Errno::INVAL | Errno::NOSYS) => Ok(None),
        // A missing folder, or one that may not be written.
        Err(error) => Err(error.into()),
    }
}

#[cfg(not(target_os = "linux"))]
fn open_nameless(_folder: &Path) -> io::Result<Option<File>> {
    Ok(None)
}

/// Gives a file without a name its first one; fails when the name is taken.
#[cfg(target_os = "linux")]
fn link(file: &File, path: &Path) -> io::Result<()> {
    use std::os::fd::AsRawFd as _;
    // The way without privileges; linking the descriptor itself needs some.
    let source = format!("/proc/self/fd/{}", file.as_raw_fd());
    let flags = rustix::fs::AtFlags::SYMLINK_FOLLOW;
    Ok(rustix::fs::linkat(
        rustix::fs::CWD,
        source,
        rustix::fs::CWD,
        path,
        flags,
    )?)
}

#[cfg(not(target_os = "linux"))]
fn link(_file: &File, _path: &Path) -> io::Result<()> {
    Err(io::ErrorKind::Unsupported.into())
}

#[cfg(unix)]
fn keep_owner_and_mode(file: &File, existing: &Metadata) -> io::Result<()> {
    use std::os::unix::fs::MetadataExt as _;
    let created = file.metadata()?;
    if (created.uid(), created.gid()) != (existing.uid(), existing.gid()) {
        // Needs rights that only few have; without them the file changes hands, as with every editor that renames.
        let _not_allowed =
            std::os::unix::fs::fchown(file, Some(existing.uid()), Some(existing.gid()));
    }
    file.set_permissions(existing.permissions())
}

#[cfg(not(unix))]
fn keep_owner_and_mode(file: &File, existing: &Metadata) -> io::Result<()> {
    file.set_permissions(existing.permissions())
}

/// Makes the new name itself durable. Not every file system can, and the content is safe already.
fn sync_folder(folder: &Path) {
    if cfg!(unix) {
        let _unsupported = File::open(folder).and_then(|folder| folder.sync_all());
    }
}

#[cfg(test)]
mod tests;
