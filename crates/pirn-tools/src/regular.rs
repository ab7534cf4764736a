//! Regular files, opened without waiting and judged by what was opened.
//!
//! A pipe, a terminal or a device may let its reader wait for ever, or lose what was meant for somebody else. So a name is
//! looked at before it is opened, and what was opened is looked at again, since the name may lead elsewhere by then.

use std::fmt;
use std::fs::{File, FileType, Metadata};
use std::io;
use std::path::{Path, PathBuf};

use crate::options::ToolsOptions;
use crate::paths::describe;

/// Files of the system that show the memory or the secrets of a process, or hand out what another reader waits for. All of
/// them call themselves regular.
const PROCESS_FILES: [&str; 9] = [
    "auxv", "cmdline", "environ", "kcore", "kmsg", "mem", "pagemap", "stack", "syscall",
];

/// A regular file that is open for reading.
#[derive(Debug)]
pub(crate) struct RegularFile {
    pub(crate) file: File,
    /// Of the opened file.
    pub(crate) metadata: Metadata,
}

/// What stands where a regular file was expected.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum OtherKind {
    Folder,
    Pipe,
    Socket,
    CharacterDevice,
    BlockDevice,
    Unknown,
}

impl OtherKind {
    fn of(kind: FileType) -> Option<Self> {
        if kind.is_file() {
            return None;
        }
        if kind.is_dir() {
            return Some(Self::Folder);
        }
        #[cfg(unix)]
        {
            use std::os::unix::fs::FileTypeExt as _;
            let kinds = [
                (kind.is_fifo(), Self::Pipe),
                (kind.is_socket(), Self::Socket),
                (kind.is_char_device(), Self::CharacterDevice),
                (kind.is_block_device(), Self::BlockDevice),
            ];
            if let Some((_, other)) = kinds.into_iter().find(|(is_it, _)| *is_it) {
                return Some(other);
            }
        }
        Some(Self::Unknown)
    }
}

/// Why a file is not opened.
#[derive(Debug)]
pub(crate) enum Refusal {
    Io(io::Error),
    Other(OtherKind),
    /// It shows what belongs to a process.
    ProcessFile,
    /// The confinement of commands does not allow it; a sentence.
    Confined(String),
}

impl Refusal {
    /// Whether nothing has the name.
    pub(crate) fn is_not_found(&self) -> bool {
        matches!(self, Self::Io(error) if error.kind() == io::ErrorKind::NotFound)
    }
}

impl From<io::Error> for Refusal {
    fn from(error: io::Error) -> Self {
        Self::Io(error)
    }
}

impl fmt::Display for Refusal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let kind = match self {
            Self::Io(error) => return f.write_str(&describe(error)),
            Self::Confined(sentence) => return f.write_str(sentence),
            Self::ProcessFile => {
                return f.write_str(
                    "it shows the memory or the environment of a process, which is never read",
                );
            }
            Self::Other(OtherKind::Folder) => {
                return f.write_str(&describe(&io::ErrorKind::IsADirectory.into()));
            }
            Self::Other(OtherKind::Pipe) => "a pipe (FIFO)",
            Self::Other(OtherKind::Socket) => "a socket",
            Self::Other(OtherKind::CharacterDevice) => "a character device",
            Self::Other(OtherKind::BlockDevice) => "a block device",
            Self::Other(OtherKind::Unknown) => "something else",
        };
        write!(
            f,
            "it is {kind}, not a regular file. Use bash with a timeout for it"
        )
    }
}

impl RegularFile {
    /// Opens a file for reading that the confinement of commands lets us read. Never waits for somebody at the other end.
    pub(crate) fn open(path: &Path, options: &ToolsOptions) -> Result<Self, Refusal> {
        check_kind(std::fs::metadata(path)?.file_type())?;
        let opened = Self::open_unchecked(path)?;
        if let Some(sandbox) = &options.sandbox
            && let Some(real) = opened.real_path()
        {
            sandbox
                .file_rules()
                .check_read(&real)
                .map_err(|refusal| Refusal::Confined(refusal.to_string()))?;
        }
        Ok(opened)
    }

    /// Like [`RegularFile::open`] for a file of a walk, which was found to be regular and readable a moment ago.
    pub(crate) fn open_walked(path: &Path, options: &ToolsOptions) -> Result<Self, Refusal> {
        let opened = Self::open_unchecked(path)?;
        if let Some(sandbox) = &options.sandbox
            && let Some(real) = opened.real_path()
            && sandbox.file_rules().hides(&real)
        {
            return Err(Refusal::Io(io::ErrorKind::PermissionDenied.into()));
        }
        Ok(opened)
    }

    fn open_unchecked(path: &Path) -> Result<Self, Refusal> {
        let file = open_without_waiting(path)?;
        let metadata = file.metadata()?;
        check_kind(metadata.file_type())?;
        if is_process_file(&file) {
            return Err(Refusal::ProcessFile);
        }
        Ok(Self { file, metadata })
    }

    /// Where the opened file really is; `None` where the system does not say.
    fn real_path(&self) -> Option<PathBuf> {
        real_path(&self.file)
    }
}

/// Fails for everything but a regular file.
pub(crate) fn check_kind(kind: FileType) -> Result<(), Refusal> {
    match OtherKind::of(kind) {
        None => Ok(()),
        Some(other) => Err(Refusal::Other(other)),
    }
}

#[cfg(unix)]
fn open_without_waiting(path: &Path) -> io::Result<File> {
    use rustix::fs::{Mode, OFlags};
    // A terminal that is opened by mistake must not become the one that controls us.
    let flags = OFlags::RDONLY | OFlags::NONBLOCK | OFlags::NOCTTY | OFlags::CLOEXEC;
    Ok(rustix::fs::open(path, flags, Mode::empty())?.into())
}

#[cfg(not(unix))]
fn open_without_waiting(path: &Path) -> io::Result<File> {
    File::open(path)
}

/// Whether an opened file is one of [`PROCESS_FILES`], under whatever name.
#[cfg(target_os = "linux")]
fn is_process_file(file: &File) -> bool {
    let is_proc =
        rustix::fs::fstatfs(file).is_ok_and(|system| system.f_type == rustix::fs::PROC_SUPER_MAGIC);
    is_proc
        // Where its name is not known, it is not shown either.
        && real_path(file).is_none_or(|path| {
            let name = path.file_name().and_then(|name| name.to_str());
            // The kernel's own command line is no secret.
            let is_known = path == Path::new("/proc/cmdline");
            !is_known && name.is_none_or(|name| PROCESS_FILES.contains(&name))
        })
}

#[cfg(not(target_os = "linux"))]
fn is_process_file(_file: &File) -> bool {
    false
}

#[cfg(target_os = "linux")]
fn real_path(file: &File) -> Option<PathBuf> {
    use std::os::fd::AsRawFd as _;
    let path = std::fs::read_link(format!("/proc/self/fd/{}", file.as_raw_fd())).ok()?;
    path.is_absolute().then_some(path)
}

#[cfg(not(target_os = "linux"))]
fn real_path(_file: &File) -> Option<PathBuf> {
    None
}
