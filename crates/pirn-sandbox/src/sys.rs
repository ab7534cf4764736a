//! The system calls of this crate, and its only unsafe code.
#![expect(
    unsafe_code,
    reason = "fork, signals and descriptors have no safe interface"
)]

#[cfg(not(target_os = "linux"))]
mod group;
#[cfg(target_os = "linux")]
mod supervisor;

#[cfg(not(target_os = "linux"))]
pub(crate) use group::{GroupSignal, group_exists, signal_group};
#[cfg(target_os = "linux")]
pub(crate) use supervisor::{Report, SupervisorOrder, attach_supervisor};
