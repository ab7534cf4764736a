//! Carrying out what the machine wants: asking the model, making calls, keeping the conversation.

use std::future::poll_fn;
use std::sync::{Mutex, PoisonError};
use std::task::Poll;
use std::time::Duration;

use futures_util::StreamExt as _;
use futures_util::stream::FuturesUnordered;
use pirn_model::{
    AssistantMessage, CustomMessage, Instructions, Message, Reply, ReplyEvent, RequestUsage,
    ToolCall, ToolResultMessage,
};
use pirn_session::{EntryBody, now_ms};
use tokio_util::sync::CancellationToken;

use crate::agent::{Shared, lock};
use crate::estimate::context_tokens;
use crate::event::{AgentEvent, CompactionReason};
use crate::hooks::Stopped;
use crate::interrupted::{CALL_INTERRUPTED, unanswered};
use crate::machine::{Compacted, End, Step, refused};
use crate::options::Wakes;
use crate::ports::{Conversation, ModelChoice};
use crate::worker::pass_on;

/// One run: from a prompt until nothing more happens by itself.
pub(crate) struct Run<'a> {
    pub(crate) shared: &'a Shared,
    pub(crate) cancel: CancellationToken,
    /// What was said in this run.
    messages: Vec<Message>,
    /// The reply of the turn that goes on, with what its calls gave.
    turn: Option<(Box<AssistantMessage>, Vec<ToolResultMessage>)>,
    /// Whether the start of a turn was told whose end was not.
    is_in_turn: bool,
    /// Which try of the same request goes on; 0 for the first.
    attempt: u32,
    /// Whether making the conversation shorter by itself failed: it is not tried again in this run.
    cannot_compact: bool,
}

impl<'a> Run<'a> {
    pub(crate) fn new(shared: &'a Shared) -> Self {
        Self {
            shared,
            cancel: lock(&shared.cancel).clone(),
            messages: Vec::new(),
            turn: None,
            is_in_turn: false,
            attempt: 0,
            cannot_compact: false,
        }
    }

    pub(crate) async fn carry_out(&mut self) -> Result<End, pirn_session::Error> {
        self.tell(AgentEvent::AgentStart).await;
        self.answer_interrupted().await?;
        let cancel = self.cancel.clone();
        pass_on(self.shared, self.shared.tools.before_prompt(&cancel)).await;
        self.declare().await?;
        loop {
            let step = lock(&self.shared.machine).next_step();
            match step {
                Step::Append(message) => self.append(message).await?,
                Step::Omit(message) => self.omit(&message).await?,
                Step::Ask => self.ask().await?,
                Step::Call(calls) => self.call(&calls).await,
                Step::Compact => self.recover().await?,
                Step::Wait {
                    delay,
                    attempt,
                    attempts_max,
                    reason,
                } => {
                    self.attempt = attempt;
                    self.tell(AgentEvent::RetryStart {
                        attempt,
                        attempts_max,
                        delay_ms: milliseconds(delay),
                        error: reason,
                    })
                    .await;
                    let cancel = self.cancel.clone();
                    let waiting = async {
                        tokio::select! {
                            biased;
                            () = cancel.cancelled() => false,
                            () = tokio::time::sleep(delay) => true,
                        }
                    };
                    if pass_on(self.shared, waiting).await {
                        lock(&self.shared.machine).waited();
                        self.tell(AgentEvent::AgentStart).await;
                    } else {
                        lock(&self.shared.machine).abort();
                    }
                }
                Step::Settled(end) => {
                    if self.goes_on_with_scripts(&end).await {
                        continue;
                    }
                    return self.settle(end).await;
                }
            }
        }
    }

    async fn settle(&mut self, end: End) -> Result<End, pirn_session::Error> {
        self.end_turn().await;
        if let (attempt @ 1.., End::Failed { message, .. }) = (self.attempt, &end) {
            let error = Some(message.clone());
            self.tell(AgentEvent::RetryEnd {
                success: false,
                attempt,
                error,
            })
            .await;
        }
        self.end_run(WillRetry::No).await;
        self.keep_commands()?;
        let aborted = end == End::Aborted;
        self.tell(AgentEvent::AgentSettled { aborted }).await;
        Ok(end)
    }

    /// Where the run is to end after its scripts: waits for the next end of one, which the model is told.
    async fn goes_on_with_scripts(&mut self, end: &End) -> bool {
        let waits = lock(&self.shared.options).wakes == Wakes::BeforeSettling;
        if !waits || *end != End::Done || !lock(&self.shared.machine).may_wake() {
            return false;
        }
        let ended = self.shared.tools.script_end(&self.cancel);
        let Some(text) = pass_on(self.shared, ended).await else {
            return false;
        };
        self.end_turn().await;
        lock(&self.shared.machine).wake(text, now_ms()).is_ok()
    }

    pub(crate) async fn tell(&self, event: AgentEvent) {
        while let Some(earlier) = self.shared.feed.take() {
            self.shared.send(earlier).await;
        }
        self.shared.send(event).await;
    }

    /// Gives calls a result that a process was killed in, before anything else is said.
    async fn answer_interrupted(&mut self) -> Result<(), pirn_session::Error> {
        let messages = lock(&self.shared.session).tree().context().messages;
        for call in unanswered(&messages) {
            let result = refused(&call, CALL_INTERRUPTED);
            self.append(Message::ToolResult(Box::new(result))).await?;
        }
        Ok(())
    }

    /// Tells the model what has changed since it was told last.
    async fn declare(&mut self) -> Result<(), pirn_session::Error> {
        let messages = lock(&self.shared.session).tree().context().messages;
        let declarations = self.shared.tools.declarations();
        match declarations.difference(&messages, now_ms()) {
            Some(system) => self.append(Message::System(system)).await,
            None => Ok(()),
        }
    }

    /// Says what the user ran meanwhile.
    fn keep_commands(&self) -> Result<(), pirn_session::Error> {
        let commands = std::mem::take(&mut *lock(&self.shared.commands));
        for command in commands {
            lock(&self.shared.session).append_message(Message::BashExecution(command))?;
        }
        Ok(())
    }

    async fn append(&mut self, mut message: Message) -> Result<(), pirn_session::Error> {
        if let Message::ToolResult(result) = &mut message
            && result.timestamp == 0
        {
            result.timestamp = now_ms();
        }
        if let Message::User(_) | Message::Custom(_) = &message {
            self.end_turn().await;
            let event = self.shared.queue_event();
            if !matches!(&event, AgentEvent::QueueUpdate { steering, follow_up } if steering.is_empty() && follow_up.is_empty())
            {
                self.tell(event).await;
            }
        }
        self.begin_turn().await;
        lock(&self.shared.session).append(entry_of(message.clone()))?;
        match &message {
            Message::Assistant(reply) => {
                // Its start was told when it began.
                self.turn = Some((reply.clone(), Vec::new()));
                let is_good = reply.error_message.is_none();
                self.messages.push(message.clone());
                self.tell(AgentEvent::MessageEnd { message }).await;
                if is_good && self.attempt > 0 {
                    let attempt = std::mem::take(&mut self.attempt);
                    self.tell(AgentEvent::RetryEnd {
                        success: true,
                        attempt,
                        error: None,
                    })
                    .await;
                }
                return Ok(());
            }
            Message::ToolResult(result) => {
                if let Some((_, results)) = &mut self.turn {
                    results.push(ToolResultMessage::clone(result));
                }
            }
            Message::User(_)
            | Message::Custom(_)
            | Message::System(_)
            | Message::BashExecution(_)
            | Message::BranchSummary(_)
            | Message::CompactionSummary(_) => {}
        }
        self.messages.push(message.clone());
        self.tell(AgentEvent::MessageStart {
            message: message.clone(),
        })
        .await;
        self.tell(AgentEvent::MessageEnd { message }).await;
        Ok(())
    }

    /// Leaves the last reply out of the context; it stays in the session.
    async fn omit(&mut self, message: &AssistantMessage) -> Result<(), pirn_session::Error> {
        debug_assert!(
            message.error_message.is_some(),
            "only failures are left out"
        );
        self.end_turn().await;
        self.end_run(WillRetry::Yes).await;
        let omitted = {
            let mut session = lock(&self.shared.session);
            match session.tree().leaf().map(str::to_owned) {
                Some(target_id) => {
                    let edit = EntryBody::ContextEdit {
                        target_id,
                        replacement: None,
                    };
                    let id = session.append(edit)?;
                    session.tree().get(&id).cloned()
                }
                None => None,
            }
        };
        if let Some(entry) = omitted {
            let entry = Box::new(entry);
            self.tell(AgentEvent::EntryAppended { entry }).await;
        }
        Ok(())
    }

    /// Tells that a turn begins, unless one goes on: what is said before a reply belongs to its turn.
    async fn begin_turn(&mut self) {
        if !std::mem::replace(&mut self.is_in_turn, true) {
            self.tell(AgentEvent::TurnStart).await;
        }
    }

    async fn end_turn(&mut self) {
        if let Some((message, tool_results)) = self.turn.take() {
            self.is_in_turn = false;
            let seen = self
                .shared
                .hooks
                .after_turn(&message, &tool_results, &self.cancel);
            pass_on(self.shared, seen).await;
            self.tell(AgentEvent::TurnEnd {
                message,
                tool_results,
            })
            .await;
        }
    }

    async fn end_run(&mut self, will_retry: WillRetry) {
        let messages = std::mem::take(&mut self.messages);
        self.tell(AgentEvent::AgentEnd {
            messages,
            will_retry: will_retry == WillRetry::Yes,
        })
        .await;
    }

    /// Makes the conversation shorter after the model could not hold it.
    async fn recover(&mut self) -> Result<(), pirn_session::Error> {
        if self.cancel.is_cancelled() {
            return Ok(());
        }
        let outcome = match self.compact(CompactionReason::Overflow, None).await {
            Ok(_) => Compacted::Done,
            Err(error) => Compacted::Failed {
                reason: error.to_string(),
            },
        };
        let is_done = outcome == Compacted::Done;
        lock(&self.shared.machine).compacted(outcome);
        if is_done {
            self.tell(AgentEvent::AgentStart).await;
        }
        Ok(())
    }

    /// Makes the conversation shorter before it is too large.
    async fn stay_below_window(&mut self) {
        let options = lock(&self.shared.options).compaction;
        let window = lock(&self.shared.choice).model.context_window;
        let tokens = context_tokens(lock(&self.shared.session).tree()).best;
        let is_needed = tokens > window.saturating_sub(options.reserve_tokens);
        if options.is_automatic && is_needed && !self.cannot_compact {
            let compacted = self.compact(CompactionReason::Threshold, None).await;
            self.cannot_compact = compacted.is_err();
        }
    }

    /// Whether the conversation has cost what it may.
    fn has_used_up(&self) -> bool {
        let Some(max) = lock(&self.shared.options).cost_max else {
            return false;
        };
        lock(&self.shared.session).tree().usage().cost - self.shared.cost_before >= max
    }

    async fn ask(&mut self) -> Result<(), pirn_session::Error> {
        self.end_turn().await;
        self.keep_commands()?;
        if self.has_used_up() {
            lock(&self.shared.machine).stop(End::CostUsedUp);
            return Ok(());
        }
        self.stay_below_window().await;
        if self.cancel.is_cancelled() {
            lock(&self.shared.machine).stop(End::Aborted);
            return Ok(());
        }
        self.declare().await?;
        let choice = lock(&self.shared.choice).clone();
        let mut conversation = {
            let session = lock(&self.shared.session);
            let messages = session.tree().context().messages;
            Conversation {
                instructions: Instructions::of(&messages),
                messages,
                session_id: Some(session.header().id.clone()),
            }
        };
        let hooks = &self.shared.hooks;
        let asked = hooks.before_request(&mut conversation, &self.cancel);
        if let Err(stopped) = pass_on(self.shared, asked).await {
            lock(&self.shared.machine).stop(match stopped {
                Stopped::Aborted => End::Aborted,
                Stopped::Refused(message) => End::Refused { message },
            });
            return Ok(());
        }
        self.begin_turn().await;
        let reply = self.stream(&choice, &conversation).await;
        let seen = hooks.after_request(&reply.message, &self.cancel);
        pass_on(self.shared, seen).await;
        lock(&self.shared.machine).replied(reply);
        Ok(())
    }

    /// Asks the model and tells its reply piece by piece. No more of it is read while nobody takes the pieces.
    async fn stream(&self, choice: &ModelChoice, conversation: &Conversation) -> Reply {
        let pieces: Mutex<Vec<(ReplyEvent, RequestUsage)>> = Mutex::default();
        let take = || std::mem::take(&mut *pieces.lock().unwrap_or_else(PoisonError::into_inner));
        let mut sink = |event: ReplyEvent, usage: &RequestUsage| {
            lock(&pieces).push((event, *usage));
        };
        let mut reply = self
            .shared
            .models
            .reply(choice, conversation, &self.cancel, &mut sink);
        let mut has_begun = false;
        loop {
            let progress = poll_fn(|context| match reply.as_mut().poll(context) {
                Poll::Ready(reply) => Poll::Ready(Some(reply)),
                Poll::Pending if !lock(&pieces).is_empty() => Poll::Ready(None),
                Poll::Pending => Poll::Pending,
            });
            let ended = pass_on(self.shared, progress).await;
            let new = take();
            if !has_begun && (ended.is_some() || !new.is_empty()) {
                has_begun = true;
                let message = Message::Assistant(Box::new(choice.blank()));
                self.tell(AgentEvent::MessageStart { message }).await;
            }
            for (event, usage) in new {
                self.tell(AgentEvent::MessageUpdate { usage, event }).await;
            }
            if let Some(reply) = ended {
                return reply;
            }
        }
    }

    async fn call(&mut self, calls: &[ToolCall]) {
        for call in calls {
            self.tell(AgentEvent::ToolStart { call: call.clone() })
                .await;
        }
        let mut running: FuturesUnordered<_> =
            calls.iter().map(|call| self.call_one(call)).collect();
        while let Some(result) = pass_on(self.shared, running.next()).await {
            self.tell(AgentEvent::ToolEnd {
                result: Box::new(result.clone()),
            })
            .await;
            lock(&self.shared.machine).called(result);
        }
    }
}

impl Run<'_> {
    async fn call_one(&self, call: &ToolCall) -> ToolResultMessage {
        let hooks = &self.shared.hooks;
        match hooks.before_call(call, &self.cancel).await {
            Ok(call) => {
                let result = self.shared.tools.call(&call, &self.cancel).await;
                hooks.after_call(&call, result, &self.cancel).await
            }
            Err(refused) => refused,
        }
    }
}

/// Whether another run follows by itself.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum WillRetry {
    Yes,
    No,
}

/// How the session keeps a message.
fn entry_of(message: Message) -> EntryBody {
    match message {
        Message::Custom(CustomMessage {
            custom_type,
            content,
            display,
            details,
            ..
        }) => EntryBody::CustomMessage {
            custom_type,
            content,
            display,
            details,
        },
        message => EntryBody::Message { message },
    }
}

fn milliseconds(duration: Duration) -> u64 {
    u64::try_from(duration.as_millis()).unwrap_or(u64::MAX)
}
