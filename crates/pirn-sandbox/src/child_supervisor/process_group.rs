//! Unix systems other than Linux: the child's process group. A process that leaves the group escapes.

use std::io;
use std::time::Duration;

use tokio::process::ChildStdin;

use super::{Request, SpawnError, SpawnRequest, StateReceiver};
use crate::sandbox::Sandbox;
use crate::status::ExitStatus;
use crate::sys::{self, GroupSignal};

/// How often the group is looked at after the program's own end: nothing reports the end of other members.
const GROUP_POLL: Duration = Duration::from_millis(50);

/// The process group of a child. Dropping it kills the group.
#[derive(Debug)]
pub(crate) struct ChildSupervisor {
    group: i32,
    states: StateReceiver,
}

impl ChildSupervisor {
    pub(crate) fn spawn(start: SpawnRequest) -> Result<(Self, Option<ChildStdin>), SpawnError> {
        let SpawnRequest {
            mut command,
            descriptors,
            sandbox,
            ..
        } = start;
        if !descriptors.is_empty() {
            let message = "descriptors can only be passed on Linux";
            return Err(io::Error::new(io::ErrorKind::Unsupported, message).into());
        }
        let mut child = command.process_group(0).spawn()?;
        drop(command);
        let stdin = child.stdin.take();
        let group = child
            .id()
            .and_then(|id| i32::try_from(id).ok())
            .unwrap_or(0);
        let (sender, states) = StateReceiver::new();
        // Ends with the group, which is killed at the latest when the supervisor is dropped.
        tokio::spawn(async move {
            use std::os::unix::process::ExitStatusExt as _;
            let status = match child.wait().await {
                Ok(status) => ExitStatus::from_wait_status(status.into_raw()),
                Err(_error) => ExitStatus::Lost,
            };
            let others_left = sys::group_exists(group);
            sender.send_modify(|state| {
                state.main = Some(status);
                state.all_gone = !others_left;
            });
            while sys::group_exists(group) {
                tokio::time::sleep(GROUP_POLL).await;
            }
            sender.send_modify(|state| state.all_gone = true);
            // Its folder is there for as long as somebody uses it.
            drop::<Option<Sandbox>>(sandbox);
        });
        Ok((Self { group, states }, stdin))
    }

    pub(crate) fn states(&self) -> &StateReceiver {
        &self.states
    }

    /// Nobody counts them on these systems.
    #[expect(
        clippy::unused_self,
        reason = "other systems do count, see the other file"
    )]
    pub(crate) fn set_aside(&self) -> Vec<String> {
        Vec::new()
    }

    pub(crate) fn memory_kills(&self) -> Option<u64> {
        None
    }

    pub(crate) fn request(&self, request: Request) {
        if !self.states.state().all_gone {
            sys::signal_group(
                self.group,
                match request {
                    Request::Terminate => GroupSignal::Terminate,
                    Request::Kill => GroupSignal::Kill,
                    Request::Interrupt => GroupSignal::Interrupt,
                    Request::Freeze => GroupSignal::Stop,
                    Request::Thaw => GroupSignal::Continue,
                },
            );
            if matches!(request, Request::Terminate | Request::Interrupt) {
                // A frozen process would not hear it; to others this does nothing.
                sys::signal_group(self.group, GroupSignal::Continue);
            }
        }
    }
}

impl Drop for ChildSupervisor {
    fn drop(&mut self) {
        self.request(Request::Kill);
    }
}
