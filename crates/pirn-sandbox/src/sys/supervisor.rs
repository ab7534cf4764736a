//! The supervisor: a small process that stands between Pirn and a child, and lets no descendant outlive its owner.
//!
//! It never runs a program itself. How it comes to be is told in [`super::start`]. The supervisor
//! - adopts every orphan below it (`PR_SET_CHILD_SUBREAPER`), so a daemon that left its group and session is still its child;
//! - has its own session and blocks all signals, so neither the terminal nor a stray `pkill` ends it;
//! - holds one end of a socket, the lifeline, whose other end only Pirn holds: when Pirn closes it, or dies in any way, the
//!   supervisor reads the end and kills everything. `PR_SET_PDEATHSIG` would not do for that: it fires when the *thread* that
//!   forked ends, and the threads of a pool come and go;
//! - reports the program's wait status on the lifeline, and ends when nobody is left.
//!
//! The program itself asks to be killed with the supervisor (`PR_SET_PDEATHSIG`), in case somebody kills that one. In a process
//! namespace the supervisor is the first process, so that the kernel kills all others with it.
//!
//! It runs on system calls alone: its memory is a copy of a process with other threads.

use std::ffi::{CStr, CString};
use std::mem::MaybeUninit;
use std::os::fd::RawFd;

use libc::{c_int, pid_t};

use super::descriptors::{CloseWhen, close_from, lift};
use super::errno;
use super::message::{self, Message, Report};
use super::start::default_child_signal;
use crate::cgroup::{EVENTS_BYTES_MAX, counted_kills};

/// What Pirn can tell the supervisor; each is one byte on the lifeline.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(u8)]
pub(crate) enum SupervisorOrder {
    /// Ask every process to end.
    Terminate = b'T',
    Kill = b'K',
    /// Interrupt the program itself.
    Interrupt = b'I',
    /// Stop every process where it is.
    Freeze = b'F',
    /// Let them go on.
    Thaw = b'C',
}

/// What a supervisor watches over.
pub(super) struct Watch<'launch> {
    /// The process number of the program itself.
    pub(super) main: pid_t,
    /// The end of the lifeline.
    pub(super) lifeline: RawFd,
    /// Who it answers for.
    pub(super) reach: SupervisedScope,
    /// What stays open as long as anybody is left.
    pub(super) lock: Option<RawFd>,
    /// A file with a line `oom_kill N`.
    pub(super) memory_events: Option<RawFd>,
    /// Folders to remove at the end.
    pub(super) remove: &'launch [CString],
}

/// Who a supervisor answers for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum SupervisedScope {
    Descendants,
    /// Everybody in its process namespace, whose first process it is.
    Namespace,
}

/// Where the supervisor keeps its descriptors; all others are closed.
const LIFELINE_FD: RawFd = 3;
const CHILD_SIGNAL_FD: RawFd = 4;
const MEMORY_EVENTS_FD: RawFd = 5;
const LOCK_FD: RawFd = 6;

/// The pause between rounds of killing, while killed processes take their leave.
const KILL_PAUSE_MS: c_int = 2;
/// How many rounds before the supervisor gives up on processes it cannot kill (another user's): about ten seconds.
const KILL_ROUNDS_MAX: u32 = 5_000;
/// How often a cgroup is tried to be removed, a pause apart: the kernel may still be clearing away the last process.
const REMOVE_ROUNDS_MAX: u32 = 100;

/// The supervisor's whole life.
pub(super) fn supervise(watch: Watch<'_>) -> ! {
    if !settle_in(&watch) {
        // Without its lifeline it could neither report nor be told to end: nothing goes on.
        // SAFETY: plain system calls on integers; ends the process without running any handler.
        unsafe {
            libc::kill(watch.main, libc::SIGKILL);
            libc::_exit(1)
        }
    }
    let mut watched = [
        libc::pollfd {
            fd: LIFELINE_FD,
            events: libc::POLLIN,
            revents: 0,
        },
        libc::pollfd {
            fd: CHILD_SIGNAL_FD,
            events: libc::POLLIN,
            revents: 0,
        },
    ];
    let mut family = Descendants {
        watch,
        main_reported: false,
        is_frozen: false,
    };
    loop {
        family.reap();
        // SAFETY: the array outlives the call and its length is given.
        unsafe { libc::poll(watched.as_mut_ptr(), 2, -1) };
        forget_child_signals();
        match next_order() {
            Order::None => {}
            Order::Terminate => {
                family.signal_all(libc::SIGTERM);
                // A frozen process would not hear it.
                family.thaw();
            }
            Order::Interrupt => {
                family.interrupt();
                family.thaw();
            }
            Order::Freeze => family.freeze(),
            Order::Thaw => family.thaw(),
            Order::Kill => family.kill(),
        }
    }
}

/// Lets go of everything the supervisor got from Pirn but does not need. Says whether it has the rest.
fn settle_in(watch: &Watch<'_>) -> bool {
    // SAFETY: plain system calls; the strings end in zero, the signal set is initialised before use.
    let has_all = unsafe {
        // The program does the same itself; whoever comes first.
        libc::setpgid(watch.main, watch.main);
        // Not to keep a file system busy.
        libc::chdir(c"/".as_ptr());
        // Not our own name: killing Pirn by name must leave somebody to clean up.
        libc::prctl(libc::PR_SET_NAME, c"pirn-supervisor".as_ptr(), 0, 0, 0);
        // It is a copy of us, and the program may run as the same user.
        libc::prctl(libc::PR_SET_DUMPABLE, 0, 0, 0, 0);
        default_child_signal();
        // Out of the way of the numbers they are to get.
        let lifeline = lift(watch.lifeline, LOCK_FD + 1);
        let events = watch.memory_events.map(|events| lift(events, LOCK_FD + 1));
        let lock = watch.lock.map(|lock| lift(lock, LOCK_FD + 1));
        let has_lifeline = libc::dup2(lifeline, LIFELINE_FD) == LIFELINE_FD;
        let mut child_signal = MaybeUninit::<libc::sigset_t>::uninit();
        libc::sigemptyset(child_signal.as_mut_ptr());
        libc::sigaddset(child_signal.as_mut_ptr(), libc::SIGCHLD);
        let signals = libc::signalfd(-1, child_signal.as_ptr(), libc::SFD_NONBLOCK);
        let has_signals = libc::dup2(signals, CHILD_SIGNAL_FD) == CHILD_SIGNAL_FD;
        match events {
            Some(events) => libc::dup2(events, MEMORY_EVENTS_FD),
            None => libc::close(MEMORY_EVENTS_FD),
        };
        match lock {
            Some(lock) => libc::dup2(lock, LOCK_FD),
            None => libc::close(LOCK_FD),
        };
        // The first three would keep the program's output open; among the others is the pipe on which the standard library
        // waits for the result of exec.
        for descriptor in 0..3 {
            libc::close(descriptor);
        }
        has_lifeline && has_signals
    };
    close_from(LOCK_FD + 1, CloseWhen::Now);
    has_all
}

enum Order {
    None,
    Terminate,
    Interrupt,
    Freeze,
    Thaw,
    Kill,
}

/// Reads what Pirn wants. The end of the lifeline means: kill.
fn next_order() -> Order {
    let mut byte = 0_u8;
    // SAFETY: reads at most one byte into a variable of that size.
    let count = unsafe { libc::recv(LIFELINE_FD, (&raw mut byte).cast(), 1, libc::MSG_DONTWAIT) };
    match count {
        1 if byte == SupervisorOrder::Terminate as u8 => Order::Terminate,
        1 if byte == SupervisorOrder::Interrupt as u8 => Order::Interrupt,
        1 if byte == SupervisorOrder::Freeze as u8 => Order::Freeze,
        1 if byte == SupervisorOrder::Thaw as u8 => Order::Thaw,
        -1 if matches!(errno(), libc::EAGAIN | libc::EINTR) => Order::None,
        // An unknown order, the end, or a broken socket.
        _ => Order::Kill,
    }
}

fn forget_child_signals() {
    let mut info = MaybeUninit::<libc::signalfd_siginfo>::uninit();
    // SAFETY: reads at most the size of the buffer; the descriptor does not block.
    while unsafe {
        libc::read(
            CHILD_SIGNAL_FD,
            info.as_mut_ptr().cast(),
            size_of::<libc::signalfd_siginfo>(),
        )
    } > 0
    {}
}

/// The processes below the supervisor.
struct Descendants<'launch> {
    watch: Watch<'launch>,
    main_reported: bool,
    is_frozen: bool,
}

impl Descendants<'_> {
    /// Collects the dead, reports the program's end once, and ends when nobody is left.
    fn reap(&mut self) {
        let mut main_status = None;
        let others_left = loop {
            let mut status = 0;
            // SAFETY: writes into a variable of the right type.
            match unsafe { libc::waitpid(-1, &raw mut status, libc::WNOHANG) } {
                0 => break true,
                -1 if errno() == libc::EINTR => {}
                -1 => break false,
                pid if pid == self.watch.main => main_status = Some(status),
                _other => {}
            }
        };
        if let Some(wait_status) = main_status
            && !self.main_reported
        {
            self.main_reported = true;
            message::send(
                LIFELINE_FD,
                Message::Ended(Report {
                    wait_status,
                    others_left,
                    out_of_memory: self.watch.memory_events.is_some() && was_out_of_memory(),
                }),
            );
        }
        if !others_left {
            self.exit();
        }
    }

    /// Signals the program's own process, unless it has ended.
    fn interrupt(&self) {
        if !self.main_reported {
            // SAFETY: a plain system call on integers; the program is not yet reaped, so the number is still its own.
            unsafe { libc::kill(self.watch.main, libc::SIGINT) };
        }
    }

    /// Stops all of them. Killing works all the same, so they end with us also while they are frozen.
    fn freeze(&mut self) {
        self.is_frozen = true;
        self.signal_all(libc::SIGSTOP);
    }

    fn thaw(&mut self) {
        if self.is_frozen {
            self.is_frozen = false;
            self.signal_all(libc::SIGCONT);
        }
    }

    fn signal_all(&self, signal: c_int) {
        // SAFETY: takes nothing.
        let is_first = unsafe { libc::getpid() } == 1;
        match self.watch.reach {
            // All of the namespace but this process; outside of one it would be all of the user's.
            // SAFETY: a plain system call on integers.
            SupervisedScope::Namespace if is_first => unsafe {
                libc::kill(-1, signal);
            },
            SupervisedScope::Namespace | SupervisedScope::Descendants => {
                for_each_child(|child| signal_child(child, signal));
            }
        }
    }

    /// Kills until nobody is left. Killing a process hands its children to us, so each round reaches one level deeper, and
    /// killing by group leaves no moment in which a member could fork unseen.
    fn kill(&mut self) -> ! {
        for _round in 0..KILL_ROUNDS_MAX {
            if !self.main_reported {
                // Also where `/proc` is missing.
                signal_child(self.watch.main, libc::SIGKILL);
            }
            self.signal_all(libc::SIGKILL);
            let mut child_signal = libc::pollfd {
                fd: CHILD_SIGNAL_FD,
                events: libc::POLLIN,
                revents: 0,
            };
            // SAFETY: one descriptor, as the length says.
            unsafe { libc::poll(&raw mut child_signal, 1, KILL_PAUSE_MS) };
            forget_child_signals();
            self.reap();
        }
        self.exit()
    }

    fn exit(&self) -> ! {
        remove_cgroups(self.watch.remove);
        // SAFETY: ends the process without running any handler.
        unsafe { libc::_exit(0) }
    }
}

/// Removes the cgroups of a child whose processes are gone.
pub(super) fn remove_cgroups(folders: &[CString]) {
    for folder in folders {
        for _round in 0..REMOVE_ROUNDS_MAX {
            // SAFETY: the path ends in zero; the pause waits for no descriptor.
            unsafe {
                if libc::rmdir(folder.as_ptr()) == 0 || errno() != libc::EBUSY {
                    break;
                }
                libc::poll(std::ptr::null_mut(), 0, KILL_PAUSE_MS);
            }
        }
    }
}

/// Whether the kernel has killed a process of the cgroup: its counter is not zero.
fn was_out_of_memory() -> bool {
    let mut text = [0_u8; EVENTS_BYTES_MAX];
    // SAFETY: reads at most the buffer's length.
    let count = unsafe { libc::pread(MEMORY_EVENTS_FD, text.as_mut_ptr().cast(), text.len(), 0) };
    usize::try_from(count)
        .ok()
        .and_then(|count| counted_kills(text.get(..count)?))
        .is_some_and(|kills| kills > 0)
}

/// Signals a child of the supervisor and its group, unless that is the supervisor's own. The child is not yet reaped, so
/// its number cannot have passed to a stranger.
fn signal_child(child: pid_t, signal: c_int) {
    if child <= 1 {
        return;
    }
    // SAFETY: plain system calls on integers.
    unsafe {
        let group = libc::getpgid(child);
        if group > 1 && group != libc::getpgrp() {
            libc::kill(-group, signal);
        } else {
            libc::kill(child, signal);
        }
        if signal == libc::SIGKILL {
            libc::kill(child, signal);
        }
    }
}

/// Calls `act` with the number of each child, adopted ones included. Does nothing without `/proc`.
fn for_each_child(mut act: impl FnMut(pid_t)) {
    const CHILDREN: &CStr = c"/proc/thread-self/children";
    // SAFETY: the path ends in zero.
    let file = unsafe { libc::open(CHILDREN.as_ptr(), libc::O_RDONLY | libc::O_CLOEXEC) };
    if file < 0 {
        return;
    }
    let mut pid: pid_t = 0;
    let mut buffer = [0_u8; 4096];
    loop {
        // SAFETY: reads at most the buffer's length.
        let count = unsafe { libc::read(file, buffer.as_mut_ptr().cast(), buffer.len()) };
        let Ok(count @ 1..) = usize::try_from(count) else {
            break;
        };
        for byte in buffer.iter().take(count) {
            if byte.is_ascii_digit() {
                pid = pid
                    .saturating_mul(10)
                    .saturating_add(pid_t::from(byte - b'0'));
            } else if pid > 0 {
                act(pid);
                pid = 0;
            }
        }
    }
    // SAFETY: the descriptor is ours and not used afterwards.
    unsafe { libc::close(file) };
}
