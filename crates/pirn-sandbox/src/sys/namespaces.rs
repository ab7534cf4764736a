//! The first process of new namespaces. Only system calls: runs after a fork.

use std::ffi::{CStr, CString};
use std::io;

use libc::c_int;

use super::errno;
use super::launch::Namespaces;
use super::message::{Failure, Stage};
use super::start::failed;
use super::{mounts, user};

/// Maps the user and the group of this process to themselves, and nobody else.
#[derive(Debug)]
pub(crate) struct IdentityMap {
    /// The line for `uid_map`.
    user: CString,
    /// The line for `gid_map`.
    group: CString,
}

impl IdentityMap {
    pub(crate) fn ours() -> io::Result<Self> {
        let user = user();
        Ok(Self {
            user: CString::new(format!("{0} {0} 1\n", user.id))?,
            group: CString::new(format!("{0} {0} 1\n", user.group))?,
        })
    }
}

/// Makes the namespaces what the program shall find.
pub(super) fn settle_in(namespaces: &mut Namespaces) -> Result<(), Failure> {
    // SAFETY: plain system calls on integers.
    unsafe {
        // If the process outside is killed, nobody would remove the cgroups, but nothing survives.
        libc::prctl(libc::PR_SET_PDEATHSIG, libc::SIGKILL, 0, 0, 0);
        // The files of an undumpable process belong to root, and the mapping is written through them.
        libc::prctl(libc::PR_SET_DUMPABLE, 1, 0, 0, 0);
    }
    map_user(&namespaces.map).map_err(|errno| failed(Stage::UserMapping, errno))?;
    // This process is a copy of us, and programs inside run as the same user.
    // SAFETY: a plain system call on integers.
    unsafe { libc::prctl(libc::PR_SET_DUMPABLE, 0, 0, 0, 0) };
    if let Some(arguments) = namespaces.arguments {
        arguments.wipe();
    }
    mounts::perform(namespaces).map_err(|failure| Failure {
        stage: Stage::Mounts,
        step: failure.step,
        errno: failure.errno,
    })
}

pub(super) fn map_user(map: &IdentityMap) -> Result<(), c_int> {
    // Without this, a group could be mapped by privileged processes only.
    write_file(c"/proc/self/setgroups", c"deny")?;
    write_file(c"/proc/self/uid_map", &map.user)?;
    write_file(c"/proc/self/gid_map", &map.group)
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
