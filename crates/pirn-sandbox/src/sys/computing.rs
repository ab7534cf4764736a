//! Limits on this process itself.

use std::io;

use super::launch::ResourceLimit;
use super::program::lower_limit;

/// Sets limits of this process, for ever; see [`crate::keep_only_computing`].
pub(crate) fn lower_limits(memory_bytes: u64, processor_seconds: u64) -> io::Result<()> {
    [
        (libc::RLIMIT_AS, memory_bytes),
        (libc::RLIMIT_CPU, processor_seconds),
        (libc::RLIMIT_CORE, 0),
        (libc::RLIMIT_FSIZE, 0),
        // What is open stays open, and nothing else can be opened.
        (libc::RLIMIT_NOFILE, 0),
        (libc::RLIMIT_NPROC, 0),
    ]
    .into_iter()
    .try_for_each(|(resource, bound)| lower_limit(&ResourceLimit { resource, bound }))
    .map_err(io::Error::from_raw_os_error)
}
