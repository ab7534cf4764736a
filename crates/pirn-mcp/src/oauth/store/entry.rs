//! What is stored for one server.

use std::fmt;

use serde::{Deserialize, Deserializer, Serialize};
use serde_json::{Map, Value};

use super::super::metadata::Discovery;
use crate::secret::Secret;

/// Everything stored for one server. Fields of others are kept.
#[derive(Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(in super::super) struct Entry {
    /// The client as the authorization server knows it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(in super::super) client_information: Option<ClientInformation>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(in super::super) tokens: Option<Tokens>,
    /// When the access token ends, in milliseconds since 1970.
    #[serde(
        default,
        deserialize_with = "whole_number",
        skip_serializing_if = "Option::is_none"
    )]
    pub(in super::super) tokens_expire_at: Option<u64>,
    /// What [`Discovery`] found; a cache.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    discovery: Option<Value>,
    /// The authorization server that client and tokens are good for.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    issuer: Option<String>,
    /// What a refusal asked for and the token lacks, separated by spaces.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(in super::super) pending_scope: Option<String>,
    #[serde(flatten)]
    other: Map<String, Value>,
}

/// A client as an authorization server knows it (RFC 7591).
#[derive(Clone, Default, PartialEq, Serialize, Deserialize)]
pub(in super::super) struct ClientInformation {
    pub(in super::super) client_id: String,
    #[serde(
        default,
        with = "exposed_option",
        skip_serializing_if = "Option::is_none"
    )]
    pub(in super::super) client_secret: Option<Secret>,
    /// In seconds since 1970; 0 never.
    #[serde(
        default,
        deserialize_with = "whole_number",
        skip_serializing_if = "Option::is_none"
    )]
    pub(in super::super) client_secret_expires_at: Option<u64>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(in super::super) redirect_uris: Option<Vec<String>>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(in super::super) token_endpoint_auth_method: Option<String>,
    #[serde(flatten)]
    other: Map<String, Value>,
}

/// An answer of a token endpoint (RFC 6749, 5.1).
#[derive(Clone, PartialEq, Serialize, Deserialize)]
pub(in super::super) struct Tokens {
    #[serde(with = "exposed")]
    pub(in super::super) access_token: Secret,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(in super::super) token_type: Option<String>,
    /// In seconds, from when it was given.
    #[serde(
        default,
        deserialize_with = "whole_number",
        skip_serializing_if = "Option::is_none"
    )]
    pub(in super::super) expires_in: Option<u64>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(in super::super) scope: Option<String>,
    #[serde(
        default,
        with = "exposed_option",
        skip_serializing_if = "Option::is_none"
    )]
    pub(in super::super) refresh_token: Option<Secret>,
    #[serde(flatten)]
    other: Map<String, Value>,
}

impl Entry {
    /// What was found out about the server, where that is still of use.
    pub(in super::super) fn discovery(&self) -> Option<Discovery> {
        self.discovery.as_ref().and_then(Discovery::from_json)
    }

    /// Keeps what was found out.
    pub(in super::super) fn set_discovery(&mut self, discovery: &Discovery) {
        // Serialising strings and lists does not fail; without a cache the next use asks again.
        self.discovery = serde_json::to_value(discovery).ok();
    }

    /// Makes the next use find out anew.
    pub(in super::super) fn forget_discovery(&mut self) {
        self.discovery = None;
    }

    /// The authorization server that client and tokens are good for.
    pub(in super::super) fn issuer(&self) -> Option<String> {
        self.issuer.clone().or_else(|| {
            self.discovery()
                .map(|discovery| discovery.issuer().to_owned())
        })
    }

    /// Notes whose client and tokens these are.
    pub(in super::super) fn set_issuer(&mut self, issuer: &str) {
        self.issuer = Some(issuer.to_owned());
    }

    /// Takes new tokens in, with their end.
    pub(in super::super) fn set_tokens(&mut self, tokens: Tokens, now_ms: u64) {
        // Where a server says 0 it means that it does not say.
        self.tokens_expire_at = tokens
            .expires_in
            .filter(|seconds| *seconds > 0)
            .map(|seconds| now_ms.saturating_add(seconds.saturating_mul(1000)));
        self.tokens = Some(tokens);
    }

    /// Forgets the tokens but not the client.
    pub(in super::super) fn clear_tokens(&mut self) {
        self.tokens = None;
        self.tokens_expire_at = None;
    }

    /// Forgets client and tokens.
    pub(in super::super) fn clear_client(&mut self) {
        self.clear_tokens();
        self.client_information = None;
        self.issuer = None;
    }

    /// Drops what other programs keep of a sign-in that is now overtaken.
    pub(in super::super) fn clear_unfinished(&mut self) {
        self.pending_scope = None;
        self.other.remove("codeVerifier");
        self.other.remove("oauthState");
    }
}

impl ClientInformation {
    /// A client about which nothing else is known.
    pub(in super::super) fn new(client_id: String, client_secret: Option<Secret>) -> Self {
        Self {
            client_id,
            client_secret,
            ..Self::default()
        }
    }
}

impl fmt::Debug for Entry {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter
            .debug_struct("Entry")
            .field("client_information", &self.client_information)
            .field("tokens", &self.tokens)
            .field("tokens_expire_at", &self.tokens_expire_at)
            .finish_non_exhaustive()
    }
}

impl fmt::Debug for ClientInformation {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        // Other fields may hold a registration access token.
        formatter
            .debug_struct("ClientInformation")
            .field("client_id", &self.client_id)
            .field("client_secret", &self.client_secret)
            .finish_non_exhaustive()
    }
}

impl fmt::Debug for Tokens {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        // Other fields may hold an identity token.
        formatter
            .debug_struct("Tokens")
            .field("expires_in", &self.expires_in)
            .field("scope", &self.scope)
            .field("refresh_token", &self.refresh_token)
            .finish_non_exhaustive()
    }
}

/// A count of time that others write as a whole number, a broken one or in quotes.
fn whole_number<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<u64>, D::Error> {
    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "times of this century are far from either limit, and a cast saturates"
    )]
    let from_float = |number: f64| number.max(0.0) as u64;
    Ok(match Value::deserialize(deserializer)? {
        Value::Number(number) => number.as_u64().or_else(|| number.as_f64().map(from_float)),
        Value::String(text) => text.trim().parse().ok().map(from_float),
        Value::Null | Value::Bool(_) | Value::Array(_) | Value::Object(_) => None,
    })
}

/// The only place where a secret becomes JSON.
mod exposed {
    use serde::{Deserialize, Deserializer, Serializer};

    use crate::secret::Secret;

    pub(super) fn serialize<S: Serializer>(
        secret: &Secret,
        serializer: S,
    ) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(secret.expose())
    }

    pub(super) fn deserialize<'de, D: Deserializer<'de>>(
        deserializer: D,
    ) -> Result<Secret, D::Error> {
        String::deserialize(deserializer).map(Secret::new)
    }
}

/// The same where there may be none; an empty one counts as none.
mod exposed_option {
    use serde::{Deserialize, Deserializer, Serializer};

    use crate::secret::Secret;

    #[expect(clippy::ref_option, reason = "serde's signature")]
    pub(super) fn serialize<S: Serializer>(
        secret: &Option<Secret>,
        serializer: S,
    ) -> Result<S::Ok, S::Error> {
        match secret {
            Some(secret) => serializer.serialize_some(secret.expose()),
            None => serializer.serialize_none(),
        }
    }

    pub(super) fn deserialize<'de, D: Deserializer<'de>>(
        deserializer: D,
    ) -> Result<Option<Secret>, D::Error> {
        let text = Option::<String>::deserialize(deserializer)?;
        Ok(text.filter(|text| !text.is_empty()).map(Secret::new))
    }
}
