//! The documents a sign-in begins with: which authorization server a resource has (RFC 9728) and what that server offers
//! (RFC 8414, `OpenID` Connect Discovery). Read leniently, because a wrong optional field must not cost the sign-in.

use serde::Serialize;
use serde_json::Value;
use url::Url;

/// URLs and names in documents are shorter.
const TEXT_BYTES_MAX: usize = 4096;

/// What an authorization server offers.
#[derive(Debug, Clone, Default, PartialEq, Serialize)]
pub(super) struct Metadata {
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) issuer: Option<String>,
    pub(super) authorization_endpoint: String,
    pub(super) token_endpoint: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) registration_endpoint: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) revocation_endpoint: Option<String>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub(super) scopes_supported: Vec<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) response_types_supported: Option<Vec<String>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) code_challenge_methods_supported: Option<Vec<String>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) token_endpoint_auth_methods_supported: Option<Vec<String>>,
    pub(super) client_id_metadata_document_supported: bool,
    pub(super) authorization_response_iss_parameter_supported: bool,
}

/// What a resource says about itself.
#[derive(Debug, Clone, Default, PartialEq, Serialize)]
pub(super) struct ResourceMetadata {
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) resource: Option<String>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub(super) authorization_servers: Vec<String>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub(super) scopes_supported: Vec<String>,
}

/// What is known about signing in to one server; kept in the file so that a restart asks nobody.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Discovery {
    /// The authorization server's issuer, or where it is expected.
    pub(super) authorization_server_url: String,
    /// `None` for a server of 2025-03-26 without metadata, whose endpoints have fixed names.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) authorization_server_metadata: Option<Metadata>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) resource_metadata_url: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) resource_metadata: Option<ResourceMetadata>,
    /// The setting that replaced discovery; another setting makes this void.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) auth_server_metadata_url: Option<String>,
}

/// Something an authorization server is asked for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Endpoint {
    Authorization,
    Token,
    Registration,
    Revocation,
}

impl Metadata {
    /// `None` where it is no such document.
    pub(super) fn from_json(value: &Value) -> Option<Self> {
        Some(Self {
            issuer: text(value, "issuer"),
            authorization_endpoint: text(value, "authorization_endpoint")?,
            token_endpoint: text(value, "token_endpoint")?,
            registration_endpoint: text(value, "registration_endpoint"),
            revocation_endpoint: text(value, "revocation_endpoint"),
            scopes_supported: texts(value, "scopes_supported").unwrap_or_default(),
            response_types_supported: texts(value, "response_types_supported"),
            code_challenge_methods_supported: texts(value, "code_challenge_methods_supported"),
            token_endpoint_auth_methods_supported: texts(
                value,
                "token_endpoint_auth_methods_supported",
            ),
            client_id_metadata_document_supported: flag(
                value,
                "client_id_metadata_document_supported",
            ),
            authorization_response_iss_parameter_supported: flag(
                value,
                "authorization_response_iss_parameter_supported",
            ),
        })
    }
}

impl ResourceMetadata {
    /// `None` where it is no such document.
    pub(super) fn from_json(value: &Value) -> Option<Self> {
        let metadata = Self {
            resource: text(value, "resource"),
            authorization_servers: texts(value, "authorization_servers").unwrap_or_default(),
            scopes_supported: texts(value, "scopes_supported").unwrap_or_default(),
        };
        let says_something =
            metadata.resource.is_some() || !metadata.authorization_servers.is_empty();
        says_something.then_some(metadata)
    }
}

impl Discovery {
    /// `None` where the stored form is of no use; then it is found out anew.
    pub(super) fn from_json(value: &Value) -> Option<Self> {
        let metadata = match value.get("authorizationServerMetadata") {
            None | Some(Value::Null) => None,
            Some(stored) => Some(Metadata::from_json(stored)?),
        };
        Some(Self {
            authorization_server_url: text(value, "authorizationServerUrl")?,
            authorization_server_metadata: metadata,
            resource_metadata_url: text(value, "resourceMetadataUrl"),
            resource_metadata: value
                .get("resourceMetadata")
                .and_then(ResourceMetadata::from_json),
            auth_server_metadata_url: text(value, "authServerMetadataUrl"),
        })
    }

    /// Who the authorization server is; credentials are good for it alone.
    pub(super) fn issuer(&self) -> &str {
        self.authorization_server_metadata
            .as_ref()
            .and_then(|metadata| metadata.issuer.as_deref())
            .unwrap_or(&self.authorization_server_url)
    }

    /// Where something is asked for; `None` where the server does not offer it. The URL is not checked yet.
    pub(super) fn endpoint(&self, endpoint: Endpoint) -> Option<String> {
        let Some(metadata) = &self.authorization_server_metadata else {
            let path = match endpoint {
                Endpoint::Authorization => "/authorize",
                Endpoint::Token => "/token",
                Endpoint::Registration => "/register",
                Endpoint::Revocation => return None,
            };
            let url = Url::parse(&self.authorization_server_url).ok()?;
            return Some(with_path(&url, path).into());
        };
        match endpoint {
            Endpoint::Authorization => Some(metadata.authorization_endpoint.clone()),
            Endpoint::Token => Some(metadata.token_endpoint.clone()),
            Endpoint::Registration => metadata.registration_endpoint.clone(),
            Endpoint::Revocation => metadata.revocation_endpoint.clone(),
        }
    }

    /// What tokens are asked for (RFC 8707).
    pub(super) fn resource(&self, server: &Url) -> String {
        self.resource_metadata
            .as_ref()
            .and_then(|metadata| metadata.resource.clone())
            .unwrap_or_else(|| {
                let mut url = server.clone();
                url.set_fragment(None);
                url.into()
            })
    }
}

/// Where a resource's metadata may lie, in order.
pub(super) fn resource_metadata_urls(server: &Url) -> Vec<Url> {
    let well_known = "/.well-known/oauth-protected-resource";
    let path = server.path().trim_end_matches('/');
    let mut urls = vec![with_path(server, &format!("{well_known}{path}"))];
    if !path.is_empty() {
        urls.push(with_path(server, well_known));
    }
    urls
}

/// Where an issuer's metadata may lie, in order.
pub(super) fn authorization_metadata_urls(issuer: &Url) -> Vec<Url> {
    let path = issuer.path().trim_end_matches('/');
    let mut paths = vec![
        format!("/.well-known/oauth-authorization-server{path}"),
        format!("/.well-known/openid-configuration{path}"),
    ];
    if !path.is_empty() {
        paths.push(format!("{path}/.well-known/openid-configuration"));
    }
    paths.iter().map(|path| with_path(issuer, path)).collect()
}

/// Scheme, host and port of a URL.
pub(super) fn origin(url: &Url) -> Url {
    with_path(url, "/")
}

/// Whether two issuers are the same; a slash at the end makes no difference.
pub(super) fn is_same_issuer(left: &str, right: &str) -> bool {
    let trim = |issuer: &str| issuer.strip_suffix('/').unwrap_or(issuer).to_owned();
    trim(left) == trim(right)
}

/// Whether metadata of this resource are about the server: the same origin, and its path or one above it.
pub(super) fn covers(resource: &str, server: &Url) -> bool {
    let Ok(resource) = Url::parse(resource) else {
        return false;
    };
    let with_slash = |url: &Url| format!("{}/", url.path().trim_end_matches('/'));
    resource.origin() == server.origin() && with_slash(server).starts_with(&with_slash(&resource))
}

fn with_path(url: &Url, path: &str) -> Url {
    let mut url = url.clone();
    url.set_path(path);
    url.set_query(None);
    url.set_fragment(None);
    url
}

fn text(value: &Value, name: &str) -> Option<String> {
    plain(value.get(name)?.as_str()?)
}

/// Text that can be shown; what is longer than any URL is nothing of use.
fn plain(text: &str) -> Option<String> {
    let text = text.trim();
    let is_plain = !text.is_empty() && text.len() <= TEXT_BYTES_MAX;
    (is_plain && !text.contains(char::is_control)).then(|| text.to_owned())
}

fn texts(value: &Value, name: &str) -> Option<Vec<String>> {
    let list = value.get(name)?.as_array()?;
    Some(
        list.iter()
            .filter_map(Value::as_str)
            .filter_map(plain)
            .collect(),
    )
}

fn flag(value: &Value, name: &str) -> bool {
    value.get(name).and_then(Value::as_bool).unwrap_or(false)
}

#[cfg(test)]
mod tests;
