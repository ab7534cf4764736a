//! Questions that outlive their process: what a suspended script asked, was allowed and was denied.

use std::collections::BTreeMap;
use std::fmt;
use std::sync::Arc;

use serde::{Deserialize, Serialize};

use super::super::grant::{Grant, GrantStoreError};
use super::super::hash::value_hash;
use super::super::request::ApprovalRequest;
use super::{ApprovalQueue, Reply};

/// The version of [`SavedApprovals`] that this build writes and reads.
pub const SAVED_APPROVALS_VERSION: u32 = 1;

/// What is stored with a suspended call: its open questions, and what its run was allowed and denied.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct SavedApprovals {
    /// The version of this form, [`SAVED_APPROVALS_VERSION`] when it was written by this build.
    pub version: u32,
    /// The run that all questions, denials and grants belong to.
    pub run_id: String,
    /// The questions, the oldest first.
    pub questions: Vec<SavedQuestion>,
    /// What the model was told, by the identity of what was denied.
    #[serde(default)]
    pub denials: BTreeMap<String, Option<String>>,
    /// What was allowed for the run.
    #[serde(default)]
    pub grants: Vec<Grant>,
}

/// One question of [`SavedApprovals`].
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct SavedQuestion {
    /// What is asked, with its id.
    pub request: ApprovalRequest,
    /// The answer, if somebody gave it while nobody waited.
    #[serde(default)]
    pub reply: Option<Reply>,
}

/// Why saved questions are not taken up. None of them is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum RestoreError {
    /// Another version of Pirn wrote them.
    Version(u32),
    /// A question does not fit its own hash, so what would be shown is not what was asked.
    Damaged(String),
    /// What was allowed for the run cannot be kept.
    Grants(GrantStoreError),
}

impl fmt::Display for RestoreError {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Version(version) => write!(
                formatter,
                "the saved questions have version {version}; this Pirn reads {SAVED_APPROVALS_VERSION}"
            ),
            Self::Damaged(id) => write!(
                formatter,
                "the saved question {id} was changed after it was saved"
            ),
            Self::Grants(error) => error.fmt(formatter),
        }
    }
}

impl std::error::Error for RestoreError {}

/// While it lives, the questions of calls made inside one call stay open when their futures are dropped.
#[derive(Debug)]
#[must_use = "dropped questions are withdrawn again once this is dropped"]
pub struct Suspension {
    queue: ApprovalQueue,
    number: u64,
    run_id: String,
}

impl Suspension {
    /// What there is to store. Taken after the calls have been dropped, it holds every question and every answer.
    pub fn save(&self) -> SavedApprovals {
        let state = self.queue.lock();
        let (denials, grants) = state.memory_of(&self.run_id);
        let questions = state
            .of_suspended(self.number)
            .into_iter()
            .map(|(request, reply)| SavedQuestion {
                request: ApprovalRequest::clone(&request),
                reply,
            })
            .collect();
        SavedApprovals {
            version: SAVED_APPROVALS_VERSION,
            run_id: self.run_id.clone(),
            questions,
            denials,
            grants,
        }
    }
}

impl Drop for Suspension {
    fn drop(&mut self) {
        self.queue.lock().unsuspend(self.number);
    }
}

impl ApprovalQueue {
    /// Begins to suspend what runs inside a call, such as a script: from now on a question of a call below it stays open when
    /// its future is dropped.
    pub fn suspend(&self, run_id: &str, call_id: &str) -> Suspension {
        Suspension {
            queue: self.clone(),
            number: self.lock().suspend(run_id, call_id),
            run_id: run_id.to_owned(),
        }
    }

    /// Takes up what was saved, in this process or in another one. The questions are open under their old ids; an answer waits
    /// for the call that asks again. Questions that are in this queue already stay as they are.
    pub fn restore(&self, saved: SavedApprovals) -> Result<(), RestoreError> {
        if saved.version != SAVED_APPROVALS_VERSION {
            return Err(RestoreError::Version(saved.version));
        }
        for question in &saved.questions {
            let request = &question.request;
            let is_sound = request.run_id == saved.run_id
                && request.arguments_hash == value_hash(&request.arguments);
            if !is_sound {
                return Err(RestoreError::Damaged(request.id.clone()));
            }
        }
        let mut state = self.lock();
        state
            .remember(&saved.run_id, saved.denials, saved.grants)
            .map_err(RestoreError::Grants)?;
        for SavedQuestion { request, reply } in saved.questions {
            if !state.has(&request.id) {
                state.park(&Arc::new(request), reply);
            }
        }
        self.publish(state);
        Ok(())
    }
}
