//! The first process of new namespaces. Only system calls: runs after a fork.

use std::ffi::CStr;
use std::mem::MaybeUninit;
use std::os::fd::RawFd;

use libc::c_int;

use super::errno;
use super::launch::{Namespaces, NetworkSetup};
use super::message::{self, Failure, Stage};
use super::mounts;
use super::start::failed;

/// Connections that wait for the proxy.
const BACKLOG: c_int = 128;

/// Makes the namespaces what the program shall find.
pub(super) fn settle_in(namespaces: &mut Namespaces, lifeline: RawFd) -> Result<(), Failure> {
    // SAFETY: plain system calls on integers.
    unsafe {
        // If the process outside is killed, nobody would remove the cgroups, but nothing survives.
        libc::prctl(libc::PR_SET_PDEATHSIG, libc::SIGKILL, 0, 0, 0);
        // The files of an undumpable process belong to root, and the mapping is written through them.
        libc::prctl(libc::PR_SET_DUMPABLE, 1, 0, 0, 0);
    }
    map_user(namespaces).map_err(|errno| failed(Stage::UserMapping, errno))?;
    // This process is a copy of us, and programs inside run as the same user.
    // SAFETY: a plain system call on integers.
    unsafe { libc::prctl(libc::PR_SET_DUMPABLE, 0, 0, 0, 0) };
    if let Some(arguments) = namespaces.arguments {
        arguments.wipe();
    }
    match namespaces.network {
        NetworkSetup::None => {}
        NetworkSetup::Loopback => {
            loopback_up().map_err(|errno| failed(Stage::Loopback, errno))?;
        }
        NetworkSetup::Listener(port) => {
            loopback_up().map_err(|errno| failed(Stage::Loopback, errno))?;
            hand_over_listener(lifeline, port).map_err(|errno| failed(Stage::Listener, errno))?;
        }
    }
    mounts::perform(namespaces).map_err(|failure| Failure {
        stage: Stage::Mounts,
        step: failure.step,
        errno: failure.errno,
    })
}

fn map_user(namespaces: &Namespaces) -> Result<(), c_int> {
    // Without this, a group could be mapped by privileged processes only.
    write_file(c"/proc/self/setgroups", c"deny")?;
    write_file(c"/proc/self/uid_map", &namespaces.user_map)?;
    write_file(c"/proc/self/gid_map", &namespaces.group_map)
}

pub(super) fn write_file(path: &CStr, text: &CStr) -> Result<(), c_int> {
    let bytes = text.to_bytes();
    // SAFETY: the path ends in zero, the length is the text's, and the descriptor is ours.
    unsafe {
        let file = libc::open(path.as_ptr(), libc::O_WRONLY | libc::O_CLOEXEC);
        if file < 0 {
            return Err(errno());
        }
        let written = libc::write(file, bytes.as_ptr().cast(), bytes.len());
        let error = errno();
        libc::close(file);
        if written < 0 { Err(error) } else { Ok(()) }
    }
}

fn loopback_up() -> Result<(), c_int> {
    // SAFETY: the request is a plain structure, its name is shorter than the field and ends in zero, and the descriptor is ours.
    unsafe {
        let socket = libc::socket(libc::AF_INET, libc::SOCK_DGRAM | libc::SOCK_CLOEXEC, 0);
        if socket < 0 {
            return Err(errno());
        }
        let mut request = MaybeUninit::<libc::ifreq>::zeroed().assume_init();
        for (place, byte) in request.ifr_name.iter_mut().zip(*b"lo") {
            *place = libc::c_char::from_ne_bytes([byte]);
        }
        // The few flags fit.
        request.ifr_ifru.ifru_flags = libc::c_short::try_from(libc::IFF_UP).unwrap_or_default();
        let done = libc::ioctl(socket, libc::SIOCSIFFLAGS, &raw const request);
        let error = errno();
        libc::close(socket);
        if done < 0 { Err(error) } else { Ok(()) }
    }
}

/// A socket stays in the network it was made in, whoever holds it.
fn hand_over_listener(lifeline: RawFd, port: u16) -> Result<(), c_int> {
    // SAFETY: the address is a plain structure of the given size, and the descriptor is ours.
    unsafe {
        let socket = libc::socket(libc::AF_INET, libc::SOCK_STREAM | libc::SOCK_CLOEXEC, 0);
        if socket < 0 {
            return Err(errno());
        }
        let mut address = MaybeUninit::<libc::sockaddr_in>::zeroed().assume_init();
        address.sin_family = libc::sa_family_t::try_from(libc::AF_INET).unwrap_or_default();
        address.sin_port = port.to_be();
        address.sin_addr.s_addr = libc::INADDR_LOOPBACK.to_be();
        let length = libc::socklen_t::try_from(size_of::<libc::sockaddr_in>()).unwrap_or_default();
        let listens = libc::bind(socket, (&raw const address).cast(), length) == 0
            && libc::listen(socket, BACKLOG) == 0;
        let error = errno();
        let done = if listens {
            message::send_listener(lifeline, socket)
                .map_err(|error| error.raw_os_error().unwrap_or(libc::EIO))
        } else {
            Err(error)
        };
        libc::close(socket);
        done
    }
}
