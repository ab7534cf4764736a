//! The seam through which a server asks the user something.

use futures_util::future::BoxFuture;
use serde_json::Value;
use tokio_util::sync::CancellationToken;

/// Answers the questions of servers: a terminal, a JSON front end, a gateway. Where there is none, servers are told that
/// questions are not supported, and one that asks all the same gets `cancel`.
pub trait Elicitor: Send + Sync + 'static {
    /// Asks one question. `cancel` fires when the answer is no longer wanted.
    fn elicit(
        &self,
        request: ElicitationRequest,
        cancel: CancellationToken,
    ) -> BoxFuture<'static, ElicitationAnswer>;
}

/// What a server wants to know from the user while one of its tools runs.
#[derive(Debug, Clone, PartialEq)]
pub struct ElicitationRequest {
    /// The server that asks.
    pub server: String,
    /// The call it asks for; `None` where the protocol does not say and more than one is open, or the request is part of none.
    pub call_id: Option<String>,
    /// What for, in the server's words.
    pub message: String,
    /// Whether values or a visit to a page are wanted.
    pub kind: ElicitationKind,
}

/// What a server wants from the user.
#[derive(Debug, Clone, PartialEq)]
pub enum ElicitationKind {
    /// Values for a flat form.
    Form {
        /// JSON Schema of the form: an object of strings, numbers, booleans and choices.
        schema: Value,
    },
    /// A visit to a page; what happens there stays between the user and the page.
    Url {
        /// The page that the user is to visit.
        url: String,
    },
}

/// What the user answered to a server's question.
#[derive(Debug, Clone, PartialEq)]
pub enum ElicitationAnswer {
    /// Yes; for a form with its values.
    Accept(Option<Value>),
    /// The user refused to answer.
    Decline,
    /// Neither: the question was put aside or nobody could be asked.
    Cancel,
}
