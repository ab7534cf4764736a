//! The seam between a transport and whoever has the tokens.

use futures_util::future::BoxFuture;

use crate::error::Error;
use crate::secret::Secret;

/// Supplies bearer tokens for one HTTP server. A connection never opens a browser: where only a person can help, the methods
/// fail with [`NeedsAuthorization`](crate::ErrorKind::NeedsAuthorization).
pub trait Authorizer: Send + Sync + 'static {
    /// The token for the next request, refreshed where it is about to expire. `None` where there is none to send.
    fn token(&self) -> BoxFuture<'_, Result<Option<Secret>, Error>>;

    /// The server refused a request. Says whether to send it once more, with a token asked for anew.
    fn challenged(&self, challenge: Challenge) -> BoxFuture<'_, Result<Next, Error>>;
}

/// A refusal that another token may turn into an answer.
#[derive(Debug, Clone)]
pub struct Challenge {
    /// 401, or 403 with `insufficient_scope`.
    pub status: u16,
    /// The header of that name; servers leave it out.
    pub www_authenticate: Option<String>,
    /// The token that was refused.
    pub token: Option<Secret>,
}

/// What to do after a refusal.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Next {
    /// There is another token: send the request once more.
    Retry,
    /// There is nothing better: the refusal is the answer.
    GiveUp,
}
