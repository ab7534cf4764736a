//! Replacing the content of the regular file that a name leads to.

use std::fs::{self, File, Metadata};
use std::io;
use std::path::Path;

use pirn_file::{Access, Draft, HeldFolder};

use crate::options::ToolsOptions;
use crate::regular::{Refusal, check_kind};

/// Writes `content` to `target`, a real file's name as [`pirn_file::real_target`] gives it, and makes the folders that are
/// missing. A file is replaced as a whole and keeps its owner, mode and extended attributes; where that cannot be, and where the
/// file has other names as well, its content is written over. The folder is held open, and it is the held one that is judged and
/// written to.
pub(crate) fn replace(
    target: &Path,
    content: &[u8],
    within: Within<'_>,
    options: &ToolsOptions,
) -> Result<(), Refusal> {
    let (Some(parent), Some(name)) = (target.parent(), target.file_name()) else {
        return Err(io::Error::from(io::ErrorKind::IsADirectory).into());
    };
    let mut refused = None;
    let check = |place: &Path| {
        let checked = check_place(&place.join(name), within, options);
        checked.map_err(|refusal| {
            refused = Some(refusal);
            io::ErrorKind::PermissionDenied.into()
        })
    };
    let folder = match HeldFolder::make(parent, check) {
        Ok(folder) => folder,
        Err(error) => return Err(refused.unwrap_or(Refusal::Io(error))),
    };
    // Links on the way were followed before: what was read or judged there is not what a link leads to now.
    if folder.path() != parent {
        return Err(Refusal::Io(io::Error::other(
            "A folder on the way there was exchanged meanwhile; nothing was written",
        )));
    }
    let real = folder.path().join(name);
    // Where the folders lead was judged before any was made; they may be others by now.
    check_place(&real, within, options)?;
    if let Within::Allowed(allowed) = within
        && real != allowed
    {
        check_place(&real, Within::Anywhere, options)?;
    }
    let target = folder.entry_path(name);
    let existing = match fs::symlink_metadata(&target) {
        Ok(metadata) => Some(metadata),
        Err(error) if error.kind() == io::ErrorKind::NotFound => None,
        Err(error) => return Err(error.into()),
    };
    if let Some(metadata) = &existing {
        check_kind(metadata.file_type())?;
    }
    if existing.as_ref().is_some_and(has_other_names) {
        return overwrite(&target, &real, content, options);
    }
    match Draft::new(&target, content, Access::KeptOrUsual) {
        Ok(draft) if draft.keeps_attributes() => Ok(draft.publish()?),
        Ok(_other) => overwrite(&target, &real, content, options),
        // Where the file itself is what may not be written, this says so again.
        Err(error) if error.kind() == io::ErrorKind::PermissionDenied && existing.is_some() => {
            overwrite(&target, &real, content, options)
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

/// Writes over a file, whose name may lead elsewhere by now, and which may be a protected one by another name.
fn overwrite(
    target: &Path,
    real: &Path,
    content: &[u8],
    options: &ToolsOptions,
) -> Result<(), Refusal> {
    let file = open_for_writing(target)?;
    let metadata = file.metadata()?;
    check_kind(metadata.file_type())?;
    if let Some(sandbox) = &options.sandbox {
        sandbox
            .file_rules()
            .check_other_names(real, &metadata)
            .map_err(|refusal| Refusal::Confined(refusal.to_string()))?;
    }
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

/// Where a file has to lie besides what the confinement says.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Within<'a> {
    Anywhere,
    /// A person said that this very file may be written, without links.
    Allowed(&'a Path),
    /// The private temporary folder of commands, in which they can put links that lead out of it for everybody but them.
    Private(&'a Path),
}

/// Whether an entry may be written, by the place where it really is.
fn check_place(real: &Path, within: Within<'_>, options: &ToolsOptions) -> Result<(), Refusal> {
    match within {
        Within::Private(root) if !real.starts_with(root) => {
            return Err(Refusal::Confined(
                "A link in the private temporary folder of commands leads out of it; nothing was written".to_owned(),
            ));
        }
        Within::Private(_) | Within::Anywhere | Within::Allowed(_) => {}
    }
    let Some(sandbox) = &options.sandbox else {
        return Ok(());
    };
    let rules = sandbox.file_rules();
    let checked = match within {
        // On the way to it no folder is made that is not of its path.
        Within::Allowed(target) if target.starts_with(real.parent().unwrap_or(real)) => {
            rules.check_write_allowed(real)
        }
        Within::Allowed(_) | Within::Private(_) | Within::Anywhere => {
            rules.check_write_opened(real)
        }
    };
    checked.map_err(|refusal| Refusal::Confined(refusal.to_string()))
}
