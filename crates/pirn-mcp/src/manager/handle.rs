//! What the rest of a session holds of one server's task.

use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use tokio::sync::{mpsc, oneshot, watch};
use tokio::task::JoinHandle;
use tokio_util::sync::CancellationToken;

use super::actor::{Actor, ActorChannels, ActorContext, CLOSE_LIMIT, Command, DesiredState};
use super::standard_error::StandardError;
use super::status::{Enablement, ServerState, ServerStatus, Snapshot, TransportSummary};
use super::uses::Lease;
use crate::config::ServerEntry;
use crate::error::{Error, ErrorKind};

/// Commands that wait for a server's task; it takes them one at a time but never waits long.
const COMMANDS_MAX: usize = 64;
/// How much longer than the start limit is waited for a task's answer, which says more than a time-out here.
const ANSWER_SLACK: Duration = Duration::from_secs(1);

/// One server's task, as its owner holds it.
pub(super) struct Handle {
    pub(super) contact: Contact,
    pub(super) ending: CancellationToken,
    /// `None` once somebody waits for its end.
    pub(super) task: Option<JoinHandle<()>>,
    desired: watch::Sender<DesiredState>,
    standard_error: Arc<StandardError>,
}

/// The way to ask one server's task for something. Cheap to clone.
#[derive(Clone)]
pub(super) struct Contact {
    pub(super) server: String,
    start_limit: Duration,
    commands: mpsc::Sender<Command>,
    snapshot: watch::Receiver<Snapshot>,
}

impl Handle {
    /// Starts the task. `predecessor` is the task of a server of the same name that is still closing.
    pub(super) fn spawn(
        context: ActorContext,
        desired: DesiredState,
        logs: Option<&Path>,
        predecessor: Option<JoinHandle<()>>,
    ) -> Self {
        let server = desired.entry.name.clone();
        let start_limit = desired.entry.timeouts.start;
        let log = logs.map(|folder| folder.join(format!("{server}.stderr.log")));
        let standard_error = Arc::new(StandardError::new(log));
        let sink = Arc::clone(&standard_error);
        let (commands, commands_end) = mpsc::channel(COMMANDS_MAX);
        let (snapshot_end, snapshot) = watch::channel(Snapshot::new(desired.enablement));
        let (desired, desired_end) = watch::channel(desired);
        let ending = CancellationToken::new();
        let actor = Actor::new(
            context,
            ActorChannels {
                commands: commands_end,
                desired: desired_end,
                snapshot: snapshot_end,
                ending: ending.clone(),
                standard_error: Arc::new(move |line: &str| sink.push(line)),
                predecessor,
            },
        );
        Self {
            contact: Contact {
                server,
                start_limit,
                commands,
                snapshot,
            },
            ending,
            task: Some(tokio::spawn(actor.run())),
            desired,
            standard_error,
        }
    }

    pub(super) fn entry(&self) -> Arc<ServerEntry> {
        Arc::clone(&self.desired.borrow().entry)
    }

    /// Tells the task what the server is meant to be from now on.
    pub(super) fn change(&mut self, change: impl FnOnce(&mut DesiredState)) {
        self.desired.send_modify(change);
        self.contact.start_limit = self.desired.borrow().entry.timeouts.start;
    }

    pub(super) fn status(&self) -> ServerStatus {
        let snapshot = self.contact.snapshot.borrow().clone();
        let DesiredState {
            entry, enablement, ..
        } = self.desired.borrow().clone();
        let facts = snapshot.facts.as_deref();
        ServerStatus {
            name: entry.name.clone(),
            origin: entry.origin.clone(),
            transport: TransportSummary::from(&entry.transport),
            state: snapshot.state,
            problem: snapshot.problem,
            stderr_tail: self.standard_error.tail(),
            tools: snapshot.tools.to_vec(),
            warnings: snapshot.warnings.to_vec(),
            has_resources: facts.is_some_and(|facts| facts.has_resources),
            has_prompts: facts.is_some_and(|facts| facts.has_prompts),
            facts: facts.cloned(),
            exposure: entry.exposure,
            tool_exposures: entry.tool_exposures.clone(),
            enablement,
            start: entry.start,
            description: entry.description.clone(),
            retry_at: snapshot.retry_at,
        }
    }
}

impl Contact {
    /// A connection to the server, made now if there is none. Waits no longer than the server may take to start.
    pub(super) async fn lease(&self, cancel: &CancellationToken) -> Result<Lease, Error> {
        tokio::select! {
            biased;
            () = cancel.cancelled() => Err(Error::new(
                ErrorKind::Cancelled,
                &self.server,
                "the call was cancelled before it was sent",
            )),
            lease = self.ask(Command::Lease, self.start_limit) => lease,
        }
    }

    /// Waits until it is known what tools the server has, or that it will not say.
    pub(super) async fn settle(&self) {
        // How it came out is in its state.
        let _outcome = self.ask(Command::Wake, self.start_limit).await;
    }

    /// Closes and connects again.
    pub(super) async fn reconnect(&self) -> Result<(), Error> {
        self.ask(Command::Reconnect, CLOSE_LIMIT + self.start_limit)
            .await
    }

    /// Waits until the task has taken a change of the enablement in.
    pub(super) async fn enablement_taken(&self, enablement: Enablement) {
        let mut snapshot = self.snapshot.clone();
        let is_taken = |snapshot: &Snapshot| {
            let is_disabled = snapshot.state == ServerState::Disabled;
            is_disabled == (enablement == Enablement::Disabled)
        };
        let limit = CLOSE_LIMIT + ANSWER_SLACK;
        let _late = tokio::time::timeout(limit, snapshot.wait_for(is_taken)).await;
    }

    /// Tells the task something that needs no answer. A task that is too busy learns it another way.
    pub(super) fn tell(&self, command: Command) {
        let _full = self.commands.try_send(command);
    }

    async fn ask<T>(
        &self,
        command: impl FnOnce(oneshot::Sender<Result<T, Error>>) -> Command,
        limit: Duration,
    ) -> Result<T, Error> {
        let (reply, answer) = oneshot::channel();
        let asked = async {
            self.commands
                .send(command(reply))
                .await
                .map_err(|_| self.gone())?;
            answer.await.map_err(|_| self.gone())?
        };
        tokio::time::timeout(limit + ANSWER_SLACK, asked)
            .await
            .unwrap_or_else(|_| Err(self.still_starting()))
    }

    fn gone(&self) -> Error {
        Error::new(
            ErrorKind::Closed,
            &self.server,
            "was closed because the session ended or the server was taken out of the configuration",
        )
    }

    fn still_starting(&self) -> Error {
        let seconds = self.start_limit.as_secs_f64();
        Error::new(
            ErrorKind::Timeout,
            &self.server,
            format!("was not ready within {seconds} s; it is still starting"),
        )
        .with_hint("Raise \"startTimeout\" (seconds) of the server if it is only slow to start.")
    }
}
