//! The supervisor: a small process that stands between Pirn and a child, and lets no descendant outlive its owner.
//!
//! Starting a command forks twice. The first child becomes the supervisor and never runs a program; the second one runs it. The
//! supervisor
//! - adopts every orphan below it (`PR_SET_CHILD_SUBREAPER`), so a daemon that left its group and session is still its child;
//! - has its own session and blocks all signals, so neither the terminal nor a stray `pkill` ends it;
//! - holds one end of a socket, the lifeline, whose other end only Pirn holds: when Pirn closes it, or dies in any way, the
//!   supervisor reads the end and kills everything. `PR_SET_PDEATHSIG` would not do for that: it fires when the *thread* that
//!   forked ends, and the threads of a pool come and go;
//! - reports the program's wait status on the lifeline, and ends when nobody is left.
//!
//! The program itself asks to be killed with the supervisor (`PR_SET_PDEATHSIG`), in case somebody kills that one.
//!
//! After the forks, memory is a copy of a process with many threads that no longer run, so any lock may be held for ever:
//! everything below runs on system calls alone, without allocation, locks or panics.

use std::ffi::CStr;
use std::io;
use std::mem::MaybeUninit;
use std::os::fd::{AsRawFd as _, RawFd};
use std::os::unix::net::UnixStream;

use libc::{c_int, c_uint, pid_t};

/// What Pirn can tell the supervisor; each is one byte on the lifeline.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(u8)]
pub(crate) enum SupervisorOrder {
    /// Ask every process to end.
    Terminate = b'T',
    /// Kill every process.
    Kill = b'K',
}

/// What the supervisor tells Pirn, once: how the program ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Report {
    /// As `waitpid` gave it.
    pub(crate) wait_status: c_int,
    /// Whether descendants were left at that moment.
    pub(crate) others_left: bool,
}

impl Report {
    /// The size of a report on the lifeline.
    pub(crate) const BYTES: usize = 5;

    fn encode(self) -> [u8; Self::BYTES] {
        let [a, b, c, d] = self.wait_status.to_ne_bytes();
        [a, b, c, d, u8::from(self.others_left)]
    }

    pub(crate) fn decode([a, b, c, d, others_left]: [u8; Self::BYTES]) -> Self {
        Self {
            wait_status: c_int::from_ne_bytes([a, b, c, d]),
            others_left: others_left != 0,
        }
    }
}

/// Where the supervisor keeps its two descriptors; all others are closed.
const LIFELINE_FD: RawFd = 3;
const CHILD_SIGNAL_FD: RawFd = 4;

/// The pause between rounds of killing, while killed processes take their leave.
const KILL_PAUSE_MS: c_int = 2;
/// How many rounds before the supervisor gives up on processes it cannot kill (another user's): about ten seconds.
const KILL_ROUNDS_MAX: u32 = 5_000;
/// Descriptors looked at one by one on kernels before 5.11, which cannot close a range.
const DESCRIPTORS_MAX: RawFd = 65_536;

/// Makes `command` start under a supervisor, and returns our end of the lifeline, not blocking.
pub(crate) fn attach_supervisor(command: &mut tokio::process::Command) -> io::Result<UnixStream> {
    // Both ends close on exec, so no other child inherits them; supervisors, which never exec, close them by hand.
    let (ours, theirs) = UnixStream::pair()?;
    ours.set_nonblocking(true)?;
    // SAFETY: the closure runs between fork and exec and keeps to what is allowed there, see the module's comment.
    unsafe { command.pre_exec(move || split(theirs.as_raw_fd())) };
    Ok(ours)
}

/// Runs in the first child: turns it into the supervisor, and returns in the second child, which goes on to exec.
fn split(lifeline: RawFd) -> io::Result<()> {
    // SAFETY: plain system calls on integers; the signal set is filled before use.
    let supervisor = unsafe {
        libc::setsid();
        let mut all = MaybeUninit::<libc::sigset_t>::uninit();
        libc::sigfillset(all.as_mut_ptr());
        libc::sigprocmask(libc::SIG_SETMASK, all.as_ptr(), std::ptr::null_mut());
        // Before the fork, so that no descendant is born outside.
        if libc::prctl(libc::PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0) != 0 {
            return Err(io::Error::last_os_error());
        }
        libc::getpid()
    };
    // SAFETY: a fork without the C library's handlers, which may take locks; the flags ask for nothing but a new process.
    let main = unsafe { libc::syscall(libc::SYS_clone, libc::SIGCHLD, 0, 0, 0, 0) };
    match main {
        0 => {
            become_program(supervisor);
            Ok(())
        }
        -1 => Err(io::Error::last_os_error()),
        main => supervise(pid_t::try_from(main).unwrap_or(0), lifeline),
    }
}

/// Prepares the second child for its program.
fn become_program(supervisor: pid_t) {
    // SAFETY: plain system calls on integers; the signal set and action are initialised before use.
    unsafe {
        libc::setpgid(0, 0);
        libc::prctl(libc::PR_SET_PDEATHSIG, libc::SIGKILL, 0, 0, 0);
        // The supervisor may have died before the line above.
        if libc::syscall(libc::SYS_getppid) != libc::c_long::from(supervisor) {
            libc::_exit(127);
        }
        // Ignored signals stay ignored over exec, so a program would inherit what Pirn or its parent ignores.
        let mut default = MaybeUninit::<libc::sigaction>::zeroed().assume_init();
        default.sa_sigaction = libc::SIG_DFL;
        for signal in 1..=64 {
            libc::sigaction(signal, &raw const default, std::ptr::null_mut());
        }
        let mut none = MaybeUninit::<libc::sigset_t>::uninit();
        libc::sigemptyset(none.as_mut_ptr());
        libc::sigprocmask(libc::SIG_SETMASK, none.as_ptr(), std::ptr::null_mut());
    }
    close_from(3, Closing::OnExec);
}

/// When [`close_from`] closes.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Closing {
    Now,
    OnExec,
}

/// Closes every descriptor from `first` on.
fn close_from(first: RawFd, closing: Closing) {
    /// `CLOSE_RANGE_CLOEXEC`, which the C library's headers may lack.
    const ON_EXEC: c_uint = 1 << 2;
    let flags = if closing == Closing::OnExec {
        ON_EXEC
    } else {
        0
    };
    // SAFETY: a plain system call on integers; nothing in this process uses the descriptors afterwards.
    if unsafe { libc::syscall(libc::SYS_close_range, first, c_uint::MAX, flags) } == 0 {
        return;
    }
    for descriptor in first..DESCRIPTORS_MAX {
        // SAFETY: as above; a descriptor that is not open gives an error and nothing else.
        unsafe {
            match closing {
                Closing::Now => libc::close(descriptor),
                Closing::OnExec => libc::fcntl(descriptor, libc::F_SETFD, libc::FD_CLOEXEC),
            };
        }
    }
}

/// The supervisor's whole life.
fn supervise(main: pid_t, lifeline: RawFd) -> ! {
    settle_in(main, lifeline);
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
    let mut family = Family {
        main,
        main_reported: false,
    };
    loop {
        family.reap();
        // SAFETY: the array outlives the call and its length is given.
        unsafe { libc::poll(watched.as_mut_ptr(), 2, -1) };
        forget_child_signals();
        match next_order() {
            Order::None => {}
            Order::Terminate => for_each_child(|child| signal_child(child, libc::SIGTERM)),
            Order::Kill => family.kill(),
        }
    }
}

/// Lets go of everything the supervisor got from Pirn but does not need.
fn settle_in(main: pid_t, lifeline: RawFd) {
    // SAFETY: plain system calls; the strings end in zero, the signal set and action are initialised before use.
    unsafe {
        // The program does the same itself; whoever comes first.
        libc::setpgid(main, main);
        // Not to keep a file system busy.
        libc::chdir(c"/".as_ptr());
        // Not our own name: killing Pirn by name must leave somebody to clean up.
        libc::prctl(libc::PR_SET_NAME, c"child-keeper".as_ptr(), 0, 0, 0);
        // With SIGCHLD ignored by whoever started Pirn, no wait status would be kept.
        let mut default = MaybeUninit::<libc::sigaction>::zeroed().assume_init();
        default.sa_sigaction = libc::SIG_DFL;
        libc::sigaction(libc::SIGCHLD, &raw const default, std::ptr::null_mut());
        libc::dup2(lifeline, LIFELINE_FD);
        let mut child_signal = MaybeUninit::<libc::sigset_t>::uninit();
        libc::sigemptyset(child_signal.as_mut_ptr());
        libc::sigaddset(child_signal.as_mut_ptr(), libc::SIGCHLD);
        let signals = libc::signalfd(-1, child_signal.as_ptr(), libc::SFD_NONBLOCK);
        libc::dup2(signals, CHILD_SIGNAL_FD);
        // The first three would keep the program's output open; among the others is the pipe on which the standard library
        // waits for the result of exec.
        for descriptor in 0..3 {
            libc::close(descriptor);
        }
    }
    close_from(CHILD_SIGNAL_FD + 1, Closing::Now);
}

enum Order {
    None,
    Terminate,
    Kill,
}

/// Reads what Pirn wants. The end of the lifeline means: kill.
fn next_order() -> Order {
    let mut byte = 0_u8;
    // SAFETY: reads at most one byte into a variable of that size.
    let count = unsafe { libc::recv(LIFELINE_FD, (&raw mut byte).cast(), 1, libc::MSG_DONTWAIT) };
    match count {
        1 if byte == SupervisorOrder::Terminate as u8 => Order::Terminate,
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
struct Family {
    main: pid_t,
    main_reported: bool,
}

impl Family {
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
                pid if pid == self.main => main_status = Some(status),
                _other => {}
            }
        };
        if let Some(wait_status) = main_status
            && !self.main_reported
        {
            self.main_reported = true;
            let frame = Report {
                wait_status,
                others_left,
            }
            .encode();
            // SAFETY: reads the frame's bytes only. A closed lifeline is seen by the next read.
            unsafe {
                libc::send(
                    LIFELINE_FD,
                    frame.as_ptr().cast(),
                    frame.len(),
                    libc::MSG_NOSIGNAL | libc::MSG_DONTWAIT,
                )
            };
        }
        if !others_left {
            exit();
        }
    }

    /// Kills until nobody is left. Killing a process hands its children to us, so each round reaches one level deeper, and
    /// killing by group leaves no moment in which a member could fork unseen.
    fn kill(&mut self) -> ! {
        for _round in 0..KILL_ROUNDS_MAX {
            if !self.main_reported {
                // Also where `/proc` is missing.
                signal_child(self.main, libc::SIGKILL);
            }
            for_each_child(|child| signal_child(child, libc::SIGKILL));
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
        exit()
    }
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

fn errno() -> c_int {
    // SAFETY: the C library gives a valid pointer to this thread's error number.
    unsafe { *libc::__errno_location() }
}

fn exit() -> ! {
    // SAFETY: ends the process without running any handler.
    unsafe { libc::_exit(0) }
}
