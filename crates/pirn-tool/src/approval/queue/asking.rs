//! A question from the side of the one who asks: the future, and what it resolves to.

use std::fmt;
use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};

use tokio::sync::oneshot;

use super::super::answer::{Answer, ApprovedBy};
use super::super::grant::Grant;
use super::super::request::{ApprovalRequest, Choice};
use super::ApprovalQueue;

/// What the one who asked gets.
#[derive(Debug, Clone, PartialEq, serde::Serialize, serde::Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Reply {
    /// What the person, an earlier answer or the queue itself said.
    pub answer: Answer,
    /// Who or what said yes; `None` for every other answer.
    #[serde(default)]
    pub approved_by: Option<ApprovedBy>,
}

impl Reply {
    pub(super) fn without_yes(answer: Answer) -> Self {
        Self {
            answer,
            approved_by: None,
        }
    }

    pub(super) fn unanswered(cause: impl Into<String>) -> Self {
        Self::without_yes(Answer::Unanswered {
            cause: cause.into(),
        })
    }

    pub(super) fn of_person(question_id: &str, answer: Answer) -> Self {
        let approved_by = match &answer {
            Answer::Allow { choice, .. } => Some(ApprovedBy::Person {
                question_id: question_id.to_owned(),
                choice: choice.clone(),
            }),
            Answer::Deny { .. } | Answer::Unanswered { .. } | Answer::Expired => None,
        };
        Self {
            answer,
            approved_by,
        }
    }

    pub(super) fn of_grant(grant: &Grant) -> Self {
        Self {
            answer: Answer::allow(Choice::new(grant.scope, grant.covers.clone())),
            approved_by: Some(ApprovedBy::Grant {
                grant_id: grant.id.clone(),
            }),
        }
    }
}

/// A question that was asked. Resolves to the answer.
#[must_use = "dropping it withdraws the question"]
pub struct Asking {
    state: AskingState,
    /// Where the question is open; `None` once it is answered.
    question: Option<(ApprovalQueue, Arc<ApprovalRequest>)>,
    id: String,
}

enum AskingState {
    Ready(Option<Reply>),
    Open(oneshot::Receiver<Reply>),
}

impl Asking {
    /// A question that has its answer already.
    pub(super) fn ready(id: String, reply: Reply) -> Self {
        Self {
            state: AskingState::Ready(Some(reply)),
            question: None,
            id,
        }
    }

    /// A question that is open in `queue`.
    pub(super) fn open(
        queue: ApprovalQueue,
        request: Arc<ApprovalRequest>,
        receiver: oneshot::Receiver<Reply>,
    ) -> Self {
        Self {
            state: AskingState::Open(receiver),
            id: request.id.clone(),
            question: Some((queue, request)),
        }
    }

    /// The question's id, also where nothing had to be asked.
    pub fn question_id(&self) -> &str {
        &self.id
    }

    /// Whether somebody has to answer first.
    pub fn is_open(&self) -> bool {
        self.question.is_some()
    }
}

impl Future for Asking {
    type Output = Reply;

    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Reply> {
        let reply = match &mut self.state {
            AskingState::Ready(reply) => reply.take(),
            AskingState::Open(receiver) => match Pin::new(receiver).poll(context) {
                Poll::Pending => return Poll::Pending,
                Poll::Ready(reply) => reply.ok(),
            },
        };
        self.question = None;
        // A queue that ends takes its questions along.
        Poll::Ready(reply.unwrap_or_else(|| Reply::without_yes(Answer::Expired)))
    }
}

impl Drop for Asking {
    fn drop(&mut self) {
        if let Some((queue, request)) = self.question.take() {
            let reply = match &mut self.state {
                AskingState::Ready(reply) => reply.take(),
                // It may have been answered a moment before.
                AskingState::Open(receiver) => receiver.try_recv().ok(),
            };
            queue.withdraw(&request, reply);
        }
    }
}

impl fmt::Debug for Asking {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter
            .debug_struct("Asking")
            .field("id", &self.id)
            .finish_non_exhaustive()
    }
}
