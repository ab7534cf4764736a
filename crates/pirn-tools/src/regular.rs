//! Regular files, opened without waiting and judged by what was opened.
//!
//! A pipe, a terminal or a device may let its reader wait for ever, or lose what was meant for somebody else. So a name is
//! looked at before it is opened, and what was opened is looked at again, since the name may lead elsewhere by then.

use std::fmt;
use std::fs::{File, FileType, Metadata};
use std::io;
use std::path::Path;

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
    /// Opens a file for reading that the confinement of commands lets us read. Never waits for somebody at the other end. What was
    /// opened is what is judged, wherever its path leads by now.
    pub(crate) fn open(path: &Path, options: &ToolsOptions) -> Result<Self, Refusal> {
        check_kind(std::fs::metadata(path)?.file_type())?;
        let opened = Self::of(pirn_file::open_readable(path)?)?;
        if opened.is_process_file() {
            return Err(Refusal::ProcessFile);
        }
        if let Some(sandbox) = &options.sandbox {
            let real = pirn_file::opened_path(&opened.file, path)?;
            let rules = sandbox.file_rules();
            let judged = rules.check_read_opened(&real, &opened.metadata);
            // A link on the way may have a name that must not be read.
            let named = if real == path {
                Ok(())
            } else {
                rules.check_read(path)
            };
            judged
                .and(named)
                .map_err(|refusal| Refusal::Confined(refusal.to_string()))?;
        }
        Ok(opened)
    }

    /// A file that a walk came to, opened without following links below the searched folder.
    pub(crate) fn of_walk(file: File) -> Result<Self, Refusal> {
        Self::of(file)
    }

    fn of(file: File) -> Result<Self, Refusal> {
        let metadata = file.metadata()?;
        check_kind(metadata.file_type())?;
        Ok(Self { file, metadata })
    }

    /// The device that it is on.
    pub(crate) fn device(&self) -> u64 {
        #[cfg(unix)]
        return std::os::unix::fs::MetadataExt::dev(&self.metadata);
        #[cfg(not(unix))]
        return 0;
    }

    /// Whether it can be reached by other names too.
    pub(crate) fn has_other_names(&self) -> bool {
        #[cfg(unix)]
        return std::os::unix::fs::MetadataExt::nlink(&self.metadata) > 1;
        #[cfg(not(unix))]
        return false;
    }

    /// Whether it is in the file system that shows processes.
    #[cfg(target_os = "linux")]
    pub(crate) fn is_on_process_system(&self) -> bool {
        rustix::fs::fstatfs(&self.file)
            .is_ok_and(|system| system.f_type == rustix::fs::PROC_SUPER_MAGIC)
    }

    #[cfg(not(target_os = "linux"))]
    pub(crate) fn is_on_process_system(&self) -> bool {
        false
    }

    /// Whether it is one of [`PROCESS_FILES`], under whatever name.
    #[cfg(target_os = "linux")]
    pub(crate) fn is_process_file(&self) -> bool {
        self.is_on_process_system()
            // Where its name is not known, it is not shown either.
            && !pirn_file::real_path(&self.file).is_ok_and(|path| {
                let name = path.file_name().and_then(|name| name.to_str());
                // The kernel's own command line is no secret.
                let is_known = path == Path::new("/proc/cmdline");
                is_known || name.is_some_and(|name| !PROCESS_FILES.contains(&name))
            })
    }

    #[cfg(not(target_os = "linux"))]
    pub(crate) fn is_process_file(&self) -> bool {
        false
    }
}

/// Fails for everything but a regular file.
pub(crate) fn check_kind(kind: FileType) -> Result<(), Refusal> {
    match OtherKind::of(kind) {
        None => Ok(()),
        Some(other) => Err(Refusal::Other(other)),
    }
}
