//! New content, until it has the name of the old.

mod attributes;

use std::ffi::{OsStr, OsString};
use std::fs::{self, File};
use std::io::{self, Write as _};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};

use crate::target::{folder_of, real_target};

/// Entries of a folder looked at for stale temporary files; in larger folders the sweep stays incomplete rather than slow.
const SWEEP_ENTRIES_MAX: usize = 20_000;

/// Attempts to find a free temporary name; more than one is needed only when a sweep or a stale file interferes.
const NAME_ATTEMPTS_MAX: usize = 8;

/// Mode of files that only their owner may read.
const MODE_PRIVATE: u32 = 0o600;
/// Mode of other files, less what the process takes away from all that it makes.
const MODE_USUAL: u32 = 0o666;

/// Who may use a file once it is replaced.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Access {
    /// Its owner only, whoever could before.
    Private,
    /// Owner, mode and extended attributes stay, and a file that may not be written is not replaced; a new one is for its owner
    /// only.
    KeptOrPrivate,
    /// Owner, mode and extended attributes stay, and a file that may not be written is not replaced; a new one has the mode of
    /// new files.
    KeptOrUsual,
}

/// Replaces the content of the file that `path` leads to, or makes the file. Its folder must exist.
pub fn replace(path: &Path, content: &[u8], access: Access) -> io::Result<()> {
    Draft::new(&real_target(path)?, content, access)?.publish()
}

/// New content, written and synced, that does not have the target's name yet. It goes when it is dropped.
#[derive(Debug)]
pub struct Draft {
    file: File,
    target: PathBuf,
    /// Whether there was a file at first.
    replaces: bool,
    /// The temporary name, where it has one.
    named: Option<PathBuf>,
    keeps_attributes: bool,
}

impl Draft {
    /// Writes new content for `target`, a real file's name as [`real_target`] gives it. Fails where something else than a file
    /// has that name. Other hard links of the file will keep the old content.
    pub fn new(target: &Path, content: &[u8], access: Access) -> io::Result<Self> {
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
                return Err(io::Error::other("it is not a regular file"));
            }
        }
        let replaces = existing.is_some();
        let (mode, kept) = match access {
            Access::Private => (MODE_PRIVATE, None),
            Access::KeptOrUsual if !replaces => (MODE_USUAL, None),
            Access::KeptOrPrivate | Access::KeptOrUsual => (MODE_PRIVATE, existing),
        };
        // Renaming over it would ignore that the file itself may not be written.
        if kept.is_some()
            && let Err(error) = File::options().write(true).open(target)
            && error.kind() == io::ErrorKind::PermissionDenied
        {
            return Err(error);
        }
        sweep(folder_of(target));
        let (file, named) = create(target, mode)?;
        let mut draft = Self {
            file,
            target: target.to_path_buf(),
            replaces,
            named,
            keeps_attributes: true,
        };
        (&draft.file).write_all(content)?;
        if let Some(metadata) = kept {
            draft.keeps_attributes = attributes::keep(&draft.file, target, &metadata)?;
        }
        // Without this a crash of the machine could leave the new name with no content.
        draft.file.sync_all()?;
        Ok(draft)
    }

    /// Whether it has the owner, mode and extended attributes that [`Access`] promises to keep. Without the rights for that the
    /// file changes hands, as with every editor that renames.
    pub fn keeps_attributes(&self) -> bool {
        self.keeps_attributes
    }

    /// Gives it the target's name.
    pub fn publish(mut self) -> io::Result<()> {
        self.name()?;
        // Makes the new name itself durable. Not every file system can, and the content is safe already.
        if cfg!(unix) {
            let _unsupported =
                File::open(folder_of(&self.target)).and_then(|folder| folder.sync_all());
        }
        Ok(())
    }

    fn name(&mut self) -> io::Result<()> {
        let mut last_error = None;
        for _attempt in 0..NAME_ATTEMPTS_MAX {
            if self.named.is_none() {
                if !self.replaces && link(&self.file, &self.target).is_ok() {
                    return Ok(());
                }
                let path = temporary_path(&self.target);
                match link(&self.file, &path) {
                    Ok(()) => self.named = Some(path),
                    Err(error) if error.kind() == io::ErrorKind::AlreadyExists => continue,
                    Err(error) => return Err(error),
                }
            }
            let Some(path) = &self.named else { continue };
            match fs::rename(path, &self.target) {
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
        Err(last_error.unwrap_or_else(no_free_name))
    }
}

impl Drop for Draft {
    fn drop(&mut self) {
        if let Some(path) = &self.named {
            // What cannot be removed now is swept later.
            let _left = fs::remove_file(path);
        }
    }
}

/// Makes the file of a draft, and its temporary name where it must have one.
fn create(target: &Path, mode: u32) -> io::Result<(File, Option<PathBuf>)> {
    if let Some(file) = open_nameless(folder_of(target), mode)? {
        lock(&file);
        return Ok((file, None));
    }
    for _attempt in 0..NAME_ATTEMPTS_MAX {
        let path = temporary_path(target);
        let mut options = File::options();
        options.write(true).create_new(true);
        #[cfg(unix)]
        std::os::unix::fs::OpenOptionsExt::mode(&mut options, mode);
        match options.open(&path) {
            Ok(file) => {
                lock(&file);
                return Ok((file, Some(path)));
            }
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {}
            Err(error) => return Err(error),
        }
    }
    Err(no_free_name())
}

fn no_free_name() -> io::Error {
    io::Error::other("no free name for a temporary file")
}

fn temporary_path(target: &Path) -> PathBuf {
    folder_of(target).join(temporary_name(target.file_name().unwrap_or_default()))
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
        let is_ours = entry.file_name().to_str().is_some_and(is_temporary_name)
            && entry.file_type().is_ok_and(|kind| kind.is_file());
        if is_ours {
            let path = entry.path();
            if open_carefully(&path).is_ok_and(|file| file.try_lock().is_ok()) {
                // Somebody else may have been faster.
                let _gone = fs::remove_file(&path);
            }
        }
    }
}

/// Opens a file that others may have made into something else meanwhile: a link is not followed, a pipe not waited for.
fn open_carefully(path: &Path) -> io::Result<File> {
    let mut options = File::options();
    options.read(true);
    #[cfg(unix)]
    {
        use rustix::fs::OFlags;
        let flags = OFlags::NONBLOCK | OFlags::NOFOLLOW;
        std::os::unix::fs::OpenOptionsExt::custom_flags(&mut options, flags.bits().cast_signed());
    }
    options.open(path)
}

/// Marks a temporary file as in use. Where locks are missing, the sweep cannot tell and the writer tries again.
fn lock(file: &File) {
    let _unsupported = file.try_lock();
}

/// The files that the process has open, by which one without a name gets one.
#[cfg(target_os = "linux")]
const OPEN_FILES: &str = "/proc/self/fd";

/// Opens a file without a name in `folder`; `None` where there are none, or where it could not get a name later.
#[cfg(target_os = "linux")]
fn open_nameless(folder: &Path, mode: u32) -> io::Result<Option<File>> {
    use rustix::fs::{Mode, OFlags};
    use rustix::io::Errno;
    if !Path::new(OPEN_FILES).exists() {
        return Ok(None);
    }
    let flags = OFlags::TMPFILE | OFlags::WRONLY | OFlags::CLOEXEC;
    match rustix::fs::open(folder, flags, Mode::from_bits_truncate(mode)) {
        Ok(file) => Ok(Some(file.into())),
        Err(Errno::OPNOTSUPP | Errno::ISDIR | Errno::INVAL | Errno::NOSYS) => Ok(None),
        // A missing folder, or one that may not be written.
        Err(error) => Err(error.into()),
    }
}

#[cfg(not(target_os = "linux"))]
fn open_nameless(_folder: &Path, _mode: u32) -> io::Result<Option<File>> {
    Ok(None)
}

/// Gives a file without a name its first one; fails when the name is taken.
#[cfg(target_os = "linux")]
fn link(file: &File, path: &Path) -> io::Result<()> {
    use std::os::fd::AsRawFd as _;
    // The way without privileges; linking the descriptor itself needs some.
    let source = format!("{OPEN_FILES}/{}", file.as_raw_fd());
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

#[cfg(test)]
mod tests;
