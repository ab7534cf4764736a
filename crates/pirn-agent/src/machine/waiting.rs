//! Messages that wait to be said.

use std::collections::VecDeque;

use pirn_model::UserMessage;

/// Messages that wait to be said, of both kinds together; nobody types so many before one is read.
pub const QUEUE_MESSAGES_MAX: usize = 100;
/// How many waiting messages are said at once.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum QueueMode {
    /// One; the next one after the model has answered.
    #[default]
    OneAtATime,
    /// All that wait are said at once.
    All,
}

/// Messages that wait to be said.
#[derive(Debug, Default)]
pub(super) struct Waiting {
    steering: VecDeque<UserMessage>,
    follow_up: VecDeque<UserMessage>,
}

impl Waiting {
    pub(super) fn steer(&mut self, message: UserMessage) -> Result<(), QueueFull> {
        self.has_room()?;
        self.steering.push_back(message);
        Ok(())
    }

    pub(super) fn follow_up(&mut self, message: UserMessage) -> Result<(), QueueFull> {
        self.has_room()?;
        self.follow_up.push_back(message);
        Ok(())
    }

    fn has_room(&self) -> Result<(), QueueFull> {
        if self.steering.len() + self.follow_up.len() < QUEUE_MESSAGES_MAX {
            Ok(())
        } else {
            Err(QueueFull)
        }
    }

    /// Whether something is to be said before the model is asked again.
    pub(super) fn steers(&self) -> bool {
        !self.steering.is_empty()
    }

    pub(super) fn take_steering(&mut self, mode: QueueMode) -> Vec<UserMessage> {
        take(&mut self.steering, mode)
    }

    pub(super) fn take_following(&mut self, mode: QueueMode) -> Vec<UserMessage> {
        take(&mut self.follow_up, mode)
    }

    /// Both kinds, as they wait.
    pub(super) fn all(&self) -> (Vec<&UserMessage>, Vec<&UserMessage>) {
        (
            self.steering.iter().collect(),
            self.follow_up.iter().collect(),
        )
    }

    /// Empties both queues and gives back what waited: steering, then follow-ups.
    pub(super) fn clear(&mut self) -> (Vec<UserMessage>, Vec<UserMessage>) {
        (
            self.steering.drain(..).collect(),
            self.follow_up.drain(..).collect(),
        )
    }
}

fn take(queue: &mut VecDeque<UserMessage>, mode: QueueMode) -> Vec<UserMessage> {
    let count = match mode {
        QueueMode::OneAtATime => queue.len().min(1),
        QueueMode::All => queue.len(),
    };
    queue.drain(..count).collect()
}

/// Too many messages wait.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct QueueFull;

impl std::fmt::Display for QueueFull {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(
            formatter,
            "{QUEUE_MESSAGES_MAX} messages wait already; let the model answer some first"
        )
    }
}

impl std::error::Error for QueueFull {}
