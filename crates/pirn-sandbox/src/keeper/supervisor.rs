//! Linux: a supervisor process between us and the child, see [`crate::sys`].

use std::io::{self, Write as _};
use std::net::Shutdown;
use std::os::unix::net::UnixStream;

use tokio::io::AsyncReadExt as _;
use tokio::process::{ChildStdin, Command};
use tokio::sync::watch;

use super::{Request, State};
use crate::status::ExitStatus;
use crate::sys::{self, Report, SupervisorOrder};

/// Our end of the lifeline. Dropping it closes the lifeline, and the supervisor then kills everything.
#[derive(Debug)]
pub(crate) struct Keeper {
    /// Not tokio's: that one refuses to write before it has heard from the system that it can, and an order must never be
    /// lost. The few bytes of all orders always fit the socket's buffer.
    lifeline: UnixStream,
    state: watch::Receiver<State>,
}

impl Keeper {
    pub(crate) fn spawn(mut command: Command) -> io::Result<(Self, Option<ChildStdin>)> {
        let lifeline = sys::attach_supervisor(&mut command)?;
        let reports = tokio::net::UnixStream::from_std(lifeline.try_clone()?)?;
        let mut supervisor = command.spawn()?;
        // Also drops our copies of the child's pipes and of the supervisor's end of the lifeline.
        drop(command);
        let stdin = supervisor.stdin.take();
        let (sender, state) = watch::channel(State::default());
        // Ends with the supervisor, which ends at the latest when the lifeline closes.
        tokio::spawn(async move {
            follow(reports, &sender).await;
            // Only collects the exit status, so that no zombie is left.
            let _status = supervisor.wait().await;
            sender.send_modify(|state| {
                state.main.get_or_insert(ExitStatus::Lost);
                state.all_gone = true;
            });
        });
        Ok((Self { lifeline, state }, stdin))
    }

    pub(crate) fn state(&self) -> State {
        *self.state.borrow()
    }

    pub(crate) fn request(&self, request: Request) {
        let order = match request {
            Request::Terminate => SupervisorOrder::Terminate,
            Request::Kill => SupervisorOrder::Kill,
        };
        // Fails only when the supervisor is gone, and then everything is.
        let _gone = (&self.lifeline).write(&[order as u8]);
    }

    pub(crate) async fn wait_main(&self) -> ExitStatus {
        let mut state = self.state.clone();
        match state.wait_for(|state| state.main.is_some()).await {
            Ok(state) => state.main.unwrap_or(ExitStatus::Lost),
            // The runtime is shutting down.
            Err(_closed) => ExitStatus::Lost,
        }
    }

    pub(crate) async fn wait_all_gone(&self) {
        let mut state = self.state.clone();
        // An error means that the runtime is shutting down.
        let _state = state.wait_for(|state| state.all_gone).await;
    }
}

impl Drop for Keeper {
    fn drop(&mut self) {
        // The task that reads the reports holds the same socket, so closing our descriptor would not do. Fails only when the
        // supervisor is gone.
        let _gone = self.lifeline.shutdown(Shutdown::Write);
    }
}

/// Copies the supervisor's reports into the state, to the end.
async fn follow(mut lifeline: tokio::net::UnixStream, sender: &watch::Sender<State>) {
    let mut frame = [0; Report::BYTES];
    while lifeline.read_exact(&mut frame).await.is_ok() {
        let report = Report::decode(frame);
        sender.send_modify(|state| {
            state.main = Some(ExitStatus::from_wait_status(report.wait_status));
            state.all_gone = !report.others_left;
        });
    }
}
