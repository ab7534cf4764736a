//! Who keeps a child's processes together: the seam between operating systems.

use crate::status::ExitStatus;

#[cfg(target_os = "linux")]
#[path = "keeper/supervisor.rs"]
mod backend;
#[cfg(all(unix, not(target_os = "linux")))]
#[path = "keeper/group.rs"]
mod backend;
#[cfg(not(unix))]
#[path = "keeper/unsupported.rs"]
mod backend;

pub(crate) use backend::Keeper;

/// What is known about a child's processes.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct State {
    /// How the program itself ended, if it has.
    pub(crate) main: Option<ExitStatus>,
    /// Whether the program and every descendant are gone.
    pub(crate) all_gone: bool,
}

/// What a keeper can be asked to do to every process it keeps.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Request {
    /// Ask them to end.
    Terminate,
    /// End them.
    Kill,
}
