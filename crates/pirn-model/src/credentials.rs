//! Which key a provider is asked with, and where it comes from.

use std::collections::BTreeMap;
use std::fmt;
use std::sync::{Arc, Mutex, PoisonError};

use futures_util::future::BoxFuture;

use crate::auth_file::AuthEntry;
use crate::config_value::{ConfigSource, ConfigValue};
use crate::provider::Provider;
use crate::request::Credential;
use crate::secret::Secret;

/// Why there is no key, with what to do about it. It never holds one.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CredentialError {
    message: String,
    hint: Option<String>,
}

impl CredentialError {
    pub(crate) fn new(message: impl Into<String>) -> Self {
        Self {
            message: message.into(),
            hint: None,
        }
    }

    pub(crate) fn with_hint(self, hint: impl Into<String>) -> Self {
        Self {
            hint: Some(hint.into()),
            ..self
        }
    }

    /// What to do about it.
    pub fn hint(&self) -> Option<&str> {
        self.hint.as_deref()
    }
}

impl fmt::Display for CredentialError {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(&self.message)
    }
}

impl std::error::Error for CredentialError {}

/// Runs the commands that keys are written as.
pub trait KeyCommand: fmt::Debug + Send + Sync {
    /// The standard output of a shell command without the line's end at its end. `variables` are set besides the usual ones. The
    /// error completes the sentence "the command …" and holds neither command nor output: both may be secret.
    fn output<'a>(
        &'a self,
        command: &'a str,
        variables: &'a BTreeMap<String, String>,
    ) -> BoxFuture<'a, Result<String, String>>;
}

/// Runs none: keys that are written as commands cannot be had.
#[derive(Debug, Clone, Copy, Default)]
pub struct NoKeyCommands;

impl KeyCommand for NoKeyCommands {
    fn output<'a>(
        &'a self,
        _command: &'a str,
        _variables: &'a BTreeMap<String, String>,
    ) -> BoxFuture<'a, Result<String, String>> {
        Box::pin(async { Err("is not run here".to_owned()) })
    }
}

/// Where a provider's key comes from.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum CredentialSource {
    /// It was given for this process.
    Given,
    /// The file `auth.json`, written by `pirn auth login`.
    AuthFile,
    /// The file `models.json`, written by hand.
    ModelsFile,
    /// A variable of this name.
    Variable(String),
}

impl fmt::Display for CredentialSource {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(match self {
            Self::Given => "the command line",
            Self::AuthFile => "auth.json",
            Self::ModelsFile => "models.json",
            Self::Variable(name) => name,
        })
    }
}

/// All keys that there are, in the order in which they count: the given one, `auth.json`, `models.json`, the environment.
#[derive(Debug)]
pub struct Credentials {
    given: Option<Secret>,
    entries: BTreeMap<String, AuthEntry>,
    written: BTreeMap<String, ConfigValue>,
    environment: BTreeMap<String, String>,
    commands: Arc<dyn KeyCommand>,
    /// What commands of `auth.json` printed, by provider: they run once in a process, since they may ask their user.
    printed: Mutex<BTreeMap<String, Secret>>,
}

impl Credentials {
    /// Keys of `auth.json` (`entries`), of `models.json` (`written`) and of the environment.
    pub fn new(
        entries: BTreeMap<String, AuthEntry>,
        written: BTreeMap<String, ConfigValue>,
        environment: BTreeMap<String, String>,
        commands: Arc<dyn KeyCommand>,
    ) -> Self {
        Self {
            given: None,
            entries,
            written,
            environment,
            commands,
            printed: Mutex::default(),
        }
    }

    /// With a key that counts before all others, whichever provider is asked.
    #[must_use]
    pub fn with_given(self, key: Option<Secret>) -> Self {
        Self { given: key, ..self }
    }

    /// Providers that have an entry in one of the files.
    pub fn providers_in_files(&self) -> impl Iterator<Item = &str> {
        self.entries
            .keys()
            .chain(self.written.keys())
            .map(String::as_str)
    }

    /// What `auth.json` says of a provider.
    pub fn entry(&self, provider: &str) -> Option<&AuthEntry> {
        self.entries.get(provider)
    }

    /// Where the key of a provider comes from, without running anything; `None` where there is none. The key may turn out not to
    /// be there all the same, if its variable is not set or its command fails.
    pub fn source(&self, provider: &str) -> Option<CredentialSource> {
        if self.given.is_some() {
            return Some(CredentialSource::Given);
        }
        if let Some(AuthEntry::ApiKey { .. }) = self.entries.get(provider) {
            return Some(CredentialSource::AuthFile);
        }
        if self.written.contains_key(provider) {
            return Some(CredentialSource::ModelsFile);
        }
        let (name, _) = self.in_environment(provider)?;
        Some(CredentialSource::Variable(name.to_owned()))
    }

    /// What a request to a provider is let in with: [`Credential::None`] where no key is known.
    pub async fn credential(&self, provider: &str) -> Result<Credential, CredentialError> {
        if let Some(key) = &self.given {
            return Ok(Credential::ApiKey(key.clone()));
        }
        if let Some(AuthEntry::ApiKey { key, variables }) = self.entries.get(provider) {
            if let Some(printed) = self.printed(provider) {
                return Ok(Credential::ApiKey(printed));
            }
            let value = self.resolve("auth.json", provider, key, variables).await?;
            if let ConfigSource::Command(_) = key.source() {
                let mut printed = self.printed.lock().unwrap_or_else(PoisonError::into_inner);
                printed.insert(provider.to_owned(), value.clone());
            }
            return Ok(Credential::ApiKey(value));
        }
        if let Some(key) = self.written.get(provider) {
            let value = self
                .resolve("models.json", provider, key, &BTreeMap::new())
                .await?;
            return Ok(Credential::ApiKey(value));
        }
        Ok(self
            .in_environment(provider)
            .map_or(Credential::None, |(_, credential)| credential))
    }

    fn printed(&self, provider: &str) -> Option<Secret> {
        let printed = self.printed.lock().unwrap_or_else(PoisonError::into_inner);
        printed.get(provider).cloned()
    }

    async fn resolve(
        &self,
        file: &str,
        provider: &str,
        key: &ConfigValue,
        variables: &BTreeMap<String, String>,
    ) -> Result<Secret, CredentialError> {
        let problem = match key.source() {
            ConfigSource::Literal => return Ok(key.literal().clone()),
            ConfigSource::Variable(name) => {
                let value = variables.get(name).or_else(|| self.environment.get(name));
                match value.filter(|value| !value.trim().is_empty()) {
                    Some(value) => return Ok(Secret::new(value.trim())),
                    None => format!("the variable {name} is not set"),
                }
            }
            ConfigSource::Command(command) => {
                match self.commands.output(command, variables).await {
                    Ok(output) if output.trim().is_empty() => {
                        "the command printed nothing".to_owned()
                    }
                    Ok(output) => return Ok(Secret::new(output.trim())),
                    Err(why) => format!("the command {why}"),
                }
            }
        };
        Err(CredentialError::new(format!(
            "{file}: the key of {provider}: {problem}"
        )))
    }

    /// The variable that holds a provider's key or token, and what it holds.
    fn in_environment(&self, provider: &str) -> Option<(&'static str, Credential)> {
        let provider = Provider::find(provider)?;
        let value = |name: &&'static str| {
            let text = self.environment.get(*name)?.trim();
            (!text.is_empty()).then(|| (*name, Secret::new(text)))
        };
        let token = provider.token_variables.iter().find_map(value);
        let key = || provider.key_variables.iter().find_map(value);
        token
            .map(|(name, token)| (name, Credential::Bearer(token)))
            .or_else(|| key().map(|(name, key)| (name, Credential::ApiKey(key))))
    }
}

#[cfg(test)]
mod tests;
