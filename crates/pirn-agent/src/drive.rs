//! Carrying out what the machine wants: asking the model, making calls, keeping the conversation.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use futures_util::StreamExt as _;
use futures_util::future::BoxFuture;
use futures_util::stream::FuturesUnordered;
use pirn_model::{
    AssistantMessage, Instructions, Message, Reply, ReplyEvent, ReplySink, RequestUsage, ToolCall,
    ToolResultMessage, UserMessage,
};
use pirn_session::{EntryBody, Session, now_ms};
use tokio_util::sync::CancellationToken;

use crate::declare::Declarations;
use crate::event::AgentEvent;
use crate::machine::{End, Machine, MachineOptions, QueueFull, Step};

/// A conversation as a model is asked to go on with it.
#[derive(Debug)]
pub struct Conversation {
    /// The system prompt and the tools.
    pub instructions: Instructions,
    /// All messages that the model reads, the oldest first.
    pub messages: Vec<Message>,
    /// The session's id.
    pub session_id: String,
}

/// The way to a model: one request, one streamed reply.
pub trait Models: Send + Sync {
    /// Asks once. A failure is a reply too, and so is an abort.
    fn reply<'a>(
        &'a self,
        conversation: &'a Conversation,
        cancel: &'a CancellationToken,
        sink: ReplySink<'a>,
    ) -> BoxFuture<'a, Reply>;

    /// A message of the model with nothing in it yet.
    fn blank(&self) -> AssistantMessage;
}

/// The tools of a run: what the model is told of them, and how their calls are made.
pub trait Tools: Send + Sync {
    /// What the model is to know now.
    fn declarations(&self) -> Declarations;

    /// Makes one call. When `cancel` fires it ends soon, and has a result even so.
    fn call<'a>(
        &'a self,
        call: &'a ToolCall,
        cancel: &'a CancellationToken,
    ) -> BoxFuture<'a, ToolResultMessage>;
}

/// Receives what happens. Called in order, from one task.
pub type EventSink<'a> = &'a mut (dyn FnMut(&AgentEvent) + Send);

/// Stops and steers the run of an [`Agent`] from elsewhere. Cheap to clone.
#[derive(Debug, Clone)]
pub struct AgentHandle {
    machine: Arc<Mutex<Machine>>,
    cancel: Arc<Mutex<CancellationToken>>,
}

impl AgentHandle {
    /// Stops the run that goes on, if any. What was said until then stays, each call has a result.
    pub fn abort(&self) {
        lock(&self.machine).abort();
        lock(&self.cancel).cancel();
    }

    /// Says this before the model is asked again.
    pub fn steer(&self, message: UserMessage) -> Result<(), QueueFull> {
        lock(&self.machine).steer(message)
    }

    /// Says this when the model would stop.
    pub fn follow_up(&self, message: UserMessage) -> Result<(), QueueFull> {
        lock(&self.machine).follow_up(message)
    }
}

/// One conversation with a model that has tools.
pub struct Agent {
    machine: Arc<Mutex<Machine>>,
    cancel: Arc<Mutex<CancellationToken>>,
    models: Box<dyn Models>,
    tools: Box<dyn Tools>,
    session: Session,
}

impl std::fmt::Debug for Agent {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter
            .debug_struct("Agent")
            .field("machine", &self.machine)
            .field("session", &self.session)
            .finish_non_exhaustive()
    }
}

impl Agent {
    /// An agent that goes on with a session.
    pub fn new(
        session: Session,
        models: impl Models + 'static,
        tools: impl Tools + 'static,
        options: MachineOptions,
    ) -> Self {
        Self {
            machine: Arc::new(Mutex::new(Machine::new(options))),
            cancel: Arc::default(),
            models: Box::new(models),
            tools: Box::new(tools),
            session,
        }
    }

    /// What stops and steers it.
    pub fn handle(&self) -> AgentHandle {
        AgentHandle {
            machine: Arc::clone(&self.machine),
            cancel: Arc::clone(&self.cancel),
        }
    }

    /// The session that everything said is written to.
    pub fn session(&self) -> &Session {
        &self.session
    }

    /// Says this to the model and goes on until nothing more happens by itself. Fails only where the session cannot be kept.
    pub async fn prompt(
        &mut self,
        message: UserMessage,
        events: EventSink<'_>,
    ) -> Result<End, pirn_session::Error> {
        let cancel = CancellationToken::new();
        *lock(&self.cancel) = cancel.clone();
        let begun = lock(&self.machine).prompt(message);
        debug_assert!(begun.is_ok(), "an agent runs one prompt at a time");
        let mut run = Run {
            machine: Arc::clone(&self.machine),
            models: self.models.as_ref(),
            tools: self.tools.as_ref(),
            session: &mut self.session,
            cancel,
            events,
            messages: Vec::new(),
            turn: None,
            attempt: 0,
        };
        run.carry_out().await
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// One run: from a prompt until nothing more happens by itself.
struct Run<'a> {
    machine: Arc<Mutex<Machine>>,
    models: &'a dyn Models,
    tools: &'a dyn Tools,
    session: &'a mut Session,
    cancel: CancellationToken,
    events: EventSink<'a>,
    /// What was said in this run.
    messages: Vec<Message>,
    /// The reply of the turn that goes on, with what its calls gave.
    turn: Option<(Box<AssistantMessage>, Vec<ToolResultMessage>)>,
    /// Which try of the same request goes on; 0 for the first.
    attempt: u32,
}

impl Run<'_> {
    async fn carry_out(&mut self) -> Result<End, pirn_session::Error> {
        self.tell(&AgentEvent::AgentStart);
        self.declare()?;
        loop {
            let step = lock(&self.machine).next_step();
            match step {
                Step::Append(message) => self.append(message)?,
                Step::Omit(message) => self.omit(&message)?,
                Step::Ask => self.ask().await?,
                Step::Call(calls) => self.call(&calls).await,
                Step::Wait {
                    delay,
                    attempt,
                    attempts_max,
                    reason,
                } => {
                    self.end_turn();
                    self.end_run(true);
                    self.attempt = attempt;
                    self.tell(&AgentEvent::RetryStart {
                        attempt,
                        attempts_max,
                        delay_ms: milliseconds(delay),
                        error: reason,
                    });
                    tokio::select! {
                        biased;
                        () = self.cancel.cancelled() => lock(&self.machine).abort(),
                        () = tokio::time::sleep(delay) => {
                            lock(&self.machine).waited();
                            self.tell(&AgentEvent::AgentStart);
                        }
                    }
                }
                Step::Settled(end) => {
                    self.end_turn();
                    if let (attempt @ 1.., End::Failed { message, .. }) = (self.attempt, &end) {
                        let error = Some(message.clone());
                        self.tell(&AgentEvent::RetryEnd {
                            success: false,
                            attempt,
                            error,
                        });
                    }
                    self.end_run(false);
                    let aborted = end == End::Aborted;
                    self.tell(&AgentEvent::AgentSettled { aborted });
                    return Ok(end);
                }
            }
        }
    }

    fn tell(&mut self, event: &AgentEvent) {
        (self.events)(event);
    }

    /// Tells the model what has changed since it was told last.
    fn declare(&mut self) -> Result<(), pirn_session::Error> {
        let messages = self.session.tree().context().messages;
        let difference = self.tools.declarations().difference(&messages, now_ms());
        match difference {
            Some(system) => self.append(Message::System(system)),
            None => Ok(()),
        }
    }

    fn append(&mut self, mut message: Message) -> Result<(), pirn_session::Error> {
        if let Message::ToolResult(result) = &mut message
            && result.timestamp == 0
        {
            result.timestamp = now_ms();
        }
        self.session.append_message(message.clone())?;
        match &message {
            Message::Assistant(reply) => {
                // Its start was told when it began.
                self.turn = Some((reply.clone(), Vec::new()));
                self.messages.push(message.clone());
                self.tell(&AgentEvent::MessageEnd { message });
                return Ok(());
            }
            Message::ToolResult(result) => {
                if let Some((_, results)) = &mut self.turn {
                    results.push(ToolResultMessage::clone(result));
                }
            }
            Message::User(_) => self.end_turn(),
            Message::System(_)
            | Message::BashExecution(_)
            | Message::Custom(_)
            | Message::BranchSummary(_)
            | Message::CompactionSummary(_) => {}
        }
        self.messages.push(message.clone());
        self.tell(&AgentEvent::MessageStart {
            message: message.clone(),
        });
        self.tell(&AgentEvent::MessageEnd { message });
        Ok(())
    }

    /// Leaves the last reply out of the context; it stays in the session.
    fn omit(&mut self, message: &AssistantMessage) -> Result<(), pirn_session::Error> {
        let target = self.session.tree().leaf().map(str::to_owned);
        debug_assert!(
            message.error_message.is_some(),
            "only failures are left out"
        );
        if let Some(target_id) = target {
            self.session.append(EntryBody::ContextEdit {
                target_id,
                replacement: None,
            })?;
        }
        Ok(())
    }

    fn end_turn(&mut self) {
        if let Some((message, tool_results)) = self.turn.take() {
            self.tell(&AgentEvent::TurnEnd {
                message,
                tool_results,
            });
        }
    }

    fn end_run(&mut self, will_retry: bool) {
        let messages = std::mem::take(&mut self.messages);
        self.tell(&AgentEvent::AgentEnd {
            messages,
            will_retry,
        });
    }

    async fn ask(&mut self) -> Result<(), pirn_session::Error> {
        self.end_turn();
        self.declare()?;
        self.tell(&AgentEvent::TurnStart);
        let messages = self.session.tree().context().messages;
        let conversation = Conversation {
            instructions: Instructions::of(&messages),
            messages,
            session_id: self.session.header().id.clone(),
        };
        let mut has_begun = false;
        let events = &mut *self.events;
        let blank = || Message::Assistant(Box::new(self.models.blank()));
        let mut sink = |event: ReplyEvent, usage: &RequestUsage| {
            if !std::mem::replace(&mut has_begun, true) {
                events(&AgentEvent::MessageStart { message: blank() });
            }
            let usage = *usage;
            events(&AgentEvent::MessageUpdate { usage, event });
        };
        let reply = self
            .models
            .reply(&conversation, &self.cancel, &mut sink)
            .await;
        if !has_begun {
            let message = blank();
            self.tell(&AgentEvent::MessageStart { message });
        }
        if reply.failure.is_none() && self.attempt > 0 {
            let attempt = std::mem::take(&mut self.attempt);
            self.tell(&AgentEvent::RetryEnd {
                success: true,
                attempt,
                error: None,
            });
        }
        lock(&self.machine).replied(reply);
        Ok(())
    }

    async fn call(&mut self, calls: &[ToolCall]) {
        for call in calls {
            self.tell(&AgentEvent::ToolStart { call: call.clone() });
        }
        let mut running: FuturesUnordered<_> = calls
            .iter()
            .map(|call| self.tools.call(call, &self.cancel))
            .collect();
        while let Some(result) = running.next().await {
            (self.events)(&AgentEvent::ToolEnd {
                result: Box::new(result.clone()),
            });
            lock(&self.machine).called(result);
        }
    }
}

fn milliseconds(duration: Duration) -> u64 {
    u64::try_from(duration.as_millis()).unwrap_or(u64::MAX)
}
