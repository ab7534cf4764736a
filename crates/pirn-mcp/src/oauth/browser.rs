//! The step of a sign-in that a person takes: from the page's URL to stored tokens.

use futures_util::future::pending;
use url::Url;

use super::Interaction;
use super::account::Account;
use super::callback::{Expected, Verdict};
use super::challenge::BearerChallenge;
use super::client::{self, Chosen, Origin};
use super::discovery::Found;
use super::listener::Listener;
use super::metadata::{Discovery, Endpoint};
use super::random;
use super::redirect::{Port, Redirect};
use super::refresh::is_theirs;
use super::scope::{self, OFFLINE_ACCESS, ScopeSources};
use super::store::{Entry, Tokens};
use super::token::{self, Client, TokenFailure};
use crate::error::{Error, ErrorKind};
use crate::secret::Secret;

/// Wrong texts a person may paste before the sign-in goes on without pasting.
const PASTES_MAX: usize = 10;

/// What a sign-in in the browser needs.
pub(super) struct Attempt<'a> {
    pub(super) account: &'a Account,
    pub(super) interaction: &'a dyn Interaction,
    pub(super) found: &'a Found,
    pub(super) challenge: Option<&'a BearerChallenge>,
}

/// Why there are no tokens.
pub(super) enum SignInFailure {
    /// The server does not know the client that a sign-in before this one registered.
    StoredClientUnknown(Error),
    Other(Error),
}

impl SignInFailure {
    pub(super) fn into_error(self) -> Error {
        match self {
            Self::StoredClientUnknown(error) | Self::Other(error) => error,
        }
    }
}

impl From<Error> for SignInFailure {
    fn from(error: Error) -> Self {
        Self::Other(error)
    }
}

/// What has been sent to the sign-in page.
struct Sent {
    redirect_url: String,
    verifier: Secret,
    scope: Option<String>,
    resource: String,
}

/// Sends the person to the sign-in page, waits, and turns the answer into tokens, which are stored.
pub(super) async fn in_browser(attempt: &Attempt<'_>) -> Result<Tokens, SignInFailure> {
    let account = attempt.account;
    let discovery = &attempt.found.discovery;
    check_methods(account, discovery)?;
    let entry = account.read().await?.unwrap_or_default();
    let entry = if is_theirs(&entry, discovery) {
        entry
    } else {
        // Credentials are good for the server they are from alone.
        Entry::default()
    };
    let stored = entry.client_information.as_ref();
    let plan = Redirect::plan(account, stored)?;
    let listener = Listener::bind(&plan)
        .await
        .map_err(|error| not_bound(account, &plan, &error))?;
    let scope = scopes(attempt, &entry);
    let redirect_url = listener.redirect_url.clone();
    let chosen = client::choose(
        account,
        stored,
        attempt.found,
        &redirect_url,
        scope.as_deref(),
    )
    .await?;

    let random = || {
        random::secret().map_err(|error| {
            account.failure(format!("the system gives no random numbers: {error}"))
        })
    };
    let (state, verifier) = (random()?, random()?);
    let sent = Sent {
        redirect_url,
        verifier,
        scope,
        resource: discovery.resource(&account.server.url),
    };
    let page = page(account, discovery, &chosen, &sent, &state)?;
    let metadata = discovery.authorization_server_metadata.as_ref();
    let expected = Expected {
        path: plan.path,
        state,
        issuer: metadata.and_then(|metadata| metadata.issuer.clone()),
        is_issuer_promised: metadata
            .is_some_and(|metadata| metadata.authorization_response_iss_parameter_supported),
    };
    attempt.interaction.open(page.as_str());
    let code = code(attempt, &listener, &expected).await?;
    drop(listener);
    let tokens = exchange(attempt, &chosen, &sent, &code).await?;
    keep(account, discovery, &chosen, tokens.clone()).await?;
    Ok(tokens)
}

/// Refuses servers that cannot do what is asked of them. One that says nothing may well be able to.
fn check_methods(account: &Account, discovery: &Discovery) -> Result<(), Error> {
    let Some(metadata) = &discovery.authorization_server_metadata else {
        return Ok(());
    };
    let lacks = |list: &Option<Vec<String>>, wanted: &str| {
        list.as_ref()
            .is_some_and(|list| !list.iter().any(|name| name == wanted))
    };
    let issuer = discovery.issuer();
    if lacks(&metadata.response_types_supported, "code") {
        return Err(account.failure(format!(
            "the authorization server {issuer} gives no authorization codes"
        )));
    }
    if lacks(&metadata.code_challenge_methods_supported, "S256") {
        return Err(account.failure(format!(
            "the authorization server {issuer} does not protect codes with PKCE S256"
        )));
    }
    Ok(())
}

fn scopes(attempt: &Attempt<'_>, entry: &Entry) -> Option<String> {
    let discovery = &attempt.found.discovery;
    let challenged = attempt
        .challenge
        .and_then(|challenge| challenge.scope.as_deref());
    let wanted = scope::union(entry.pending_scope.as_deref(), challenged);
    let is_step_up = entry.pending_scope.is_some();
    let granted = entry
        .tokens
        .as_ref()
        .and_then(|tokens| tokens.scope.as_deref());
    let supported = discovery
        .resource_metadata
        .as_ref()
        .map_or(&[][..], |metadata| &metadata.scopes_supported);
    let sources = ScopeSources {
        configured: attempt.account.server.settings.scope.as_deref(),
        challenged: wanted.as_deref(),
        granted: granted.filter(|_| is_step_up),
        supported,
    };
    scope::select(sources, discovery.authorization_server_metadata.as_ref())
}

/// The URL of the sign-in page.
fn page(
    account: &Account,
    discovery: &Discovery,
    chosen: &Chosen,
    sent: &Sent,
    state: &Secret,
) -> Result<Url, Error> {
    let endpoint = discovery
        .endpoint(Endpoint::Authorization)
        .unwrap_or_default();
    let mut url = account.fetcher.allow(&endpoint).map_err(|why| {
        account.failure(format!(
            "the sign-in page {endpoint} must not be opened: {why}"
        ))
    })?;
    let mut query = url.query_pairs_mut();
    query
        .append_pair("response_type", "code")
        .append_pair("client_id", &chosen.information.client_id)
        .append_pair("redirect_uri", &sent.redirect_url)
        .append_pair("code_challenge", &random::challenge(&sent.verifier))
        .append_pair("code_challenge_method", "S256")
        .append_pair("state", state.expose())
        .append_pair("resource", &sent.resource);
    if let Some(scope) = &sent.scope {
        query.append_pair("scope", scope);
        if scope::contains(scope, OFFLINE_ACCESS) {
            // OpenID Connect gives a refresh token only to a person who was asked.
            query.append_pair("prompt", "consent");
        }
    }
    drop(query);
    Ok(url)
}

/// Waits for the browser, or for what a person pastes.
async fn code(
    attempt: &Attempt<'_>,
    listener: &Listener,
    expected: &Expected,
) -> Result<Secret, Error> {
    let verdict = tokio::select! {
        verdict = listener.wait(expected) => verdict,
        verdict = pasted(attempt.interaction, expected) => verdict,
    };
    match verdict {
        Verdict::Code(code) => Ok(code),
        Verdict::Failed(why) => Err(attempt.account.failure(why)),
        Verdict::Foreign(why) => Err(attempt.account.failure(why)),
    }
}

async fn pasted(interaction: &dyn Interaction, expected: &Expected) -> Verdict {
    for _ in 0..PASTES_MAX {
        let Some(text) = interaction.pasted().await else {
            break;
        };
        match expected.judge_pasted(&text) {
            Verdict::Foreign(why) => interaction.refused(why),
            verdict @ (Verdict::Code(_) | Verdict::Failed(_)) => return verdict,
        }
    }
    pending().await
}

async fn exchange(
    attempt: &Attempt<'_>,
    chosen: &Chosen,
    sent: &Sent,
    code: &Secret,
) -> Result<Tokens, SignInFailure> {
    let account = attempt.account;
    let discovery = &attempt.found.discovery;
    let metadata = discovery.authorization_server_metadata.as_ref();
    let client = Client::new(&chosen.information, metadata);
    let form = [
        ("grant_type", "authorization_code"),
        ("code", code.expose()),
        ("redirect_uri", &sent.redirect_url),
        ("code_verifier", sent.verifier.expose()),
        ("resource", &sent.resource),
    ];
    let secrets = [code, &sent.verifier];
    let asked = token::request(account, discovery, &client, &form, &secrets).await;
    let failure = match asked {
        Ok(mut tokens) => {
            // RFC 6749, 5.1: where nothing is said, what was asked for is granted.
            tokens.scope = tokens.scope.or_else(|| sent.scope.clone());
            return Ok(tokens);
        }
        Err(failure) => failure,
    };
    let (code, text) = match failure {
        TokenFailure::Refused { code, text } => (Some(code), text),
        TokenFailure::Unclear { text, .. } => (None, text),
    };
    let error = account.failure(format!("the server gave no token: {text}"));
    let is_unknown = matches!(
        code.as_deref(),
        Some("invalid_client" | "unauthorized_client")
    );
    Err(if is_unknown && chosen.origin == Origin::Stored {
        SignInFailure::StoredClientUnknown(error)
    } else {
        SignInFailure::Other(error)
    })
}

async fn keep(
    account: &Account,
    discovery: &Discovery,
    chosen: &Chosen,
    tokens: Tokens,
) -> Result<(), Error> {
    let now_ms = account.now_ms();
    let discovery = discovery.clone();
    let client = match chosen.origin {
        // The settings have it; a copy would outlive them.
        Origin::Configured => None,
        Origin::Stored | Origin::Document | Origin::Registered => Some(chosen.information.clone()),
    };
    account
        .change(move |entry| {
            let entry = entry.get_or_insert_default();
            entry.client_information = client;
            entry.set_tokens(tokens, now_ms);
            entry.set_discovery(&discovery);
            entry.set_issuer(discovery.issuer());
            entry.clear_unfinished();
        })
        .await
}

fn not_bound(account: &Account, plan: &Redirect, error: &std::io::Error) -> Error {
    let failure = |what: String| {
        account.error(
            ErrorKind::Authorization,
            format!("the browser's way back cannot be listened for: {what}: {error}"),
        )
    };
    match plan.port {
        Port::Fixed(port) => failure(format!("port {port}")).with_hint(
            "another sign-in may be waiting there; else choose another `callbackPort` in the \
             server's `oauth` settings",
        ),
        Port::Any | Port::Preferred(_) => failure(plan.address.to_string()),
    }
}
