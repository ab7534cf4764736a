//! Descriptors of children: which are closed, which get which number, and how places are opened. Only system calls: runs after a
//! fork.

use std::ffi::CStr;
use std::mem::MaybeUninit;
use std::os::fd::{AsRawFd as _, OwnedFd, RawFd};
use std::sync::Arc;

use libc::{c_int, c_long, c_uint};

use super::errno;

/// The first number after standard input, output and error.
pub(super) const FIRST_FREE: RawFd = 3;

/// Descriptors looked at one by one on kernels before 5.11, which cannot close a range.
const DESCRIPTORS_MAX: RawFd = 65_536;

/// Whether [`close_from`] closes at once or at exec.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum CloseWhen {
    Now,
    OnExec,
}

/// Closes every descriptor from `first` on.
pub(super) fn close_from(first: RawFd, closing: CloseWhen) {
    /// `CLOSE_RANGE_CLOEXEC`, which the C library's headers may lack.
    const ON_EXEC: c_uint = 1 << 2;
    let flags = if closing == CloseWhen::OnExec {
        ON_EXEC
    } else {
        0
    };
    // SAFETY: a plain system call on integers; nothing in this process uses the descriptors afterwards.
    if unsafe { libc::syscall(libc::SYS_close_range, first, c_uint::MAX, flags) } == 0 {
        return;
    }
    for descriptor in first..DESCRIPTORS_MAX {
        // SAFETY: as above; a descriptor that is not open gives an error and nothing else.
        unsafe {
            match closing {
                CloseWhen::Now => libc::close(descriptor),
                CloseWhen::OnExec => libc::fcntl(descriptor, libc::F_SETFD, libc::FD_CLOEXEC),
            };
        }
    }
}

/// Gives a descriptor a second number, at least `first`, that closes on exec.
pub(super) fn lift(descriptor: RawFd, first: RawFd) -> RawFd {
    // SAFETY: a plain system call on integers.
    unsafe { libc::fcntl(descriptor, libc::F_DUPFD_CLOEXEC, first) }
}

/// Gives the descriptors the numbers from [`FIRST_FREE`] on, in their order, open over exec. `lifted` has as many places.
pub(super) fn place(given: &[Arc<OwnedFd>], lifted: &mut [RawFd]) -> Result<(), c_int> {
    let end = after(given.len());
    // First all of them out of the way, so that none is overwritten before its turn.
    for (descriptor, place) in given.iter().zip(lifted.iter_mut()) {
        *place = lift(descriptor.as_raw_fd(), end);
        if *place < 0 {
            return Err(errno());
        }
    }
    for (target, descriptor) in (FIRST_FREE..end).zip(lifted.iter()) {
        // SAFETY: a plain system call on integers; the number is free or one that nothing uses any more.
        if unsafe { libc::dup2(*descriptor, target) } < 0 {
            return Err(errno());
        }
    }
    Ok(())
}

/// The first number after so many placed descriptors.
pub(super) fn after(count: usize) -> RawFd {
    RawFd::try_from(count).map_or(RawFd::MAX, |count| FIRST_FREE.saturating_add(count))
}

/// Opens a place by a path without symbolic links, to be named and not to be used; `flags` say more.
pub(super) fn open_without_links(path: &CStr, flags: c_int) -> Result<RawFd, c_int> {
    // SAFETY: all zeroes are a valid value of this structure of integers.
    let mut how = unsafe { MaybeUninit::<libc::open_how>::zeroed().assume_init() };
    how.flags = u64::from((libc::O_PATH | libc::O_CLOEXEC | flags).cast_unsigned());
    how.resolve = libc::RESOLVE_NO_SYMLINKS | libc::RESOLVE_NO_MAGICLINKS;
    // SAFETY: the path ends in zero and the structure has the given size.
    descriptor(unsafe {
        libc::syscall(
            libc::SYS_openat2,
            libc::AT_FDCWD,
            path.as_ptr(),
            &raw const how,
            size_of::<libc::open_how>(),
        )
    })
}

/// What a system call gave that makes a descriptor.
pub(super) fn descriptor(number: c_long) -> Result<RawFd, c_int> {
    match RawFd::try_from(number) {
        Ok(descriptor) if descriptor >= 0 => Ok(descriptor),
        _ => Err(errno()),
    }
}
