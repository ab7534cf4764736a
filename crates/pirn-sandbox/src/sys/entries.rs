//! Reading the entries of a folder, a few hundred at a time.

use std::fs::File;
use std::io;
use std::os::fd::AsRawFd as _;

/// What an entry is, as far as the file system tells without being asked about it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum EntryKind {
    Folder,
    Other,
    Unknown,
}

/// Room for some hundred names: larger buffers are no faster.
pub(crate) const ENTRIES_BYTES: usize = 64 * 1024;

/// Where the fields of an entry stand: its length, what it is, and its name, which ends in zero.
const LENGTH_AT: usize = 16;
const KIND_AT: usize = 18;
const NAME_AT: usize = 19;

/// Gives the name of every entry of an open folder, but for `.` and `..`, and what it is.
pub(crate) fn each_entry(
    folder: &File,
    buffer: &mut [u8],
    mut each: impl FnMut(&[u8], EntryKind),
) -> io::Result<()> {
    loop {
        // SAFETY: the kernel writes at most as many bytes as the buffer has.
        let read = unsafe {
            libc::syscall(
                libc::SYS_getdents64,
                folder.as_raw_fd(),
                buffer.as_mut_ptr(),
                buffer.len(),
            )
        };
        let Ok(read) = usize::try_from(read) else {
            return Err(io::Error::last_os_error());
        };
        let mut rest = buffer.get(..read).unwrap_or_default();
        if rest.is_empty() {
            return Ok(());
        }
        while let Some((name, kind, length)) = first_entry(rest) {
            if name != b"." && name != b".." {
                each(name, kind);
            }
            rest = rest.get(length..).unwrap_or_default();
        }
    }
}

fn first_entry(bytes: &[u8]) -> Option<(&[u8], EntryKind, usize)> {
    let length = bytes.get(LENGTH_AT..KIND_AT)?;
    let length = usize::from(u16::from_ne_bytes(length.try_into().ok()?));
    let kind = match *bytes.get(KIND_AT)? {
        libc::DT_DIR => EntryKind::Folder,
        libc::DT_UNKNOWN => EntryKind::Unknown,
        _ => EntryKind::Other,
    };
    let name = bytes.get(NAME_AT..length)?;
    let end = name.iter().position(|byte| *byte == 0)?;
    Some((name.get(..end)?, kind, length))
}

/// Whether the times of a file system tell every change of a folder: those of this machine's disks and memory do.
pub(crate) fn keeps_change_times(folder: &File) -> io::Result<bool> {
    /// The type of `f_type`, which differs between C libraries and machines.
    type Kind = libc::__fsword_t;
    const EXT4: Kind = 0xEF53;
    const XFS: Kind = 0x5846_5342;
    const BTRFS: Kind = 0x9123_683E;
    const TMPFS: Kind = 0x0102_1994;
    const OVERLAY: Kind = 0x794C_7630;
    const F2FS: Kind = 0xF2F5_2010;
    let mut status = std::mem::MaybeUninit::<libc::statfs>::uninit();
    // SAFETY: the structure is written by the call and read only when it succeeded.
    let kind = unsafe {
        if libc::fstatfs(folder.as_raw_fd(), status.as_mut_ptr()) != 0 {
            return Err(io::Error::last_os_error());
        }
        status.assume_init().f_type
    };
    Ok(matches!(kind, EXT4 | XFS | BTRFS | TMPFS | OVERLAY | F2FS))
}
