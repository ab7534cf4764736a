//! What the processes between us and a program tell us over the lifeline.

use std::io;
use std::mem::MaybeUninit;
use std::os::fd::{AsRawFd as _, FromRawFd as _, OwnedFd, RawFd};
use std::os::unix::net::UnixStream;

use libc::c_int;

/// The size of every message.
pub(crate) const MESSAGE_BYTES: usize = 8;

/// What a process on the way to the program tells us.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Message {
    /// The program ended; sent once.
    Ended(Report),
    /// The child could not be set up; no program runs.
    Failed(Failure),
    /// Comes with a descriptor.
    PassedDescriptor(PassedDescriptor),
}

/// What comes as a descriptor.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(u8)]
pub(crate) enum PassedDescriptor {
    /// The user namespace that owns a network namespace.
    UserNamespace,
    NetworkNamespace,
    /// A listener in it.
    Listener,
}

impl PassedDescriptor {
    const ALL: [Self; 3] = [Self::UserNamespace, Self::NetworkNamespace, Self::Listener];
}

/// How the program ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Report {
    /// As `waitpid` gave it.
    pub(crate) wait_status: c_int,
    /// Whether descendants were left at that moment.
    pub(crate) others_left: bool,
    /// Whether the kernel had killed processes of the child because it used more memory than it may.
    pub(crate) out_of_memory: bool,
}

/// Where setting up a child went wrong.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Failure {
    /// The part of the work that failed.
    pub(crate) stage: Stage,
    /// Which step of the mount plan, in [`Stage::Mounts`].
    pub(crate) step: u16,
    /// The error number of the system call.
    pub(crate) errno: c_int,
}

/// The parts of setting up a child.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(u8)]
pub(crate) enum Stage {
    Namespaces,
    UserMapping,
    Network,
    Loopback,
    Listener,
    Mounts,
    Fork,
    Cgroup,
    Limits,
    Descriptors,
    Capabilities,
    Directory,
    NoNewPrivileges,
    Landlock,
    Seccomp,
    /// The program itself: it is not there or cannot be run.
    Exec,
}

impl Stage {
    const ALL: [Self; 16] = [
        Self::Namespaces,
        Self::UserMapping,
        Self::Network,
        Self::Loopback,
        Self::Listener,
        Self::Mounts,
        Self::Fork,
        Self::Cgroup,
        Self::Limits,
        Self::Descriptors,
        Self::Capabilities,
        Self::Directory,
        Self::NoNewPrivileges,
        Self::Landlock,
        Self::Seccomp,
        Self::Exec,
    ];
}

const ENDED: u8 = b'E';
const FAILED: u8 = b'F';
const PASSED: u8 = b'P';

impl Message {
    pub(crate) fn encode(self) -> [u8; MESSAGE_BYTES] {
        match self {
            Self::Ended(report) => {
                let [a, b, c, d] = report.wait_status.to_ne_bytes();
                let flags = u8::from(report.others_left) | u8::from(report.out_of_memory) << 1;
                [ENDED, a, b, c, d, flags, 0, 0]
            }
            Self::Failed(failure) => {
                let [a, b, c, d] = failure.errno.to_ne_bytes();
                let [low, high] = failure.step.to_ne_bytes();
                [FAILED, a, b, c, d, low, high, failure.stage as u8]
            }
            Self::PassedDescriptor(passed) => [PASSED, passed as u8, 0, 0, 0, 0, 0, 0],
        }
    }

    /// `None` for what nobody of ours sends.
    pub(crate) fn decode(bytes: [u8; MESSAGE_BYTES]) -> Option<Self> {
        let [kind, a, b, c, d, low, high, stage] = bytes;
        let number = c_int::from_ne_bytes([a, b, c, d]);
        match kind {
            ENDED => Some(Self::Ended(Report {
                wait_status: number,
                others_left: low & 1 != 0,
                out_of_memory: low & 2 != 0,
            })),
            FAILED => Some(Self::Failed(Failure {
                stage: *Stage::ALL.get(usize::from(stage))?,
                step: u16::from_ne_bytes([low, high]),
                errno: number,
            })),
            PASSED => Some(Self::PassedDescriptor(
                *PassedDescriptor::ALL.get(usize::from(a))?,
            )),
            _ => None,
        }
    }
}

/// Sends a message. A closed lifeline is seen by the next read from it. Only system calls: runs after a fork.
pub(super) fn send(lifeline: RawFd, message: Message) {
    let frame = message.encode();
    // SAFETY: reads the frame's bytes only.
    unsafe {
        libc::send(
            lifeline,
            frame.as_ptr().cast(),
            frame.len(),
            libc::MSG_NOSIGNAL | libc::MSG_DONTWAIT,
        )
    };
}

/// Room for one descriptor in an ancillary message, aligned as its header wants.
#[repr(C, align(8))]
struct Ancillary([u8; 64]);

/// Sends [`Message::Passed`] with its descriptor. Only system calls: runs after a fork.
pub(super) fn pass(lifeline: RawFd, passed: PassedDescriptor, descriptor: RawFd) -> io::Result<()> {
    let mut frame = Message::PassedDescriptor(passed).encode();
    let mut part = libc::iovec {
        iov_base: frame.as_mut_ptr().cast(),
        iov_len: frame.len(),
    };
    let mut ancillary = Ancillary([0; 64]);
    // SAFETY: all pointers are to locals that outlive the call, the buffer has room for one descriptor by `CMSG_SPACE`, and the
    // header is written before it is used.
    let sent = unsafe {
        let mut message = MaybeUninit::<libc::msghdr>::zeroed().assume_init();
        message.msg_iov = &raw mut part;
        message.msg_iovlen = 1;
        message.msg_control = (&raw mut ancillary).cast();
        message.msg_controllen = libc::CMSG_SPACE(DESCRIPTOR_BYTES) as _;
        let header = libc::CMSG_FIRSTHDR(&raw const message);
        (*header).cmsg_level = libc::SOL_SOCKET;
        (*header).cmsg_type = libc::SCM_RIGHTS;
        (*header).cmsg_len = libc::CMSG_LEN(DESCRIPTOR_BYTES) as _;
        libc::CMSG_DATA(header)
            .cast::<RawFd>()
            .write_unaligned(descriptor);
        libc::sendmsg(lifeline, &raw const message, libc::MSG_NOSIGNAL)
    };
    if sent < 0 {
        return Err(io::Error::last_os_error());
    }
    Ok(())
}

/// The size of what is passed.
const DESCRIPTOR_BYTES: u32 = 4;
const _: () = assert!(size_of::<RawFd>() == 4, "descriptors are 32 bits wide");

/// Takes the next message if one is there, with the descriptor that came with it.
pub(crate) fn receive(lifeline: &UnixStream) -> Option<(Message, Option<OwnedFd>)> {
    let mut frame = [0_u8; MESSAGE_BYTES];
    let mut part = libc::iovec {
        iov_base: frame.as_mut_ptr().cast(),
        iov_len: frame.len(),
    };
    let mut ancillary = Ancillary([0; 64]);
    // SAFETY: all pointers are to locals that outlive the call and the lengths are theirs; a descriptor that arrives is new and
    // owned by nobody else.
    let (count, descriptor) = unsafe {
        let mut message = MaybeUninit::<libc::msghdr>::zeroed().assume_init();
        message.msg_iov = &raw mut part;
        message.msg_iovlen = 1;
        message.msg_control = (&raw mut ancillary).cast();
        message.msg_controllen = size_of::<Ancillary>() as _;
        let count = libc::recvmsg(
            lifeline.as_raw_fd(),
            &raw mut message,
            libc::MSG_DONTWAIT | libc::MSG_CMSG_CLOEXEC,
        );
        let header = libc::CMSG_FIRSTHDR(&raw const message);
        let descriptor = (count > 0
            && !header.is_null()
            && (*header).cmsg_level == libc::SOL_SOCKET
            && (*header).cmsg_type == libc::SCM_RIGHTS)
            .then(|| {
                OwnedFd::from_raw_fd(libc::CMSG_DATA(header).cast::<RawFd>().read_unaligned())
            });
        (count, descriptor)
    };
    // Messages are sent whole and far smaller than the socket's buffer.
    if usize::try_from(count) != Ok(MESSAGE_BYTES) {
        return None;
    }
    Some((Message::decode(frame)?, descriptor))
}

/// Why a child could not be set up, where it says so with its first message, which stays where it is.
pub(crate) fn failure(lifeline: &UnixStream) -> Option<Failure> {
    let mut frame = [0_u8; MESSAGE_BYTES];
    // SAFETY: reads at most the frame's length.
    let count = unsafe {
        libc::recv(
            lifeline.as_raw_fd(),
            frame.as_mut_ptr().cast(),
            frame.len(),
            libc::MSG_PEEK | libc::MSG_DONTWAIT,
        )
    };
    if usize::try_from(count) != Ok(MESSAGE_BYTES) {
        return None;
    }
    match Message::decode(frame)? {
        Message::Failed(failure) => Some(failure),
        Message::Ended(_) | Message::PassedDescriptor(_) => None,
    }
}

#[cfg(test)]
mod tests;
