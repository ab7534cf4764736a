//! What is kept of an answer that lasts.

use std::fmt::Debug;
use std::sync::{Mutex, MutexGuard, PoisonError};

use serde::{Deserialize, Serialize};

use super::request::{ApprovalRequest, Choice, Covers, Scope, Target};
use crate::context::Origin;
use crate::tool::Effects;

/// Grants that one store keeps in memory; a person gives a handful, so more is a fault of a front end.
const MEMORY_GRANTS_MAX: usize = 10_000;

/// A yes that lasts. It covers a later question only if everything in it is the same.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Grant {
    /// The id of the question it answered; for listing and taking back.
    pub id: String,
    /// For whom the run was made; empty where there is only one.
    #[serde(default)]
    pub caller: String,
    /// The project it holds in.
    pub project: String,
    /// The kind of subject.
    pub subject_kind: String,
    /// The tool, the language, the folder or the server.
    pub subject_name: String,
    /// The hash of what the subject was.
    pub definition: String,
    /// Who may make the call.
    pub origin: Origin,
    /// What the call may do: exactly these.
    pub effects: Effects,
    /// How long it holds.
    pub scope: Scope,
    /// Which calls it covers.
    pub covers: Covers,
    /// The hash of the arguments that were shown.
    pub arguments_hash: String,
    /// The place that was shown.
    #[serde(default)]
    pub target: Option<Target>,
    /// When it was given, in milliseconds since 1970; 0 where the clock is unknown.
    #[serde(default)]
    pub granted_at_ms: u64,
}

impl Grant {
    /// The grant that an answer to `request` in the way of `choice` makes.
    pub fn new(request: &ApprovalRequest, choice: &Choice) -> Self {
        Self {
            id: request.id.clone(),
            caller: request.caller.clone(),
            project: request.project.clone(),
            subject_kind: request.subject.kind().to_owned(),
            subject_name: request.subject.name().to_owned(),
            definition: request.subject.definition().to_owned(),
            origin: request.origin,
            effects: request.effects,
            scope: choice.scope,
            covers: choice.covers.clone(),
            arguments_hash: request.arguments_hash.clone(),
            target: request.target.clone(),
            granted_at_ms: now_ms(),
        }
    }

    /// Whether it covers a question. The question must also offer the same choice: what may no longer be offered, such as a rule
    /// for a command that is not confined any more, does not hold either.
    pub fn covers(&self, request: &ApprovalRequest) -> bool {
        self.caller == request.caller
            && self.project == request.project
            && self.subject_kind == request.subject.kind()
            && self.subject_name == request.subject.name()
            && self.definition == request.subject.definition()
            && self.origin == request.origin
            && self.effects == request.effects
            && request.permits(&Choice::new(self.scope, self.covers.clone()))
            && match self.covers {
                Covers::Arguments => {
                    self.arguments_hash == request.arguments_hash && self.target == request.target
                }
                Covers::Folder { .. } | Covers::Host { .. } | Covers::Tool => true,
            }
    }
}

fn now_ms() -> u64 {
    std::time::SystemTime::now()
        .duration_since(std::time::UNIX_EPOCH)
        .ok()
        .and_then(|age| u64::try_from(age.as_millis()).ok())
        .unwrap_or_default()
}

/// A store that could not be read or written, in words that name it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct GrantStoreError(pub String);

impl std::fmt::Display for GrantStoreError {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.write_str(&self.0)
    }
}

impl std::error::Error for GrantStoreError {}

/// Keeps the grants of scope [`Scope::Always`]. Called while a call waits, so an implementation answers from memory where it can.
pub trait GrantStore: Debug + Send + Sync {
    /// Every grant. Where the store cannot be read nothing counts as granted, and the person is asked.
    fn list(&self) -> Result<Vec<Grant>, GrantStoreError>;

    /// A grant that covers the question. Goes through [`Self::list`] by default.
    fn find(&self, request: &ApprovalRequest) -> Result<Option<Grant>, GrantStoreError> {
        Ok(self.list()?.into_iter().find(|grant| grant.covers(request)))
    }

    /// Keeps a grant. It must be there for good when this returns.
    fn add(&self, grant: Grant) -> Result<(), GrantStoreError>;

    /// Takes the grant with this id back; false if there is none.
    fn revoke(&self, id: &str) -> Result<bool, GrantStoreError>;
}

/// Grants in memory, for tests and for embedders without a file.
#[derive(Debug, Default)]
pub struct MemoryGrants {
    grants: Mutex<Vec<Grant>>,
}

impl MemoryGrants {
    /// A store in which nothing is granted yet.
    pub fn new() -> Self {
        Self::default()
    }

    fn lock(&self) -> MutexGuard<'_, Vec<Grant>> {
        self.grants.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl GrantStore for MemoryGrants {
    fn list(&self) -> Result<Vec<Grant>, GrantStoreError> {
        Ok(self.lock().clone())
    }

    fn find(&self, request: &ApprovalRequest) -> Result<Option<Grant>, GrantStoreError> {
        Ok(self
            .lock()
            .iter()
            .find(|grant| grant.covers(request))
            .cloned())
    }

    fn add(&self, grant: Grant) -> Result<(), GrantStoreError> {
        let mut grants = self.lock();
        if grants.len() >= MEMORY_GRANTS_MAX {
            return Err(GrantStoreError(format!(
                "{MEMORY_GRANTS_MAX} approvals are kept already; take some back first"
            )));
        }
        grants.push(grant);
        Ok(())
    }

    fn revoke(&self, id: &str) -> Result<bool, GrantStoreError> {
        let mut grants = self.lock();
        let before = grants.len();
        grants.retain(|grant| grant.id != id);
        Ok(grants.len() < before)
    }
}
