//! What a person answers, and what a call knows of it.

use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::request::{Choice, Target};

/// The answer to a question.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "camelCase")]
pub enum Answer {
    /// The call may run, in the way of one of the choices.
    Allow {
        /// One of the choices that were shown.
        choice: Choice,
        /// The values of a form, where a server asked for some.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        values: Option<Value>,
    },
    /// The call does not run, and the same is not asked again in its run.
    Deny {
        /// What the person wants the model to know; `None` without a comment.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        words: Option<String>,
    },
    /// Neither: nobody could be asked, or whoever was there put the question aside.
    Unanswered {
        /// Why, as the end of a sentence.
        cause: String,
    },
    /// The answer is no longer wanted: what waited for it has ended, or its time is up.
    Expired,
}

impl Answer {
    /// Yes to this very call.
    pub fn allow_once() -> Self {
        Self::allow(Choice::ONCE)
    }

    /// Yes in the way of `choice`.
    pub fn allow(choice: Choice) -> Self {
        Self::Allow {
            choice,
            values: None,
        }
    }

    /// No, without a comment.
    pub fn deny() -> Self {
        Self::Deny { words: None }
    }

    /// No, with words for the model.
    pub fn deny_with(words: impl Into<String>) -> Self {
        Self::Deny {
            words: Some(words.into()),
        }
    }
}

/// How a call that needed a person's yes came by it. Who asks again within the call looks here first: what was approved is not
/// asked about twice.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Approved {
    /// The hash of the arguments that were approved.
    pub arguments_hash: String,
    /// Who or what said yes.
    pub by: ApprovedBy,
    /// The place that was shown; the yes is for no other.
    #[serde(default)]
    pub target: Option<Target>,
}

/// Who or what said yes.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "camelCase")]
pub enum ApprovedBy {
    /// A person, to this question.
    Person {
        /// The id of the question that was answered.
        question_id: String,
        /// The choice, one of those that the question offered.
        choice: Choice,
    },
    /// An earlier answer that covers the call.
    Grant {
        /// The id of the grant, by which it can be taken back.
        grant_id: String,
    },
}
