//! Who keeps a child's processes together: the seam between operating systems.

#[cfg(unix)]
use std::{io, os::fd::OwnedFd, path::PathBuf, sync::Arc};

use tokio::sync::watch;

#[cfg(unix)]
use crate::error::Error;
#[cfg(unix)]
use crate::sandbox::Sandbox;
use crate::status::ExitStatus;

#[cfg(target_os = "linux")]
#[path = "child_supervisor/linux.rs"]
mod backend;
#[cfg(all(unix, not(target_os = "linux")))]
#[path = "child_supervisor/process_group.rs"]
mod backend;
#[cfg(not(unix))]
#[path = "child_supervisor/unsupported.rs"]
mod backend;

pub(crate) use backend::ChildSupervisor;

/// What is known about a child's processes.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct ChildState {
    /// How the program itself ended, if it has.
    pub(crate) main: Option<ExitStatus>,
    /// Whether the program and every descendant are gone.
    pub(crate) all_gone: bool,
    /// Whether processes were killed because all together used more memory than they may.
    pub(crate) out_of_memory: bool,
}

/// What is known about a child's processes, as it changes.
#[derive(Debug, Clone)]
pub(crate) struct StateReceiver(watch::Receiver<ChildState>);

impl StateReceiver {
    /// Follows what a sender tells.
    #[cfg_attr(
        not(unix),
        expect(dead_code, reason = "children cannot be started there yet")
    )]
    pub(crate) fn new() -> (watch::Sender<ChildState>, Self) {
        let (sender, receiver) = watch::channel(ChildState::default());
        (sender, Self(receiver))
    }

    /// What is known now.
    pub(crate) fn state(&self) -> ChildState {
        *self.0.borrow()
    }

    /// Waits for the end of the program itself.
    pub(crate) async fn wait_main(&self) -> ExitStatus {
        let mut state = self.0.clone();
        match state.wait_for(|state| state.main.is_some()).await {
            Ok(state) => state.main.unwrap_or(ExitStatus::Lost),
            // The runtime is shutting down.
            Err(_closed) => ExitStatus::Lost,
        }
    }

    /// Waits until the program and every descendant are gone.
    pub(crate) async fn wait_all_gone(&self) {
        let mut state = self.0.clone();
        // An error means that the runtime is shutting down.
        let _state = state.wait_for(|state| state.all_gone).await;
    }
}

/// What a supervisor starts.
#[cfg(unix)]
#[derive(Debug)]
pub(crate) struct SpawnRequest {
    /// The program, without its directory where it is confined.
    pub(crate) command: tokio::process::Command,
    /// Become its descriptors 3, 4, ….
    pub(crate) descriptors: Vec<Arc<OwnedFd>>,
    pub(crate) sandbox: Option<Sandbox>,
    /// Where a confined program starts.
    #[cfg_attr(
        not(target_os = "linux"),
        expect(dead_code, reason = "children are not confined there yet")
    )]
    pub(crate) directory: Option<PathBuf>,
}

/// Why it did not start.
#[cfg(unix)]
#[derive(Debug)]
pub(crate) enum SpawnError {
    /// The operating system says so, about the program or its directory.
    System(io::Error),
    /// The error says all there is to say.
    #[cfg_attr(
        not(target_os = "linux"),
        expect(dead_code, reason = "children are not confined there yet")
    )]
    Explained(Error),
}

#[cfg(unix)]
impl From<io::Error> for SpawnError {
    fn from(source: io::Error) -> Self {
        Self::System(source)
    }
}

/// What a supervisor can be asked to do to the processes it keeps.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Request {
    /// Ask them to end.
    Terminate,
    /// End them without asking.
    Kill,
    /// Interrupt the program itself, as Ctrl-C would.
    Interrupt,
    /// Stop them where they are.
    Freeze,
    /// Let them go on.
    Thaw,
}
