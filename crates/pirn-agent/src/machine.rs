//! The state machine: what to do next, given what happened. It knows no clock, no network and no tool.

mod step;
mod waiting;

use std::collections::VecDeque;

use pirn_model::{
    AssistantMessage, Block, CustomMessage, FailureKind, Message, Reply, StopReason, ToolCall,
    ToolResultMessage, UserContent, UserMessage,
};

use crate::retry::{Retry, RetryOptions, Verdict};
use waiting::Waiting;

pub use step::{Compacted, End, Step};
pub use waiting::{QUEUE_MESSAGES_MAX, QueueFull, QueueMode};

/// What a call gets that was not made because the run was stopped.
pub const CALL_ABORTED: &str = "Operation aborted";
/// What a call gets whose arguments may be cut off.
const CALL_CUT: &str = "The reply was cut off at its length limit, so this call was not made: its arguments may not be complete. Make it again, \
     with less in one reply.";

/// Ends of scripts that the model is told one after the other before the user says something again; a model that starts one script
/// after the other must not go on for ever by itself.
pub const WAKES_MAX: u32 = 20;
/// The name of messages that tell the end of a script.
pub const SCRIPT_END_TYPE: &str = "pirn-script-end";

/// How a run behaves.
#[derive(Debug, Clone, Copy, Default)]
pub struct MachineOptions {
    /// Whether and when a reply that failed is asked for again.
    pub retry: RetryOptions,
    /// How steering messages are said.
    pub steering: QueueMode,
    /// How follow-up messages are said.
    pub follow_up: QueueMode,
    /// Replies of one run at most; `None` without a bound.
    pub turns_max: Option<u32>,
}

/// Where a run stands.
#[derive(Debug, Clone, PartialEq)]
enum State {
    /// Nothing goes on; a message starts a run.
    Idle,
    /// The model is to be asked, once what waits was said.
    BeforeAsk,
    /// The model is asked, and answers.
    Asking,
    /// Calls are to be made.
    BeforeCalls(Vec<ToolCall>),
    /// Calls are being made: what each gave, in the order of the reply.
    Calling(Vec<(ToolCall, Option<Box<ToolResultMessage>>)>),
    /// A try failed, the next one waits.
    Waiting,
    /// The conversation was too large for the model, and becomes shorter.
    Compacting {
        /// What the model's server said.
        overflow: String,
    },
    /// The last word is to be said.
    Ending(End),
}

/// The turns of one conversation. Ask [`Machine::next_step`] what to do until it is settled, and tell what came of it.
///
/// Whatever happens, each call of a reply that is appended has a result that is appended before the next request.
#[derive(Debug)]
pub struct Machine {
    options: MachineOptions,
    state: State,
    /// What is to be done before anything else, in order.
    steps: VecDeque<Step>,
    waiting: Waiting,
    retry: Retry,
    is_aborted: bool,
    turns: u32,
    wakes: u32,
    /// Whether the conversation became shorter after an overflow since the user said something.
    has_recovered: bool,
}

impl Machine {
    /// A machine at rest.
    pub fn new(options: MachineOptions) -> Self {
        Self {
            options,
            state: State::Idle,
            steps: VecDeque::new(),
            waiting: Waiting::default(),
            retry: Retry::new(options.retry),
            is_aborted: false,
            turns: 0,
            wakes: 0,
            has_recovered: false,
        }
    }

    /// How runs behave from now on.
    pub fn options(&self) -> MachineOptions {
        self.options
    }

    /// Changes how runs behave. The tries of a request that goes on count as before.
    pub fn set_options(&mut self, options: MachineOptions) {
        self.options = options;
    }

    /// Whether nothing goes on.
    pub fn is_idle(&self) -> bool {
        self.state == State::Idle && self.steps.is_empty()
    }

    /// Begins a run. While one goes on, the message follows it.
    pub fn prompt(&mut self, message: UserMessage) -> Result<(), QueueFull> {
        if !self.is_idle() {
            return self.follow_up(message);
        }
        self.is_aborted = false;
        self.turns = 0;
        self.wakes = 0;
        self.has_recovered = false;
        self.retry = Retry::new(self.options.retry);
        self.steps.push_back(Step::Append(Message::User(message)));
        self.state = State::BeforeAsk;
        Ok(())
    }

    /// Whether the model may be told of another script's end before the user says something again.
    pub fn may_wake(&self) -> bool {
        self.wakes < WAKES_MAX
    }

    /// Tells the model that a script has ended. While a run goes on, it is told before it is asked again. Turns count on.
    pub fn wake(&mut self, text: String, timestamp: u64) -> Result<(), QueueFull> {
        if !self.is_idle() {
            return self.steer(UserMessage::text(text, timestamp));
        }
        self.wakes += 1;
        self.is_aborted = false;
        self.retry = Retry::new(self.options.retry);
        self.append(Message::Custom(CustomMessage {
            custom_type: SCRIPT_END_TYPE.to_owned(),
            content: UserContent::Text(text),
            display: true,
            details: None,
            timestamp,
            other: serde_json::Map::new(),
        }));
        self.state = State::BeforeAsk;
        Ok(())
    }

    /// Leaves a run as it is: what was said cannot be kept any more. What waits to be said stays in the queue.
    pub fn give_up(&mut self) {
        self.steps.clear();
        self.state = State::Idle;
    }

    /// Ends the run before the model is asked again.
    pub fn stop(&mut self, end: End) {
        self.state = State::Ending(end);
    }

    /// Says this before the model is asked again.
    pub fn steer(&mut self, message: UserMessage) -> Result<(), QueueFull> {
        self.waiting.steer(message)
    }

    /// Says this when the model would stop.
    pub fn follow_up(&mut self, message: UserMessage) -> Result<(), QueueFull> {
        self.waiting.follow_up(message)
    }

    /// What waits to be said: steering messages, then those that follow.
    pub fn queued(&self) -> (Vec<&UserMessage>, Vec<&UserMessage>) {
        self.waiting.all()
    }

    /// Takes everything back that waits to be said.
    pub fn clear_queue(&mut self) -> (Vec<UserMessage>, Vec<UserMessage>) {
        self.waiting.clear()
    }

    /// Stops the run. The reply or the calls that go on are to be stopped by whoever carries them out; what they give is told as
    /// always. What waits to be said stays in the queue.
    pub fn abort(&mut self) {
        if self.is_idle() {
            return;
        }
        self.is_aborted = true;
        match &self.state {
            State::BeforeAsk | State::Waiting | State::Compacting { .. } => {
                self.state = State::Ending(End::Aborted);
            }
            State::BeforeCalls(calls) => {
                let calls = calls.clone();
                self.refuse(&calls, CALL_ABORTED);
                self.state = State::Ending(End::Aborted);
            }
            State::Idle | State::Asking | State::Calling(_) | State::Ending(_) => {}
        }
    }

    /// What is to be done now. Each step is given once.
    pub fn next_step(&mut self) -> Step {
        if let Some(step) = self.steps.pop_front() {
            return step;
        }
        match std::mem::replace(&mut self.state, State::Idle) {
            State::BeforeAsk => {
                let waiting = self.waiting.take_steering(self.options.steering);
                if !waiting.is_empty() {
                    self.state = State::BeforeAsk;
                    let appends = waiting
                        .into_iter()
                        .map(|message| Step::Append(Message::User(message)));
                    self.steps.extend(appends);
                    return self.next_step();
                }
                self.turns += 1;
                if self.options.turns_max.is_some_and(|max| self.turns > max) {
                    return Step::Settled(End::TurnsUsedUp);
                }
                self.state = State::Asking;
                Step::Ask
            }
            State::BeforeCalls(calls) => {
                self.state =
                    State::Calling(calls.iter().cloned().map(|call| (call, None)).collect());
                Step::Call(calls)
            }
            State::Ending(end) => Step::Settled(end),
            State::Idle => Step::Settled(End::Done),
            // Told too early: nothing is to be done until what goes on has ended.
            State::Asking | State::Calling(_) | State::Waiting | State::Compacting { .. } => {
                debug_assert!(false, "asked for a step while one goes on");
                Step::Settled(End::Aborted)
            }
        }
    }

    /// The model has replied, or failed to.
    pub fn replied(&mut self, reply: Reply) {
        debug_assert!(self.state == State::Asking, "no reply was asked for");
        let Reply { message, failure } = reply;
        if let Some(failure) = failure {
            self.failed(message, &failure);
            return;
        }
        let calls: Vec<ToolCall> = message.tool_calls().cloned().collect();
        let is_cut = message.stop_reason == StopReason::Length;
        self.append(Message::Assistant(Box::new(message)));
        self.retry.succeeded();
        self.state = if calls.is_empty() {
            self.after_answer(if is_cut { End::Length } else { End::Done })
        } else if is_cut {
            self.refuse(&calls, CALL_CUT);
            self.after_calls()
        } else if self.is_aborted {
            self.refuse(&calls, CALL_ABORTED);
            State::Ending(End::Aborted)
        } else {
            State::BeforeCalls(calls)
        };
    }

    fn failed(&mut self, message: AssistantMessage, failure: &pirn_model::Failure) {
        self.append(Message::Assistant(Box::new(message.clone())));
        if failure.kind == FailureKind::Aborted || self.is_aborted {
            self.state = State::Ending(End::Aborted);
            return;
        }
        if failure.kind == FailureKind::Overflow && !self.has_recovered {
            self.has_recovered = true;
            self.steps.push_back(Step::Omit(Box::new(message)));
            self.steps.push_back(Step::Compact);
            self.state = State::Compacting {
                overflow: failure.message.clone(),
            };
            return;
        }
        match self.retry.failed(failure) {
            Verdict::Again {
                delay,
                attempt,
                attempts_max,
            } => {
                self.steps.push_back(Step::Omit(Box::new(message)));
                self.steps.push_back(Step::Wait {
                    delay,
                    attempt,
                    attempts_max,
                    reason: failure.message.clone(),
                });
                self.state = State::Waiting;
            }
            Verdict::Never(mut words) => {
                if failure.kind == FailureKind::Overflow {
                    words.push_str("; it was made shorter once already");
                }
                self.state = State::Ending(End::Failed {
                    kind: failure.kind,
                    message: words,
                });
            }
        }
    }

    /// The conversation is shorter, or could not be made so.
    pub fn compacted(&mut self, outcome: Compacted) {
        let State::Compacting { overflow } = &self.state else {
            return;
        };
        self.state = match outcome {
            Compacted::Done => {
                // The same turn is tried again.
                self.turns = self.turns.saturating_sub(1);
                State::BeforeAsk
            }
            Compacted::Failed { reason } => State::Ending(End::Failed {
                kind: FailureKind::Overflow,
                message: format!("{overflow}; the conversation cannot be made shorter: {reason}"),
            }),
        };
    }

    /// The time before the next try has passed.
    pub fn waited(&mut self) {
        if self.state == State::Waiting {
            // The same turn is tried again.
            self.turns = self.turns.saturating_sub(1);
            self.state = State::BeforeAsk;
        }
    }

    /// A call has ended. Results are kept in the order of the calls, as soon as all before them are there.
    pub fn called(&mut self, result: ToolResultMessage) {
        let State::Calling(calls) = &mut self.state else {
            debug_assert!(false, "no call goes on");
            return;
        };
        let place = calls
            .iter_mut()
            .find(|(call, given)| call.id == result.tool_call_id && given.is_none());
        debug_assert!(place.is_some(), "a result without its call");
        if let Some((_, given)) = place {
            *given = Some(Box::new(result));
        }
        if calls.iter().any(|(_, given)| given.is_none()) {
            return;
        }
        let results: Vec<_> = calls.drain(..).filter_map(|(_, given)| given).collect();
        for result in results {
            self.append(Message::ToolResult(result));
        }
        self.state = self.after_calls();
    }

    fn after_calls(&mut self) -> State {
        if self.is_aborted {
            State::Ending(End::Aborted)
        } else {
            State::BeforeAsk
        }
    }

    /// The model has said all: what waits is said, or the run ends.
    fn after_answer(&mut self, end: End) -> State {
        if self.is_aborted {
            return State::Ending(End::Aborted);
        }
        if self.waiting.steers() {
            return State::BeforeAsk;
        }
        let following = self.waiting.take_following(self.options.follow_up);
        if following.is_empty() {
            return State::Ending(end);
        }
        for message in following {
            self.append(Message::User(message));
        }
        State::BeforeAsk
    }

    fn append(&mut self, message: Message) {
        self.steps.push_back(Step::Append(message));
    }

    /// Gives calls that are not made a result that says why.
    fn refuse(&mut self, calls: &[ToolCall], why: &str) {
        for call in calls {
            self.append(Message::ToolResult(Box::new(refused(call, why))));
        }
    }
}

/// The result of a call that was not made.
pub(crate) fn refused(call: &ToolCall, why: &str) -> ToolResultMessage {
    ToolResultMessage {
        tool_call_id: call.id.clone(),
        tool_name: call.name.clone(),
        content: vec![Block::text(why)],
        details: None,
        usage: None,
        nested_calls: None,
        duration_ms: None,
        is_error: true,
        timestamp: 0,
        other: serde_json::Map::new(),
    }
}
