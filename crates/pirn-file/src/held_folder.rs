//! Folders that are held open, and what is opened beneath them.
//!
//! A path that was looked at as text may lead elsewhere when it is used. What is opened stays what it is, so it can be judged by
//! [`real_path`] and used afterwards. No function here follows the links of the system that lead to what a process has open
//! (`/proc/PID/root`, `/proc/self/fd`, `/dev/fd`): these show files under names that say nothing about where they are.

use std::ffi::{OsStr, OsString};
use std::fs::File;
use std::io;
use std::path::{Path, PathBuf};

/// A folder that is held open. Whatever becomes of its name, this is the folder.
#[derive(Debug)]
pub struct HeldFolder {
    #[cfg(target_os = "linux")]
    descriptor: std::os::fd::OwnedFd,
    path: PathBuf,
}

/// What an entry of a folder is. Links are not followed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum EntryKind {
    /// A file that holds bytes.
    File,
    /// A folder, which can be opened in turn.
    Folder,
    /// A symbolic link, which is not followed.
    Link,
    /// A pipe, a socket or a device.
    Other,
}

/// An entry of a folder.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Entry {
    /// The last part of its path.
    pub name: OsString,
    /// What it was when the folder was read.
    pub kind: EntryKind,
}

impl HeldFolder {
    /// Opens a folder. Links in its path are followed.
    pub fn open(path: &Path) -> io::Result<Self> {
        Self::open_by(path).map_err(|error| magic_or(error, path))
    }

    /// Opens the folder that a path leads to, making those that are missing. `check` is told where the last one is or will be,
    /// before any is made.
    pub fn make(path: &Path, check: impl FnOnce(&Path) -> io::Result<()>) -> io::Result<Self> {
        let mut missing = Vec::new();
        let mut existing = path;
        let mut folder = loop {
            match Self::open(existing) {
                Ok(folder) => break folder,
                Err(error) if error.kind() == io::ErrorKind::NotFound => {}
                Err(error) => return Err(error),
            }
            let (Some(parent), Some(name)) = (existing.parent(), existing.file_name()) else {
                return Err(io::ErrorKind::NotFound.into());
            };
            missing.push(name);
            existing = parent;
        };
        missing.reverse();
        check(
            &missing
                .iter()
                .fold(folder.path.clone(), |path, name| path.join(name)),
        )?;
        for name in missing {
            folder = folder.make_one(name)?;
        }
        Ok(folder)
    }

    /// Where the folder was when it was opened, without links.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// A way to the folder itself that holds as long as it is open, for reading its entries one by one.
    pub fn listing_path(&self) -> PathBuf {
        self.entry_path(OsStr::new("."))
    }
}

/// Opens a file for reading, through links. Does not wait for anybody at the other end of a pipe, and takes no terminal.
pub fn open_readable(path: &Path) -> io::Result<File> {
    system::open_readable(path).map_err(|error| magic_or(error, path))
}

/// Where a file is, without links, that was opened by `path`.
#[cfg(target_os = "linux")]
pub fn opened_path(file: &File, _path: &Path) -> io::Result<PathBuf> {
    real_path(file)
}

/// Where a file is, without links, that was opened by `path`; the system does not tell of the file itself.
#[cfg(not(target_os = "linux"))]
pub fn opened_path(_file: &File, path: &Path) -> io::Result<PathBuf> {
    path.canonicalize()
}

/// Says of a link of the system what it is: the error for it is that of links that go round in a circle.
fn magic_or(error: io::Error, path: &Path) -> io::Error {
    if is_loop(&error) && std::fs::metadata(path).is_ok() {
        return io::Error::new(
            io::ErrorKind::PermissionDenied,
            "the path leads through a link of the system to what a process has open (/proc/PID/root, /proc/self/fd, /dev/fd), \
             which is not followed",
        );
    }
    error
}

#[cfg(unix)]
fn is_loop(error: &io::Error) -> bool {
    error.raw_os_error() == Some(rustix::io::Errno::LOOP.raw_os_error())
}

#[cfg(not(unix))]
fn is_loop(_error: &io::Error) -> bool {
    false
}

#[cfg(target_os = "linux")]
pub use system::real_path;

#[cfg(target_os = "linux")]
mod system {
    use std::os::fd::{AsFd, AsRawFd as _, OwnedFd};
    use std::os::unix::ffi::OsStrExt as _;

    use rustix::fs::{AtFlags, CWD, Dir, FileType, Mode, OFlags, ResolveFlags};
    use rustix::io::Errno;

    use super::{Entry, EntryKind, File, HeldFolder, OsStr, OsString, Path, PathBuf, io};

    const READABLE: OFlags = OFlags::RDONLY
        .union(OFlags::NONBLOCK)
        .union(OFlags::NOCTTY)
        .union(OFlags::CLOEXEC);

    const FOLDER: OFlags = OFlags::PATH.union(OFlags::DIRECTORY).union(OFlags::CLOEXEC);

    /// What no name below a held folder may do: lead out of it, or through a link.
    const BENEATH: ResolveFlags = ResolveFlags::BENEATH
        .union(ResolveFlags::NO_SYMLINKS)
        .union(ResolveFlags::NO_MAGICLINKS);

    fn open(
        folder: impl AsFd,
        path: &Path,
        flags: OFlags,
        resolve: ResolveFlags,
    ) -> io::Result<OwnedFd> {
        rustix::fs::openat2(folder, path, flags, Mode::empty(), resolve).map_err(|error| {
            if error == Errno::NOSYS {
                return io::Error::new(
                    io::ErrorKind::Unsupported,
                    "this system cannot open files without following links (openat2, Linux 5.6)",
                );
            }
            error.into()
        })
    }

    pub(super) fn open_readable(path: &Path) -> io::Result<File> {
        open(CWD, path, READABLE, ResolveFlags::NO_MAGICLINKS).map(File::from)
    }

    /// Where something that is open is, without links. Fails where the system does not say, and where it has no name any more.
    pub fn real_path(opened: impl AsFd) -> io::Result<PathBuf> {
        /// What the system writes behind the last name of what has none.
        const DELETED: &[u8] = b" (deleted)";
        let opened = opened.as_fd();
        let path = std::fs::read_link(format!("/proc/self/fd/{}", opened.as_raw_fd()))?;
        let is_deleted = path.as_os_str().as_bytes().ends_with(DELETED)
            && rustix::fs::fstat(opened)?.st_nlink == 0;
        if path.is_absolute() && !is_deleted {
            Ok(path)
        } else {
            Err(io::ErrorKind::NotFound.into())
        }
    }

    impl HeldFolder {
        pub(super) fn open_by(path: &Path) -> io::Result<Self> {
            open(CWD, path, FOLDER, ResolveFlags::NO_MAGICLINKS).and_then(Self::of)
        }

        fn of(descriptor: OwnedFd) -> io::Result<Self> {
            let path = real_path(&descriptor)?;
            Ok(Self { descriptor, path })
        }

        pub(super) fn make_one(&self, name: &OsStr) -> io::Result<Self> {
            match rustix::fs::mkdirat(&self.descriptor, name, Mode::from_raw_mode(0o777)) {
                // Somebody else may have been faster.
                Ok(()) | Err(Errno::EXIST) => {}
                Err(error) => return Err(error.into()),
            }
            Self::of(open(&self.descriptor, Path::new(name), FOLDER, BENEATH)?)
        }

        /// A way to an entry of the folder that holds as long as the folder is open, whatever becomes of its name. The entry itself
        /// may be a link.
        pub fn entry_path(&self, name: &OsStr) -> PathBuf {
            let mut path = PathBuf::from(format!("/proc/self/fd/{}", self.descriptor.as_raw_fd()));
            path.push(name);
            path
        }

        /// Opens a file below the folder for reading. No link in its path is followed.
        pub fn open_below(&self, path: &Path) -> io::Result<File> {
            open(&self.descriptor, path, READABLE, BENEATH).map(File::from)
        }

        /// The entries of a folder below this one, or of this one for an empty path. No link in the path is followed.
        pub fn entries_below(&self, path: &Path) -> io::Result<Vec<Entry>> {
            let path = if path.as_os_str().is_empty() {
                Path::new(".")
            } else {
                path
            };
            let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC;
            let mut folder = Dir::new(open(&self.descriptor, path, flags, BENEATH)?)?;
            let mut entries = Vec::new();
            while let Some(entry) = folder.read() {
                let entry = entry?;
                let name = entry.file_name();
                if matches!(name.to_bytes(), b"." | b"..") {
                    continue;
                }
                let kind = match entry.file_type() {
                    FileType::Unknown => {
                        let found = folder.fd()?;
                        match rustix::fs::statat(found, name, AtFlags::SYMLINK_NOFOLLOW) {
                            Ok(stat) => FileType::from_raw_mode(stat.st_mode),
                            // It has gone meanwhile.
                            Err(_) => continue,
                        }
                    }
                    known => known,
                };
                entries.push(Entry {
                    name: OsString::from(OsStr::from_bytes(name.to_bytes())),
                    kind: kind_of(kind),
                });
            }
            Ok(entries)
        }
    }

    fn kind_of(kind: FileType) -> EntryKind {
        match kind {
            FileType::RegularFile => EntryKind::File,
            FileType::Directory => EntryKind::Folder,
            FileType::Symlink => EntryKind::Link,
            FileType::Fifo
            | FileType::Socket
            | FileType::CharacterDevice
            | FileType::BlockDevice
            | FileType::Unknown => EntryKind::Other,
        }
    }
}

#[cfg(not(target_os = "linux"))]
mod system {
    use super::{Entry, EntryKind, File, HeldFolder, OsStr, Path, PathBuf, io};

    #[cfg(unix)]
    pub(super) fn open_readable(path: &Path) -> io::Result<File> {
        use rustix::fs::{Mode, OFlags};
        let flags = OFlags::RDONLY | OFlags::NONBLOCK | OFlags::NOCTTY | OFlags::CLOEXEC;
        Ok(rustix::fs::open(path, flags, Mode::empty())?.into())
    }

    #[cfg(not(unix))]
    pub(super) fn open_readable(path: &Path) -> io::Result<File> {
        File::open(path)
    }

    impl HeldFolder {
        pub(super) fn open_by(path: &Path) -> io::Result<Self> {
            let path = path.canonicalize()?;
            if path.is_dir() {
                Ok(Self { path })
            } else {
                Err(io::ErrorKind::NotADirectory.into())
            }
        }

        pub(super) fn make_one(&self, name: &OsStr) -> io::Result<Self> {
            let path = self.path.join(name);
            match std::fs::create_dir(&path) {
                Err(error) if error.kind() != io::ErrorKind::AlreadyExists => Err(error),
                Ok(()) | Err(_) => Self::open_by(&path),
            }
        }

        /// A way to an entry of the folder.
        pub fn entry_path(&self, name: &OsStr) -> PathBuf {
            self.path.join(name)
        }

        /// Opens a file below the folder for reading.
        pub fn open_below(&self, path: &Path) -> io::Result<File> {
            open_readable(&self.path.join(path))
        }

        /// The entries of a folder below this one, or of this one for an empty path.
        pub fn entries_below(&self, path: &Path) -> io::Result<Vec<Entry>> {
            let entries = std::fs::read_dir(self.path.join(path))?;
            entries
                .map(|entry| {
                    let entry = entry?;
                    let kind = entry.file_type()?;
                    let kind = if kind.is_file() {
                        EntryKind::File
                    } else if kind.is_dir() {
                        EntryKind::Folder
                    } else if kind.is_symlink() {
                        EntryKind::Link
                    } else {
                        EntryKind::Other
                    };
                    Ok(Entry {
                        name: entry.file_name(),
                        kind,
                    })
                })
                .collect()
        }
    }
}

#[cfg(test)]
mod tests;
