//! What a queue is made of.

use std::fmt;
use std::sync::{Arc, Mutex};

use tokio::sync::watch;

use super::super::answer::Answer;
use super::super::grant::{GrantStore, MemoryGrants};
use super::super::request::ApprovalRequest;
use super::{Absence, ApprovalQueue, Inner, Responder};
use crate::event::EventBus;

/// Puts an [`ApprovalQueue`] together.
pub struct ApprovalQueueBuilder {
    lasting: Arc<dyn GrantStore>,
    absence: Absence,
    events: EventBus,
}

impl fmt::Debug for ApprovalQueueBuilder {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter
            .debug_struct("ApprovalQueueBuilder")
            .field("lasting", &self.lasting)
            .field("absence", &self.absence)
            .finish_non_exhaustive()
    }
}

impl ApprovalQueueBuilder {
    /// Sets where answers that last for good are kept; in memory if nothing else is said.
    #[must_use]
    pub fn grants(mut self, store: Arc<dyn GrantStore>) -> Self {
        self.lasting = store;
        self
    }

    /// Sets what happens to questions while no front end is there.
    #[must_use]
    pub fn absence(mut self, absence: Absence) -> Self {
        self.absence = absence;
        self
    }

    /// Sets where questions and answers are told.
    #[must_use]
    pub fn events(mut self, events: EventBus) -> Self {
        self.events = events;
        self
    }

    /// Finishes the queue, which front ends answer.
    pub fn build(self) -> ApprovalQueue {
        self.with_responder(None)
    }

    /// Finishes a queue that `respond` answers at once, in place of a front end. It must not block, and it must not be anything
    /// that a model can steer.
    pub fn answered_by(
        self,
        respond: impl Fn(&ApprovalRequest) -> Answer + Send + Sync + 'static,
    ) -> ApprovalQueue {
        self.with_responder(Some(Arc::new(respond)))
    }

    fn with_responder(self, responder: Option<Responder>) -> ApprovalQueue {
        ApprovalQueue {
            inner: Arc::new(Inner {
                state: Mutex::default(),
                revision: watch::Sender::new(0),
                lasting: self.lasting,
                session: MemoryGrants::new(),
                absence: self.absence,
                responder,
                events: self.events,
            }),
        }
    }
}

impl ApprovalQueue {
    /// A queue that keeps everything in memory and answers nothing while no front end is there.
    pub fn new() -> Self {
        Self::builder().build()
    }

    /// Starts a queue with other parts.
    pub fn builder() -> ApprovalQueueBuilder {
        ApprovalQueueBuilder {
            lasting: Arc::new(MemoryGrants::new()),
            absence: Absence::default(),
            events: EventBus::new(),
        }
    }
}
