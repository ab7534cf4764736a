//! One server's credentials, with everything needed to use them.

use std::sync::Arc;

use super::fetch::Fetcher;
use super::guard::Guard;
use super::metadata::Discovery;
use super::store::{Entry, Key, Store, StoreError};
use super::{OAuthServer, Shared};
use crate::error::{Error, ErrorKind};

/// One server's credentials. Cheap to clone.
#[derive(Clone)]
pub(super) struct Account {
    pub(super) shared: Arc<Shared>,
    pub(super) server: Arc<OAuthServer>,
    pub(super) fetcher: Fetcher,
    pub(super) key: Key,
}

impl Account {
    pub(super) fn new(shared: Arc<Shared>, server: OAuthServer) -> Self {
        let guard = Guard::new(&server.url, server.settings.allow_private);
        Self {
            fetcher: Fetcher::new(shared.options.http.clone(), guard),
            key: Key::new(&server.name, server.url.as_str()),
            server: Arc::new(server),
            shared,
        }
    }

    pub(super) fn store(&self) -> Store {
        Store::new(self.shared.options.store.clone())
    }

    pub(super) fn now_ms(&self) -> u64 {
        self.shared.options.clock.now_ms()
    }

    pub(super) async fn read(&self) -> Result<Option<Entry>, Error> {
        self.store()
            .read(&self.key)
            .await
            .map_err(|error| self.store_error(&error))
    }

    /// Changes what is stored.
    pub(super) async fn change<R: Send + 'static>(
        &self,
        change: impl FnOnce(&mut Option<Entry>) -> R + Send + 'static,
    ) -> Result<R, Error> {
        self.store()
            .change(&self.key, change)
            .await
            .map_err(|error| self.store_error(&error))
    }

    /// What was found out about the server, as far as the settings still agree.
    pub(super) fn known_discovery(&self, entry: &Entry) -> Option<Discovery> {
        entry.discovery().filter(|discovery| {
            discovery.auth_server_metadata_url == self.server.settings.auth_server_metadata_url
        })
    }

    pub(super) fn error(&self, kind: ErrorKind, message: impl Into<String>) -> Error {
        Error::new(kind, &self.server.name, message)
    }

    /// Signing in or refreshing failed.
    pub(super) fn failure(&self, message: impl Into<String>) -> Error {
        self.error(ErrorKind::Authorization, message)
    }

    /// Only a person can help.
    pub(super) fn needs_sign_in(&self, message: impl Into<String>) -> Error {
        self.error(ErrorKind::NeedsAuthorization, message)
            .with_hint(format!("sign in with: {}", self.login_command()))
    }

    pub(super) fn login_command(&self) -> String {
        format!("{} {}", self.shared.options.login_command, self.server.name)
    }

    pub(super) fn store_error(&self, error: &StoreError) -> Error {
        self.failure(error.to_string())
            .with_hint("repair the file, or remove it and sign in again")
    }
}
