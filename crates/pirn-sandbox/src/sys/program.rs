//! The process that becomes the program, up to exec. Only system calls: runs after a fork.

use std::mem::MaybeUninit;
use std::os::fd::AsRawFd as _;

use libc::{c_int, c_ulong, pid_t};

use super::descriptors::{CloseWhen, after, close_from, place};
use super::errno;
use super::launch::{Confinement, Launch, ResourceLimit};
use super::message::{Failure, Stage};
use super::start::failed;
use crate::command::DESCRIPTORS_MAX;

/// The highest number a capability can have: the kernel's sets are 64 bits wide.
const CAPABILITIES_MAX: c_ulong = 64;

/// Does everything that comes before exec.
pub(super) fn prepare(supervisor: pid_t, launch: &Launch) -> Result<(), Failure> {
    belong_to(supervisor);
    reset_signals();
    let mut lifted = [-1; DESCRIPTORS_MAX];
    let count = launch.descriptors.len();
    let Some(lifted) = lifted.get_mut(..count) else {
        return Err(failed(Stage::Descriptors, libc::EMFILE));
    };
    if let Some(confinement) = &launch.confinement {
        // The files for it may have the numbers that the descriptors get.
        join_cgroups(confinement).map_err(|errno| failed(Stage::Cgroup, errno))?;
        limit(confinement).map_err(|errno| failed(Stage::Limits, errno))?;
        drop_capabilities(confinement).map_err(|errno| failed(Stage::Capabilities, errno))?;
        // SAFETY: the path ends in zero.
        if unsafe { libc::chdir(confinement.directory.as_ptr()) } != 0 {
            return Err(failed(Stage::Directory, errno()));
        }
        restrict(confinement)?;
        place(&launch.descriptors, lifted).map_err(|errno| failed(Stage::Descriptors, errno))?;
        close_from(after(count), CloseWhen::OnExec);
        install_filter(confinement)?;
    } else {
        place(&launch.descriptors, lifted).map_err(|errno| failed(Stage::Descriptors, errno))?;
        close_from(after(count), CloseWhen::OnExec);
    }
    Ok(())
}

fn belong_to(supervisor: pid_t) {
    // SAFETY: plain system calls on integers.
    unsafe {
        libc::setpgid(0, 0);
        libc::prctl(libc::PR_SET_PDEATHSIG, libc::SIGKILL, 0, 0, 0);
        // The supervisor may have died before the line above.
        if libc::syscall(libc::SYS_getppid) != libc::c_long::from(supervisor) {
            libc::_exit(127);
        }
    }
}

/// Ignored signals stay ignored over exec, so a program would inherit what Pirn or its parent ignores.
fn reset_signals() {
    // SAFETY: the signal set and action are initialised before use.
    unsafe {
        let mut default = MaybeUninit::<libc::sigaction>::zeroed().assume_init();
        default.sa_sigaction = libc::SIG_DFL;
        for signal in 1..=64 {
            libc::sigaction(signal, &raw const default, std::ptr::null_mut());
        }
        let mut none = MaybeUninit::<libc::sigset_t>::uninit();
        libc::sigemptyset(none.as_mut_ptr());
        libc::sigprocmask(libc::SIG_SETMASK, none.as_ptr(), std::ptr::null_mut());
    }
}

/// Only the program and what it starts count: the supervisor must not be what a shortage of memory ends.
fn join_cgroups(confinement: &Confinement) -> Result<(), c_int> {
    for file in &confinement.cgroups.join {
        // SAFETY: writes one byte.
        if unsafe { libc::write(file.as_raw_fd(), c"0".as_ptr().cast(), 1) } != 1 {
            return Err(errno());
        }
    }
    Ok(())
}

fn limit(confinement: &Confinement) -> Result<(), c_int> {
    confinement.limits.iter().try_for_each(lower_limit)
}

/// Sets a limit of this process, for ever. What is lower already stays.
pub(super) fn lower_limit(limit: &ResourceLimit) -> Result<(), c_int> {
    let mut bounds = MaybeUninit::<libc::rlimit>::uninit();
    // SAFETY: the structure is written by the first call and read only when that succeeded.
    unsafe {
        if libc::getrlimit(limit.resource, bounds.as_mut_ptr()) != 0 {
            return Err(errno());
        }
        let hard = bounds.assume_init().rlim_max.min(limit.bound);
        let bounds = libc::rlimit {
            rlim_cur: hard,
            rlim_max: hard,
        };
        if libc::setrlimit(limit.resource, &raw const bounds) != 0 {
            return Err(errno());
        }
    }
    Ok(())
}

/// Gives up every capability, for ever. In a user namespace a process starts with all of them, and root gets them back on exec
/// unless that is forbidden.
fn drop_capabilities(confinement: &Confinement) -> Result<(), c_int> {
    /// The constant `_LINUX_CAPABILITY_VERSION_3` of the kernel.
    const VERSION: u32 = 0x2008_0522;
    #[repr(C)]
    struct Header {
        version: u32,
        pid: c_int,
    }
    #[repr(C)]
    struct Sets {
        effective: u32,
        permitted: u32,
        inheritable: u32,
    }
    let secure_bits = libc::SECBIT_NOROOT
        | libc::SECBIT_NOROOT_LOCKED
        | libc::SECBIT_NO_SETUID_FIXUP
        | libc::SECBIT_NO_SETUID_FIXUP_LOCKED
        | libc::SECBIT_KEEP_CAPS_LOCKED
        | libc::SECBIT_NO_CAP_AMBIENT_RAISE
        | libc::SECBIT_NO_CAP_AMBIENT_RAISE_LOCKED;
    // SAFETY: plain system calls on integers.
    let kept = unsafe {
        for capability in 0..CAPABILITIES_MAX {
            if libc::prctl(libc::PR_CAPBSET_DROP, capability, 0, 0, 0) != 0 {
                // EINVAL: beyond the last one this kernel has.
                break;
            }
        }
        libc::prctl(
            libc::PR_SET_SECUREBITS,
            c_ulong::from(secure_bits.cast_unsigned()),
            0,
            0,
            0,
        ) != 0
    };
    // Outside a user namespace of our own only root has the right, and needs it.
    if kept && confinement.namespaces.is_some() {
        return Err(errno());
    }
    let header = Header {
        version: VERSION,
        pid: 0,
    };
    let none = [const {
        Sets {
            effective: 0,
            permitted: 0,
            inheritable: 0,
        }
    }; 2];
    // SAFETY: the structures are laid out as the kernel wants them in this version.
    if unsafe { libc::syscall(libc::SYS_capset, &raw const header, none.as_ptr()) } != 0 {
        return Err(errno());
    }
    Ok(())
}

fn restrict(confinement: &Confinement) -> Result<(), Failure> {
    // SAFETY: plain system calls on integers.
    unsafe {
        if libc::prctl(libc::PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0 {
            return Err(failed(Stage::NoNewPrivileges, errno()));
        }
        if let Some(ruleset) = &confinement.ruleset
            && libc::syscall(libc::SYS_landlock_restrict_self, ruleset.as_raw_fd(), 0) != 0
        {
            return Err(failed(Stage::Landlock, errno()));
        }
    }
    Ok(())
}

/// Last, because it forbids some of the above.
fn install_filter(confinement: &Confinement) -> Result<(), Failure> {
    let Some(filter) = confinement.filter else {
        return Ok(());
    };
    let Ok(length) = u16::try_from(filter.len()) else {
        return Err(failed(Stage::Seccomp, libc::E2BIG));
    };
    let program = libc::sock_fprog {
        len: length,
        filter: filter.as_ptr().cast_mut(),
    };
    // SAFETY: the kernel copies the instructions, whose length is given.
    let installed = unsafe {
        libc::syscall(
            libc::SYS_seccomp,
            libc::SECCOMP_SET_MODE_FILTER,
            0,
            &raw const program,
        )
    };
    if installed != 0 {
        return Err(failed(Stage::Seccomp, errno()));
    }
    Ok(())
}
