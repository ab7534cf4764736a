//! Finding out where to sign in: the resource names its authorization servers, and one of those says what it offers.

use serde_json::Value;
use url::Url;

use super::account::Account;
use super::challenge::BearerChallenge;
use super::fetch::FetchError;
use super::metadata::{
    Discovery, Metadata, ResourceMetadata, authorization_metadata_urls, covers, is_same_issuer,
    origin, resource_metadata_urls,
};
use crate::error::Error;

/// Names of authorization servers that are tried; resources list one or two.
const SERVERS_MAX: usize = 5;

/// What was found, and where nothing was.
pub(super) struct Found {
    pub(super) discovery: Discovery,
    /// URLs without an answer of use, each with why.
    pub(super) tried: Vec<String>,
}

/// What metadata of another issuer mean.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Mismatch {
    /// An attack or a mistake: the search ends.
    Ends,
    /// A server that answers the same below every path: the next place is asked.
    Skips,
}

/// Finds out where to sign in. The error names every URL that was asked.
pub(super) async fn discover(
    account: &Account,
    challenge: Option<&BearerChallenge>,
) -> Result<Found, Error> {
    let mut walk = Walk {
        account,
        tried: Vec::new(),
    };
    let discovery = walk.discover(challenge).await?;
    Ok(Found {
        discovery,
        tried: walk.tried,
    })
}

/// A search that remembers where it has been.
struct Walk<'a> {
    account: &'a Account,
    tried: Vec<String>,
}

impl Walk<'_> {
    async fn discover(&mut self, challenge: Option<&BearerChallenge>) -> Result<Discovery, Error> {
        if let Some(url) = &self.account.server.settings.auth_server_metadata_url {
            return self.by_setting(url).await;
        }
        let server = &self.account.server.url;
        let Some((url, resource)) = self.resource_metadata(challenge).await? else {
            return self.without_resource_metadata().await;
        };
        let mut issuers = resource.authorization_servers.clone();
        if issuers.is_empty() {
            issuers.push(origin(server).into());
        }
        for issuer in issuers.into_iter().take(SERVERS_MAX) {
            if let Some(metadata) = self.authorization_metadata(&issuer, Mismatch::Ends).await? {
                return Ok(Discovery {
                    authorization_server_url: issuer,
                    authorization_server_metadata: Some(metadata),
                    resource_metadata_url: Some(url.into()),
                    resource_metadata: Some(resource),
                    auth_server_metadata_url: None,
                });
            }
        }
        Err(self.failure("no authorization server that it names describes itself"))
    }

    async fn by_setting(&mut self, setting: &str) -> Result<Discovery, Error> {
        let url = self.account.fetcher.allow(setting).map_err(|why| {
            self.account
                .failure(format!("`authServerMetadataUrl` is of no use: {why}"))
        })?;
        let found = self.get(&url).await?.as_ref().and_then(Metadata::from_json);
        let Some(metadata) = found else {
            return Err(self.failure(
                "`authServerMetadataUrl` leads to no metadata of an authorization server",
            ));
        };
        let issuer = metadata.issuer.clone();
        Ok(Discovery {
            authorization_server_url: issuer.unwrap_or_else(|| origin(&url).into()),
            authorization_server_metadata: Some(metadata),
            resource_metadata_url: None,
            resource_metadata: None,
            auth_server_metadata_url: Some(setting.to_owned()),
        })
    }

    /// The resource's metadata: where the refusal says, else at the well-known places.
    async fn resource_metadata(
        &mut self,
        challenge: Option<&BearerChallenge>,
    ) -> Result<Option<(Url, ResourceMetadata)>, Error> {
        let server = &self.account.server.url;
        let mut urls = Vec::new();
        if let Some(named) = challenge.and_then(|challenge| challenge.resource_metadata.as_deref())
        {
            match server.join(named) {
                Ok(url) => urls.push(url),
                Err(_) => self.tried.push("`resource_metadata` (no URL)".to_owned()),
            }
        }
        for url in resource_metadata_urls(server) {
            if !urls.contains(&url) {
                urls.push(url);
            }
        }
        for url in urls {
            let Some(document) = self.get(&url).await? else {
                continue;
            };
            let Some(metadata) = ResourceMetadata::from_json(&document) else {
                self.tried.push(format!("{url} (says nothing of use)"));
                continue;
            };
            if let Some(resource) = &metadata.resource
                && !covers(resource, server)
            {
                return Err(self.account.failure(format!(
                    "the metadata at {url} are about another resource, {resource}, not about {server}"
                )));
            }
            return Ok(Some((url, metadata)));
        }
        Ok(None)
    }

    /// Servers before 2025-06-18 are their own authorization servers, at their root or below their path.
    async fn without_resource_metadata(&mut self) -> Result<Discovery, Error> {
        let server = &self.account.server.url;
        let root = origin(server);
        let mut issuer = server.clone();
        issuer.set_query(None);
        issuer.set_fragment(None);
        let mut candidates = vec![issuer];
        if !candidates.contains(&root) {
            candidates.push(root.clone());
        }
        for candidate in candidates {
            let mismatch = if candidate == root {
                Mismatch::Ends
            } else {
                Mismatch::Skips
            };
            let found = self
                .authorization_metadata(candidate.as_str(), mismatch)
                .await?;
            if let Some(metadata) = found {
                return Ok(Discovery {
                    authorization_server_url: candidate.into(),
                    authorization_server_metadata: Some(metadata),
                    resource_metadata_url: None,
                    resource_metadata: None,
                    auth_server_metadata_url: None,
                });
            }
        }
        Ok(Discovery {
            authorization_server_url: root.into(),
            authorization_server_metadata: None,
            resource_metadata_url: None,
            resource_metadata: None,
            auth_server_metadata_url: None,
        })
    }

    /// What an issuer says about itself.
    async fn authorization_metadata(
        &mut self,
        issuer: &str,
        mismatch: Mismatch,
    ) -> Result<Option<Metadata>, Error> {
        let Ok(issuer_url) = Url::parse(issuer) else {
            self.tried.push(format!("{issuer} (no URL)"));
            return Ok(None);
        };
        for url in authorization_metadata_urls(&issuer_url) {
            let Some(document) = self.get(&url).await? else {
                continue;
            };
            let Some(metadata) = Metadata::from_json(&document) else {
                self.tried.push(format!("{url} (says nothing of use)"));
                continue;
            };
            let claimed = metadata.issuer.as_deref();
            if claimed.is_some_and(|claimed| is_same_issuer(claimed, issuer)) {
                return Ok(Some(metadata));
            }
            match mismatch {
                Mismatch::Ends => return Err(self.mismatch(&url, claimed, issuer)),
                Mismatch::Skips => self.tried.push(format!("{url} (of another issuer)")),
            }
        }
        Ok(None)
    }

    /// A document; `None` where there is none at this URL. A server in trouble ends the search: what it would have said
    /// decides.
    async fn get(&mut self, url: &Url) -> Result<Option<Value>, Error> {
        let answer = match self.account.fetcher.get(url).await {
            Ok(answer) => answer,
            Err(FetchError::Refused(why)) => {
                self.tried.push(format!("{url} (not asked: {why})"));
                return Ok(None);
            }
            Err(FetchError::Failed(why)) => {
                self.tried.push(format!("{url} ({why})"));
                return Err(self.failure("it could not be found out where to sign in"));
            }
        };
        let status = answer.status.as_u16();
        // 502 is what gateways answer for a path that nobody serves.
        if answer.status.is_server_error() && status != 502 {
            self.tried.push(format!("{url} (status {status})"));
            return Err(self.failure("it could not be found out where to sign in"));
        }
        if !answer.status.is_success() {
            self.tried.push(format!("{url} (status {status})"));
            return Ok(None);
        }
        let document = answer.json().filter(Value::is_object);
        if document.is_none() {
            self.tried.push(format!("{url} (no JSON)"));
        }
        Ok(document)
    }

    fn mismatch(&self, url: &Url, claimed: Option<&str>, expected: &str) -> Error {
        let claimed = claimed.map_or_else(
            || "name no issuer".to_owned(),
            |claimed| format!("are of another issuer, {claimed}"),
        );
        self.account
            .failure(format!(
                "the metadata at {url} {claimed}; expected {expected}"
            ))
            .with_hint(
                "if you trust them, name their URL in the server's `oauth` settings as \
                 `authServerMetadataUrl`",
            )
    }

    fn failure(&self, what: &str) -> Error {
        let tried = self.tried.join(", ");
        self.account.failure(format!("{what}; asked: {tried}"))
    }
}
