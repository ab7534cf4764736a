//! The models that the user can ask and the keys for them, as all commands see them.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::path::PathBuf;
use std::sync::Arc;

use futures_util::future::BoxFuture;
use pirn_mcp::{CommandRunner as _, ShellRunner};
use pirn_model::{Catalog, CredentialError, KeyCommand, LocalServer, usual_servers};

use crate::failure::{Exit, Failure};
use crate::invocation::Invocation;
use crate::variables::{LLAMA_BASE_URL, OLLAMA_HOST};

/// Reads `models.json` and `auth.json`.
pub(crate) fn read(invocation: &Invocation) -> Result<Catalog, Failure> {
    let host = &invocation.host;
    let environment = host
        .environment
        .iter()
        .filter_map(|(name, value)| Some((name.to_str()?.to_owned(), value.to_str()?.to_owned())));
    let commands = ShellCommands {
        folder: host.cwd.clone(),
        environment: host.environment.clone(),
    };
    Catalog::read(
        host.pirn_home.as_deref(),
        environment.collect(),
        Arc::new(commands),
    )
    .map_err(unusable)
}

/// A key that cannot be had.
pub(crate) fn unusable(error: CredentialError) -> Failure {
    let hint = error.hint().map(str::to_owned);
    let failure = Failure::usage_because(error, "there is no key to use");
    match hint {
        Some(hint) => failure.hint(hint),
        None => failure,
    }
}

/// The client that asks models and their servers.
pub(crate) fn http_client() -> Result<reqwest::Client, Failure> {
    pirn_mcp::http_client(concat!("pirn/", env!("CARGO_PKG_VERSION"))).map_err(|error| {
        Failure::new(
            Exit::Failed,
            format!("the HTTP client cannot start: {error}"),
        )
    })
}

/// Keys that are written as commands run like those of `mcp.json`.
#[derive(Debug)]
struct ShellCommands {
    folder: PathBuf,
    environment: Vec<(OsString, OsString)>,
}

impl KeyCommand for ShellCommands {
    fn output<'a>(
        &'a self,
        command: &'a str,
        variables: &'a BTreeMap<String, String>,
    ) -> BoxFuture<'a, Result<String, String>> {
        Box::pin(async move {
            let mut environment = self.environment.clone();
            environment.retain(|(name, _)| {
                name.to_str()
                    .is_none_or(|name| !variables.contains_key(name))
            });
            environment.extend(
                variables
                    .iter()
                    .map(|(name, value)| (name.into(), value.into())),
            );
            ShellRunner.run(command, &self.folder, &environment).await
        })
    }
}

/// Where servers on this machine are looked for.
pub(crate) fn local_servers() -> Vec<LocalServer> {
    let mut servers = Vec::new();
    let mut add = |provider: &str, base_url: String| {
        servers.push(LocalServer {
            provider: provider.to_owned(),
            base_url,
        });
    };
    if let Some(host) = OLLAMA_HOST.read().and_then(|host| host.into_string().ok()) {
        let host = host.trim_end_matches('/');
        let with_scheme = if host.contains("://") {
            host.to_owned()
        } else {
            format!("http://{host}")
        };
        add("ollama", format!("{with_scheme}/v1"));
    }
    if let Some(url) = LLAMA_BASE_URL.read().and_then(|url| url.into_string().ok()) {
        let base = url.trim_end_matches('/').trim_end_matches("/v1");
        add("llama.cpp", format!("{base}/v1"));
    }
    let named: Vec<String> = servers
        .iter()
        .map(|server| server.provider.clone())
        .collect();
    servers.extend(
        usual_servers()
            .into_iter()
            .filter(|server| !named.contains(&server.provider)),
    );
    servers
}
