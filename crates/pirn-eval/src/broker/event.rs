//! What happens to processes, and how their ends are told.

use pirn_sandbox::{Child, ExitStatus};

/// What happens to processes.
#[derive(Debug)]
pub(super) enum ProcessEvent {
    /// The fork of an eval and everything it started is gone; the status is an exit code or a negative signal number.
    ForkEnded { id: String, status: i32 },
    /// A zygote is gone, with everything in its sandbox.
    ZygoteGone { key: u64, exit: WorkerExit },
    /// A worker process is gone, with everything it started.
    ProcessGone { key: u64, exit: WorkerExit },
    /// A live namespace that ran nothing has broken the protocol or ended, and is gone.
    NamespaceLost { key: u64, reason: String },
    /// A program wants to reach a host that no rule decides.
    HostAsked {
        number: u64,
        host: String,
        port: u16,
    },
    /// The worker of a branch that was to end is gone.
    BranchEnded { branch: String },
}

/// How a worker ended.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct WorkerExit {
    pub(super) is_success: bool,
    /// How it ended, as a clause for people.
    pub(super) detail: String,
    /// Whether the kernel killed something of it for its bound on memory.
    pub(super) was_out_of_memory: bool,
}

impl WorkerExit {
    /// Of a child, which has ended.
    pub(super) fn of_child(child: &Child, status: ExitStatus, tail: &str) -> Self {
        Self {
            was_out_of_memory: child.was_out_of_memory(),
            ..Self::of_status(status, tail)
        }
    }

    fn of_status(status: ExitStatus, tail: &str) -> Self {
        let mut detail = status.to_string();
        if !tail.is_empty() {
            detail.push_str("; it wrote: ");
            detail.push_str(tail);
        }
        Self {
            is_success: status.is_success(),
            detail,
            was_out_of_memory: false,
        }
    }

    /// Of a fork: its exit code, or a negative signal number.
    pub(super) fn of_fork(status: i32, was_out_of_memory: bool) -> Self {
        let status = if status < 0 {
            ExitStatus::Signal(status.saturating_neg())
        } else {
            ExitStatus::Code(status)
        };
        Self {
            was_out_of_memory,
            ..Self::of_status(status, "")
        }
    }
}
