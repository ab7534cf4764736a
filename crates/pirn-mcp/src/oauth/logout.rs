//! Signing out: tokens are revoked where possible, and deleted.

use std::time::Duration;

use super::account::Account;
use super::client;
use super::metadata::Endpoint;
use super::store::Entry;
use super::token::{Client, refusal};
use crate::error::Error;
use crate::secret::Secret;

/// For telling the server; a sign-out must not hang because a server is gone.
const REVOCATION_TIMEOUT: Duration = Duration::from_secs(5);

/// What a sign-out did.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SignOutResult {
    /// Whether a token was stored, which is gone now.
    pub had_credentials: bool,
    /// Whether the server knows.
    pub revocation: Revocation,
}

/// Whether the authorization server was told that tokens are no longer good.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Revocation {
    /// There was nothing to revoke, or the server offers no way.
    NotOffered,
    /// The authorization server has taken the token back.
    Done,
    /// It could not be told: why. The tokens stay good until they expire.
    Failed(String),
}

pub(super) async fn sign_out(account: &Account) -> Result<SignOutResult, Error> {
    let entry = account.read().await?;
    let had_credentials = entry.as_ref().is_some_and(|entry| entry.tokens.is_some());
    let revocation = match &entry {
        None => Revocation::NotOffered,
        Some(entry) => tokio::time::timeout(REVOCATION_TIMEOUT, revoke(account, entry))
            .await
            .unwrap_or_else(|_| {
                let seconds = REVOCATION_TIMEOUT.as_secs();
                Revocation::Failed(format!("no answer within {seconds} s"))
            }),
    };
    account.change(|entry| *entry = None).await?;
    Ok(SignOutResult {
        had_credentials,
        revocation,
    })
}

/// RFC 7009. The refresh token first: many servers end its access tokens with it.
async fn revoke(account: &Account, entry: &Entry) -> Revocation {
    let endpoint = account
        .known_discovery(entry)
        .and_then(|discovery| Some((discovery.endpoint(Endpoint::Revocation)?, discovery)));
    let (Some((endpoint, discovery)), Some(tokens), Some(information)) = (
        endpoint,
        entry.tokens.as_ref(),
        client::known(account, entry),
    ) else {
        return Revocation::NotOffered;
    };
    let url = match account.fetcher.allow(&endpoint) {
        Ok(url) => url,
        Err(why) => return Revocation::Failed(format!("{endpoint} must not be asked: {why}")),
    };
    let client = Client::new(
        &information,
        discovery.authorization_server_metadata.as_ref(),
    );
    let refresh_token = tokens.refresh_token.as_ref();
    let all = refresh_token
        .map(|token| ("refresh_token", token))
        .into_iter()
        .chain([("access_token", &tokens.access_token)]);
    for (kind, token) in all {
        let form = [("token", token.expose()), ("token_type_hint", kind)];
        let answer = match client.post(&account.fetcher, &url, &form).await {
            Ok(answer) => answer,
            Err(why) => return Revocation::Failed(format!("{url}: {why}")),
        };
        if answer.status.is_success() {
            continue;
        }
        let secrets: Vec<&Secret> = client.secret().into_iter().chain([token]).collect();
        let refusal = answer.json().and_then(|body| refusal(&body, &secrets));
        let status = answer.status.as_u16();
        match refusal {
            // Access tokens of such servers end with their refresh token or by themselves.
            Some((code, _)) if code == "unsupported_token_type" && refresh_token.is_some() => {}
            Some((_, text)) => return Revocation::Failed(format!("{url}: {text}")),
            None => return Revocation::Failed(format!("{url}: status {status}")),
        }
    }
    Revocation::Done
}
