//! Where people see the questions.

use std::sync::Arc;
use std::time::Duration;

use tokio::sync::watch;

use super::super::request::ApprovalRequest;
use super::{Absence, ApprovalQueue, Reply};

/// How long a list of questions may still grow before it is shown: calls that are made at the same time are asked about together.
/// Far below what a person notices.
const BATCH_WINDOW: Duration = Duration::from_millis(10);

/// The questions that are open.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct OpenQuestions {
    /// Names this state of the list. Answers name the one they were given in.
    pub revision: u64,
    /// The questions that are shown, the oldest first; at most [`super::QUESTIONS_SHOWN_MAX`] of each run.
    pub questions: Vec<Arc<ApprovalRequest>>,
    /// How many more wait for a place.
    pub waiting: usize,
}

/// A front end that shows questions. As long as there is one, there is somebody to ask; when the last one is dropped, what was
/// asked is unanswered.
#[derive(Debug)]
pub struct FrontEnd {
    queue: ApprovalQueue,
    revision: watch::Receiver<u64>,
    /// The revision that it has shown.
    seen: u64,
}

impl ApprovalQueue {
    /// Adds a front end.
    pub fn front_end(&self) -> FrontEnd {
        self.lock().front_ends += 1;
        FrontEnd {
            queue: self.clone(),
            revision: self.inner.revision.subscribe(),
            seen: 0,
        }
    }

    /// Whether a question is answered or waits for an answer: a front end is there or may still come, or something answers at once.
    /// Where it is false, every question is unanswered.
    pub fn is_attended(&self) -> bool {
        self.inner.responder.is_some()
            || self.inner.absence == Absence::Waits
            || self.lock().front_ends > 0
    }

    /// The questions that are open now.
    pub fn open_questions(&self) -> OpenQuestions {
        let state = self.lock();
        let (questions, waiting) = state.visible();
        OpenQuestions {
            revision: state.revision(),
            questions,
            waiting,
        }
    }
}

impl FrontEnd {
    /// Waits until the list has changed since the last time, and gives it. What is asked at the same time comes at once.
    pub async fn next(&mut self) -> OpenQuestions {
        let seen = self.seen;
        // The sender lives as long as the queue, which this front end holds.
        drop(self.revision.wait_for(|revision| *revision > seen).await);
        if !self.queue.open_questions().questions.is_empty() {
            tokio::time::sleep(BATCH_WINDOW).await;
        }
        let open = self.queue.open_questions();
        self.seen = open.revision;
        open
    }

    /// The queue whose questions it shows.
    pub fn queue(&self) -> &ApprovalQueue {
        &self.queue
    }
}

impl Drop for FrontEnd {
    fn drop(&mut self) {
        let mut state = self.queue.lock();
        state.front_ends = state.front_ends.saturating_sub(1);
        if state.front_ends == 0 && self.queue.inner.absence == Absence::Unanswered {
            state.settle_all(&Reply::unanswered("nobody is there to answer any more"));
            self.queue.publish(state);
        }
    }
}
