//! The forks between us and a program.
//!
//! Without namespaces, the first child becomes the supervisor (see [`super::supervisor`]) and the second one the program.
//! With namespaces there is one more: the first child stays outside, clones the first process of the new namespaces, waits for
//! it and removes the cgroups. That process mounts what is to be seen, starts the program, and is the supervisor: whatever
//! ends it, the kernel ends everything inside with it.
//!
//! Only the first child is a copy of our memory: that is what a fork costs. The others share its copy, each on a stack of its
//! own, and never write to it at the same time:
//! - the first process of the namespaces shares descriptors as well, so that the process outside, which only waits, keeps none
//!   open that it lets go of;
//! - the process that becomes the program stops the supervisor until exec or its end.
//!
//! After the first fork, memory is a copy of a process with many threads that no longer run, so any lock may be held for ever:
//! everything runs on system calls alone, without allocation, locks or panics, on what [`Start`] has ready.

use std::io;
use std::mem::MaybeUninit;
use std::os::fd::{AsRawFd, RawFd};
use std::os::unix::net::UnixStream;

use libc::{c_int, c_void, pid_t};

use super::errno;
use super::image::ProgramImage;
use super::launch::{Launch, Namespaces};
use super::message::{self, Failure, Message, Stage};
use super::stack::Stack;
use super::supervisor::{SupervisedScope, Watch, remove_cgroups, supervise};
use super::{namespaces, program};

/// What the processes between us and a program work on.
#[derive(Debug)]
pub(super) struct Start {
    launch: Launch,
    /// `None`: everything is done but exec.
    image: Option<ProgramImage>,
    /// Their end of the lifeline.
    lifeline: RawFd,
    /// The number of the supervisor, as its child sees it.
    supervisor: pid_t,
    stack_of_first: Stack,
    stack_of_program: Stack,
}

impl Start {
    fn new(launch: Launch, image: Option<ProgramImage>) -> io::Result<Self> {
        Ok(Self {
            launch,
            image,
            lifeline: -1,
            supervisor: 0,
            stack_of_first: Stack::new()?,
            stack_of_program: Stack::new()?,
        })
    }

    /// For a child that does everything but exec and ends with code 0.
    pub(super) fn trial(launch: Launch) -> io::Result<Self> {
        Self::new(launch, None)
    }

    fn namespaces(&mut self) -> Option<&mut Namespaces> {
        self.launch.confinement.as_mut()?.namespaces.as_mut()
    }
}

/// Makes `command`, whose environment is all its own, start under a supervisor, and returns our end of the lifeline, not blocking.
/// That it could not be started is told there alone, before the command counts as started.
pub(crate) fn attach_supervisor(
    command: &mut tokio::process::Command,
    launch: Launch,
) -> io::Result<UnixStream> {
    let (ours, theirs) = lifeline()?;
    let image = ProgramImage::of(command.as_std())?;
    let mut start = Start::new(launch, Some(image))?;
    // SAFETY: the closure runs between fork and exec and keeps to what is allowed there, see the module's comment.
    unsafe { command.pre_exec(move || Err(split(&mut start, theirs.as_raw_fd()))) };
    Ok(ours)
}

/// Both ends close on exec, so no other child inherits them; supervisors, which never exec, close them by hand.
pub(super) fn lifeline() -> io::Result<(UnixStream, UnixStream)> {
    let (ours, theirs) = UnixStream::pair()?;
    ours.set_nonblocking(true)?;
    Ok((ours, theirs))
}

/// Runs in the first child, and returns only when it cannot go on.
pub(super) fn split(start: &mut Start, lifeline: RawFd) -> io::Error {
    start.lifeline = lifeline;
    let Some(namespaces) = start.namespaces() else {
        let failure = start_program(start, SupervisedScope::Descendants);
        return fail(start.lifeline, failure);
    };
    let flags = namespaces.flags;
    // SAFETY: plain system calls; the strings end in zero.
    unsafe {
        libc::setsid();
        block_signals();
        if let Some(network) = &namespaces.network
            && let Err(failure) = network.enter()
        {
            return fail(start.lifeline, failure);
        }
        // Not to keep a file system busy.
        libc::chdir(c"/".as_ptr());
        libc::prctl(libc::PR_SET_NAME, c"pirn-supervisor".as_ptr(), 0, 0, 0);
        // It is a copy of us.
        libc::prctl(libc::PR_SET_DUMPABLE, 0, 0, 0, 0);
        default_child_signal();
    }
    let stack = start.stack_of_first.top();
    let shared = libc::CLONE_VM | libc::CLONE_FILES;
    match clone(first_process, stack, start, flags | shared) {
        -1 => fail(start.lifeline, failed(Stage::Namespaces, errno())),
        first => wait_outside(first, start),
    }
}

/// The life of the first process of new namespaces.
extern "C" fn first_process(start: *mut c_void) -> c_int {
    // SAFETY: what `clone` was given. The process outside does not touch it before this one has ended.
    let start = unsafe { &mut *start.cast::<Start>() };
    let settled = match start.namespaces() {
        Some(namespaces) => namespaces::settle_in(namespaces),
        None => Ok(()),
    };
    let failure = match settled {
        Ok(()) => start_program(start, SupervisedScope::Namespace),
        Err(failure) => failure,
    };
    fail(start.lifeline, failure);
    // SAFETY: ends the process without running any handler.
    unsafe { libc::_exit(1) }
}

/// Turns the calling process into the supervisor of a program that it starts. Returns only when it cannot go on.
fn start_program(start: &mut Start, reach: SupervisedScope) -> Failure {
    // SAFETY: plain system calls on integers.
    start.supervisor = unsafe {
        libc::setsid();
        block_signals();
        // Before the fork, so that no descendant is born outside.
        if libc::prctl(libc::PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0) != 0 {
            return failed(Stage::Fork, errno());
        }
        libc::getpid()
    };
    let stack = start.stack_of_program.top();
    let shared = libc::CLONE_VM | libc::CLONE_VFORK;
    let main = clone(program_process, stack, start, shared);
    if main == -1 {
        return failed(Stage::Fork, errno());
    }
    let launch = &start.launch;
    let cgroups = launch
        .confinement
        .as_ref()
        .map(|confinement| &confinement.cgroups);
    supervise(Watch {
        main,
        lifeline: start.lifeline,
        reach,
        lock: launch.lock.as_deref().map(AsRawFd::as_raw_fd),
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

/// The life of the process that becomes the program, up to exec.
extern "C" fn program_process(start: *mut c_void) -> c_int {
    // SAFETY: what `clone` was given. The supervisor stands still until exec or the end of this process.
    let start = unsafe { &mut *start.cast::<Start>() };
    let failure = match (
        program::prepare(start.supervisor, &start.launch),
        &mut start.image,
    ) {
        (Ok(()), Some(image)) => failed(Stage::Exec, image.execute()),
        // SAFETY: ends the process without running any handler.
        (Ok(()), None) => unsafe { libc::_exit(0) },
        (Err(failure), _) => failure,
    };
    fail(start.lifeline, failure);
    // SAFETY: as above.
    unsafe { libc::_exit(127) }
}

/// The life of the process outside. It shares its memory with the first process inside until that has ended, also the place of
/// error numbers: no call here may fail before. It shares the descriptors as well, so the lock on which others see that some are
/// left is open until this one ends, too.
fn wait_outside(first: pid_t, start: &Start) -> ! {
    loop {
        // Not the C library's `waitpid`, which keeps notes for threads that are to end.
        // SAFETY: null pointers ask for no status.
        let waited = unsafe {
            libc::syscall(
                libc::SYS_wait4,
                first,
                std::ptr::null_mut::<c_int>(),
                0,
                std::ptr::null_mut::<c_void>(),
            )
        };
        if waited == libc::c_long::from(first) || errno() != libc::EINTR {
            break;
        }
    }
    if let Some(confinement) = &start.launch.confinement {
        remove_cgroups(&confinement.cgroups.remove);
    }
    // SAFETY: ends the process without running any handler.
    unsafe { libc::_exit(0) }
}

/// A new process that shares memory with this one, and begins with a function of its own on a stack of its own.
fn clone(
    life: extern "C" fn(*mut c_void) -> c_int,
    stack: *mut c_void,
    start: &mut Start,
    flags: c_int,
) -> pid_t {
    // SAFETY: the stack is used by nobody else, the function never returns, and `start` lives as long as the process that has it.
    unsafe {
        libc::clone(
            life,
            stack,
            flags | libc::SIGCHLD,
            std::ptr::from_mut(start).cast(),
        )
    }
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

/// Tells us, and gives the same as an error.
pub(super) fn fail(lifeline: RawFd, failure: Failure) -> io::Error {
    message::send(lifeline, Message::Failed(failure));
    io::Error::from_raw_os_error(failure.errno)
}
