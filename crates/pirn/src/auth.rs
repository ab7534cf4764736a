//! `pirn auth`: the keys of providers.

use clap::{Args, Subcommand};
use pirn_model::{
    AuthEntry, AuthFile, Catalog, Credential, CredentialSource, PROVIDERS, Provider, Secret,
};
use pirn_terminal::{Text, Tty, on_one_line};
use serde_json::{Value, json};

use crate::catalog;
use crate::failure::{Exit, Failure};
use crate::interrupt::interruptible;
use crate::invocation::{Invocation, Stream};
use crate::standard;

/// A longer text on standard input is something else than a key.
const KEY_BYTES_MAX: u64 = 64 * 1024;

/// The arguments of `pirn auth`.
#[derive(Debug, Args)]
pub(crate) struct AuthArguments {
    #[command(subcommand)]
    command: AuthCommand,
}

#[derive(Debug, Subcommand)]
enum AuthCommand {
    /// Keep a provider's key in `auth.json`
    ///
    /// It is asked for on the terminal, where it is not shown, or read from standard input. A text that begins with `!` is a shell
    /// command that prints the key; `$NAME` stands for a variable.
    Login {
        /// The provider, as `pirn auth list` names it
        provider: String,
    },
    /// Delete what `auth.json` keeps for a provider
    Logout {
        /// The provider, as `pirn auth list` names it
        provider: String,
    },
    /// List providers and where their keys come from
    List {
        /// Print them as a JSON array
        #[arg(long)]
        json: bool,
    },
    /// Find out whether there is a key: exit code 0, or 1 without one, or 2 where it cannot be had
    ///
    /// Nobody is asked: the provider may refuse the key all the same.
    Check {
        /// The provider; without one, any that has a key will do
        provider: Option<String>,
    },
    /// Print a provider's key
    PrintApiKey {
        /// The provider, as `pirn auth list` names it
        provider: String,
    },
    /// Print the token that stands for a sign-in with a provider
    PrintBearerToken {
        /// The provider, as `pirn auth list` names it
        provider: String,

        /// Fail unless the token holds for at least so many seconds
        #[arg(long, value_name = "SECONDS")]
        min_expiry: Option<u64>,
    },
}

pub(crate) fn run(arguments: &AuthArguments, invocation: &Invocation) -> Result<Exit, Failure> {
    match &arguments.command {
        AuthCommand::Login { provider } => login(provider, invocation),
        AuthCommand::Logout { provider } => logout(provider, invocation),
        AuthCommand::List { json } => list(*json, invocation),
        AuthCommand::Check { provider } => check(provider.as_deref(), invocation),
        AuthCommand::PrintApiKey { provider } => print_api_key(provider, invocation),
        AuthCommand::PrintBearerToken {
            provider,
            min_expiry,
        } => print_bearer_token(provider, *min_expiry, invocation),
    }
}

fn file(invocation: &Invocation) -> Result<AuthFile, Failure> {
    match &invocation.host.pirn_home {
        Some(home) => Ok(AuthFile::new(home)),
        None => Err(Failure::usage(
            "there is no home folder, so no keys are kept; set HOME or PIRN_HOME",
        )),
    }
}

fn login(provider: &str, invocation: &Invocation) -> Result<Exit, Failure> {
    let catalog = catalog::read(invocation)?;
    if !is_known(provider, &catalog) {
        return Err(unknown(provider));
    }
    let file = file(invocation)?;
    let key = match invocation.stdin {
        Stream::Terminal => asked(provider)?,
        Stream::Other => from_standard_input()?,
    };
    let key = key.trim();
    if key.is_empty() {
        return Err(Failure::usage("no key was given; nothing was changed"));
    }
    if key.contains(char::is_control) {
        return Err(Failure::usage(
            "a key is one line without control characters; nothing was changed",
        ));
    }
    file.store(provider, key).map_err(catalog::unusable)?;
    standard::note(&format!(
        "the key of {provider} is kept in {}",
        on_one_line(&file.path().display().to_string())
    ));
    Ok(Exit::Success)
}

fn asked(provider: &str) -> Result<String, Failure> {
    let unusable = |error| Failure::usage_because(error, "the terminal cannot be read");
    let mut tty = Tty::open().map_err(unusable)?;
    let prompt = Text::words(format_args!("Key of {provider} (it is not shown): "));
    match tty.secret(&prompt).map_err(unusable)? {
        Some(key) => Ok(key),
        None => Err(Failure::new(
            Exit::Interrupted,
            "no key was given; nothing was changed",
        )),
    }
}

fn from_standard_input() -> Result<String, Failure> {
    use std::io::Read as _;
    let mut text = String::new();
    std::io::stdin()
        .take(KEY_BYTES_MAX + 1)
        .read_to_string(&mut text)
        .map_err(|error| Failure::usage_because(error, "standard input cannot be read"))?;
    if text.len() as u64 > KEY_BYTES_MAX {
        return Err(Failure::usage(
            "what standard input holds is too long for a key",
        ));
    }
    Ok(text)
}

fn logout(provider: &str, invocation: &Invocation) -> Result<Exit, Failure> {
    let removed = file(invocation)?
        .remove(provider)
        .map_err(catalog::unusable)?;
    let provider = on_one_line(provider);
    standard::note(&if removed {
        format!("what was kept for {provider} is deleted; the provider still knows the key")
    } else {
        format!("nothing was kept for {provider}")
    });
    let still = catalog::read(invocation)?;
    if let Some(source) = still.credentials().source(&provider) {
        standard::note(&format!("{provider} still has a key, from {source}"));
    }
    Ok(Exit::Success)
}

fn list(as_json: bool, invocation: &Invocation) -> Result<Exit, Failure> {
    let catalog = catalog::read(invocation)?;
    let credentials = catalog.credentials();
    let mut names: Vec<&str> = PROVIDERS.iter().map(|provider| provider.id).collect();
    names.extend(credentials.providers_in_files());
    let mut seen = std::collections::BTreeSet::new();
    names.retain(|name| seen.insert(*name));
    let source = |name: &str| match (credentials.source(name), credentials.entry(name)) {
        (Some(source), _) => source.to_string(),
        (None, Some(AuthEntry::SignIn)) => {
            "a sign-in of another program, which is not used".to_owned()
        }
        (None, Some(AuthEntry::ApiKey { .. }) | None) => String::new(),
    };
    let variables = |name: &str| {
        let provider = Provider::find(name);
        provider.map_or(String::new(), |provider| provider.key_variables.join(", "))
    };
    if as_json {
        let rows: Value = names
            .iter()
            .map(|name| {
                json!({
                    "provider": name,
                    "hasKey": credentials.source(name).is_some(),
                    "source": source(name),
                })
            })
            .collect();
        standard::write_out(&format!("{rows:#}\n"))?;
        return Ok(Exit::Success);
    }
    let mut table = invocation.table();
    table.heading(["PROVIDER", "KEY FROM", "VARIABLE"]);
    for name in names {
        table.row([name, &source(name), &variables(name)]);
    }
    standard::write_out(&table.render())?;
    Ok(Exit::Success)
}

fn check(provider: Option<&str>, invocation: &Invocation) -> Result<Exit, Failure> {
    let catalog = catalog::read(invocation)?;
    let Some(provider) = provider else {
        let credentials = catalog.credentials();
        let known = PROVIDERS.iter().map(|provider| provider.id);
        let mut all = known.chain(credentials.providers_in_files());
        return match all.find_map(|name| Some((name, credentials.source(name)?))) {
            Some((name, source)) => {
                standard::note(&format!("{name} has a key, from {source}"));
                Ok(Exit::Success)
            }
            None => Err(Failure::new(Exit::Failed, "no provider has a key")
                .hint("`pirn auth login PROVIDER` keeps one")),
        };
    };
    if !is_known(provider, &catalog) {
        return Err(unknown(provider));
    }
    let (_, source) = credential(provider, &catalog)?;
    standard::note(&format!("{provider} has a key, from {source}"));
    Ok(Exit::Success)
}

fn print_api_key(provider: &str, invocation: &Invocation) -> Result<Exit, Failure> {
    let catalog = catalog::read(invocation)?;
    match credential(provider, &catalog)? {
        (Credential::ApiKey(key), _) => print(&key),
        (Credential::Bearer(_) | Credential::None, source) => {
            let failure = Failure::new(
                Exit::Failed,
                format!("{provider} has a token, from {source}, and no key"),
            );
            Err(failure.hint("`pirn auth print-bearer-token` prints it"))
        }
    }
}

fn print_bearer_token(
    provider: &str,
    min_expiry: Option<u64>,
    invocation: &Invocation,
) -> Result<Exit, Failure> {
    let catalog = catalog::read(invocation)?;
    match credential(provider, &catalog)? {
        (Credential::Bearer(_), source) if min_expiry.is_some() => {
            let failure = Failure::new(
                Exit::Failed,
                format!("nothing says how long the token of {provider}, from {source}, holds"),
            );
            Err(failure.hint("leave --min-expiry out to print it all the same"))
        }
        (Credential::Bearer(token), _) => print(&token),
        (Credential::ApiKey(_) | Credential::None, source) => {
            let failure = Failure::new(
                Exit::Failed,
                format!("{provider} has a key, from {source}, and no token"),
            );
            Err(failure.hint("`pirn auth print-api-key` prints it"))
        }
    }
}

/// Shows a secret to whoever asked for it by the command's name.
fn print(secret: &Secret) -> Result<Exit, Failure> {
    standard::write_out(&format!("{}\n", secret.expose()))?;
    Ok(Exit::Success)
}

/// The credential of a provider and where it is from; commands that keys are written as run.
fn credential(
    provider: &str,
    catalog: &Catalog,
) -> Result<(Credential, CredentialSource), Failure> {
    let credentials = catalog.credentials();
    let Some(source) = credentials.source(provider) else {
        let name = on_one_line(provider);
        let failure = Failure::new(Exit::Failed, format!("there is no key for {name}"));
        return Err(failure.hint(format!("`pirn auth login {name}` keeps one")));
    };
    let credential = interruptible(async |_stopped| {
        credentials
            .credential(provider)
            .await
            .map_err(catalog::unusable)
    })?;
    Ok((credential, source))
}

fn is_known(provider: &str, catalog: &Catalog) -> bool {
    Provider::find(provider).is_some()
        || catalog
            .models()
            .iter()
            .any(|model| model.provider == provider)
        || catalog
            .credentials()
            .providers_in_files()
            .any(|known| known == provider)
}

fn unknown(provider: &str) -> Failure {
    let names: Vec<&str> = PROVIDERS.iter().map(|provider| provider.id).collect();
    Failure::usage(format!("there is no provider `{}`", on_one_line(provider))).hint(format!(
        "there are {}, and those of models.json",
        names.join(", ")
    ))
}
