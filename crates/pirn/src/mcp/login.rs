//! `pirn mcp login` and `pirn mcp logout`.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use futures_util::future::BoxFuture;
use pirn_mcp::{
    ErrorKind, Interaction, OAuth, OAuthServer, Revocation, ServerEntry, SignInOptions,
    SignInStart, SignInWay, Transport,
};
use pirn_runtime::{config_environment, sign_in_service};

use super::configuration::Configuration;
use super::servers::failure;
use super::{LoginArguments, LogoutArguments};
use crate::browser::Browser;
use crate::consent::Asking;
use crate::failure::{Exit, Failure};
use crate::interrupt::interruptible;
use crate::invocation::Invocation;
use crate::standard;
use pirn_settings::SandboxSettings;
use pirn_terminal::{Text, Tty, on_one_line};

/// What is asked while the browser is busy.
const PASTE_PROMPT: &str =
    "Waiting. If the browser runs on another machine, paste the address it ended at: ";
/// The header that stands in for signing in.
const AUTHORIZATION: &str = "authorization";

/// Runs `pirn mcp login`.
pub(super) fn sign_in(
    arguments: &LoginArguments,
    invocation: &Invocation,
) -> Result<Exit, Failure> {
    let configuration = Configuration::with_server(&arguments.name, &arguments.files, invocation)?;
    let entry = configuration.server(&arguments.name)?;
    interruptible(async |stopped| {
        let server = resolve(entry, invocation).await?;
        let oauth = oauth(invocation)?;
        let desk = SignInDesk {
            browser: (!arguments.no_browser).then(|| Browser::new(invocation)),
            asking: invocation.asking(),
            is_waiting: Arc::default(),
        };
        let options = SignInOptions {
            timeout: Duration::from_secs(arguments.timeout),
            start: SignInStart::Refresh,
        };
        let signed_in = oauth.login(&server, &desk, options, stopped).await;
        oauth.close().await;
        desk.close();
        let signed_in = signed_in.map_err(|error| {
            let is_late = *error.kind() == ErrorKind::Timeout;
            let failure = failure(error, Some(&entry.origin));
            if is_late {
                failure.hint("--timeout gives it more time")
            } else {
                failure
            }
        })?;
        standard::note(&match signed_in.way {
            SignInWay::Refreshed => format!("{} was signed in to already", server.name),
            SignInWay::Browser => format!("signed in to {}", server.name),
        });
        Ok(Exit::Success)
    })
}

/// Runs `pirn mcp logout`.
pub(super) fn sign_out(
    arguments: &LogoutArguments,
    invocation: &Invocation,
) -> Result<Exit, Failure> {
    let configuration = Configuration::with_server(&arguments.name, &arguments.files, invocation)?;
    let entry = configuration.server(&arguments.name)?;
    interruptible(async |_| {
        let server = resolve(entry, invocation).await?;
        let oauth = oauth(invocation)?;
        let signed_out = oauth
            .logout(&server)
            .await
            .map_err(|error| failure(error, Some(&entry.origin)))?;
        standard::note(&if signed_out.had_credentials {
            format!("signed out of {}; its credentials are deleted", server.name)
        } else {
            format!("there were no credentials for {}", server.name)
        });
        match signed_out.revocation {
            Revocation::Failed(problem) => standard::note(&format!(
                "the server was not told: {}; the old token may live on there until it expires",
                on_one_line(&problem)
            )),
            Revocation::Done | Revocation::NotOffered => {}
        }
        Ok(Exit::Success)
    })
}

fn oauth(invocation: &Invocation) -> Result<OAuth, Failure> {
    sign_in_service(&invocation.host)?.ok_or_else(|| {
        Failure::usage("credentials cannot be kept: there is no home folder")
            .hint("set HOME or PIRN_HOME")
    })
}

/// The server as signing in sees it.
async fn resolve(entry: &ServerEntry, invocation: &Invocation) -> Result<OAuthServer, Failure> {
    let resolved = entry
        // Only programs are confined, and they need no sign-in.
        .resolve(&config_environment(
            &invocation.host.cwd,
            &SandboxSettings::default(),
            &invocation.host,
        )?)
        .await
        .map_err(|error| failure(error, Some(&entry.origin)))?;
    let Transport::Http(http) = resolved.transport else {
        return Err(Failure::usage(format!(
            "the MCP server {} is a program on this machine; there is nothing to sign in to",
            entry.name
        ))
        .hint("what it needs to know goes into its \"env\""));
    };
    let has_header = http
        .headers
        .iter()
        .any(|(name, _)| name.eq_ignore_ascii_case(AUTHORIZATION));
    if has_header {
        return Err(Failure::usage(format!(
            "the MCP server {} has a header \"Authorization\", which is used instead of signing in",
            entry.name
        ))
        .hint("remove the header from its entry to sign in"));
    }
    Ok(OAuthServer {
        name: resolved.name,
        url: http.url,
        settings: http.oauth,
    })
}

/// Where a sign-in meets the user.
struct SignInDesk {
    browser: Option<Browser>,
    asking: Asking,
    /// Whether the cursor stands behind a question that nobody has answered.
    is_waiting: Arc<AtomicBool>,
}

impl SignInDesk {
    /// Leaves the line of a question that is not to be answered any more.
    fn close(&self) {
        if self.is_waiting.load(Ordering::Relaxed) {
            pirn_terminal::write_error(&Text::line(""));
        }
    }
}

impl Interaction for SignInDesk {
    fn open(&self, url: &str) {
        let text = format!("Sign in on this page:\n\n  {}\n\n", on_one_line(url));
        pirn_terminal::write_error(&Text::lines(text));
        let Some(browser) = &self.browser else {
            return;
        };
        if let Err(error) = browser.open(url) {
            standard::note(&format!(
                "the browser did not start ({error}); open the page yourself"
            ));
        }
    }

    fn pasted(&self) -> BoxFuture<'_, Option<String>> {
        match self.asking {
            Asking::Impossible => Box::pin(std::future::ready(None)),
            Asking::Possible => Box::pin(async {
                let is_waiting = Arc::clone(&self.is_waiting);
                let line = tokio::task::spawn_blocking(move || {
                    is_waiting.store(true, Ordering::Relaxed);
                    let line = Tty::open()?.line(&Text::words(PASTE_PROMPT));
                    is_waiting.store(false, Ordering::Relaxed);
                    line
                });
                match line.await {
                    Ok(Ok(Some(line))) => Some(line.trim().to_owned()),
                    Ok(Ok(None) | Err(_)) | Err(_) => None,
                }
            }),
        }
    }

    fn refused(&self, why: &str) {
        pirn_terminal::write_error(&Text::line(format_args!("  {why}")));
    }
}
