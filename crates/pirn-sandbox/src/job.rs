//! Bounds on Windows: what a job object is asked for. All processes that a child starts belong to its job, and closing the
//! job's last handle ends them.

use std::time::Duration;

use crate::policy::Limits;
use crate::report::{Layer, MissingLayer};

/// Bits of `LimitFlags` in `JOBOBJECT_BASIC_LIMIT_INFORMATION`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct LimitFlags(pub(crate) u32);

impl LimitFlags {
    pub(crate) const PROCESS_TIME: u32 = 0x0002;
    pub(crate) const ACTIVE_PROCESS: u32 = 0x0008;
    pub(crate) const JOB_MEMORY: u32 = 0x0200;
    /// `JOB_OBJECT_LIMIT_DIE_ON_UNHANDLED_EXCEPTION`: no box on the screen that waits for somebody to press a key.
    pub(crate) const DIE_ON_UNHANDLED_EXCEPTION: u32 = 0x0400;
    pub(crate) const KILL_ON_JOB_CLOSE: u32 = 0x2000;
}

/// What a job object is asked for: the fields of `JOBOBJECT_EXTENDED_LIMIT_INFORMATION` that are used.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct JobLimits {
    /// Which of the others count.
    pub(crate) flags: LimitFlags,
    /// Processor time in user mode of one process, in units of 100 nanoseconds.
    pub(crate) process_time: i64,
    /// Processes at once; threads are not counted.
    pub(crate) active_processes: u32,
    /// Memory of all processes together, in bytes.
    pub(crate) job_memory: usize,
}

impl JobLimits {
    /// The job for a policy's limits, and which of those no job can keep.
    pub(crate) fn of(limits: &Limits) -> (Self, Option<MissingLayer>) {
        let mut job = Self {
            flags: LimitFlags(
                LimitFlags::KILL_ON_JOB_CLOSE | LimitFlags::DIE_ON_UNHANDLED_EXCEPTION,
            ),
            process_time: 0,
            active_processes: 0,
            job_memory: 0,
        };
        if let Some(bytes) = limits.memory_bytes {
            job.flags.0 |= LimitFlags::JOB_MEMORY;
            job.job_memory = usize::try_from(bytes).unwrap_or(usize::MAX);
        }
        if let Some(processes) = limits.processes {
            job.flags.0 |= LimitFlags::ACTIVE_PROCESS;
            job.active_processes = u32::try_from(processes).unwrap_or(u32::MAX);
        }
        if let Some(time) = limits.cpu {
            job.flags.0 |= LimitFlags::PROCESS_TIME;
            job.process_time = hundreds_of_nanoseconds(time);
        }
        let has_others = limits.file_bytes.is_some() || limits.open_files.is_some();
        let missing = has_others.then(|| MissingLayer {
            layer: Layer::ResourceLimits,
            reason: "Windows bounds neither the length of files nor the number of open ones."
                .to_owned(),
            remedy: None,
        });
        (job, missing)
    }
}

fn hundreds_of_nanoseconds(time: Duration) -> i64 {
    i64::try_from(time.as_nanos() / 100).unwrap_or(i64::MAX)
}

#[cfg(test)]
mod tests;
