//! Questions to a person: one owned value for each, one queue for all of them, and what is remembered of the answers.
//!
//! Whoever needs a person's word makes an [`ApprovalRequest`] and asks the [`ApprovalQueue`]: the pipeline about a tool call or a
//! program, a sandbox about a host, the binary about a project, an MCP client for its server. Front ends show what is open and
//! give an [`Answer`]. A model, a script or a server has no way to one.
//!
//! What an answer covers is what was shown: the request names every [`Choice`] with its [`Scope`] and what it [`Covers`], and an
//! answer that names another one is refused. An answer that lasts becomes a [`Grant`], which binds the project, the subject with
//! its definition, the origin, the effects, and either the exact arguments or the rule that was shown. There are no rules over
//! the text of a command.

mod answer;
mod grant;
mod hash;
mod queue;
mod request;

pub use answer::{Answer, Approved, ApprovedBy};
pub use grant::{Grant, GrantStore, GrantStoreError, MemoryGrants};
pub use hash::value_hash;
pub use queue::{
    Absence, AnswerError, ApprovalQueue, ApprovalQueueBuilder, Asking, FrontEnd, OpenQuestions,
    QUESTIONS_SHOWN_MAX, QUESTIONS_WAITING_MAX, Reply, RestoreError, SAVED_APPROVALS_VERSION,
    SavedApprovals, SavedQuestion, Suspension,
};
pub use request::{
    ApprovalRequest, Choice, CommandConfinement, Covers, Form, Offer, ProgramSubject, Scope,
    Subject, Target, ToolSubject,
};
