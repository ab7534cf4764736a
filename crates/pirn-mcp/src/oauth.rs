//! Signing in to HTTP servers: OAuth 2.1.
//!
//! [`OAuth`] is there once per process. It makes an [`OAuthAuthorizer`] per connection, which sends and refreshes tokens but
//! never opens a browser, and signs in and out for people. Credentials lie in one file that all processes share.

use std::fmt;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;
use url::Url;

use crate::config::OAuthSettings;
use crate::error::Error;

use account::Account;

mod account;
mod authorizer;
mod browser;
mod callback;
mod challenge;
mod client;
mod discovery;
mod fetch;
mod guard;
mod interaction;
mod listener;
mod login;
mod logout;
mod metadata;
mod random;
mod redirect;
mod refresh;
mod scope;
mod status;
mod store;
mod token;

pub use authorizer::OAuthAuthorizer;
pub use interaction::Interaction;
pub use login::{SignInOptions, SignInResult, SignInStart, SignInWay};
pub use logout::{Revocation, SignOutResult};
pub use status::CredentialStatus;

/// For refreshes in flight when everything ends: as long as their last request may take.
const CLOSE_TIMEOUT: Duration = Duration::from_secs(15);

/// What [`OAuth`] is made with.
#[derive(Clone)]
pub struct OAuthOptions {
    /// The file of credentials, `mcp-auth.json`; it and its folder are created when there is something to keep.
    pub store: PathBuf,
    /// The HTTP client. It must not follow redirects by itself (`redirect::Policy::none()`): a redirect would carry secrets
    /// to hosts that were not checked.
    pub http: reqwest::Client,
    /// How this client calls itself where a server's settings say nothing: `Pirn`.
    pub client_name: String,
    /// The command that signs in, without the server's name, for hints: `pirn mcp login`.
    pub login_command: String,
    /// What time it is.
    pub clock: Clock,
}

/// Tells the time in milliseconds since 1970.
#[derive(Clone)]
pub struct Clock(Arc<dyn Fn() -> u64 + Send + Sync>);

/// One HTTP server to sign in to.
#[derive(Debug, Clone, PartialEq)]
pub struct OAuthServer {
    /// Its name in the configuration.
    pub name: String,
    /// The address of the server, which is also its resource identifier.
    pub url: Url,
    /// How to sign in.
    pub settings: OAuthSettings,
}

/// Signing in, for all servers of a process.
#[derive(Clone)]
pub struct OAuth {
    shared: Arc<Shared>,
}

struct Shared {
    options: OAuthOptions,
    /// Refreshes in flight: they run to their end even when the call that wanted them is gone, because the server may have
    /// replaced the refresh token already.
    refreshes: TaskTracker,
    closing: CancellationToken,
}

impl OAuth {
    /// Touches neither the file nor the network.
    pub fn new(options: OAuthOptions) -> Self {
        Self {
            shared: Arc::new(Shared {
                options,
                refreshes: TaskTracker::new(),
                closing: CancellationToken::new(),
            }),
        }
    }

    /// Who has the tokens of a connection. Where only a person can help, it fails with
    /// [`NeedsAuthorization`](crate::ErrorKind::NeedsAuthorization).
    pub fn authorizer(&self, server: OAuthServer) -> OAuthAuthorizer {
        OAuthAuthorizer::new(self.account(server), None)
    }

    /// Like [`authorizer`](Self::authorizer), but signs in at once where that is needed, at most three times in ten minutes.
    /// For front ends whose user waits for exactly this.
    pub fn interactive_authorizer(
        &self,
        server: OAuthServer,
        interaction: Arc<dyn Interaction>,
    ) -> OAuthAuthorizer {
        OAuthAuthorizer::new(self.account(server), Some(interaction))
    }

    /// Signs in. Ends with [`Cancelled`](crate::ErrorKind::Cancelled) when `cancel` is, with
    /// [`Timeout`](crate::ErrorKind::Timeout) when the limit passes, and else with
    /// [`Authorization`](crate::ErrorKind::Authorization) where it does not succeed.
    pub async fn login(
        &self,
        server: &OAuthServer,
        interaction: &dyn Interaction,
        options: SignInOptions,
        cancel: CancellationToken,
    ) -> Result<SignInResult, Error> {
        let account = self.account(server.clone());
        login::sign_in(&account, interaction, None, options, cancel).await
    }

    /// Revokes the tokens where the server offers that, and forgets everything about the server. Fails only where the file
    /// cannot be changed.
    pub async fn logout(&self, server: &OAuthServer) -> Result<SignOutResult, Error> {
        logout::sign_out(&self.account(server.clone())).await
    }

    /// What is stored for a server, without secrets and without asking anybody.
    pub async fn status(&self, server: &OAuthServer) -> Result<CredentialStatus, Error> {
        status::read(&self.account(server.clone())).await
    }

    /// Waits until refreshes in flight have stored their tokens, at most 15 s. Nothing is refreshed after that.
    pub async fn close(&self) {
        self.shared.closing.cancel();
        self.shared.refreshes.close();
        // One that takes longer ends with its runtime, and its answer is lost.
        drop(tokio::time::timeout(CLOSE_TIMEOUT, self.shared.refreshes.wait()).await);
    }

    fn account(&self, server: OAuthServer) -> Account {
        Account::new(Arc::clone(&self.shared), server)
    }
}

impl Clock {
    /// The clock of the operating system.
    pub fn system() -> Self {
        Self::from_fn(|| {
            SystemTime::now()
                .duration_since(UNIX_EPOCH)
                .map_or(0, |since| {
                    u64::try_from(since.as_millis()).unwrap_or(u64::MAX)
                })
        })
    }

    /// A clock of one's own.
    pub fn from_fn(now_ms: impl Fn() -> u64 + Send + Sync + 'static) -> Self {
        Self(Arc::new(now_ms))
    }

    fn now_ms(&self) -> u64 {
        (self.0)()
    }
}

impl fmt::Debug for Clock {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("Clock")
    }
}

impl fmt::Debug for OAuthOptions {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter
            .debug_struct("OAuthOptions")
            .field("store", &self.store)
            .finish_non_exhaustive()
    }
}

impl fmt::Debug for OAuth {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter
            .debug_struct("OAuth")
            .field("store", &self.shared.options.store)
            .finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests;
