//! What is stored for a server, for listings.

use super::account::Account;
use crate::error::Error;

/// What is stored for a server, without secrets.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct CredentialStatus {
    /// Whether there is a token.
    pub has_credentials: bool,
    /// When it ends, in milliseconds since 1970; `None` where unknown.
    pub expires_at_ms: Option<u64>,
    /// Whether it can be replaced without a person.
    pub can_refresh: bool,
    /// What it is good for, separated by spaces, where known.
    pub scope: Option<String>,
    /// What the server wanted besides; the next sign-in asks for it. Until then some calls fail.
    pub missing_scope: Option<String>,
    /// The authorization server, where known.
    pub issuer: Option<String>,
}

impl CredentialStatus {
    /// Whether a connection at `now_ms` needs a sign-in first: no token, or one that ended and cannot be refreshed.
    pub fn needs_sign_in(&self, now_ms: u64) -> bool {
        !self.has_credentials
            || !self.can_refresh && self.expires_at_ms.is_some_and(|end| end <= now_ms)
    }
}

pub(super) async fn read(account: &Account) -> Result<CredentialStatus, Error> {
    let Some(entry) = account.read().await? else {
        return Ok(CredentialStatus::default());
    };
    let issuer = entry.issuer();
    let tokens = entry.tokens.as_ref();
    Ok(CredentialStatus {
        has_credentials: tokens.is_some(),
        expires_at_ms: entry.tokens_expire_at,
        can_refresh: tokens.is_some_and(|tokens| tokens.refresh_token.is_some()),
        scope: tokens.and_then(|tokens| tokens.scope.clone()),
        missing_scope: entry.pending_scope,
        issuer,
    })
}
