//! Limits: of each process, and by cgroup of all together.

use std::ffi::CString;
use std::io;
use std::os::unix::ffi::OsStrExt as _;
use std::sync::Arc;

use super::super::plan::Proc;
use super::PreparedLevel;
use crate::cgroup;
use crate::policy::{Level, Limits, SandboxPolicy};
use crate::report::Layer;
use crate::sys::{self, Cgroups, ResourceLimit};

/// Whether the numbers of processes can be bounded in a process namespace, and with them how many processes there are.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::sandbox) enum ProcessNumbers {
    Bounded,
    Unbounded,
}

impl ProcessNumbers {
    /// The first kernel whose `kernel.pid_max` is the namespace's. On older ones it is the machine's.
    const FIRST_KERNEL: (u32, u32) = (6, 14);
    /// The kernel takes no lower bound.
    const LOWEST: u64 = 301;

    pub(in crate::sandbox) fn here() -> Self {
        let version = std::fs::read_to_string("/proc/sys/kernel/osrelease")
            .ok()
            .and_then(|release| kernel_version(&release));
        if version.is_some_and(|version| version >= Self::FIRST_KERNEL) {
            Self::Bounded
        } else {
            Self::Unbounded
        }
    }
}

/// The first two numbers of a kernel's release.
fn kernel_version(release: &str) -> Option<(u32, u32)> {
    let mut numbers = release.split(|character: char| !character.is_ascii_digit());
    Some((numbers.next()?.parse().ok()?, numbers.next()?.parse().ok()?))
}

impl PreparedLevel {
    /// The highest number that a process may have. Root alone needs it: it is exempt from the limit that the kernel counts for
    /// other users in their user namespace.
    pub(super) fn process_number_max(&self, policy: &SandboxPolicy) -> Option<u64> {
        let is_possible = self.level > Level::Basic
            && self.proc == Proc::Own
            && self.process_numbers == ProcessNumbers::Bounded
            && sys::user().id == 0;
        policy
            .limits
            .processes
            .filter(|bound| is_possible && *bound >= ProcessNumbers::LOWEST)
    }

    /// What is left for a cgroup to bound. Processes only if nothing else does: joining a cgroup can take ten milliseconds.
    pub(super) fn limits_by_cgroup(&self, policy: &SandboxPolicy) -> Limits {
        let mut limits = policy.limits;
        let is_ordinary = self.level > Level::Basic && sys::user().id != 0;
        if is_ordinary || self.process_number_max(policy).is_some() {
            limits.processes = None;
        }
        limits
    }
}

/// A cgroup for one child.
pub(super) fn cgroups(limits: &Limits) -> io::Result<Cgroups> {
    let group = cgroup::Cgroups::of_machine().make(limits)?;
    let remove = group
        .folders
        .iter()
        .map(|folder| CString::new(folder.as_os_str().as_bytes()))
        .collect::<Result<_, _>>()?;
    Ok(Cgroups {
        join: group.join,
        remove,
        events: group.events.map(Arc::new),
    })
}

/// Limits of each process.
pub(super) fn of_process(policy: &SandboxPolicy, level: Level) -> Vec<ResourceLimit> {
    let limits = policy.limits;
    // Of each process alone, where nothing bounds them together.
    let memory = limits.memory_bytes.filter(|_bound| {
        cgroup::Cgroups::of_machine()
            .missing(&limits)
            .iter()
            .any(|missing| missing.layer == Layer::CgroupMemory)
    });
    let processes = match level {
        // Counted per user, and outside a user namespace others of the user's count as well.
        Level::Basic => None,
        Level::Standard | Level::Strict => limits.processes,
    };
    [
        // A core file is written by the kernel, wherever its settings say.
        (libc::RLIMIT_CORE, Some(0)),
        (libc::RLIMIT_FSIZE, limits.file_bytes),
        (libc::RLIMIT_NOFILE, limits.open_files),
        (
            libc::RLIMIT_CPU,
            limits.cpu.map(|time| time.as_secs().max(1)),
        ),
        (libc::RLIMIT_NPROC, processes),
        // Not the address space: interpreters reserve far more of it than they use.
        (libc::RLIMIT_DATA, memory),
    ]
    .into_iter()
    .filter_map(|(resource, bound)| {
        Some(ResourceLimit {
            resource,
            bound: bound?,
        })
    })
    .collect()
}

#[cfg(test)]
mod tests {
    use super::kernel_version;

    #[test]
    fn reads_releases_of_kernels() {
        for (release, version) in [
            ("6.18.44-generic\n", Some((6, 18))),
            ("6.1.0", Some((6, 1))),
            ("6.14-rc1", Some((6, 14))),
            ("odd", None),
        ] {
            assert_eq!(kernel_version(release), version, "{release}");
        }
    }
}
