//! Replacing the content of the regular file that a name leads to.

use std::fs::{self, File, Metadata};
use std::io;
use std::path::{Path, PathBuf};

use pirn_file::{Access, Draft};

use crate::options::ToolsOptions;
use crate::paths;
use crate::regular::{Refusal, check_kind};

/// Writes `content` to `target`, a real file's name as [`pirn_file::real_target`] gives it. A file is replaced as a whole and
/// keeps its owner, mode and extended attributes; where that cannot be, and where the file has other names as well, its content
/// is written over. The folder must exist.
pub(crate) fn replace(
    target: &Path,
    content: &[u8],
    options: &ToolsOptions,
) -> Result<(), Refusal> {
    let folder = HeldFolder::of(target)?;
    let target = folder.checked_entry(target, options)?;
    let existing = match fs::symlink_metadata(&target) {
        Ok(metadata) => Some(metadata),
        Err(error) if error.kind() == io::ErrorKind::NotFound => None,
        Err(error) => return Err(error.into()),
    };
    if let Some(metadata) = &existing {
        check_kind(metadata.file_type())?;
    }
    if existing.as_ref().is_some_and(has_other_names) {
        return overwrite(&target, content);
    }
    match Draft::new(&target, content, Access::KeptOrUsual) {
        Ok(draft) if draft.keeps_attributes() => Ok(draft.publish()?),
        Ok(_other) => overwrite(&target, content),
        // Where the file itself is what may not be written, this says so again.
        Err(error) if error.kind() == io::ErrorKind::PermissionDenied && existing.is_some() => {
            overwrite(&target, content)
        }
        Err(error) => Err(error.into()),
    }
}

#[cfg(unix)]
fn has_other_names(metadata: &Metadata) -> bool {
    std::os::unix::fs::MetadataExt::nlink(metadata) > 1
}

#[cfg(not(unix))]
fn has_other_names(_metadata: &Metadata) -> bool {
    false
}

/// Writes over a file, whose name may lead elsewhere by now.
fn overwrite(target: &Path, content: &[u8]) -> Result<(), Refusal> {
    let file = open_for_writing(target)?;
    check_kind(file.metadata()?.file_type())?;
    reserve(&file, content.len() as u64)?;
    write_from_start(&file, content)?;
    file.set_len(content.len() as u64)?;
    // Not every file system can.
    let _unsupported = file.sync_all();
    Ok(())
}

#[cfg(unix)]
fn open_for_writing(target: &Path) -> io::Result<File> {
    use rustix::fs::{Mode, OFlags};
    let flags =
        OFlags::WRONLY | OFlags::NONBLOCK | OFlags::NOCTTY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    Ok(rustix::fs::open(target, flags, Mode::empty())?.into())
}

#[cfg(not(unix))]
fn open_for_writing(target: &Path) -> io::Result<File> {
    File::options().write(true).open(target)
}

/// Finds out that a disk is full before anything is written over.
#[cfg(target_os = "linux")]
fn reserve(file: &File, length: u64) -> io::Result<()> {
    use rustix::fs::FallocateFlags;
    use rustix::io::Errno;
    if length == 0 {
        return Ok(());
    }
    match rustix::fs::fallocate(file, FallocateFlags::KEEP_SIZE, 0, length) {
        Err(error @ (Errno::NOSPC | Errno::DQUOT | Errno::FBIG)) => Err(error.into()),
        // Not every file system can.
        Ok(()) | Err(_) => Ok(()),
    }
}

#[cfg(not(target_os = "linux"))]
fn reserve(_file: &File, _length: u64) -> io::Result<()> {
    Ok(())
}

fn write_from_start(mut file: &File, content: &[u8]) -> io::Result<()> {
    io::Write::write_all(&mut file, content)
}

/// The folder of a file, held open, so that what is checked is what is used.
struct HeldFolder {
    /// A way to the folder that no link can change.
    path: PathBuf,
    /// Where it really is; `None` where the system does not say.
    real: Option<PathBuf>,
    #[cfg(target_os = "linux")]
    _held: rustix::fd::OwnedFd,
}

impl HeldFolder {
    #[cfg(target_os = "linux")]
    fn of(target: &Path) -> io::Result<Self> {
        use rustix::fs::{Mode, OFlags};
        use std::os::fd::AsRawFd as _;
        let folder = target.parent().unwrap_or(Path::new("/"));
        let flags = OFlags::PATH | OFlags::DIRECTORY | OFlags::CLOEXEC;
        let held = rustix::fs::open(folder, flags, Mode::empty())?;
        let path = PathBuf::from(format!("/proc/self/fd/{}", held.as_raw_fd()));
        let real = fs::read_link(&path).ok();
        Ok(Self {
            // Without the file system of processes the name has to do.
            path: if real.is_some() {
                path
            } else {
                folder.to_path_buf()
            },
            real,
            _held: held,
        })
    }

    #[cfg(not(target_os = "linux"))]
    fn of(target: &Path) -> io::Result<Self> {
        let folder = target.parent().unwrap_or(Path::new("/"));
        Ok(Self {
            path: folder.to_path_buf(),
            real: None,
        })
    }

    /// The way to a file in it that the confinement of commands lets us write.
    fn checked_entry(&self, target: &Path, options: &ToolsOptions) -> Result<PathBuf, Refusal> {
        let name = target
            .file_name()
            .ok_or_else(|| io::Error::from(io::ErrorKind::IsADirectory))?;
        if let Some(real) = &self.real {
            paths::check_write(&real.join(name), options).map_err(Refusal::Confined)?;
        }
        Ok(self.path.join(name))
    }
}
