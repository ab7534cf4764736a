//! The tokens of one connection.

use std::fmt;
use std::sync::{Arc, Mutex, PoisonError};

use futures_util::future::BoxFuture;

use super::Interaction;
use super::account::Account;
use super::challenge::BearerChallenge;
use super::login::{SignInOptions, SignInStart, sign_in};
use super::refresh::{Refresh, refresh};
use super::scope;
use super::store::{Entry, Stamp};
use crate::authorization::{Authorizer, Challenge, Next};
use crate::error::Error;
use crate::secret::Secret;

/// A token is replaced this long before it ends, so that it does not end on its way; with short lives at half of it.
const EARLY_MS: u64 = 30_000;
/// After a refresh that failed, a token that is still good is used for this long without trying again.
const EARLY_RETRY_MS: u64 = 10_000;
/// A token that is refused so soon after it was given is not replaced once more.
const FRESH_MS: u64 = 10_000;
/// Sign-ins that are tried in [`SIGN_IN_WINDOW_MS`]; a server that is not content then never is.
const SIGN_INS_MAX: usize = 3;
const SIGN_IN_WINDOW_MS: u64 = 600_000;

/// Supplies the stored token of one server and refreshes it. Reads the file again whenever it changed, so that a sign-in of
/// another process is noticed with the next request.
pub struct OAuthAuthorizer {
    account: Account,
    interaction: Option<Arc<dyn Interaction>>,
    /// What the file said when it was as stamped.
    seen: Mutex<Option<(Stamp, Option<Entry>)>>,
    /// One refresh or sign-in at a time, whatever requests run beside each other.
    turn: tokio::sync::Mutex<Turn>,
}

/// What refreshes and sign-ins before this one did.
#[derive(Default)]
struct Turn {
    /// The token of the last refresh, and when.
    refreshed: Option<(Secret, u64)>,
    /// When a refresh failed last.
    failed_at_ms: Option<u64>,
    sign_ins_at_ms: Vec<u64>,
}

impl OAuthAuthorizer {
    pub(super) fn new(account: Account, interaction: Option<Arc<dyn Interaction>>) -> Self {
        Self {
            account,
            interaction,
            seen: Mutex::new(None),
            turn: tokio::sync::Mutex::new(Turn::default()),
        }
    }

    /// What is stored, read only when the file changed.
    async fn entry(&self) -> Result<Option<Entry>, Error> {
        let stamp = self.account.store().stamp().await;
        {
            let seen = self.seen.lock().unwrap_or_else(PoisonError::into_inner);
            if let (Some(stamp), Some((seen_stamp, entry))) = (&stamp, &*seen)
                && stamp == seen_stamp
            {
                return Ok(entry.clone());
            }
        }
        let entry = self.account.read().await?;
        // The stamp is older than what was read: a change in between is noticed next time.
        let seen = stamp.map(|stamp| (stamp, entry.clone()));
        *self.seen.lock().unwrap_or_else(PoisonError::into_inner) = seen;
        Ok(entry)
    }

    async fn current(&self) -> Result<Option<Secret>, Error> {
        let Some(token) = self.good_or_due().await? else {
            return Ok(None);
        };
        let Token::Due(_) = token else {
            return Ok(Some(token.into_secret()));
        };
        let mut turn = self.turn.lock().await;
        // Another request may have done it while this one waited.
        let stale = match self.good_or_due().await? {
            Some(Token::Due(stale)) => stale,
            other => return Ok(other.map(Token::into_secret)),
        };
        let now_ms = self.account.now_ms();
        let is_valid = self.is_valid().await?;
        let failed_lately = turn
            .failed_at_ms
            .is_some_and(|failed| now_ms.saturating_sub(failed) < EARLY_RETRY_MS);
        if is_valid && failed_lately {
            return Ok(Some(stale));
        }
        match refresh(&self.account, &stale).await {
            Refresh::Fresh(tokens) => {
                turn.refreshed = Some((tokens.access_token.clone(), self.account.now_ms()));
                Ok(Some(tokens.access_token))
            }
            // The clock may be wrong: the server decides.
            Refresh::Impossible => Ok(Some(stale)),
            Refresh::Rejected(_) => Ok(is_valid.then_some(stale)),
            Refresh::Failed(error) => {
                turn.failed_at_ms = Some(now_ms);
                if is_valid {
                    Ok(Some(stale))
                } else {
                    Err(error)
                }
            }
        }
    }

    async fn good_or_due(&self) -> Result<Option<Token>, Error> {
        let Some(entry) = self.entry().await? else {
            return Ok(None);
        };
        let Some(tokens) = entry.tokens else {
            return Ok(None);
        };
        let early_ms = tokens.expires_in.map_or(EARLY_MS, |seconds| {
            EARLY_MS.min(seconds.saturating_mul(500))
        });
        let is_due = entry
            .tokens_expire_at
            .is_some_and(|end| end.saturating_sub(early_ms) <= self.account.now_ms());
        let token = tokens.access_token;
        Ok(Some(if is_due {
            Token::Due(token)
        } else {
            Token::Good(token)
        }))
    }

    async fn is_valid(&self) -> Result<bool, Error> {
        let entry = self.entry().await?;
        let end = entry.and_then(|entry| entry.tokens_expire_at);
        Ok(end.is_none_or(|end| end > self.account.now_ms()))
    }

    async fn answer(&self, challenge: Challenge) -> Result<Next, Error> {
        let header = challenge.www_authenticate.as_deref().unwrap_or_default();
        let bearer = BearerChallenge::parse(header);
        let lacks_scope = bearer.is_insufficient_scope();
        if challenge.status != 401 && !(challenge.status == 403 && lacks_scope) {
            return Ok(Next::GiveUp);
        }
        let mut turn = self.turn.lock().await;
        let stored = self.entry().await?.and_then(|entry| entry.tokens);
        let stored = stored.map(|tokens| tokens.access_token);
        if stored.is_some() && stored != challenge.token {
            // Another request or another process was faster.
            return Ok(Next::Retry);
        }
        let why = if lacks_scope {
            self.note_scope(&bearer).await?
        } else {
            match self.refresh_refused(&mut turn, stored).await? {
                None => return Ok(Next::Retry),
                Some(why) => why,
            }
        };
        match &self.interaction {
            None => Err(self.account.needs_sign_in(why)),
            Some(interaction) => self.sign_in(&mut turn, interaction.as_ref(), bearer).await,
        }
    }

    /// Replaces a token that was refused. `None` where that worked, else why only a person can help.
    async fn refresh_refused(
        &self,
        turn: &mut Turn,
        refused: Option<Secret>,
    ) -> Result<Option<String>, Error> {
        let Some(refused) = refused else {
            return Ok(Some("it wants you to sign in".to_owned()));
        };
        let now_ms = self.account.now_ms();
        let is_fresh = turn.refreshed.as_ref().is_some_and(|(token, at_ms)| {
            *token == refused && now_ms.saturating_sub(*at_ms) < FRESH_MS
        });
        if is_fresh {
            return Ok(Some(
                "it refuses a token that was just refreshed".to_owned(),
            ));
        }
        match refresh(&self.account, &refused).await {
            Refresh::Fresh(tokens) => {
                turn.refreshed = Some((tokens.access_token, now_ms));
                Ok(None)
            }
            Refresh::Impossible => Ok(Some(
                "it refuses the stored token, which cannot be refreshed".to_owned(),
            )),
            Refresh::Rejected(why) => Ok(Some(format!("the sign-in is no longer valid ({why})"))),
            Refresh::Failed(error) => Err(error),
        }
    }

    /// Notes what the next sign-in has to ask for: what the token is good for, and what it lacks.
    async fn note_scope(&self, bearer: &BearerChallenge) -> Result<String, Error> {
        let challenged = bearer.scope.clone();
        let wanted = self
            .account
            .change(move |entry| {
                let granted = entry
                    .as_ref()
                    .and_then(|entry| entry.tokens.as_ref()?.scope.clone());
                let wanted = scope::union(granted.as_deref(), challenged.as_deref());
                if wanted.is_some() {
                    entry
                        .get_or_insert_default()
                        .pending_scope
                        .clone_from(&wanted);
                }
                wanted
            })
            .await?;
        Ok(match wanted {
            Some(wanted) => format!("it wants a sign-in with more permissions ({wanted})"),
            None => "it wants a sign-in with more permissions".to_owned(),
        })
    }

    async fn sign_in(
        &self,
        turn: &mut Turn,
        interaction: &dyn Interaction,
        bearer: BearerChallenge,
    ) -> Result<Next, Error> {
        let now_ms = self.account.now_ms();
        turn.sign_ins_at_ms
            .retain(|at_ms| now_ms.saturating_sub(*at_ms) < SIGN_IN_WINDOW_MS);
        if turn.sign_ins_at_ms.len() >= SIGN_INS_MAX {
            return Err(self.account.needs_sign_in(format!(
                "it is not content with {SIGN_INS_MAX} sign-ins one after the other"
            )));
        }
        turn.sign_ins_at_ms.push(now_ms);
        let options = SignInOptions {
            start: SignInStart::Browser,
            ..SignInOptions::default()
        };
        let cancel = self.account.shared.closing.child_token();
        sign_in(&self.account, interaction, Some(bearer), options, cancel).await?;
        Ok(Next::Retry)
    }
}

enum Token {
    Good(Secret),
    /// It has ended, or is about to.
    Due(Secret),
}

impl Token {
    fn into_secret(self) -> Secret {
        match self {
            Self::Good(secret) | Self::Due(secret) => secret,
        }
    }
}

impl Authorizer for OAuthAuthorizer {
    fn token(&self) -> BoxFuture<'_, Result<Option<Secret>, Error>> {
        Box::pin(self.current())
    }

    fn challenged(&self, challenge: Challenge) -> BoxFuture<'_, Result<Next, Error>> {
        Box::pin(self.answer(challenge))
    }
}

impl fmt::Debug for OAuthAuthorizer {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter
            .debug_struct("OAuthAuthorizer")
            .field("server", &self.account.server.name)
            .finish_non_exhaustive()
    }
}
