//! Reading a file of any kind without ever blocking for good.

use std::fs::File;
use std::io::{self, Read};
use std::path::Path;

use crate::blocking::Stop;

/// How long to wait for a pipe before looking at whether the call was stopped.
#[cfg(unix)]
const PIPE_POLL_MS: i64 = 50;

/// From this size on a file is searched for holes, which need no reading. Smaller ones are read faster than asked about.
const SPARSE_BYTES_MIN: u64 = 16 * 1024 * 1024;

/// A file being read. A regular file ends at the size it had at opening, so that a file that is being written has an end; files
/// that report no size (`/proc`), pipes and devices are read to their end. Reading fails when the call is stopped.
pub(super) struct Source<'a> {
    file: File,
    kind: Kind,
    stop: &'a Stop,
}

enum Kind {
    /// Has a size and can be read at any place.
    Regular {
        position: u64,
        size: u64,
        extent: Extent,
    },
    /// A regular file that reports no size.
    Unsized,
    /// A pipe or device, which may let its reader wait.
    Waiting,
}

/// A part of a file that is data or hole throughout.
#[derive(Debug, Clone, Copy)]
struct Extent {
    end: u64,
    is_hole: bool,
}

impl<'a> Source<'a> {
    pub(super) fn open(path: &Path, stop: &'a Stop) -> io::Result<Self> {
        let file = open_without_waiting(path)?;
        let metadata = file.metadata()?;
        if metadata.is_dir() {
            return Err(io::ErrorKind::IsADirectory.into());
        }
        let kind = match metadata.len() {
            _ if !metadata.is_file() => Kind::Waiting,
            0 => Kind::Unsized,
            size => {
                let end = if size < SPARSE_BYTES_MIN { size } else { 0 };
                Kind::Regular {
                    position: 0,
                    size,
                    extent: Extent {
                        end,
                        is_hole: false,
                    },
                }
            }
        };
        Ok(Self { file, kind, stop })
    }
}

impl Read for Source<'_> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        loop {
            if self.stop.is_set() {
                return Err(io::Error::other(crate::arguments::ABORTED));
            }
            match &mut self.kind {
                Kind::Regular {
                    position,
                    size,
                    extent,
                } => {
                    if position >= size {
                        return Ok(0);
                    }
                    if *position >= extent.end {
                        *extent = extent_at(&self.file, *position, *size);
                    }
                    let wanted = usize::try_from(extent.end - *position).unwrap_or(usize::MAX);
                    let length = wanted.min(buffer.len());
                    let part = buffer.get_mut(..length).unwrap_or_default();
                    let count = if extent.is_hole {
                        part.fill(0);
                        length
                    } else {
                        read_at(&self.file, part, *position)?
                    };
                    *position += count as u64;
                    return Ok(count);
                }
                Kind::Unsized => return self.file.read(buffer),
                Kind::Waiting => {
                    if !is_ready(&self.file)? {
                        continue;
                    }
                    match self.file.read(buffer) {
                        Err(error) if error.kind() == io::ErrorKind::WouldBlock => {}
                        read => return read,
                    }
                }
            }
        }
    }
}

/// Opening a pipe would otherwise wait for its other end.
#[cfg(unix)]
fn open_without_waiting(path: &Path) -> io::Result<File> {
    use rustix::fs::{Mode, OFlags};
    let flags = OFlags::RDONLY | OFlags::NONBLOCK | OFlags::CLOEXEC;
    Ok(rustix::fs::open(path, flags, Mode::empty())?.into())
}

#[cfg(not(unix))]
fn open_without_waiting(path: &Path) -> io::Result<File> {
    File::open(path)
}

/// Waits a moment until there is something to read, or the end.
#[cfg(unix)]
fn is_ready(file: &File) -> io::Result<bool> {
    use rustix::event::{PollFd, PollFlags, Timespec, poll};
    let mut watched = [PollFd::new(file, PollFlags::IN)];
    let timeout = Timespec {
        tv_sec: 0,
        tv_nsec: PIPE_POLL_MS * 1_000_000,
    };
    Ok(poll(&mut watched, Some(&timeout))? > 0)
}

#[cfg(not(unix))]
fn is_ready(_file: &File) -> io::Result<bool> {
    Ok(true)
}

#[cfg(unix)]
fn read_at(file: &File, buffer: &mut [u8], position: u64) -> io::Result<usize> {
    std::os::unix::fs::FileExt::read_at(file, buffer, position)
}

#[cfg(not(unix))]
fn read_at(mut file: &File, buffer: &mut [u8], _position: u64) -> io::Result<usize> {
    file.read(buffer)
}

/// The extent that holds `position`. A file system that does not know says that all is data.
#[cfg(target_os = "linux")]
fn extent_at(file: &File, position: u64, size: u64) -> Extent {
    use rustix::fs::{SeekFrom, seek};
    use rustix::io::Errno;
    let (end, is_hole) = match seek(file, SeekFrom::Data(position)) {
        Ok(data) if data > position => (data, true),
        Ok(_) => (seek(file, SeekFrom::Hole(position)).unwrap_or(size), false),
        // No data up to the end.
        Err(Errno::NXIO) => (size, true),
        Err(_) => (size, false),
    };
    // The file may change while it is read; the answer must move on and stay inside.
    Extent {
        end: end.clamp(position + 1, size.max(position + 1)),
        is_hole,
    }
}

#[cfg(not(target_os = "linux"))]
fn extent_at(_file: &File, _position: u64, size: u64) -> Extent {
    Extent {
        end: size,
        is_hole: false,
    }
}
