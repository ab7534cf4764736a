//! The system calls of this crate, and its only unsafe code.
#![expect(
    unsafe_code,
    reason = "fork, signals and descriptors have no safe interface"
)]

#[cfg(target_os = "linux")]
mod arguments;
#[cfg(target_os = "linux")]
mod computing;
#[cfg(target_os = "linux")]
mod descriptors;
#[cfg(target_os = "linux")]
mod entries;
#[cfg(target_os = "linux")]
mod folder;
#[cfg(not(target_os = "linux"))]
mod group;
#[cfg(target_os = "linux")]
mod image;
#[cfg(target_os = "linux")]
mod landlock;
#[cfg(target_os = "linux")]
mod launch;
#[cfg(target_os = "linux")]
mod message;
#[cfg(target_os = "linux")]
mod mounts;
#[cfg(target_os = "linux")]
mod namespaces;
#[cfg(target_os = "linux")]
mod network;
#[cfg(target_os = "linux")]
mod program;
#[cfg(target_os = "linux")]
mod stack;
#[cfg(target_os = "linux")]
mod start;
#[cfg(target_os = "linux")]
mod supervisor;
#[cfg(target_os = "linux")]
mod trial;
#[cfg(target_os = "linux")]
mod user;

#[cfg(target_os = "linux")]
pub(crate) use arguments::Arguments;
#[cfg(target_os = "linux")]
pub(crate) use computing::lower_limits;
#[cfg(target_os = "linux")]
pub(crate) use entries::{ENTRIES_BYTES, EntryKind, each_entry, keeps_change_times};
#[cfg(target_os = "linux")]
pub(crate) use folder::Folder;
#[cfg(not(target_os = "linux"))]
pub(crate) use group::{GroupSignal, group_exists, signal_group};
#[cfg(target_os = "linux")]
pub(crate) use landlock::landlock_version;
#[cfg(target_os = "linux")]
pub(crate) use launch::{
    Cgroups, Confinement, Depth, IfMissing, Kind, Launch, Links, Namespaces, Propagation,
    ResourceLimit, Step,
};
#[cfg(target_os = "linux")]
pub(crate) use message::{Failure, MESSAGE_BYTES, Message, Stage, failure};
#[cfg(target_os = "linux")]
pub(crate) use namespaces::IdentityMap;
#[cfg(target_os = "linux")]
pub(crate) use network::{LoopbackService, PrivateNetwork};
#[cfg(target_os = "linux")]
pub(crate) use start::attach_supervisor;
#[cfg(target_os = "linux")]
pub(crate) use supervisor::SupervisorOrder;
#[cfg(target_os = "linux")]
pub(crate) use trial::{TrialError, try_out};
#[cfg(target_os = "linux")]
pub(crate) use user::user;

/// The error number of the last system call of this thread.
#[cfg(target_os = "linux")]
fn errno() -> libc::c_int {
    // SAFETY: the C library gives a valid pointer to this thread's error number.
    unsafe { *libc::__errno_location() }
}
