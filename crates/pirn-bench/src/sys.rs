//! What the standard library does not tell about processes.
#![expect(unsafe_code, reason = "wait4 has no safe face in the standard library")]

use std::io;
use std::process::Child;

/// Waits for a child. Gives whether it succeeded, and its largest resident set in bytes.
pub(crate) fn wait_with_peak(child: &Child) -> io::Result<(bool, u64)> {
    let pid = libc::pid_t::try_from(child.id()).map_err(io::Error::other)?;
    let mut status = 0;
    let mut usage = std::mem::MaybeUninit::<libc::rusage>::zeroed();
    // SAFETY: both pointers are to whole values of the types that the call writes to.
    let waited = unsafe { libc::wait4(pid, &raw mut status, 0, usage.as_mut_ptr()) };
    if waited != pid {
        return Err(io::Error::last_os_error());
    }
    // SAFETY: zeroes are a valid `rusage`, and the call has succeeded.
    let usage = unsafe { usage.assume_init() };
    let peak_bytes = u64::try_from(usage.ru_maxrss).unwrap_or(0) * 1024;
    Ok((
        libc::WIFEXITED(status) && libc::WEXITSTATUS(status) == 0,
        peak_bytes,
    ))
}
