//! Files of lines that only grow, with one writer.

use std::fs::{File, OpenOptions};
use std::io::{self, Read as _, Seek as _, SeekFrom, Write as _};
use std::path::Path;

use crate::new::create_new;

/// A file of lines that this process alone appends to. The lock goes with the process, however it ends.
#[derive(Debug)]
pub struct AppendFile {
    file: File,
    /// The last line has no end: nothing may be glued to it.
    is_torn: bool,
}

/// Why a file cannot be appended to.
#[derive(Debug)]
pub enum AppendError {
    /// Another process writes to it.
    Busy {
        /// Its id, where the system tells.
        process_id: Option<u32>,
    },
    /// The file cannot be used.
    Io(io::Error),
}

impl From<io::Error> for AppendError {
    fn from(error: io::Error) -> Self {
        Self::Io(error)
    }
}

impl std::fmt::Display for AppendError {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Busy {
                process_id: Some(id),
            } => write!(formatter, "process {id} is writing to it"),
            Self::Busy { process_id: None } => {
                formatter.write_str("another process is writing to it")
            }
            Self::Io(error) => error.fmt(formatter),
        }
    }
}

impl std::error::Error for AppendError {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        match self {
            Self::Busy { .. } => None,
            Self::Io(error) => Some(error),
        }
    }
}

impl AppendFile {
    /// Makes a new file that only its owner can use.
    pub fn create(path: &Path) -> Result<Self, AppendError> {
        let file = create_new(path)?;
        lock(&file)?;
        Ok(Self {
            file,
            is_torn: false,
        })
    }

    /// Opens a file that is there, and gives what is in it. A link is not followed.
    pub fn open(path: &Path, bytes_max: u64) -> Result<(Self, Vec<u8>), AppendError> {
        let mut options = OpenOptions::new();
        options.read(true).append(true);
        #[cfg(unix)]
        {
            use std::os::unix::fs::OpenOptionsExt as _;
            let flags = rustix::fs::OFlags::NOFOLLOW.bits().cast_signed();
            options.custom_flags(flags);
        }
        let mut file = options.open(path)?;
        lock(&file)?;
        let size = file.metadata()?.len();
        if size > bytes_max {
            return Err(
                io::Error::other(format!("it has {size} bytes; the most is {bytes_max}")).into(),
            );
        }
        let mut content = Vec::new();
        file.seek(SeekFrom::Start(0))?;
        file.read_to_end(&mut content)?;
        let is_torn = content.last().is_some_and(|last| *last != b'\n');
        Ok((Self { file, is_torn }, content))
    }

    /// Appends lines, each without its end, in one write. When this returns they survive the end of the process.
    pub fn append<'a>(&mut self, lines: impl IntoIterator<Item = &'a str>) -> io::Result<()> {
        let mut bytes = Vec::new();
        if self.is_torn {
            bytes.push(b'\n');
        }
        for line in lines {
            bytes.extend_from_slice(line.as_bytes());
            bytes.push(b'\n');
        }
        // A write that fails may have written a part.
        self.is_torn = true;
        self.file.write_all(&bytes)?;
        self.is_torn = false;
        Ok(())
    }
}

fn lock(file: &File) -> Result<(), AppendError> {
    match file.try_lock() {
        Ok(()) => Ok(()),
        Err(std::fs::TryLockError::WouldBlock) => Err(AppendError::Busy {
            process_id: holder(file),
        }),
        Err(std::fs::TryLockError::Error(error)) => Err(error.into()),
    }
}

/// Which process holds the lock on a file.
#[cfg(target_os = "linux")]
fn holder(file: &File) -> Option<u32> {
    use std::os::unix::fs::MetadataExt as _;
    let inode = format!(":{}", file.metadata().ok()?.ino());
    let locks = std::fs::read_to_string("/proc/locks").ok()?;
    // 1: FLOCK  ADVISORY  WRITE 4711 fe:01:1234 0 EOF
    locks.lines().find_map(|line| {
        let mut words = line.split_whitespace();
        let is_it = words.clone().any(|word| word.ends_with(&inode));
        is_it.then(|| words.nth(4)?.parse().ok()).flatten()
    })
}

#[cfg(not(target_os = "linux"))]
fn holder(_file: &File) -> Option<u32> {
    None
}

#[cfg(test)]
mod tests;
