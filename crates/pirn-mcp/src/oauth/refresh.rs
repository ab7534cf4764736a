//! Replacing a token without a person.
//!
//! A server may replace the refresh token with every use, so that a second use of the old one ends the sign-in. Hence one
//! refresh per server at a time on a machine, under a lock; whoever comes later takes the token of whoever came first. A
//! refresh that has begun runs to its end and stores what it got, even when nobody waits for it any more.

use std::time::{Duration, Instant};

use pirn_file::FileLock;

use super::account::Account;
use super::client;
use super::discovery::discover;
use super::metadata::{Discovery, is_same_issuer};
use super::store::{Entry, Tokens};
use super::token::{self, Client, TokenFailure};
use crate::error::Error;
use crate::secret::Secret;

/// Longer than a refresh takes, with the search for where to refresh.
const LOCK_TIMEOUT: Duration = Duration::from_secs(25);
/// How often the lock is tried; a refresh takes some hundred milliseconds.
const LOCK_POLL: Duration = Duration::from_millis(100);

/// How a refresh ended.
#[derive(Debug)]
pub(super) enum Refresh {
    /// There is a newer token, of this or another process. It is stored.
    Fresh(Tokens),
    /// There is nothing to refresh with.
    Impossible,
    /// The server takes the refresh token no more; it is forgotten. Why.
    Rejected(String),
    /// It did not work now; what is stored stays.
    Failed(Error),
}

/// Replaces the token `stale`, unless that has happened already.
pub(super) async fn refresh(account: &Account, stale: &Secret) -> Refresh {
    if account.shared.closing.is_cancelled() {
        return Refresh::Failed(closing(account));
    }
    let (owned, stale) = (account.clone(), stale.clone());
    let task = account
        .shared
        .refreshes
        .spawn(async move { run(&owned, &stale).await.unwrap_or_else(Refresh::Failed) });
    task.await.unwrap_or_else(|error| {
        Refresh::Failed(account.failure("the refresh ended early").because(error))
    })
}

async fn run(account: &Account, stale: &Secret) -> Result<Refresh, Error> {
    let _lock = lock(account).await?;
    let Some(entry) = account.read().await? else {
        return Ok(Refresh::Impossible);
    };
    let Some(tokens) = entry.tokens.clone() else {
        return Ok(Refresh::Impossible);
    };
    if tokens.access_token != *stale {
        return Ok(Refresh::Fresh(tokens));
    }
    let (Some(refresh_token), Some(information)) =
        (tokens.refresh_token.clone(), client::known(account, &entry))
    else {
        return Ok(Refresh::Impossible);
    };
    let discovery = discovery(account, &entry).await?;
    if !is_theirs(&entry, &discovery) {
        // The resource has moved to another authorization server, whom these credentials are none of the business of.
        return Ok(Refresh::Impossible);
    }
    let metadata = discovery.authorization_server_metadata.as_ref();
    let client = Client::new(&information, metadata);
    let resource = discovery.resource(&account.server.url);
    let form = [
        ("grant_type", "refresh_token"),
        ("refresh_token", refresh_token.expose()),
        ("resource", resource.as_str()),
    ];
    match token::request(account, &discovery, &client, &form, &[&refresh_token]).await {
        Ok(new) => keep(account, tokens, new).await.map(Refresh::Fresh),
        Err(failure) => failed(account, refresh_token, failure).await,
    }
}

/// Whether stored credentials are good for this authorization server.
pub(super) fn is_theirs(entry: &Entry, discovery: &Discovery) -> bool {
    entry
        .issuer()
        .is_none_or(|issuer| is_same_issuer(&issuer, discovery.issuer()))
}

async fn lock(account: &Account) -> Result<FileLock, Error> {
    let store = account.store();
    let path = store
        .refresh_lock(&account.key)
        .await
        .map_err(|error| account.store_error(&error))?;
    let start = Instant::now();
    loop {
        let lock = FileLock::try_acquire(&path).map_err(|error| {
            let path = path.display();
            account.failure(format!("{path} cannot be locked: {error}"))
        })?;
        if let Some(lock) = lock {
            return Ok(lock);
        }
        if start.elapsed() >= LOCK_TIMEOUT {
            let seconds = LOCK_TIMEOUT.as_secs();
            return Err(account.failure(format!(
                "another process has been refreshing the token for more than {seconds} s"
            )));
        }
        tokio::select! {
            () = account.shared.closing.cancelled() => return Err(closing(account)),
            () = tokio::time::sleep(LOCK_POLL) => {}
        }
    }
}

/// What is known, else what can be found out, which is then known.
async fn discovery(account: &Account, entry: &Entry) -> Result<Discovery, Error> {
    if let Some(discovery) = account.known_discovery(entry) {
        return Ok(discovery);
    }
    let discovery = discover(account, None).await?.discovery;
    let found = discovery.clone();
    account
        .change(move |entry| {
            if let Some(entry) = entry {
                entry.set_discovery(&found);
            }
        })
        .await?;
    Ok(discovery)
}

/// Stores new tokens before anybody uses them. Where a sign-in or a sign-out came in between, that counts.
async fn keep(account: &Account, old: Tokens, mut new: Tokens) -> Result<Tokens, Error> {
    new.refresh_token = new.refresh_token.or_else(|| old.refresh_token.clone());
    new.scope = new.scope.or_else(|| old.scope.clone());
    let now_ms = account.now_ms();
    let kept = account
        .change(move |entry| {
            let entry = entry.as_mut()?;
            if entry.tokens.as_ref()?.refresh_token == old.refresh_token {
                entry.set_tokens(new, now_ms);
            }
            entry.tokens.clone()
        })
        .await?;
    kept.ok_or_else(|| account.needs_sign_in("it was signed out from meanwhile"))
}

async fn failed(account: &Account, used: Secret, failure: TokenFailure) -> Result<Refresh, Error> {
    let (code, text, is_moved) = match failure {
        TokenFailure::Refused { code, text } => (Some(code), text, false),
        TokenFailure::Unclear { text, is_moved } => (None, text, is_moved),
    };
    let forget: fn(&mut Entry) = match code.as_deref() {
        Some("invalid_grant") => Entry::clear_tokens,
        Some("invalid_client" | "unauthorized_client") => |entry| {
            entry.clear_client();
            entry.forget_discovery();
        },
        Some(_) | None if is_moved => Entry::forget_discovery,
        Some(_) | None => |_| {},
    };
    account
        .change(move |entry| {
            if let Some(entry) = entry
                && entry
                    .tokens
                    .as_ref()
                    .is_some_and(|tokens| tokens.refresh_token.as_ref() == Some(&used))
            {
                forget(entry);
            }
        })
        .await?;
    let is_over = matches!(
        code.as_deref(),
        Some("invalid_grant" | "invalid_client" | "unauthorized_client")
    );
    if is_over {
        return Ok(Refresh::Rejected(text));
    }
    let error = account
        .failure(format!("the token could not be refreshed: {text}"))
        .with_hint(format!(
            "what is stored is kept; if this goes on, sign in again with: {}",
            account.login_command()
        ));
    Ok(Refresh::Failed(error))
}

fn closing(account: &Account) -> Error {
    account.error(
        crate::error::ErrorKind::Cancelled,
        "no refresh, because Pirn is closing",
    )
}
