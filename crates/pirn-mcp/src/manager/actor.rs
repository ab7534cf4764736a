//! The task that owns one server: it alone connects, closes and restarts it, and says what state it is in.

mod live;
mod report;
mod waiter;

use std::sync::Arc;
use std::time::Duration;

use futures_util::future::BoxFuture;
use tokio::sync::{mpsc, oneshot, watch};
use tokio::task::JoinHandle;
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;

use self::live::{Live, LiveEvent};
use self::report::list_problem;
use self::waiter::Waiter;
use super::announcer::Announcer;
use super::attempt::{ConnectAttempt, OpenServer};
use super::backoff::{Backoff, may_pass};
use super::link::{Connector, LineSink};
use super::publisher::{Publication, Publisher};
use super::status::{Enablement, Listing, Problem, ServerEvent, ServerState, Snapshot};
use super::uses::{Lease, Uses};
use crate::config::{ServerEntry, StartMode};
use crate::connection::Changed;
use crate::error::{Error, ErrorKind};

/// How long a server gets to close; after that it is dropped, which kills its process.
pub(super) const CLOSE_LIMIT: Duration = Duration::from_secs(5);
/// Calls that may wait for one server to connect. More are a runaway script.
const WAITERS_MAX: usize = 1_024;

/// What a server is meant to be.
#[derive(Clone)]
pub(super) struct DesiredState {
    pub(super) entry: Arc<ServerEntry>,
    pub(super) enablement: Enablement,
    pub(super) activity: Activity,
}

/// Whether servers connect by themselves.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Activity {
    /// Not yet; only a call connects.
    OnDemand,
    Started,
}

/// What the task is asked to do.
pub(super) enum Command {
    /// Connect if need be, and give the connection out.
    Lease(oneshot::Sender<Result<Lease, Error>>),
    /// Connect if the server's tools are not known yet; answered when there is nothing more to wait for.
    Wake(oneshot::Sender<Result<(), Error>>),
    /// Close and connect again, whatever happened before.
    Reconnect(oneshot::Sender<Result<(), Error>>),
    /// A request on the connection with these users showed that the user has to sign in.
    Unauthorized(Arc<Uses>, Problem),
}

/// What every server's task works with.
#[derive(Clone)]
pub(super) struct ActorContext {
    pub(super) connector: Arc<dyn Connector>,
    pub(super) publisher: Arc<Publisher>,
    pub(super) announcer: Announcer,
}

/// The ends of the channels that belong to the task.
pub(super) struct ActorChannels {
    pub(super) commands: mpsc::Receiver<Command>,
    pub(super) desired: watch::Receiver<DesiredState>,
    pub(super) snapshot: watch::Sender<Snapshot>,
    pub(super) ending: CancellationToken,
    pub(super) standard_error: LineSink,
    /// The task of a server of the same name that is still closing.
    pub(super) predecessor: Option<JoinHandle<()>>,
}

pub(super) struct Actor {
    context: ActorContext,
    channels: ActorChannels,
    current: DesiredState,
    phase: Phase,
    waiters: Vec<Waiter>,
    backoff: Backoff,
    /// Whether no attempt was made since something about the server changed.
    is_untried: bool,
}

enum Phase {
    /// Not connected; the snapshot says why.
    Resting,
    Connecting(BoxFuture<'static, Result<OpenServer, Error>>),
    Connected(Live),
}

enum Event {
    End,
    Desired,
    Command(Command),
    Opened(Result<OpenServer, Error>),
    Live(LiveEvent),
    Retry,
}

impl Actor {
    pub(super) fn new(context: ActorContext, channels: ActorChannels) -> Self {
        let current = channels.desired.borrow().clone();
        Self {
            context,
            channels,
            current,
            phase: Phase::Resting,
            waiters: Vec::new(),
            backoff: Backoff::default(),
            is_untried: true,
        }
    }

    /// Runs until it is told to end, or dropped.
    pub(super) async fn run(mut self) {
        if let Some(predecessor) = self.channels.predecessor.take() {
            let _late = tokio::time::timeout(CLOSE_LIMIT, predecessor).await;
        }
        self.connect_if_eager();
        loop {
            match self.next_event().await {
                Event::End => break,
                Event::Desired => self.apply_desired().await,
                Event::Command(command) => self.obey(command).await,
                Event::Opened(outcome) => self.opened(outcome),
                Event::Live(event) => self.handle_live(event).await,
                Event::Retry => self.connect(),
            }
        }
        self.close_link().await;
        self.fail_waiters(&ended(self.name()));
        self.set_resting(ServerState::Disconnected, None);
    }

    async fn next_event(&mut self) -> Event {
        let retry_at = self.channels.snapshot.borrow().retry_at;
        let idle_timeout = self.current.entry.idle_timeout;
        let Self {
            channels, phase, ..
        } = self;
        tokio::select! {
            biased;
            () = channels.ending.cancelled() => Event::End,
            Ok(()) = channels.desired.changed() => Event::Desired,
            // A connection's end is noticed before the next call asks for it.
            event = phase.next(idle_timeout) => event,
            command = channels.commands.recv() => command.map_or(Event::End, Event::Command),
            () = until(retry_at) => Event::Retry,
        }
    }

    fn name(&self) -> &str {
        &self.current.entry.name
    }

    async fn obey(&mut self, command: Command) {
        match command {
            Command::Lease(reply) => self.lease(reply).await,
            Command::Wake(reply) => self.wake(reply),
            Command::Reconnect(reply) => {
                if self.current.enablement == Enablement::Disabled {
                    let _gone = reply.send(Err(disabled(self.name())));
                    return;
                }
                self.close_link().await;
                self.backoff.forget();
                self.connect();
                self.wait(Waiter::Outcome(reply));
            }
            Command::Unauthorized(uses, problem) => {
                let is_this_one =
                    matches!(&self.phase, Phase::Connected(live) if live.is_used_by(&uses));
                if is_this_one {
                    self.close_link().await;
                    self.backoff.sign_in_needed(Instant::now());
                    self.set_resting(ServerState::NeedsAuth, Some(problem));
                }
            }
        }
    }

    fn wake(&mut self, reply: oneshot::Sender<Result<(), Error>>) {
        let is_unknown = self.channels.snapshot.borrow().listing == Listing::Unknown;
        let is_worth_it = is_unknown
            && self.current.enablement == Enablement::Enabled
            && !self.backoff.is_pausing(Instant::now());
        if matches!(self.phase, Phase::Resting) && is_worth_it {
            self.connect();
        }
        if matches!(self.phase, Phase::Connecting(_)) {
            self.wait(Waiter::Outcome(reply));
        } else {
            let _gone = reply.send(Ok(()));
        }
    }

    async fn lease(&mut self, reply: oneshot::Sender<Result<Lease, Error>>) {
        if let Phase::Connected(live) = &mut self.phase {
            let Some(error) = live.take_end(&self.current.entry.name) else {
                let _gone = reply.send(Ok(live.lease()));
                return;
            };
            self.ended_by_itself(&error).await;
        }
        if matches!(self.phase, Phase::Resting) {
            if self.current.enablement == Enablement::Disabled {
                let _gone = reply.send(Err(disabled(self.name())));
                return;
            }
            if let Some(error) = self.refusal() {
                let _gone = reply.send(Err(error));
                return;
            }
            self.connect();
        }
        self.wait(Waiter::Lease(reply));
    }

    /// Why a call fails at once: the server failed a moment ago.
    fn refusal(&self) -> Option<Error> {
        let now = Instant::now();
        let until = self.backoff.refuses_until(now)?;
        let problem = self.channels.snapshot.borrow().problem.clone()?;
        let seconds = until.duration_since(now).as_secs_f64().ceil();
        let message = format!(
            "is not available: {}; it failed {} times in a row and is not tried again for {seconds} s",
            problem.message,
            self.backoff.failures()
        );
        let problem = Problem { message, ..problem };
        Some(problem.to_error(self.name()))
    }

    fn wait(&mut self, waiter: Waiter) {
        self.waiters.retain(|waiter| !waiter.is_gone());
        if self.waiters.len() < WAITERS_MAX {
            self.waiters.push(waiter);
        } else {
            waiter.fail(Error::new(
                ErrorKind::Start,
                self.name(),
                format!("{WAITERS_MAX} calls wait for it to connect already"),
            ));
        }
    }

    fn connect_if_eager(&mut self) {
        let is_wanted = self.is_untried
            && self.current.enablement == Enablement::Enabled
            && self.starts_by_itself();
        if is_wanted && matches!(self.phase, Phase::Resting) {
            self.connect();
        }
    }

    fn starts_by_itself(&self) -> bool {
        self.current.activity == Activity::Started && self.current.entry.start == StartMode::Eager
    }

    fn connect(&mut self) {
        self.is_untried = false;
        let attempt = ConnectAttempt {
            connector: Arc::clone(&self.context.connector),
            entry: Arc::clone(&self.current.entry),
            standard_error: Arc::clone(&self.channels.standard_error),
        };
        self.phase = Phase::Connecting(Box::pin(attempt.open()));
        self.change(|snapshot| {
            snapshot.state = ServerState::Connecting;
            snapshot.retry_at = None;
        });
    }

    fn opened(&mut self, outcome: Result<OpenServer, Error>) {
        self.phase = Phase::Resting;
        let opened = match outcome {
            Ok(opened) => opened,
            Err(error) => return self.failed(&error),
        };
        let live = Live::new(Arc::clone(&opened.link), opened.changes);
        let mut warnings = live.take_warnings();
        let facts = Arc::new(opened.link.facts());
        self.change_quietly(|snapshot| {
            snapshot.facts = Some(facts);
        });
        let problem = match opened.tools {
            Ok(tools) => {
                warnings.extend(self.publish(Publication::List(tools)));
                None
            }
            Err(error) => {
                warnings.extend(self.publish(Publication::Facts));
                let problem = list_problem(&error);
                warnings.push(problem.message.clone());
                Some(problem)
            }
        };
        self.replace_warnings(warnings);
        self.change(|snapshot| {
            snapshot.state = ServerState::Connected;
            snapshot.problem = problem;
            snapshot.listing = Listing::Known;
        });
        for waiter in self.waiters.drain(..) {
            match waiter {
                Waiter::Lease(reply) => {
                    let _gone = reply.send(Ok(live.lease()));
                }
                Waiter::Outcome(reply) => {
                    let _gone = reply.send(Ok(()));
                }
            }
        }
        self.phase = Phase::Connected(live);
    }

    /// An attempt to connect failed.
    fn failed(&mut self, error: &Error) {
        let mut problem = Problem::from(error);
        let now = Instant::now();
        let state = if *error.kind() == ErrorKind::NeedsAuthorization {
            self.backoff.sign_in_needed(now);
            ServerState::NeedsAuth
        } else {
            self.backoff.attempt_failed(now);
            ServerState::Failed
        };
        let has_given_up = self.starts_by_itself()
            && may_pass(error.kind())
            && self.backoff.failures() > 0
            && self.backoff.retry_at().is_none();
        if has_given_up {
            problem.hints.push(format!(
                "After {} failures in a row it is not started again by itself; a call or a reconnect tries again.",
                self.backoff.failures()
            ));
        }
        self.set_resting(state, Some(problem.clone()));
        self.fail_waiters(&problem);
    }

    /// The present connection ended without anybody here wanting it.
    async fn ended_by_itself(&mut self, error: &Error) {
        if let Phase::Connected(live) = &self.phase {
            self.backoff.connection_ended(Instant::now(), live.since());
        }
        self.close_link().await;
        self.set_resting(ServerState::Disconnected, Some(Problem::from(error)));
    }

    async fn handle_live(&mut self, event: LiveEvent) {
        if let Phase::Connected(live) = &self.phase {
            self.warn(live.take_warnings());
        }
        match event {
            LiveEvent::Ended(error) => self.ended_by_itself(&error).await,
            LiveEvent::Idle => {
                // It was there for as long as it was needed.
                self.backoff.forget();
                self.close_link().await;
                self.set_resting(ServerState::Disconnected, None);
            }
            LiveEvent::Listed(Ok(tools)) => {
                let warnings = self.publish(Publication::List(tools));
                self.warn(warnings);
                self.change(|snapshot| snapshot.problem = None);
            }
            LiveEvent::Listed(Err(error)) => {
                let problem = list_problem(&error);
                self.warn(vec![problem.message.clone()]);
                self.change(|snapshot| snapshot.problem = Some(problem));
            }
            LiveEvent::Changed(Changed::Tools) => {}
            LiveEvent::Changed(Changed::Resources) => {
                let server = self.name().to_owned();
                self.tell(ServerEvent::ResourcesChanged { server });
            }
            LiveEvent::Changed(Changed::Prompts) => {
                let server = self.name().to_owned();
                self.tell(ServerEvent::PromptsChanged { server });
            }
        }
    }

    async fn apply_desired(&mut self) {
        let desired = self.channels.desired.borrow_and_update().clone();
        let previous = std::mem::replace(&mut self.current, desired);
        if self.current.enablement == Enablement::Disabled {
            let _nothing_shown = self.publish(Publication::Hide);
            self.close_link().await;
            self.fail_waiters(&Problem::from(&disabled(self.name())));
            self.backoff.forget();
            self.set_resting(ServerState::Disabled, None);
            return;
        }
        let was_disabled = previous.enablement == Enablement::Disabled;
        let is_reached_differently = previous.entry.transport != self.current.entry.transport
            || previous.entry.timeouts != self.current.entry.timeouts;
        if was_disabled || is_reached_differently {
            let was_active = !matches!(self.phase, Phase::Resting);
            self.close_link().await;
            self.backoff.forget();
            self.is_untried = true;
            self.set_resting(ServerState::Disconnected, None);
            if was_active {
                self.connect();
            }
        }
        if was_disabled || previous.entry != self.current.entry {
            let warnings = self.publish(Publication::Facts);
            self.warn(warnings);
        }
        self.connect_if_eager();
    }

    /// Ends the connection or the attempt to make one. Those who wait keep waiting.
    async fn close_link(&mut self) {
        if let Phase::Connected(live) = std::mem::replace(&mut self.phase, Phase::Resting) {
            let _late = tokio::time::timeout(CLOSE_LIMIT, live.close()).await;
        }
    }

    fn fail_waiters(&mut self, problem: &Problem) {
        for waiter in std::mem::take(&mut self.waiters) {
            waiter.fail(problem.to_error(self.name()));
        }
    }
}

impl Phase {
    async fn next(&mut self, idle_timeout: Option<Duration>) -> Event {
        match self {
            Self::Resting => std::future::pending().await,
            Self::Connecting(attempt) => Event::Opened(attempt.await),
            Self::Connected(live) => Event::Live(live.next(idle_timeout).await),
        }
    }
}

async fn until(at: Option<Instant>) {
    match at {
        Some(at) => tokio::time::sleep_until(at).await,
        None => std::future::pending().await,
    }
}

fn disabled(name: &str) -> Error {
    Error::new(ErrorKind::Disabled, name, "is switched off")
        .with_hint("Set \"enabled\" to true, or enable it for this session.")
}

fn ended(name: &str) -> Problem {
    Problem::from(&Error::new(
        ErrorKind::Closed,
        name,
        "was closed because the session ended or the server was taken out of the configuration",
    ))
}
