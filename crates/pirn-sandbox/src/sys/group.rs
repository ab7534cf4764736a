//! Signals to a process group.

/// A signal for a whole group.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum GroupSignal {
    Terminate,
    Kill,
    /// Interrupts, as Ctrl-C would.
    Interrupt,
    /// Stops where it is; cannot be caught.
    Stop,
    Continue,
}

/// Sends a signal to every process of the group. Does nothing when there is none.
pub(crate) fn signal_group(group: i32, signal: GroupSignal) {
    let number = match signal {
        GroupSignal::Terminate => libc::SIGTERM,
        GroupSignal::Kill => libc::SIGKILL,
        GroupSignal::Interrupt => libc::SIGINT,
        GroupSignal::Stop => libc::SIGSTOP,
        GroupSignal::Continue => libc::SIGCONT,
    };
    // Groups 0 and 1 would mean our own group and everybody.
    if group > 1 {
        // SAFETY: takes two integers and no memory of ours.
        unsafe { libc::kill(-group, number) };
    }
}

/// Whether any process of the group is left.
pub(crate) fn group_exists(group: i32) -> bool {
    // SAFETY: takes two integers and no memory of ours; signal 0 is never delivered.
    group > 1 && unsafe { libc::kill(-group, 0) } == 0
}
