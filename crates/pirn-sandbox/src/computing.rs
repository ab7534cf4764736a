//! Giving up everything but computing: for helpers of our own that decode what strangers made.

#[cfg(target_os = "linux")]
use std::collections::BTreeMap;
use std::time::Duration;

use crate::error::Error;

/// What a process may still use.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ComputeBounds {
    /// All of its memory, the program itself included.
    pub memory_bytes: u64,
    /// Time on the processor, rounded up to seconds; beyond, the process is killed.
    pub processor_time: Duration,
}

/// Takes everything from this process but computing, reading and writing what is open, and ending, for good: it can neither open
/// nor change files, start or signal processes, use the network, nor make code in memory. Meant for the start of a helper that has a
/// single thread and no foreign data yet. Fails where this system cannot do it, and then nothing foreign may be touched.
#[cfg(target_os = "linux")]
pub fn keep_only_computing(bounds: ComputeBounds) -> Result<(), Error> {
    let seconds =
        bounds.processor_time.as_secs() + u64::from(bounds.processor_time.subsec_nanos() > 0);
    crate::sys::lower_limits(bounds.memory_bytes, seconds)
        .map_err(|error| Error::preparing(&error))?;
    let filter = filter().map_err(|error| {
        Error::confinement(format!(
            "The filter on system calls does not compile: {error}"
        ))
    })?;
    seccompiler::apply_filter_all_threads(&filter).map_err(|error| {
        Error::confinement(format!(
            "The filter on system calls cannot be put in place: {error}"
        ))
    })
}

/// No system but Linux has a way that was tried.
#[cfg(not(target_os = "linux"))]
pub fn keep_only_computing(_bounds: ComputeBounds) -> Result<(), Error> {
    Err(Error::confinement(
        "A helper cannot be confined on this system.".to_owned(),
    ))
}

/// What is left: memory without code, the streams that are open, waiting for itself, and its end.
#[cfg(target_os = "linux")]
const ALLOWED: &[libc::c_long] = &[
    libc::SYS_brk,
    libc::SYS_clock_gettime,
    libc::SYS_close,
    libc::SYS_exit,
    libc::SYS_exit_group,
    libc::SYS_futex,
    libc::SYS_getpid,
    libc::SYS_getrandom,
    libc::SYS_gettid,
    libc::SYS_madvise,
    libc::SYS_mremap,
    libc::SYS_munmap,
    libc::SYS_read,
    libc::SYS_restart_syscall,
    libc::SYS_rt_sigaction,
    libc::SYS_rt_sigprocmask,
    libc::SYS_rt_sigreturn,
    libc::SYS_sched_yield,
    libc::SYS_sigaltstack,
    libc::SYS_write,
    libc::SYS_writev,
];

#[cfg(target_os = "linux")]
fn filter() -> Result<seccompiler::BpfProgram, seccompiler::BackendError> {
    use seccompiler::{
        SeccompAction, SeccompCmpArgLen, SeccompCmpOp, SeccompCondition, SeccompFilter, SeccompRule,
    };
    let mut rules: BTreeMap<i64, Vec<SeccompRule>> = BTreeMap::new();
    rules.extend(ALLOWED.iter().map(|number| (*number, Vec::new())));
    let executable = u64::from(libc::PROT_EXEC.cast_unsigned());
    for number in [libc::SYS_mmap, libc::SYS_mprotect] {
        let without_code = SeccompCondition::new(
            2,
            SeccompCmpArgLen::Dword,
            SeccompCmpOp::MaskedEq(executable),
            0,
        )?;
        rules.insert(number, vec![SeccompRule::new(vec![without_code])?]);
    }
    // What an abort ends itself with.
    let own = SeccompCondition::new(
        0,
        SeccompCmpArgLen::Dword,
        SeccompCmpOp::Eq,
        u64::from(std::process::id()),
    )?;
    rules.insert(libc::SYS_tgkill, vec![SeccompRule::new(vec![own])?]);
    let refused = SeccompAction::Errno(libc::EPERM.cast_unsigned());
    let target = std::env::consts::ARCH.try_into()?;
    SeccompFilter::new(rules, refused, SeccompAction::Allow, target)?.try_into()
}
