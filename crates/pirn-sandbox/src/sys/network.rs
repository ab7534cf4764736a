//! The network that the children of one sandbox share: a network namespace, and the user namespace that owns it.
//!
//! A process makes both, hands them over as descriptors and ends; they last as long as those. Every child goes there before it
//! makes its other namespaces, among them a user namespace of its own inside the shared one. So what it has rights over there
//! does not include the network, and what one child serves on loopback, another one can reach.

use std::ffi::CStr;
use std::io;
use std::mem::MaybeUninit;
use std::net::TcpListener;
use std::os::fd::{AsRawFd as _, FromRawFd as _, OwnedFd, RawFd};

use libc::c_int;

use super::errno;
use super::message::{self, Failure, Message, PassedDescriptor, Stage, receive};
use super::namespaces::{IdentityMap, map_user};
use super::start::{fail, failed};
use super::trial::{TrialError, in_child};

/// Connections that wait for the proxy.
const BACKLOG: c_int = 128;

/// A network namespace with loopback only.
#[derive(Debug)]
pub(crate) struct PrivateNetwork {
    user: OwnedFd,
    network: OwnedFd,
}

/// What a private network offers besides loopback.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum LoopbackService {
    Nothing,
    /// A listener on this port of loopback, which is ours.
    Listener(u16),
}

impl PrivateNetwork {
    /// Makes one: a millisecond or two.
    pub(crate) fn make(offer: LoopbackService) -> Result<(Self, Option<TcpListener>), TrialError> {
        let map = IdentityMap::ours().map_err(TrialError::Io)?;
        let (messages, waited) = in_child(move |lifeline| match make(&map, offer, lifeline) {
            // SAFETY: ends the process without running any handler.
            Ok(()) => unsafe { libc::_exit(0) },
            Err(failure) => Err(fail(lifeline, failure)),
        })?;
        let (mut user, mut network, mut listener) = (None, None, None);
        while let Some((message, descriptor)) = receive(&messages) {
            match message {
                Message::Failed(failure) => return Err(TrialError::Failed(failure)),
                Message::PassedDescriptor(PassedDescriptor::UserNamespace) => user = descriptor,
                Message::PassedDescriptor(PassedDescriptor::NetworkNamespace) => {
                    network = descriptor;
                }
                Message::PassedDescriptor(PassedDescriptor::Listener) => {
                    listener = descriptor.map(TcpListener::from);
                }
                Message::Ended(_) => {}
            }
        }
        match (user, network) {
            (Some(user), Some(network)) => Ok((Self { user, network }, listener)),
            (_, _) => Err(TrialError::Io(waited.err().unwrap_or_else(|| {
                io::Error::other("a network namespace was not handed over")
            }))),
        }
    }

    /// Takes the calling process there. Only system calls: runs after a fork.
    pub(super) fn enter(&self) -> Result<(), Failure> {
        // The right to enter the network comes with the user namespace that owns it.
        for (namespace, kind) in [
            (&self.user, libc::CLONE_NEWUSER),
            (&self.network, libc::CLONE_NEWNET),
        ] {
            // SAFETY: a plain system call on integers.
            if unsafe { libc::setns(namespace.as_raw_fd(), kind) } != 0 {
                return Err(failed(Stage::Network, errno()));
            }
        }
        Ok(())
    }
}

/// Runs in the process that makes the namespaces.
fn make(map: &IdentityMap, offer: LoopbackService, lifeline: RawFd) -> Result<(), Failure> {
    // SAFETY: plain system calls on integers.
    unsafe {
        if libc::unshare(libc::CLONE_NEWUSER | libc::CLONE_NEWNET) != 0 {
            return Err(failed(Stage::Namespaces, errno()));
        }
        // The files of an undumpable process belong to root, and the mapping is written through them.
        libc::prctl(libc::PR_SET_DUMPABLE, 1, 0, 0, 0);
    }
    map_user(map).map_err(|errno| failed(Stage::UserMapping, errno))?;
    loopback_up().map_err(|errno| failed(Stage::Loopback, errno))?;
    for (path, passed) in [
        (c"/proc/self/ns/user", PassedDescriptor::UserNamespace),
        (c"/proc/self/ns/net", PassedDescriptor::NetworkNamespace),
    ] {
        open(path)
            .and_then(|namespace| hand_over(lifeline, passed, &namespace))
            .map_err(|errno| failed(Stage::Network, errno))?;
    }
    match offer {
        LoopbackService::Nothing => Ok(()),
        // A socket stays in the network it was made in, whoever holds it.
        LoopbackService::Listener(port) => listen(port)
            .and_then(|listener| hand_over(lifeline, PassedDescriptor::Listener, &listener))
            .map_err(|errno| failed(Stage::Listener, errno)),
    }
}

fn open(path: &CStr) -> Result<OwnedFd, c_int> {
    // SAFETY: the path ends in zero.
    own(unsafe { libc::open(path.as_ptr(), libc::O_RDONLY | libc::O_CLOEXEC) })
}

fn own(descriptor: RawFd) -> Result<OwnedFd, c_int> {
    if descriptor < 0 {
        return Err(errno());
    }
    // SAFETY: it is new and owned by nobody else.
    Ok(unsafe { OwnedFd::from_raw_fd(descriptor) })
}

fn hand_over(lifeline: RawFd, passed: PassedDescriptor, descriptor: &OwnedFd) -> Result<(), c_int> {
    message::pass(lifeline, passed, descriptor.as_raw_fd())
        .map_err(|error| error.raw_os_error().unwrap_or(libc::EIO))
}

fn loopback_up() -> Result<(), c_int> {
    // SAFETY: a plain system call on integers.
    let socket =
        own(unsafe { libc::socket(libc::AF_INET, libc::SOCK_DGRAM | libc::SOCK_CLOEXEC, 0) })?;
    // SAFETY: all zeroes are a valid request, its name is shorter than the field and ends in zero.
    let done = unsafe {
        let mut request = MaybeUninit::<libc::ifreq>::zeroed().assume_init();
        for (place, byte) in request.ifr_name.iter_mut().zip(*b"lo") {
            *place = libc::c_char::from_ne_bytes([byte]);
        }
        // The few flags fit.
        request.ifr_ifru.ifru_flags = libc::c_short::try_from(libc::IFF_UP).unwrap_or_default();
        libc::ioctl(socket.as_raw_fd(), libc::SIOCSIFFLAGS, &raw const request)
    };
    if done < 0 { Err(errno()) } else { Ok(()) }
}

fn listen(port: u16) -> Result<OwnedFd, c_int> {
    // SAFETY: a plain system call on integers.
    let socket =
        own(unsafe { libc::socket(libc::AF_INET, libc::SOCK_STREAM | libc::SOCK_CLOEXEC, 0) })?;
    // SAFETY: the address is a plain structure of the given size.
    let listens = unsafe {
        let mut address = MaybeUninit::<libc::sockaddr_in>::zeroed().assume_init();
        address.sin_family = libc::sa_family_t::try_from(libc::AF_INET).unwrap_or_default();
        address.sin_port = port.to_be();
        address.sin_addr.s_addr = libc::INADDR_LOOPBACK.to_be();
        let length = libc::socklen_t::try_from(size_of::<libc::sockaddr_in>()).unwrap_or_default();
        libc::bind(socket.as_raw_fd(), (&raw const address).cast(), length) == 0
            && libc::listen(socket.as_raw_fd(), BACKLOG) == 0
    };
    if listens { Ok(socket) } else { Err(errno()) }
}
