//! What the standard library does not tell about processes.
#![expect(
    unsafe_code,
    reason = "getrusage has no safe face in the standard library"
)]

/// The largest resident set of any child that was waited for, in bytes.
pub(crate) fn children_peak_bytes() -> u64 {
    let mut usage = std::mem::MaybeUninit::<libc::rusage>::zeroed();
    // SAFETY: the pointer is to a whole `rusage`, which the call only writes to.
    let result = unsafe { libc::getrusage(libc::RUSAGE_CHILDREN, usage.as_mut_ptr()) };
    if result != 0 {
        return 0;
    }
    // SAFETY: zeroes are a valid `rusage`, and the call has succeeded.
    let usage = unsafe { usage.assume_init() };
    u64::try_from(usage.ru_maxrss).unwrap_or(0) * 1024
}
