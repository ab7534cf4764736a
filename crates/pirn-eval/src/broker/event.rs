//! What happens to processes, and how their ends are told.

use pirn_sandbox::ExitStatus;

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
    /// The worker of a branch that was to end is gone.
    BranchEnded { branch: String },
}

/// How a worker ended.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct WorkerExit {
    pub(super) is_success: bool,
    /// For people.
    pub(super) detail: String,
}

impl WorkerExit {
    pub(super) fn of_process(status: ExitStatus, tail: &str) -> Self {
        let mut detail = status.to_string();
        if !tail.is_empty() {
            detail.push_str("; it wrote: ");
            detail.push_str(tail);
        }
        Self {
            is_success: status.is_success(),
            detail,
        }
    }

    pub(super) fn of_fork(status: i32) -> Self {
        let status = if status < 0 {
            ExitStatus::Signal(status.saturating_neg())
        } else {
            ExitStatus::Code(status)
        };
        Self::of_process(status, "")
    }
}
