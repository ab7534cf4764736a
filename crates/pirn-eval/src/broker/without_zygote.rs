//! Zygotes need process namespaces, which only Linux has; elsewhere each eval gets a process of its own.

use std::io;
use std::os::fd::OwnedFd;
use std::sync::Arc;

use pirn_sandbox::Child;
use tokio::sync::mpsc::UnboundedSender;

use super::event::ProcessEvent;
use super::worker_pipes::WorkerPipes;
use crate::tail::SharedTail;

/// What a fork of the zygote can be sent.
#[derive(Debug, Clone, Copy)]
pub(super) enum ForkSignal {
    Int,
    Term,
    Kill,
}

/// A warm Python, of which there is none.
pub(super) struct Zygote {
    pub(super) key: u64,
}

/// Always fails: only Linux has the sockets that a zygote needs.
pub(super) fn control_pair() -> io::Result<(OwnedFd, OwnedFd)> {
    Err(io::ErrorKind::Unsupported.into())
}

impl Zygote {
    /// Always fails, and ends the child.
    pub(super) fn follow(
        _key: u64,
        child: Child,
        _control: OwnedFd,
        _tail: SharedTail,
        _events: UnboundedSender<ProcessEvent>,
    ) -> io::Result<Self> {
        drop(child);
        Err(io::ErrorKind::Unsupported.into())
    }

    /// Always fails: there is no process that could fork.
    pub(super) fn fork(&self, _id: &str) -> io::Result<WorkerPipes> {
        Err(io::ErrorKind::Unsupported.into())
    }

    /// Does nothing, since no fork can exist.
    pub(super) fn signal(&self, _id: &str, _signal: ForkSignal) {}

    /// Always `None`: no zygote is ever started.
    pub(super) fn child(&self) -> Option<&Arc<Child>> {
        None
    }

    /// Always false: nobody counts kills for memory here.
    pub(super) fn was_out_of_memory(&mut self) -> bool {
        false
    }

    /// Does nothing, since no zygote is ever started.
    pub(super) fn kill(&self) {}
}
