//! Reading a regular file in pieces, without reading its holes.

use std::fs::File;
use std::io::{self, Read};

use crate::blocking::Stop;
use crate::regular::RegularFile;

/// Bytes read at a time.
const CHUNK_BYTES: usize = 256 * 1024;

/// From this size on a file is searched for holes, which need no reading. Smaller ones are read faster than asked about.
const SPARSE_BYTES_MIN: u64 = 16 * 1024 * 1024;

/// A file being read. It ends at the size it had at opening, so that a file that is being written has an end; files that report
/// no size (`/proc`) are read to their end. Reading fails when the call is stopped.
pub(crate) struct Source<'a> {
    file: File,
    kind: Kind,
    stop: &'a Stop,
    buffer: Vec<u8>,
}

enum Kind {
    /// Has a size and can be read at any place.
    Sized {
        position: u64,
        size: u64,
        extent: Extent,
    },
    /// A file that reports no size, as in `/proc`.
    Unsized,
}

/// A piece of a file.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Piece<'a> {
    Bytes(&'a [u8]),
    /// So many zero bytes that the file does not hold.
    Hole(u64),
}

/// A part of a file that is data or hole throughout.
#[derive(Debug, Clone, Copy)]
struct Extent {
    end: u64,
    is_hole: bool,
}

impl<'a> Source<'a> {
    pub(crate) fn new(opened: RegularFile, stop: &'a Stop) -> Self {
        let kind = match opened.metadata.len() {
            0 => Kind::Unsized,
            size => {
                let end = if size < SPARSE_BYTES_MIN { size } else { 0 };
                Kind::Sized {
                    position: 0,
                    size,
                    extent: Extent {
                        end,
                        is_hole: false,
                    },
                }
            }
        };
        // Clearing a large buffer takes longer than reading a small file.
        let buffer_bytes = match kind {
            Kind::Sized { size, .. } => usize::try_from(size).unwrap_or(CHUNK_BYTES),
            Kind::Unsized => CHUNK_BYTES,
        };
        Self {
            file: opened.file,
            kind,
            stop,
            buffer: vec![0; buffer_bytes.min(CHUNK_BYTES)],
        }
    }

    /// How many bytes of a file with a size were read or passed over.
    pub(crate) fn position(&self) -> u64 {
        match self.kind {
            Kind::Sized { position, .. } => position,
            Kind::Unsized => 0,
        }
    }

    /// Goes on at another place of a file with a size.
    pub(crate) fn seek_to(&mut self, at: u64) {
        if let Kind::Sized {
            position, extent, ..
        } = &mut self.kind
        {
            *position = at;
            // To be looked up again, but for small files, which are data throughout.
            if extent.is_hole || at >= extent.end {
                *extent = Extent {
                    end: 0,
                    is_hole: false,
                };
            }
        }
    }

    /// The next piece; `None` at the end.
    pub(crate) fn next_piece(&mut self) -> io::Result<Option<Piece<'_>>> {
        let hole = self.take_hole()?;
        if hole > 0 {
            return Ok(Some(Piece::Hole(hole)));
        }
        let mut buffer = std::mem::take(&mut self.buffer);
        let read = self.read(&mut buffer);
        self.buffer = buffer;
        let count = read?;
        Ok((count > 0).then(|| Piece::Bytes(self.buffer.get(..count).unwrap_or_default())))
    }

    /// Passes over the hole at the position, and gives its length.
    pub(crate) fn take_hole(&mut self) -> io::Result<u64> {
        let Self {
            file, kind, stop, ..
        } = self;
        check(stop)?;
        match kind {
            Kind::Sized {
                position,
                size,
                extent,
            } if *position < *size => {
                if *position >= extent.end {
                    *extent = extent_at(file, *position, *size);
                }
                let length = if extent.is_hole {
                    extent.end - *position
                } else {
                    0
                };
                *position += length;
                Ok(length)
            }
            Kind::Sized { .. } | Kind::Unsized => Ok(0),
        }
    }
}

impl Read for Source<'_> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let Self {
            file, kind, stop, ..
        } = self;
        loop {
            check(stop)?;
            let read = match kind {
                Kind::Sized {
                    position,
                    size,
                    extent,
                } => {
                    if position >= size {
                        return Ok(0);
                    }
                    if *position >= extent.end {
                        *extent = extent_at(file, *position, *size);
                    }
                    let wanted = usize::try_from(extent.end - *position).unwrap_or(usize::MAX);
                    let length = wanted.min(buffer.len());
                    let part = buffer.get_mut(..length).unwrap_or_default();
                    let count = if extent.is_hole {
                        part.fill(0);
                        Ok(length)
                    } else {
                        read_at(file, part, *position)
                    };
                    count.inspect(|count| *position += *count as u64)
                }
                Kind::Unsized => file.read(buffer),
            };
            match read {
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                read => return read,
            }
        }
    }
}

fn check(stop: &Stop) -> io::Result<()> {
    if stop.is_set() {
        Err(io::Error::other(crate::arguments::ABORTED))
    } else {
        Ok(())
    }
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
