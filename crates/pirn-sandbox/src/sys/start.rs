//! The forks between us and a program.
//!
//! Without namespaces, the first child becomes the supervisor (see [`super::supervisor`]) and the second one the program.
//! With namespaces there is one more: the first child stays outside, clones the first process of the new namespaces, waits for
//! it and removes the cgroups. That process mounts what is to be seen, forks the program, and is the supervisor: whatever
//! ends it, the kernel ends everything inside with it.
//!
//! After the forks, memory is a copy of a process with many threads that no longer run, so any lock may be held for ever:
//! everything runs on system calls alone, without allocation, locks or panics, on what [`Launch`] has ready.

use std::io;
use std::mem::MaybeUninit;
use std::os::fd::{AsRawFd, RawFd};
use std::os::unix::net::UnixStream;

use libc::{c_int, pid_t};

use super::descriptors::{CloseWhen, close_from};
use super::errno;
use super::launch::Launch;
use super::message::{self, Failure, Message, Stage};
use super::supervisor::{SupervisedScope, Watch, remove_cgroups, supervise};
use super::{namespaces, program};

/// Makes `command` start under a supervisor, and returns our end of the lifeline, not blocking.
pub(crate) fn attach_supervisor(
    command: &mut tokio::process::Command,
    mut launch: Launch,
) -> io::Result<UnixStream> {
    let (ours, theirs) = lifeline()?;
    // SAFETY: the closure runs between fork and exec and keeps to what is allowed there, see the module's comment.
    unsafe { command.pre_exec(move || split(theirs.as_raw_fd(), &mut launch)) };
    Ok(ours)
}

/// Both ends close on exec, so no other child inherits them; supervisors, which never exec, close them by hand.
pub(super) fn lifeline() -> io::Result<(UnixStream, UnixStream)> {
    let (ours, theirs) = UnixStream::pair()?;
    ours.set_nonblocking(true)?;
    Ok((ours, theirs))
}

/// Runs in the first child, and returns in the one that goes on to exec.
pub(super) fn split(lifeline: RawFd, launch: &mut Launch) -> io::Result<()> {
    let Some(namespaces) = launch
        .confinement
        .as_ref()
        .and_then(|confinement| confinement.namespaces.as_ref())
    else {
        return split_off_program(lifeline, launch, SupervisedScope::Descendants);
    };
    // SAFETY: plain system calls on integers.
    unsafe { libc::setsid() };
    block_signals();
    if let Some(network) = &namespaces.network
        && let Err(failure) = network.enter()
    {
        return Err(fail(lifeline, failure));
    }
    match clone(namespaces.flags) {
        0 => {
            if let Some(namespaces) = launch
                .confinement
                .as_mut()
                .and_then(|confinement| confinement.namespaces.as_mut())
                && let Err(failure) = namespaces::settle_in(namespaces)
            {
                return Err(fail(lifeline, failure));
            }
            split_off_program(lifeline, launch, SupervisedScope::Namespace)
        }
        -1 => Err(fail(lifeline, failed(Stage::Namespaces, errno()))),
        first => wait_outside(first, launch),
    }
}

/// Turns the calling process into the supervisor, and returns in its child, ready for exec.
fn split_off_program(
    lifeline: RawFd,
    launch: &mut Launch,
    reach: SupervisedScope,
) -> io::Result<()> {
    // SAFETY: plain system calls on integers.
    let supervisor = unsafe {
        libc::setsid();
        block_signals();
        // Before the fork, so that no descendant is born outside.
        if libc::prctl(libc::PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0) != 0 {
            return Err(io::Error::last_os_error());
        }
        libc::getpid()
    };
    match clone(0) {
        0 => match program::prepare(supervisor, launch) {
            Ok(()) => Ok(()),
            Err(failure) => Err(fail(lifeline, failure)),
        },
        -1 => Err(fail(lifeline, failed(Stage::Fork, errno()))),
        main => {
            let cgroups = launch
                .confinement
                .as_ref()
                .map(|confinement| &confinement.cgroups);
            supervise(Watch {
                main,
                lifeline,
                reach,
                lock: match reach {
                    SupervisedScope::Descendants => launch.lock.as_deref().map(AsRawFd::as_raw_fd),
                    // The process outside has it, and ends last.
                    SupervisedScope::Namespace => None,
                },
                memory_events: cgroups
                    .and_then(|cgroups| cgroups.events.as_ref())
                    .map(AsRawFd::as_raw_fd),
                remove: match reach {
                    SupervisedScope::Descendants => {
                        cgroups.map_or(&[], |cgroups| cgroups.remove.as_slice())
                    }
                    // The process outside does that.
                    SupervisedScope::Namespace => &[],
                },
            })
        }
    }
}

/// The life of the process outside.
fn wait_outside(first: pid_t, launch: &Launch) -> ! {
    // SAFETY: plain system calls; the strings end in zero.
    unsafe {
        libc::chdir(c"/".as_ptr());
        libc::prctl(libc::PR_SET_NAME, c"pirn-supervisor".as_ptr(), 0, 0, 0);
        // It is a copy of us.
        libc::prctl(libc::PR_SET_DUMPABLE, 0, 0, 0, 0);
        default_child_signal();
    }
    // Among them are the ends of the program's output, and the pipe on which the standard library waits for exec.
    match &launch.lock {
        // SAFETY: a plain system call on integers; nothing in this process uses what had the number.
        Some(lock) if unsafe { libc::dup2(lock.as_raw_fd(), 0) } == 0 => {
            close_from(1, CloseWhen::Now);
        }
        Some(_) | None => close_from(0, CloseWhen::Now),
    }
    loop {
        // SAFETY: a null pointer asks for no status.
        let waited = unsafe { libc::waitpid(first, std::ptr::null_mut(), 0) };
        if waited == first || errno() != libc::EINTR {
            break;
        }
    }
    if let Some(confinement) = &launch.confinement {
        remove_cgroups(&confinement.cgroups.remove);
    }
    // SAFETY: ends the process without running any handler.
    unsafe { libc::_exit(0) }
}

/// A fork without the C library's handlers, which may take locks.
fn clone(flags: c_int) -> pid_t {
    // SAFETY: the child goes on with a copy of this stack; no memory is shared.
    let pid = unsafe {
        libc::syscall(
            libc::SYS_clone,
            libc::c_long::from(flags | libc::SIGCHLD),
            0,
            0,
            0,
            0,
        )
    };
    pid_t::try_from(pid).unwrap_or(-1)
}

fn block_signals() {
    // SAFETY: the signal set is filled before use.
    unsafe {
        let mut all = MaybeUninit::<libc::sigset_t>::uninit();
        libc::sigfillset(all.as_mut_ptr());
        libc::sigprocmask(libc::SIG_SETMASK, all.as_ptr(), std::ptr::null_mut());
    }
}

/// With SIGCHLD ignored by whoever started us, no wait status would be kept.
pub(super) fn default_child_signal() {
    // SAFETY: all zeroes are a valid action, and the fields that matter are set.
    unsafe {
        let mut default = MaybeUninit::<libc::sigaction>::zeroed().assume_init();
        default.sa_sigaction = libc::SIG_DFL;
        libc::sigaction(libc::SIGCHLD, &raw const default, std::ptr::null_mut());
    }
}

/// A failure outside the mount plan.
pub(super) fn failed(stage: Stage, errno: c_int) -> Failure {
    Failure {
        stage,
        step: 0,
        errno,
    }
}

/// Tells us, and gives the error with which the standard library ends the start.
pub(super) fn fail(lifeline: RawFd, failure: Failure) -> io::Error {
    message::send(lifeline, Message::Failed(failure));
    io::Error::from_raw_os_error(failure.errno)
}
