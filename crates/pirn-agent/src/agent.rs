//! One conversation with a model that has tools: what front ends hold.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use pirn_model::{BashExecutionMessage, Instructions, Message, Model, ThinkingLevel, UserMessage};
use pirn_session::{Entry, EntryBody, Session};
use pirn_tool::{EventBus, EventSubscription};
use tokio::sync::{mpsc, oneshot, watch};
use tokio_util::sync::CancellationToken;

use crate::error::AgentError;
use crate::event::{AgentEvent, CompactionReport};
use crate::feed::Feed;
use crate::hooks::{AgentHook, Hooks};
use crate::machine::{End, Machine, QueueMode};
use crate::options::AgentOptions;
use crate::ports::{ModelChoice, Models, Tools};
use crate::state::AgentState;
use crate::worker::{Job, Worker};

/// Work that waits for a conversation: runs and summaries that were asked for.
const JOBS_MAX: usize = 64;

/// What a conversation is made of.
pub struct AgentParts {
    /// Where everything said is kept.
    pub session: Session,
    /// The way to models.
    pub models: Arc<dyn Models>,
    /// The tools that the model can call.
    pub tools: Arc<dyn Tools>,
    /// The model that is asked first.
    pub choice: ModelChoice,
    /// Limits, queues, and when it is made shorter.
    pub options: AgentOptions,
    /// Where the runtime behind the tools tells what happens; `None` where there is none.
    pub runtime_events: Option<EventBus>,
    /// What the embedding program adds, in this order.
    pub hooks: Vec<Arc<dyn AgentHook>>,
}

impl std::fmt::Debug for AgentParts {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter
            .debug_struct("AgentParts")
            .field("session", &self.session)
            .field("choice", &self.choice)
            .field("options", &self.options)
            .finish_non_exhaustive()
    }
}

/// What became of a message.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Disposition {
    /// A run begins with it.
    Started,
    /// It is said when its turn comes.
    Queued,
}

/// What becomes of a message while a run goes on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum WhileBusy {
    /// It is refused with [`AgentError::Busy`].
    Refuse,
    /// It is said before the model is asked again.
    Steer,
    /// It is said when the model would stop.
    FollowUp,
}

/// One conversation with a model that has tools. Cheap to clone; clones are the same conversation. What happens comes out of the
/// [`AgentEvents`] that it was made with, which somebody has to read: the conversation waits for them. [`Agent::close`] ends it.
#[derive(Clone)]
pub struct Agent {
    shared: Arc<Shared>,
}

/// What a conversation and its front ends share.
pub(crate) struct Shared {
    pub(crate) machine: Mutex<Machine>,
    /// Stops the run that goes on.
    pub(crate) cancel: Mutex<CancellationToken>,
    pub(crate) session: Mutex<Session>,
    pub(crate) choice: Mutex<ModelChoice>,
    pub(crate) options: Mutex<AgentOptions>,
    pub(crate) models: Arc<dyn Models>,
    pub(crate) tools: Arc<dyn Tools>,
    pub(crate) hooks: Hooks,
    pub(crate) events: mpsc::Sender<AgentEvent>,
    pub(crate) feed: Arc<Feed>,
    pub(crate) status: watch::Sender<Status>,
    /// What the session had cost when the conversation began here.
    pub(crate) cost_before: f64,
    /// What the user ran while the model was busy: said before it is asked again.
    pub(crate) commands: Mutex<Vec<BashExecutionMessage>>,
    jobs: mpsc::Sender<Job>,
    /// Stops commands of the user's own.
    command_cancel: Mutex<CancellationToken>,
    /// Fires at the end.
    lifetime: CancellationToken,
    worker: Mutex<Option<tokio::task::JoinHandle<()>>>,
    _subscription: Option<EventSubscription>,
}

/// What goes on, for whoever waits.
#[derive(Debug, Clone, Default)]
pub(crate) struct Status {
    /// Runs that were asked for and have not ended.
    pub(crate) runs: usize,
    pub(crate) is_compacting: bool,
    /// How the last run ended.
    pub(crate) last: Option<End>,
}

/// What happens in a conversation, in order. The conversation waits while nobody reads it.
#[derive(Debug)]
pub struct AgentEvents {
    receiver: mpsc::Receiver<AgentEvent>,
}

impl AgentEvents {
    /// The next event; `None` once the conversation is closed.
    pub async fn next(&mut self) -> Option<AgentEvent> {
        self.receiver.recv().await
    }

    /// The next event, if there is one already.
    pub fn take(&mut self) -> Option<AgentEvent> {
        self.receiver.try_recv().ok()
    }
}

impl std::fmt::Debug for Agent {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter
            .debug_struct("Agent")
            .field("status", &*self.shared.status.borrow())
            .finish_non_exhaustive()
    }
}

pub(crate) fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Agent {
    /// Begins or goes on with a conversation. Must be called inside an event loop. Fails where the session cannot be written.
    pub fn start(parts: AgentParts) -> Result<(Self, AgentEvents), AgentError> {
        let AgentParts {
            mut session,
            models,
            tools,
            choice,
            options,
            runtime_events,
            hooks,
        } = parts;
        let hooks = Hooks(hooks);
        keep_choice(&mut session, &choice)?;
        restore_tools(&*tools, &session);
        let cost_before = session.tree().usage().cost;
        hooks.session_started(&session.header().id);
        let (events, receiver) = mpsc::channel(options.events_max.max(1));
        let (jobs, asked) = mpsc::channel(JOBS_MAX);
        let feed = Arc::new(Feed::default());
        let subscription = runtime_events.map(|bus| {
            let feed = Arc::clone(&feed);
            bus.subscribe(Arc::new(move |event| feed.push(event)))
        });
        let shared = Arc::new(Shared {
            machine: Mutex::new(Machine::new(options.machine)),
            cancel: Mutex::default(),
            session: Mutex::new(session),
            choice: Mutex::new(choice),
            options: Mutex::new(options),
            models,
            tools,
            hooks,
            events,
            feed,
            status: watch::Sender::default(),
            cost_before,
            commands: Mutex::default(),
            jobs,
            command_cancel: Mutex::default(),
            lifetime: CancellationToken::new(),
            worker: Mutex::default(),
            _subscription: subscription,
        });
        let worker = Worker::new(Arc::clone(&shared), asked, shared.lifetime.clone());
        *lock(&shared.worker) = Some(tokio::spawn(worker.live()));
        Ok((Self { shared }, AgentEvents { receiver }))
    }

    /// Says this to the model. A run begins with it, which goes on by itself; while one goes on, `while_busy` counts.
    pub fn prompt(
        &self,
        message: UserMessage,
        while_busy: WhileBusy,
    ) -> Result<Disposition, AgentError> {
        let mut machine = lock(&self.shared.machine);
        if machine.is_idle() {
            machine.prompt(message)?;
            *lock(&self.shared.cancel) = CancellationToken::new();
            drop(machine);
            self.ask_for(Job::Run)?;
            return Ok(Disposition::Started);
        }
        drop(machine);
        match while_busy {
            WhileBusy::Refuse => Err(AgentError::Busy),
            WhileBusy::Steer => self.steer(message),
            WhileBusy::FollowUp => self.follow_up(message),
        }
    }

    /// Says this before the model is asked again. Where no run goes on it waits for the next one.
    pub fn steer(&self, message: UserMessage) -> Result<Disposition, AgentError> {
        lock(&self.shared.machine).steer(message)?;
        self.shared.tell_queue();
        Ok(Disposition::Queued)
    }

    /// Says this when the model would stop. Where no run goes on it waits for the next one.
    pub fn follow_up(&self, message: UserMessage) -> Result<Disposition, AgentError> {
        lock(&self.shared.machine).follow_up(message)?;
        self.shared.tell_queue();
        Ok(Disposition::Queued)
    }

    /// Takes everything back that waits to be said: steering messages, and those that follow.
    pub fn clear_queue(&self) -> (Vec<UserMessage>, Vec<UserMessage>) {
        let taken = lock(&self.shared.machine).clear_queue();
        self.shared.tell_queue();
        taken
    }

    /// Stops the run that goes on, if any. What was said until then stays, and each call has a result. What waits to be said
    /// stays in the queue.
    pub fn abort(&self) {
        lock(&self.shared.machine).abort();
        lock(&self.shared.cancel).cancel();
    }

    /// Waits until no run goes on, and says how the last one ended.
    pub async fn settled(&self) -> Option<End> {
        let mut status = self.shared.status.subscribe();
        let settled = status.wait_for(|status| status.runs == 0).await;
        settled.ok().and_then(|status| status.last.clone())
    }

    /// Asks another model from the next request on. How much it thinks is clamped to what it has.
    pub fn set_model(&self, choice: ModelChoice) -> Result<(), AgentError> {
        keep_choice(&mut lock(&self.shared.session), &choice)?;
        let level = choice.thinking;
        let before = std::mem::replace(&mut *lock(&self.shared.choice), choice);
        if before.thinking != level {
            self.shared
                .feed_event(AgentEvent::ThinkingLevelChanged { level });
        }
        Ok(())
    }

    /// Sets how much the model thinks from the next request on, and gives the level that it has.
    pub fn set_thinking_level(&self, wanted: ThinkingLevel) -> Result<ThinkingLevel, AgentError> {
        let model = lock(&self.shared.choice).model.clone();
        let choice = ModelChoice::new(model, wanted);
        let level = choice.thinking;
        self.set_model(choice)?;
        Ok(level)
    }

    /// The model that is asked next.
    pub fn model(&self) -> ModelChoice {
        lock(&self.shared.choice).clone()
    }

    /// The models that can be asked.
    pub async fn available_models(&self) -> Vec<Model> {
        self.shared.models.available().await
    }

    /// Sets how steering messages are said.
    pub fn set_steering_mode(&self, mode: QueueMode) {
        let mut machine = lock(&self.shared.machine);
        let mut options = machine.options();
        options.steering = mode;
        machine.set_options(options);
    }

    /// Sets how messages that follow are said.
    pub fn set_follow_up_mode(&self, mode: QueueMode) {
        let mut machine = lock(&self.shared.machine);
        let mut options = machine.options();
        options.follow_up = mode;
        machine.set_options(options);
    }

    /// Changes how the conversation behaves.
    pub fn change_options(&self, change: impl FnOnce(&mut AgentOptions)) {
        let mut machine = lock(&self.shared.machine);
        let mut options = lock(&self.shared.options);
        options.machine = machine.options();
        change(&mut options);
        machine.set_options(options.machine);
    }

    /// Makes the conversation shorter now: a summary stands for its beginning. `focus` says what the summary is to look at, in
    /// the user's words.
    pub async fn compact(&self, focus: Option<String>) -> Result<CompactionReport, AgentError> {
        if !lock(&self.shared.machine).is_idle() {
            return Err(AgentError::Busy);
        }
        *lock(&self.shared.cancel) = CancellationToken::new();
        let (answer, answered) = oneshot::channel();
        self.ask_for(Job::Compact { focus, answer })?;
        answered.await.map_err(|_| AgentError::Closed)?
    }

    /// Goes on after another entry of the session; `None` for its very beginning. What was said after it stays on a branch of
    /// its own.
    pub fn navigate(&self, entry_id: Option<&str>) -> Result<(), AgentError> {
        let machine = lock(&self.shared.machine);
        if !machine.is_idle() {
            return Err(AgentError::Busy);
        }
        let mut session = lock(&self.shared.session);
        if session.set_leaf(entry_id) {
            restore_tools(&*self.shared.tools, &session);
            Ok(())
        } else {
            Err(AgentError::UnknownEntry(
                entry_id.unwrap_or_default().to_owned(),
            ))
        }
    }

    /// Goes on with another session, and gives the one before.
    pub fn replace_session(&self, mut session: Session) -> Result<Session, AgentError> {
        let machine = lock(&self.shared.machine);
        if !machine.is_idle() {
            return Err(AgentError::Busy);
        }
        keep_choice(&mut session, &lock(&self.shared.choice))?;
        restore_tools(&*self.shared.tools, &session);
        let hooks = &self.shared.hooks;
        hooks.session_started(&session.header().id);
        let before = std::mem::replace(&mut *lock(&self.shared.session), session);
        hooks.session_ended(&before.header().id);
        Ok(before)
    }

    /// Looks at the session.
    pub fn with_session<T>(&self, look: impl FnOnce(&Session) -> T) -> T {
        look(&lock(&self.shared.session))
    }

    /// Names the session; `None` takes the name away.
    pub fn set_session_name(&self, name: Option<String>) -> Result<(), AgentError> {
        let body = EntryBody::SessionInfo { name: name.clone() };
        lock(&self.shared.session).append(body)?;
        self.shared
            .feed_event(AgentEvent::SessionInfoChanged { name });
        Ok(())
    }

    /// The entries after one, or all, in the order in which they were written.
    pub fn entries(&self, since: Option<&str>) -> Result<Vec<Entry>, AgentError> {
        let session = lock(&self.shared.session);
        let entries = session.tree().entries();
        let Some(id) = since else {
            return Ok(entries.to_vec());
        };
        let place = entries.iter().position(|entry| entry.id == id);
        match place.and_then(|place| entries.get(place + 1..)) {
            Some(after) => Ok(after.to_vec()),
            None => Err(AgentError::UnknownEntry(id.to_owned())),
        }
    }

    /// How things stand now, as a copy.
    pub fn state(&self) -> AgentState {
        AgentState::of(&self.shared)
    }

    /// Runs a command of the user's own, and lets the model read it with the next request, unless it is `excluded`.
    pub async fn run_command(
        &self,
        command: &str,
        audience: CommandAudience,
    ) -> Result<BashExecutionMessage, AgentError> {
        let cancel = CancellationToken::new();
        *lock(&self.shared.command_cancel) = cancel.clone();
        let mut run = self.shared.tools.run_command(command, &cancel).await;
        if audience == CommandAudience::User {
            run.exclude_from_context = Some(true);
        }
        let machine = lock(&self.shared.machine);
        if machine.is_idle() {
            lock(&self.shared.session).append_message(Message::BashExecution(run.clone()))?;
        } else {
            // Between a call and its result nothing may be said.
            lock(&self.shared.commands).push(run.clone());
        }
        Ok(run)
    }

    /// Stops the command of the user's own that runs.
    pub fn abort_command(&self) {
        lock(&self.shared.command_cancel).cancel();
    }

    /// Ends the conversation: what goes on is stopped and waited for.
    pub async fn close(&self) {
        self.abort();
        self.abort_command();
        self.shared.lifetime.cancel();
        let worker = lock(&self.shared.worker).take();
        if let Some(worker) = worker {
            // A panic of it was told where it happened.
            drop(worker.await);
            let session_id = lock(&self.shared.session).header().id.clone();
            self.shared.hooks.session_ended(&session_id);
        }
    }

    fn ask_for(&self, job: Job) -> Result<(), AgentError> {
        let is_run = matches!(job, Job::Run);
        if is_run {
            self.shared.status.send_modify(|status| status.runs += 1);
        }
        self.shared.jobs.try_send(job).map_err(|_| {
            if is_run {
                self.shared.status.send_modify(|status| status.runs -= 1);
            }
            AgentError::Closed
        })
    }
}

/// Who reads what a command of the user's own printed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum CommandAudience {
    /// The model too, with the next request.
    Model,
    /// The user alone; the model does not learn of it.
    User,
}

impl Shared {
    /// Tells what waits to be said.
    fn tell_queue(&self) {
        let event = self.queue_event();
        self.feed_event(event);
    }

    pub(crate) fn queue_event(&self) -> AgentEvent {
        let machine = lock(&self.machine);
        let (steering, follow_up) = machine.queued();
        AgentEvent::QueueUpdate {
            steering: steering.into_iter().cloned().collect(),
            follow_up: follow_up.into_iter().cloned().collect(),
        }
    }

    /// Tells something, as soon as there is room. What happens while the conversation is closed is told to nobody.
    pub(crate) async fn send(&self, event: AgentEvent) {
        tokio::select! {
            biased;
            // Who reads may have left, which is no error.
            sent = self.events.send(event) => drop(sent),
            () = self.lifetime.cancelled() => {}
        }
    }

    /// Tells something from a place that cannot wait.
    pub(crate) fn feed_event(&self, event: AgentEvent) {
        self.feed.add(event);
    }
}

/// Lets the tools be those that the model was told of at this place of the session.
fn restore_tools(tools: &dyn Tools, session: &Session) {
    let declared = Instructions::of(&session.tree().context().messages).tools;
    let names: Vec<String> = declared.into_iter().map(|tool| tool.name).collect();
    tools.restore(&names);
}

/// Keeps which model is asked, where the session does not say it.
fn keep_choice(session: &mut Session, choice: &ModelChoice) -> Result<(), AgentError> {
    let context = session.tree().context();
    let model = (choice.model.provider.clone(), choice.model.id.clone());
    if context.model.as_ref() != Some(&model) {
        let (provider, model_id) = model;
        session.append(EntryBody::ModelChange { provider, model_id })?;
    }
    let thinking_level = choice.thinking.as_str().to_owned();
    if context.thinking_level.as_ref() != Some(&thinking_level) {
        session.append(EntryBody::ThinkingLevelChange { thinking_level })?;
    }
    Ok(())
}
