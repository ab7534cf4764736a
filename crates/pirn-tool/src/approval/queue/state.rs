//! The content of the queue, under its lock.

use std::collections::{BTreeMap, HashMap};
use std::hash::{BuildHasher as _, RandomState};
use std::sync::Arc;

use tokio::sync::oneshot;

use super::super::answer::Answer;
use super::super::grant::{Grant, GrantStore as _, GrantStoreError, MemoryGrants};
use super::super::request::ApprovalRequest;
use super::{QUESTIONS_SHOWN_MAX, Reply};

/// Runs whose answers are remembered at a time. Owners end their runs; of those who do not, the oldest without a question is
/// forgotten.
const RUNS_MAX: usize = 4_096;

/// Denied subjects of one run that are remembered. A person does not say no this often; further questions are not asked.
const DENIALS_MAX: usize = 4_096;

#[derive(Default)]
pub(super) struct QueueState {
    /// In the order in which they were asked.
    questions: BTreeMap<u64, Question>,
    runs: HashMap<String, Run>,
    suspended: Vec<SuspendedCall>,
    pub(super) front_ends: usize,
    revision: u64,
    sequence: u64,
    ids: RandomState,
    /// What front ends and logs have not been told yet.
    news: Vec<QueueEvent>,
}

/// What happened to a question.
pub(super) enum QueueEvent {
    Asked(Arc<ApprovalRequest>),
    Answered(Arc<ApprovalRequest>, Answer),
}

/// A call whose questions outlive their futures for now.
pub(super) struct SuspendedCall {
    pub(super) number: u64,
    pub(super) run_id: String,
    pub(super) call_id: String,
}

struct Question {
    request: Arc<ApprovalRequest>,
    place: Place,
    /// Who waits for the answer; nobody while its run is suspended.
    waiter: Option<oneshot::Sender<Reply>>,
    /// The answer, if it came while nobody waited.
    reply: Option<Reply>,
}

impl Question {
    fn answered(&self, answer: Answer) -> QueueEvent {
        QueueEvent::Answered(Arc::clone(&self.request), answer)
    }
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Place {
    /// Front ends see it, as it is since this revision.
    Shown(u64),
    /// It waits for one of its run's places.
    Waiting,
    /// It is answered and waits for the one who asked.
    Answered,
}

#[derive(Default)]
struct Run {
    /// When it was first seen.
    sequence: u64,
    grants: MemoryGrants,
    /// What the model was told, by the identity of what was denied.
    denials: BTreeMap<String, Option<String>>,
}

/// A parked question that was taken out of the queue because its call asks again.
pub(super) struct Parked {
    question: Question,
    sequence: u64,
}

impl Parked {
    pub(super) fn id(&self) -> &str {
        &self.question.request.id
    }

    /// The answer that came meanwhile, if it was to the same question.
    pub(super) fn reply_to(&self, request: &ApprovalRequest) -> Option<Reply> {
        self.question
            .reply
            .clone()
            .filter(|_| self.question.request.content_hash() == request.content_hash())
    }
}

impl QueueState {
    pub(super) fn new_id(&mut self) -> String {
        self.sequence += 1;
        // Keyed at random for each queue, so that two processes give different ids.
        format!("{:016x}", self.ids.hash_one(self.sequence))
    }

    pub(super) fn next_sequence(&mut self) -> u64 {
        self.sequence += 1;
        self.sequence
    }

    pub(super) fn log(&mut self, event: QueueEvent) {
        self.news.push(event);
    }

    /// What happened since the last time.
    pub(super) fn take_news(&mut self) -> Vec<QueueEvent> {
        std::mem::take(&mut self.news)
    }

    pub(super) fn revision(&self) -> u64 {
        self.revision
    }

    /// Gives waiting questions the places that are free, and ends the revision.
    pub(super) fn advance(&mut self) -> u64 {
        self.revision += 1;
        let mut shown: HashMap<String, usize> = HashMap::new();
        for question in self.questions.values() {
            if matches!(question.place, Place::Shown(_)) {
                *shown.entry(question.request.run_id.clone()).or_default() += 1;
            }
        }
        for question in self.questions.values_mut() {
            if question.place == Place::Waiting {
                let places = shown.entry(question.request.run_id.clone()).or_default();
                if *places < QUESTIONS_SHOWN_MAX {
                    *places += 1;
                    question.place = Place::Shown(self.revision);
                }
            }
        }
        self.revision
    }

    /// The questions that front ends see, the oldest first, and how many more wait.
    pub(super) fn visible(&self) -> (Vec<Arc<ApprovalRequest>>, usize) {
        let mut waiting = 0;
        let mut visible = Vec::new();
        for question in self.questions.values() {
            match question.place {
                Place::Shown(_) => visible.push(Arc::clone(&question.request)),
                Place::Waiting => waiting += 1,
                Place::Answered => {}
            }
        }
        (visible, waiting)
    }

    /// A question that front ends see, and the revision since which it is as it is.
    pub(super) fn shown(&self, id: &str) -> Option<(Arc<ApprovalRequest>, u64)> {
        let question = self.questions.values().find(|one| one.request.id == id)?;
        match question.place {
            Place::Shown(revision) => Some((Arc::clone(&question.request), revision)),
            Place::Waiting | Place::Answered => None,
        }
    }

    /// Questions of a run that are shown or wait.
    pub(super) fn count(&self, run_id: &str) -> usize {
        self.questions
            .values()
            .filter(|question| {
                question.request.run_id == run_id && question.place != Place::Answered
            })
            .count()
    }

    /// Opens a question. One that was parked keeps its place in the order, and its revision if nothing about it changed.
    pub(super) fn open(
        &mut self,
        request: Arc<ApprovalRequest>,
        waiter: Option<oneshot::Sender<Reply>>,
        parked: Option<&Parked>,
    ) {
        let is_same = parked
            .is_some_and(|parked| parked.question.request.content_hash() == request.content_hash());
        let place = match parked.map(|parked| parked.question.place) {
            Some(place @ (Place::Shown(_) | Place::Waiting)) if is_same => place,
            Some(_) | None => Place::Waiting,
        };
        let sequence = match parked {
            Some(parked) => parked.sequence,
            None => self.next_sequence(),
        };
        self.log(QueueEvent::Asked(Arc::clone(&request)));
        let question = Question {
            request,
            place,
            waiter,
            reply: None,
        };
        self.questions.insert(sequence, question);
    }

    /// Takes the parked question of the call that asks again out of the queue.
    pub(super) fn take_parked(&mut self, request: &ApprovalRequest) -> Option<Parked> {
        let call_id = request.call_id.as_deref();
        let sequence = self.questions.iter().find_map(|(sequence, question)| {
            let is_its_own = question.request.run_id == request.run_id
                && (question.request.id == request.id
                    || (call_id.is_some() && question.request.call_id.as_deref() == call_id));
            (question.waiter.is_none() && is_its_own).then_some(*sequence)
        })?;
        let question = self.questions.remove(&sequence)?;
        Some(Parked { question, sequence })
    }

    /// Puts a question back that nobody waits for.
    pub(super) fn park(&mut self, request: &Arc<ApprovalRequest>, reply: Option<Reply>) {
        if let Some(question) = self
            .questions
            .values_mut()
            .find(|question| question.request.id == request.id)
        {
            question.waiter = None;
            return;
        }
        let sequence = self.next_sequence();
        let place = match reply {
            Some(_) => Place::Answered,
            None => Place::Waiting,
        };
        let question = Question {
            request: Arc::clone(request),
            place,
            waiter: None,
            reply,
        };
        self.questions.insert(sequence, question);
    }

    /// Takes a question out without an answer. False if it was not there.
    pub(super) fn withdraw(&mut self, id: &str) -> bool {
        let before = self.questions.len();
        let news = &mut self.news;
        self.questions.retain(|_, question| {
            let stays = question.request.id != id;
            if !stays {
                news.push(question.answered(Answer::Expired));
            }
            stays
        });
        self.questions.len() < before
    }

    /// Gives a question its answer: to the one who waits, or to the one who will ask again.
    pub(super) fn settle(&mut self, id: &str, reply: &Reply) {
        self.settle_where(|request| request.id == id, |_| reply.clone());
    }

    /// Gives every question that a grant covers the same answer.
    pub(super) fn settle_covered(&mut self, grant: &Grant, run_id: Option<&str>) {
        self.settle_where(
            |request| run_id.is_none_or(|run_id| request.run_id == run_id) && grant.covers(request),
            |_| Reply::of_grant(grant),
        );
    }

    fn settle_where(
        &mut self,
        matches: impl Fn(&ApprovalRequest) -> bool,
        reply: impl Fn(&ApprovalRequest) -> Reply,
    ) {
        let news = &mut self.news;
        self.questions.retain(|_, question| {
            if question.place == Place::Answered || !matches(&question.request) {
                return true;
            }
            let reply = reply(&question.request);
            news.push(question.answered(reply.answer.clone()));
            if let Some(waiter) = question.waiter.take() {
                // One who has gone withdraws the question itself.
                let _gone = waiter.send(reply);
                false
            } else {
                question.reply = Some(reply);
                question.place = Place::Answered;
                true
            }
        });
    }

    /// Remembers a no for the rest of the run, and gives it to the same questions that are open there.
    pub(super) fn deny(&mut self, request: &ApprovalRequest, words: Option<&str>) {
        let identity = request.identity();
        let run = self.run(&request.run_id);
        if run.denials.len() < DENIALS_MAX {
            run.denials
                .insert(identity.clone(), words.map(str::to_owned));
        }
        self.settle_where(
            |other| {
                other.id != request.id
                    && other.run_id == request.run_id
                    && other.identity() == identity
            },
            |_| {
                Reply::without_yes(Answer::Deny {
                    words: words.map(str::to_owned),
                })
            },
        );
    }

    /// The answer to what was denied in this run already.
    pub(super) fn denial(&self, run_id: &str, identity: &str) -> Option<Answer> {
        let run = self.runs.get(run_id)?;
        match run.denials.get(identity) {
            Some(words) => Some(Answer::Deny {
                words: words.clone(),
            }),
            None if run.denials.len() >= DENIALS_MAX => Some(Answer::deny_with(format!(
                "{DENIALS_MAX} calls of this run were denied"
            ))),
            None => None,
        }
    }

    pub(super) fn run_grant(&self, request: &ApprovalRequest) -> Option<Grant> {
        let run = self.runs.get(&request.run_id)?;
        run.grants.find(request).ok().flatten()
    }

    pub(super) fn grant_run(&mut self, run_id: &str, grant: Grant) -> Result<(), GrantStoreError> {
        self.run(run_id).grants.add(grant)
    }

    pub(super) fn revoke_run(&mut self, run_id: &str, grant_id: &str) {
        if let Some(run) = self.runs.get(run_id) {
            drop(run.grants.revoke(grant_id));
        }
    }

    /// Forgets a run; its questions expire. False if nothing was there.
    pub(super) fn end_run(&mut self, run_id: &str) -> bool {
        let was_known = self.runs.remove(run_id).is_some();
        let before = self.questions.len();
        let news = &mut self.news;
        self.questions.retain(|_, question| {
            if question.request.run_id != run_id {
                return true;
            }
            if question.place != Place::Answered {
                news.push(question.answered(Answer::Expired));
            }
            if let Some(waiter) = question.waiter.take() {
                let _gone = waiter.send(Reply::without_yes(Answer::Expired));
            }
            false
        });
        was_known || self.questions.len() < before
    }

    /// Forgets a run without open questions.
    pub(super) fn forget_run(&mut self, run_id: &str) {
        if self.count(run_id) == 0 {
            self.runs.remove(run_id);
        }
    }

    /// Answers everything that somebody waits for, as when the last front end has gone.
    pub(super) fn settle_all(&mut self, reply: &Reply) {
        let news = &mut self.news;
        self.questions.retain(|_, question| {
            let Some(waiter) = question.waiter.take() else {
                return true;
            };
            news.push(question.answered(reply.answer.clone()));
            let _gone = waiter.send(reply.clone());
            false
        });
    }

    pub(super) fn is_suspended(&self, request: &ApprovalRequest) -> bool {
        self.suspended
            .iter()
            .any(|suspended| suspended.holds(request))
    }

    pub(super) fn suspend(&mut self, run_id: &str, call_id: &str) -> u64 {
        let number = self.next_sequence();
        self.suspended.push(SuspendedCall {
            number,
            run_id: run_id.to_owned(),
            call_id: call_id.to_owned(),
        });
        number
    }

    pub(super) fn unsuspend(&mut self, number: u64) {
        self.suspended
            .retain(|suspended| suspended.number != number);
    }

    /// The questions of the calls below a suspended one, with the answers that came meanwhile.
    pub(super) fn of_suspended(&self, number: u64) -> Vec<(Arc<ApprovalRequest>, Option<Reply>)> {
        let Some(suspended) = self.suspended.iter().find(|one| one.number == number) else {
            return Vec::new();
        };
        self.questions
            .values()
            .filter(|question| suspended.holds(&question.request))
            .map(|question| (Arc::clone(&question.request), question.reply.clone()))
            .collect()
    }

    /// What a run was denied and allowed.
    pub(super) fn memory_of(&self, run_id: &str) -> (BTreeMap<String, Option<String>>, Vec<Grant>) {
        match self.runs.get(run_id) {
            Some(run) => (run.denials.clone(), run.grants.list().unwrap_or_default()),
            None => Default::default(),
        }
    }

    /// Takes over what a run was denied and allowed in another process.
    pub(super) fn remember(
        &mut self,
        run_id: &str,
        denials: BTreeMap<String, Option<String>>,
        grants: Vec<Grant>,
    ) -> Result<(), GrantStoreError> {
        let run = self.run(run_id);
        run.denials.extend(denials.into_iter().take(DENIALS_MAX));
        let known = run.grants.list()?;
        for grant in grants {
            if !known.contains(&grant) {
                run.grants.add(grant)?;
            }
        }
        Ok(())
    }

    /// Whether a question with this id is in the queue.
    pub(super) fn has(&self, id: &str) -> bool {
        self.questions
            .values()
            .any(|question| question.request.id == id)
    }

    fn run(&mut self, run_id: &str) -> &mut Run {
        if !self.runs.contains_key(run_id) && self.runs.len() >= RUNS_MAX {
            let idle = self
                .runs
                .iter()
                .filter(|(id, _)| self.count(id) == 0)
                .min_by_key(|(_, run)| run.sequence)
                .map(|(id, _)| id.clone());
            if let Some(idle) = idle {
                self.runs.remove(&idle);
            }
        }
        let sequence = self.next_sequence();
        self.runs.entry(run_id.to_owned()).or_insert_with(|| Run {
            sequence,
            ..Run::default()
        })
    }
}

impl SuspendedCall {
    fn holds(&self, request: &ApprovalRequest) -> bool {
        let is_below = request.call_id.as_deref().is_some_and(|id| {
            id.strip_prefix(&self.call_id)
                .is_some_and(|rest| rest.starts_with('/'))
        });
        is_below && request.run_id == self.run_id
    }
}
