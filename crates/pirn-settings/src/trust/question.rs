//! The question about a project, as every question is put, and its answer.

use pirn_tool::{Answer, ApprovalRequest, Effects, Subject};
use serde_json::{Value, json};

use super::{ProjectTrust, TrustAnswer};

/// Which answers a question about trust has.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TrustOffer {
    /// Those that are kept, and those for this run.
    Everything,
    /// Only those that are kept.
    Kept,
}

/// How long a yes holds, and for what, in the values of the answer.
const TRUST: &str = "trust";

impl ProjectTrust {
    /// The question for a queue. Its arguments name the files, the folder above, and whether an answer for once is offered.
    pub fn request(&self, offer: TrustOffer) -> ApprovalRequest {
        let folder = &self.folder;
        let files: Vec<Value> = self
            .files
            .iter()
            .map(|file| {
                let path = file.path_from(folder).to_string_lossy().into_owned();
                json!({"path": path, "what": file.what})
            })
            .collect();
        let arguments = json!({
            "files": files,
            "parent": folder.parent().map(|parent| parent.to_string_lossy()),
            "once": offer == TrustOffer::Everything,
        });
        let subject = Subject::Trust {
            folder: folder.to_string_lossy().into_owned(),
        };
        ApprovalRequest::new(subject, Effects::NONE, arguments)
    }
}

impl From<&Answer> for TrustAnswer {
    fn from(answer: &Answer) -> Self {
        match answer {
            Answer::Allow { values, .. } => {
                match values.as_ref().and_then(|values| values[TRUST].as_str()) {
                    Some("folder") => Self::Trust,
                    Some("parent") => Self::TrustParent,
                    // A yes that does not say how long it holds.
                    Some(_) | None => Self::TrustOnce,
                }
            }
            Answer::Deny { .. } => Self::Deny,
            // What was not answered is asked again the next time.
            Answer::Unanswered { .. } | Answer::Expired => Self::DenyOnce,
        }
    }
}
