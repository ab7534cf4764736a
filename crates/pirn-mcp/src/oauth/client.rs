//! Who this program is to an authorization server: a client registered beforehand, a document, or one registered now.

use serde_json::json;

use super::account::Account;
use super::discovery::Found;
use super::metadata::{Discovery, Endpoint};
use super::store::{ClientInformation, Entry};
use super::token::{AuthMethod, refusal};
use crate::config::ClientRegistration;
use crate::error::{Error, ErrorKind};

/// A client for a sign-in.
#[derive(Debug, Clone)]
pub(super) struct Chosen {
    pub(super) information: ClientInformation,
    pub(super) origin: Origin,
}

/// How a client came to be known.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Origin {
    /// The settings name it.
    Configured,
    /// A sign-in before this one registered it.
    Stored,
    /// It is a document.
    Document,
    Registered,
}

/// The client that stored tokens belong to.
pub(super) fn known(account: &Account, entry: &Entry) -> Option<ClientInformation> {
    configured(account).or_else(|| entry.client_information.clone())
}

/// Chooses the client of a sign-in, and registers one where there is none.
pub(super) async fn choose(
    account: &Account,
    stored: Option<&ClientInformation>,
    found: &Found,
    redirect_url: &str,
    scope: Option<&str>,
) -> Result<Chosen, Error> {
    let chosen = |information, origin| {
        Ok(Chosen {
            information,
            origin,
        })
    };
    if let Some(information) = configured(account) {
        return chosen(information, Origin::Configured);
    }
    let stored = stored.filter(|client| is_usable(account, client, redirect_url));
    if let Some(information) = stored {
        return chosen(information.clone(), Origin::Stored);
    }
    if let Some(information) = document(account, &found.discovery, redirect_url)? {
        return chosen(information, Origin::Document);
    }
    let information = register(account, found, redirect_url, scope).await?;
    chosen(information, Origin::Registered)
}

fn configured(account: &Account) -> Option<ClientInformation> {
    let settings = &account.server.settings;
    Some(ClientInformation::new(
        settings.client_id.clone()?,
        settings.client_secret.clone(),
    ))
}

/// Whether a client of a sign-in before can be used again.
fn is_usable(account: &Account, client: &ClientInformation, redirect_url: &str) -> bool {
    let settings = &account.server.settings;
    let redirects_here = client
        .redirect_uris
        .as_ref()
        .is_none_or(|urls| urls.iter().any(|url| url == redirect_url));
    let is_document = client.client_id.starts_with("https://");
    let is_wanted = match settings.client_registration {
        ClientRegistration::Auto => {
            !is_document || settings.client_metadata_url.as_ref() == Some(&client.client_id)
        }
        ClientRegistration::Dynamic => !is_document,
        ClientRegistration::MetadataDocument => {
            settings.client_metadata_url.as_ref() == Some(&client.client_id)
        }
    };
    let expires_at = client.client_secret_expires_at.unwrap_or(0);
    let has_expired = expires_at != 0 && expires_at.saturating_mul(1000) <= account.now_ms();
    redirects_here && is_wanted && !has_expired
}

/// A client-id metadata document, where one is set and the server reads such documents.
fn document(
    account: &Account,
    discovery: &Discovery,
    redirect_url: &str,
) -> Result<Option<ClientInformation>, Error> {
    let settings = &account.server.settings;
    let is_required = match settings.client_registration {
        ClientRegistration::Dynamic => return Ok(None),
        ClientRegistration::Auto => false,
        ClientRegistration::MetadataDocument => true,
    };
    let metadata = discovery.authorization_server_metadata.as_ref();
    let is_read = metadata.is_some_and(|metadata| metadata.client_id_metadata_document_supported);
    match &settings.client_metadata_url {
        Some(url) if is_read => {
            let mut information = ClientInformation::new(url.clone(), None);
            information.redirect_uris = Some(vec![redirect_url.to_owned()]);
            information.token_endpoint_auth_method = Some(AuthMethod::None.name().to_owned());
            Ok(Some(information))
        }
        Some(_) if is_required => Err(account.failure(format!(
            "the authorization server {} reads no client metadata documents, and the settings \
             allow nothing else",
            discovery.issuer()
        ))),
        None if is_required => Err(account.error(
            ErrorKind::Config,
            "`clientRegistration` asks for a metadata document, but `clientMetadataUrl` is not set",
        )),
        Some(_) | None => Ok(None),
    }
}

/// Registers a client (RFC 7591).
async fn register(
    account: &Account,
    found: &Found,
    redirect_url: &str,
    scope: Option<&str>,
) -> Result<ClientInformation, Error> {
    let discovery = &found.discovery;
    let Some(endpoint) = discovery.endpoint(Endpoint::Registration) else {
        return Err(no_registration(account, discovery));
    };
    let url = account.fetcher.allow(&endpoint).map_err(|why| {
        account.failure(format!(
            "the registration endpoint {endpoint} must not be asked: {why}"
        ))
    })?;
    let settings = &account.server.settings;
    let options = &account.shared.options;
    let metadata = discovery.authorization_server_metadata.as_ref();
    let method = AuthMethod::to_register(metadata);
    let mut request = json!({
        "client_name": settings.client_name.as_ref().unwrap_or(&options.client_name),
        "redirect_uris": [redirect_url],
        "grant_types": ["authorization_code", "refresh_token"],
        "response_types": ["code"],
        "token_endpoint_auth_method": method.name(),
        "application_type": "native",
    });
    if let (Some(scope), Some(fields)) = (scope, request.as_object_mut()) {
        fields.insert("scope".to_owned(), scope.into());
    }
    let answer = account
        .fetcher
        .post_json(&url, &request, "application/json")
        .await
        .map_err(|why| not_registered(account, found, &format!("{url}: {why}")))?;
    let body = answer.json();
    if !answer.status.is_success() {
        let refusal = body.as_ref().and_then(|body| refusal(body, &[]));
        let why = refusal.map_or_else(
            || format!("{url}: status {}", answer.status.as_u16()),
            |(_, text)| format!("{url}: {text}"),
        );
        return Err(not_registered(account, found, &why));
    }
    let information: Option<ClientInformation> =
        body.and_then(|body| serde_json::from_value(body).ok());
    let Some(mut information) = information.filter(|client| !client.client_id.is_empty()) else {
        let why = format!("{url}: an answer without a client");
        return Err(not_registered(account, found, &why));
    };
    // What the server makes of the URL does not matter: this is what is sent.
    information.redirect_uris = Some(vec![redirect_url.to_owned()]);
    if information.token_endpoint_auth_method.is_none() {
        information.token_endpoint_auth_method = Some(method.name().to_owned());
    }
    Ok(information)
}

fn no_registration(account: &Account, discovery: &Discovery) -> Error {
    let metadata = discovery.authorization_server_metadata.as_ref();
    let reads_documents =
        metadata.is_some_and(|metadata| metadata.client_id_metadata_document_supported);
    let error = account
        .failure(format!(
            "the authorization server {} lets no clients register themselves",
            discovery.issuer()
        ))
        .with_hint(
            "register a client there and put its id into the server's `oauth` settings as `clientId`",
        );
    if reads_documents {
        error
            .with_hint("or put the URL of a client metadata document there, as `clientMetadataUrl`")
    } else {
        error
    }
}

fn not_registered(account: &Account, found: &Found, why: &str) -> Error {
    if found.discovery.authorization_server_metadata.is_some() {
        return account
            .failure(format!("registering a client failed: {why}"))
            .with_hint(
                "a client registered beforehand goes into the server's `oauth` settings as `clientId`",
            );
    }
    // The endpoint was a guess: there is probably no authorization server at all.
    let tried = found.tried.join(", ");
    account.failure(format!(
        "it offers no sign-in that could be found; asked: {tried}, {why}"
    ))
}
