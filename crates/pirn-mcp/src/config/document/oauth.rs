//! The `oauth` object of an entry.

use pirn_jsonc::Node;
use url::{Host, Url};

use super::fields::Fields;
use crate::config::keys::{OAUTH_KEYS, REGISTRATIONS};
use crate::config::{ClientRegistration, OAuthSettings};
use crate::secret::Secret;

/// How the keys are named in messages.
const PREFIX: &str = "oauth.";

/// Reads `oauth`; the default where it is missing or wrong.
pub(super) fn read(fields: &mut Fields<'_>, server: &Node) -> OAuthSettings {
    let Some(node) = fields.object(server, "oauth", "an object") else {
        return OAuthSettings::default();
    };
    fields.check_names(node, OAUTH_KEYS, PREFIX);
    let registration = |word: &str| match word {
        "auto" => Some(ClientRegistration::Auto),
        "dcr" => Some(ClientRegistration::Dynamic),
        "cimd" => Some(ClientRegistration::MetadataDocument),
        _ => None,
    };
    let settings = OAuthSettings {
        client_id: fields.filled(node, PREFIX, "clientId"),
        client_secret: fields.filled(node, PREFIX, "clientSecret").map(Secret::new),
        scope: fields.text(node, PREFIX, "scope"),
        client_name: fields.filled(node, PREFIX, "clientName"),
        callback_port: fields.port(node, PREFIX, "callbackPort"),
        callback_url: fields.filled(node, PREFIX, "callbackUrl"),
        client_registration: fields
            .choice(
                node,
                (PREFIX, "clientRegistration"),
                REGISTRATIONS,
                registration,
            )
            .unwrap_or_default(),
        client_metadata_url: fields.filled(node, PREFIX, "clientMetadataUrl"),
        auth_server_metadata_url: fields.filled(node, PREFIX, "authServerMetadataUrl"),
        allow_private: fields
            .flag(node, PREFIX, "allowPrivate")
            .unwrap_or_default(),
    };
    if !fields.failed() {
        check(fields, node, &settings);
    }
    settings
}

/// Checks the values against each other.
fn check(fields: &mut Fields<'_>, node: &Node, settings: &OAuthSettings) {
    let mut error = |key: &str, message: String| {
        let line = node.get(key).map_or(node.line, |node| node.line);
        fields.error(line, &format!("{PREFIX}{key}"), message);
    };
    let callback = match settings.callback_url.as_deref().map(callback_url) {
        Some(Ok(url)) => Some(url),
        Some(Err(message)) => {
            error("callbackUrl", message);
            None
        }
        None => None,
    };
    if let (Some(url), Some(port)) = (&callback, settings.callback_port)
        && url.port_or_known_default() != Some(port)
    {
        let message = format!("is {port}, but the port of oauth.callbackUrl is another one");
        error("callbackPort", message);
    }
    if settings.client_secret.is_some() && settings.client_id.is_none() {
        error("clientSecret", "needs oauth.clientId".to_owned());
    }
    if let Some(text) = &settings.client_metadata_url
        && !is_document_url(text)
    {
        let message = "must be an https address with a path, without a fragment";
        error("clientMetadataUrl", message.to_owned());
    }
    if let Some(text) = &settings.auth_server_metadata_url
        && !is_safe_url(text)
    {
        let message = "must be an https address, or http on the loopback";
        error("authServerMetadataUrl", message.to_owned());
    }
    if settings.client_registration == ClientRegistration::MetadataDocument {
        let message = match (&settings.client_id, &settings.client_name, &callback) {
            (Some(_), _, _) => Some("\"cimd\" excludes oauth.clientId"),
            (_, Some(_), _) => {
                Some("\"cimd\" excludes oauth.clientName: the document names the client")
            }
            (_, _, Some(url)) if !fits_document(url) => Some(
                "\"cimd\" needs the path /callback on localhost or 127.0.0.1 in oauth.callbackUrl",
            ),
            _ if settings.client_metadata_url.is_none() => {
                Some("\"cimd\" needs oauth.clientMetadataUrl")
            }
            _ => None,
        };
        if let Some(message) = message {
            error("clientRegistration", message.to_owned());
        }
    }
}

fn callback_url(text: &str) -> Result<Url, String> {
    let url = Url::parse(text).map_err(|error| format!("is not an address: {error}"))?;
    if url.scheme() != "http" || !is_loopback(&url) {
        return Err("must be an http address on localhost, 127.0.0.1 or [::1]".to_owned());
    }
    if url.query().is_some() || url.fragment().is_some() {
        return Err("must have neither a query nor a fragment".to_owned());
    }
    Ok(url)
}

fn is_document_url(text: &str) -> bool {
    Url::parse(text)
        .is_ok_and(|url| url.scheme() == "https" && url.path() != "/" && url.fragment().is_none())
}

fn is_safe_url(text: &str) -> bool {
    Url::parse(text).is_ok_and(|url| match url.scheme() {
        "https" => true,
        "http" => is_loopback(&url),
        _ => false,
    })
}

fn is_loopback(url: &Url) -> bool {
    match url.host() {
        Some(Host::Domain(name)) => name == "localhost",
        Some(Host::Ipv4(address)) => address.is_loopback(),
        Some(Host::Ipv6(address)) => address.is_loopback(),
        None => false,
    }
}

fn fits_document(url: &Url) -> bool {
    url.path() == "/callback" && matches!(url.host_str(), Some("localhost" | "127.0.0.1"))
}
