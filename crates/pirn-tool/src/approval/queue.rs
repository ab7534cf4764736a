//! The one queue of questions: what is open, who waits for it, and what was answered before.

mod asking;
mod builder;
mod front_end;
mod saved;
mod state;

use std::fmt;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use tokio::sync::{oneshot, watch};

use super::answer::Answer;
use super::grant::{Grant, GrantStore, GrantStoreError, MemoryGrants};
use super::request::{ApprovalRequest, Scope};
use crate::event::{EventBus, EventCall, EventKind, RuntimeEvent};
use state::{QueueEvent, QueueState};

pub use asking::{Asking, Reply};
pub use builder::ApprovalQueueBuilder;
pub use front_end::{FrontEnd, OpenQuestions};
pub use saved::{RestoreError, SAVED_APPROVALS_VERSION, SavedApprovals, SavedQuestion, Suspension};

/// Questions of one run that are shown at a time: more would not be read. Further ones wait in order.
pub const QUESTIONS_SHOWN_MAX: usize = 16;

/// Questions of one run that wait to be shown; more than a script may have calls in flight. Further ones are not asked.
pub const QUESTIONS_WAITING_MAX: usize = 1_024;

/// What happens to a question while no front end is there.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Absence {
    /// It is unanswered at once: nobody could see it.
    #[default]
    Unanswered,
    /// It stays open until a front end comes, in this process or, once saved, in another one.
    Waits,
}

type Responder = Arc<dyn Fn(&ApprovalRequest) -> Answer + Send + Sync>;

/// Every question to a person, whoever asks it. Cheap to clone; clones are the same queue.
///
/// ```
/// # #[tokio::main(flavor = "current_thread")] async fn main() {
/// use pirn_tool::{Answer, ApprovalQueue, ApprovalRequest, Effects, Subject};
/// use serde_json::json;
///
/// let queue = ApprovalQueue::new();
/// let mut front_end = queue.front_end();
/// let subject = Subject::Trust { folder: "/home/me/project".into() };
/// let asking = queue.ask(ApprovalRequest::new(subject, Effects::READ, json!(null)));
///
/// let open = front_end.next().await;
/// queue.answer(open.revision, &open.questions[0].id, Answer::deny_with("not this one")).unwrap();
/// assert_eq!(asking.await.answer, Answer::deny_with("not this one"));
/// # }
/// ```
#[derive(Clone)]
pub struct ApprovalQueue {
    inner: Arc<Inner>,
}

struct Inner {
    state: Mutex<QueueState>,
    revision: watch::Sender<u64>,
    lasting: Arc<dyn GrantStore>,
    session: MemoryGrants,
    absence: Absence,
    responder: Option<Responder>,
    events: EventBus,
}

impl fmt::Debug for ApprovalQueue {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter
            .debug_struct("ApprovalQueue")
            .field("absence", &self.inner.absence)
            .finish_non_exhaustive()
    }
}

impl Default for ApprovalQueue {
    fn default() -> Self {
        Self::new()
    }
}

/// Why an answer does not count.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum AnswerError {
    /// No such question is open: it was answered before, withdrawn, or never asked.
    NotOpen,
    /// The question changed after the front end saw it.
    Stale,
    /// The choice was not among those that were shown.
    NotOffered,
    /// The answer was to last and could not be kept; the question stays open.
    NotKept(GrantStoreError),
}

impl fmt::Display for AnswerError {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NotOpen => formatter.write_str("this question is not open any more"),
            Self::Stale => {
                formatter.write_str("the question changed after it was shown; look at it again")
            }
            Self::NotOffered => formatter.write_str("this answer was not among those offered"),
            Self::NotKept(error) => write!(formatter, "the answer could not be kept: {error}"),
        }
    }
}

impl std::error::Error for AnswerError {}

impl ApprovalQueue {
    /// Asks. The future resolves to the answer; dropping it withdraws the question, except while its run is suspended
    /// ([`Self::suspend`]). What an earlier answer covers is not asked again, nor what was denied in the same run.
    ///
    /// A call that asks for a second time after its run was suspended meets its old question, with its id and, if somebody
    /// answered meanwhile, with the answer. If it asks about anything else than before, it is asked anew.
    pub fn ask(&self, mut request: ApprovalRequest) -> Asking {
        request.restrict_choices();
        let identity = request.identity();
        let mut state = self.lock();
        let parked = state.take_parked(&request);
        let reply = match &parked {
            Some(parked) => parked.reply_to(&request),
            None => None,
        };
        let reply = reply
            .or_else(|| {
                state
                    .denial(&request.run_id, &identity)
                    .map(Reply::without_yes)
            })
            .or_else(|| state.run_grant(&request).as_ref().map(Reply::of_grant))
            .or_else(|| self.remembered(&mut request).as_ref().map(Reply::of_grant));
        match &parked {
            Some(parked) => parked.id().clone_into(&mut request.id),
            None => request.id = state.new_id(),
        }
        let reply = reply.or_else(|| self.unasked(&state, &request));
        if let Some(reply) = reply {
            if parked.is_some() {
                self.publish(state);
            }
            return Asking::ready(request.id, reply);
        }
        if let Some(respond) = &self.inner.responder {
            drop(state);
            return self.respond(respond, request);
        }
        let (sender, receiver) = oneshot::channel();
        let request = Arc::new(request);
        state.open(Arc::clone(&request), Some(sender), parked.as_ref());
        self.publish(state);
        Asking::open(self.clone(), request, receiver)
    }

    /// Why a question cannot be asked, if it cannot.
    fn unasked(&self, state: &QueueState, request: &ApprovalRequest) -> Option<Reply> {
        if self.inner.responder.is_some() {
            return None;
        }
        if state.front_ends == 0 && self.inner.absence == Absence::Unanswered {
            return Some(Reply::unanswered("there is nobody to ask"));
        }
        (state.count(&request.run_id) >= QUESTIONS_SHOWN_MAX + QUESTIONS_WAITING_MAX).then(|| {
            Reply::unanswered(format!(
                "{QUESTIONS_WAITING_MAX} questions of this run wait already"
            ))
        })
    }

    /// Answers the question with this id, as it was shown in the list of questions with this revision.
    pub fn answer(&self, revision: u64, id: &str, answer: Answer) -> Result<(), AnswerError> {
        let request = {
            let state = self.lock();
            let (request, shown_at) = state.shown(id).ok_or(AnswerError::NotOpen)?;
            if shown_at > revision {
                return Err(AnswerError::Stale);
            }
            request
        };
        let kept = self.keep(&request, &answer)?;
        let mut state = self.lock();
        // A file may have been written meanwhile, and the question may have changed or gone.
        let is_same = state
            .shown(id)
            .is_some_and(|(current, _)| Arc::ptr_eq(&current, &request));
        if !is_same {
            self.forget(&mut state, &request, kept.as_ref());
            return Err(AnswerError::NotOpen);
        }
        if let Answer::Deny { words } = &answer {
            state.deny(&request, words.as_deref());
        }
        state.settle(id, &Reply::of_person(id, answer));
        if let Some(grant) = kept {
            // What holds for a run holds in no other.
            let run_id = (grant.scope == Scope::Run).then_some(request.run_id.as_str());
            state.settle_covered(&grant, run_id);
        }
        self.publish(state);
        Ok(())
    }

    /// Ends a run: its open questions expire, and what was allowed or denied for it is forgotten.
    pub fn end_run(&self, run_id: &str) {
        let mut state = self.lock();
        if state.end_run(run_id) {
            self.publish(state);
        }
    }

    /// Forgets what was allowed or denied for a run that asks nothing any more; one with open questions stays as it is.
    pub(crate) fn forget_run(&self, run_id: &str) {
        self.lock().forget_run(run_id);
    }

    /// The answers for the session and for good that hold now.
    pub fn grants(&self) -> Result<Vec<Grant>, GrantStoreError> {
        let mut grants = self.inner.session.list()?;
        grants.extend(self.inner.lasting.list()?);
        Ok(grants)
    }

    /// Takes an answer back, wherever it is kept; false if there is none with this id.
    pub fn revoke(&self, id: &str) -> Result<bool, GrantStoreError> {
        let of_session = self.inner.session.revoke(id)?;
        Ok(self.inner.lasting.revoke(id)? || of_session)
    }

    /// An earlier answer of the session or of the user's own that covers the question. That they could not be read is told to
    /// the person who is asked instead.
    fn remembered(&self, request: &mut ApprovalRequest) -> Option<Grant> {
        let of_session = self.inner.session.find(request).ok().flatten();
        of_session.or_else(|| match self.inner.lasting.find(request) {
            Ok(grant) => grant,
            Err(error) => {
                request.reason = format!("{}; {error}", request.reason);
                None
            }
        })
    }

    /// Keeps an answer as long as it says. Fails if the answer was not offered or cannot be kept.
    fn keep(
        &self,
        request: &ApprovalRequest,
        answer: &Answer,
    ) -> Result<Option<Grant>, AnswerError> {
        let choice = match answer {
            Answer::Allow { choice, .. } => choice,
            Answer::Deny { .. } | Answer::Unanswered { .. } | Answer::Expired => return Ok(None),
        };
        if !request.choices.contains(choice) {
            return Err(AnswerError::NotOffered);
        }
        let grant = Grant::new(request, choice);
        match choice.scope {
            Scope::Once => return Ok(None),
            Scope::Run => self.lock().grant_run(&request.run_id, grant.clone()),
            Scope::Session => self.inner.session.add(grant.clone()),
            Scope::Always => self.inner.lasting.add(grant.clone()),
        }
        .map_err(AnswerError::NotKept)?;
        Ok(Some(grant))
    }

    /// Takes back what was kept of an answer that came too late.
    fn forget(&self, state: &mut QueueState, request: &ApprovalRequest, grant: Option<&Grant>) {
        let Some(grant) = grant else { return };
        match grant.scope {
            Scope::Once => {}
            Scope::Run => state.revoke_run(&request.run_id, &grant.id),
            Scope::Session => drop(self.inner.session.revoke(&grant.id)),
            Scope::Always => drop(self.inner.lasting.revoke(&grant.id)),
        }
    }

    fn respond(&self, respond: &Responder, request: ApprovalRequest) -> Asking {
        let shared = Arc::new(request);
        let request = &*shared;
        self.emit(QueueEvent::Asked(Arc::clone(&shared)));
        let answer = respond(request);
        let reply = match self.keep(request, &answer) {
            Ok(_) => {
                if let Answer::Deny { words } = &answer {
                    self.lock().deny(request, words.as_deref());
                }
                Reply::of_person(&request.id, answer)
            }
            Err(error) => Reply::unanswered(error.to_string()),
        };
        if self.inner.events.has_subscribers() {
            self.emit(QueueEvent::Answered(
                Arc::clone(&shared),
                reply.answer.clone(),
            ));
        }
        Asking::ready(shared.id.clone(), reply)
    }

    /// Withdraws the question of a future that was dropped, or keeps it open for a run that is suspended.
    fn withdraw(&self, request: &Arc<ApprovalRequest>, reply: Option<Reply>) {
        let mut state = self.lock();
        let changed = if state.is_suspended(request) {
            state.park(request, reply);
            true
        } else {
            state.withdraw(&request.id)
        };
        if changed {
            self.publish(state);
        }
    }

    /// Questions and answers as events, for a runtime that tells them with everything else.
    pub fn events(&self) -> &EventBus {
        &self.inner.events
    }

    /// Makes the changes visible under a new revision.
    fn publish(&self, mut state: MutexGuard<'_, QueueState>) {
        let revision = state.advance();
        let news = state.take_news();
        self.inner.revision.send_replace(revision);
        drop(state);
        for event in news {
            self.emit(event);
        }
    }

    /// Tells the stream of events; not under the lock, since who listens may look at the queue.
    fn emit(&self, event: QueueEvent) {
        if !self.inner.events.has_subscribers() {
            return;
        }
        let (request, kind) = match event {
            QueueEvent::Asked(request) => {
                let kind = EventKind::Asked(Arc::clone(&request));
                (request, kind)
            }
            QueueEvent::Answered(request, answer) => {
                let question_id = request.id.clone();
                let kind = EventKind::Answered {
                    question_id,
                    answer,
                };
                (request, kind)
            }
        };
        self.inner.events.send(RuntimeEvent {
            run_id: Arc::from(request.run_id.as_str()),
            call: request.call_id.as_ref().map(|call_id| {
                Arc::new(EventCall {
                    call_id: call_id.clone(),
                    parent_call_id: request.parent_call_id.clone(),
                    tool_name: request.subject.name().to_owned(),
                    arguments: request.arguments.clone(),
                    origin: request.origin,
                })
            }),
            kind,
        });
    }

    fn lock(&self) -> MutexGuard<'_, QueueState> {
        self.inner
            .state
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
    }
}
