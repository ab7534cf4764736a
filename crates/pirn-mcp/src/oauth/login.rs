//! Signing in: what is tried, in which order, and for how long.

use std::time::Duration;

use serde_json::json;
use tokio_util::sync::CancellationToken;

use super::Interaction;
use super::account::Account;
use super::browser::{Attempt, SignInFailure, in_browser};
use super::challenge::BearerChallenge;
use super::discovery::discover;
use super::refresh::{Refresh, refresh};
use super::store::{Entry, Tokens};
use crate::error::{Error, ErrorKind};

/// How long a person has for the sign-in page, where the caller does not say.
const SIGN_IN_TIMEOUT: Duration = Duration::from_mins(5);

/// How to sign in.
#[derive(Debug, Clone)]
pub struct SignInOptions {
    /// For the whole sign-in; 5 minutes by default.
    pub timeout: Duration,
    /// What is tried first.
    pub start: SignInStart,
}

/// What a sign-in tries first.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum SignInStart {
    /// A refresh, which spares the browser where it succeeds. The default.
    #[default]
    Refresh,
    /// A sign-in in the browser is needed or wanted.
    Browser,
}

/// A sign-in that succeeded.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SignInResult {
    /// By which way the sign-in came about.
    pub way: SignInWay,
    /// What the token is good for, separated by spaces, where the server said so.
    pub scope: Option<String>,
    /// When it ends, in milliseconds since 1970; `None` where the server did not say.
    pub expires_at_ms: Option<u64>,
}

/// How a sign-in succeeded.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SignInWay {
    /// The stored refresh token was still good.
    Refreshed,
    /// The user signed in on a page of the authorization server.
    Browser,
}

impl Default for SignInOptions {
    fn default() -> Self {
        Self {
            timeout: SIGN_IN_TIMEOUT,
            start: SignInStart::default(),
        }
    }
}

/// Signs in. `challenge` is the refusal that leads to it; without one the server is asked for it.
pub(super) async fn sign_in(
    account: &Account,
    interaction: &dyn Interaction,
    challenge: Option<BearerChallenge>,
    options: SignInOptions,
    cancel: CancellationToken,
) -> Result<SignInResult, Error> {
    let trying = Box::pin(run(account, interaction, challenge, options.start));
    let ended = tokio::select! {
        biased;
        () = cancel.cancelled() => Err(account.error(ErrorKind::Cancelled, "the sign-in was cancelled")),
        ended = tokio::time::timeout(options.timeout, trying) => ended.unwrap_or_else(|_| {
            let seconds = options.timeout.as_secs();
            Err(account.error(
                ErrorKind::Timeout,
                format!("the sign-in was not finished within {seconds} s"),
            ))
        }),
    };
    if let Err(error) = &ended
        && matches!(error.kind(), ErrorKind::Cancelled | ErrorKind::Timeout)
    {
        forget_unused_client(account).await;
    }
    ended
}

async fn run(
    account: &Account,
    interaction: &dyn Interaction,
    challenge: Option<BearerChallenge>,
    start: SignInStart,
) -> Result<SignInResult, Error> {
    if start == SignInStart::Refresh
        && let Some(signed_in) = try_refresh(account).await?
    {
        return Ok(signed_in);
    }
    let challenge = match challenge {
        Some(challenge) => Some(challenge),
        None => probe(account).await,
    };
    let found = discover(account, challenge.as_ref()).await?;
    let attempt = Attempt {
        account,
        interaction,
        found: &found,
        challenge: challenge.as_ref(),
    };
    let tokens = match in_browser(&attempt).await {
        Ok(tokens) => tokens,
        Err(SignInFailure::Other(error)) => return Err(error),
        Err(SignInFailure::StoredClientUnknown(_)) => {
            // The server has forgotten the registration: once more, with a new one.
            account
                .change(|entry| {
                    if let Some(entry) = entry {
                        entry.clear_client();
                    }
                })
                .await?;
            in_browser(&attempt)
                .await
                .map_err(SignInFailure::into_error)?
        }
    };
    Ok(signed_in(SignInWay::Browser, tokens, account.now_ms()))
}

/// Spares the browser where what is stored is still good for new tokens and nothing more is wanted.
async fn try_refresh(account: &Account) -> Result<Option<SignInResult>, Error> {
    let Some(entry) = account.read().await? else {
        return Ok(None);
    };
    let (Some(tokens), None) = (entry.tokens, entry.pending_scope) else {
        return Ok(None);
    };
    if tokens.refresh_token.is_none() {
        return Ok(None);
    }
    Ok(match refresh(account, &tokens.access_token).await {
        Refresh::Fresh(tokens) => Some(signed_in(SignInWay::Refreshed, tokens, account.now_ms())),
        Refresh::Impossible | Refresh::Rejected(_) | Refresh::Failed(_) => None,
    })
}

fn signed_in(way: SignInWay, tokens: Tokens, now_ms: u64) -> SignInResult {
    let mut entry = Entry::default();
    entry.set_tokens(tokens, now_ms);
    SignInResult {
        way,
        expires_at_ms: entry.tokens_expire_at,
        scope: entry.tokens.and_then(|tokens| tokens.scope),
    }
}

/// Asks the server for its refusal, which may say where its metadata lie and what it wants. A ping outside of any session
/// changes nothing where it is let through.
async fn probe(account: &Account) -> Option<BearerChallenge> {
    let ping = json!({"jsonrpc": "2.0", "id": 1, "method": "ping"});
    let accept = "application/json, text/event-stream";
    let asking = account
        .fetcher
        .post_json(&account.server.url, &ping, accept);
    // Where it cannot be reached the search for its metadata says so.
    let answer = asking.await.ok()?;
    let is_refusal = matches!(answer.status.as_u16(), 401 | 403);
    let header = answer.challenge().filter(|_| is_refusal)?;
    Some(BearerChallenge::parse(&header))
}

/// A page that says that it does not know the client ends in a sign-in that is given up: the next one registers anew, unless
/// the registration still has tokens.
async fn forget_unused_client(account: &Account) {
    let forgetting = account.change(|entry| {
        if let Some(entry) = entry
            && entry.tokens.is_none()
        {
            Entry::clear_client(entry);
        }
    });
    // Only a convenience: the sign-in has failed already, for a reason that matters more.
    drop(forgetting.await);
}
