//! Which model is asked, and with which key.

use std::collections::BTreeMap;

use pirn_model::{
    ConfigValue, Credential, LocalServer, Model, PROVIDERS, Provider, Secret, ThinkingLevel,
    find_local_models, read_auth_file, read_models_file, usual_servers,
};

use super::PromptArguments;
use crate::failure::{Exit, Failure};
use crate::invocation::Invocation;
use crate::variables::{LLAMA_BASE_URL, OLLAMA_HOST};

/// The user's models, in Pirn's folder.
const MODELS_FILE: &str = "models.json";
/// The user's keys, in Pirn's folder.
const AUTH_FILE: &str = "auth.json";

/// A model that can be asked.
#[derive(Debug)]
pub(super) struct Chosen {
    pub(super) model: Model,
    /// What lets requests in.
    pub(super) credential: Credential,
    /// How much it thinks.
    pub(super) thinking: ThinkingLevel,
}

/// Everything that says which models there are.
struct Known<'a> {
    models: Vec<Model>,
    written: BTreeMap<String, ConfigValue>,
    auth: BTreeMap<String, ConfigValue>,
    invocation: &'a Invocation,
}

/// Chooses the model: the one that was asked for, else the first one that there is a key for, else one of a server on this
/// machine.
pub(super) async fn choose(
    arguments: &PromptArguments,
    invocation: &Invocation,
    http: &reqwest::Client,
) -> Result<Chosen, Failure> {
    let known = Known::read(invocation)?;
    let (pattern, level) = split_level(arguments.model.as_deref());
    let wanted = arguments.thinking.or(level);
    let model = match known.named(arguments.provider.as_deref(), pattern) {
        Some(model) => model,
        None => {
            known
                .local(arguments.provider.as_deref(), pattern, http)
                .await?
        }
    };
    let credential = known.credential(&model.provider)?;
    if matches!(credential, Credential::None) && Provider::find(&model.provider).is_some() {
        return Err(no_key(&model.provider));
    }
    let thinking = model.clamp(wanted.unwrap_or_default());
    Ok(Chosen {
        model,
        credential,
        thinking,
    })
}

/// `NAME:LEVEL`, where the part behind the colon is a level; names hold colons too.
fn split_level(pattern: Option<&str>) -> (Option<&str>, Option<ThinkingLevel>) {
    let Some(pattern) = pattern else {
        return (None, None);
    };
    match pattern.rsplit_once(':') {
        Some((name, level)) => match ThinkingLevel::from_name(level) {
            Some(level) => (Some(name), Some(level)),
            None => (Some(pattern), None),
        },
        None => (Some(pattern), None),
    }
}

impl<'a> Known<'a> {
    fn read(invocation: &'a Invocation) -> Result<Self, Failure> {
        let home = invocation.host.pirn_home.as_ref();
        let (mut models, mut written, mut auth) = (Vec::new(), BTreeMap::new(), BTreeMap::new());
        if let Some(home) = home {
            let file = read_models_file(&home.join(MODELS_FILE)).map_err(Failure::usage)?;
            models = file.models;
            written = file.keys;
            auth = read_auth_file(&home.join(AUTH_FILE))
                .map_err(Failure::usage)?
                .keys;
        }
        models.extend(PROVIDERS.iter().flat_map(Provider::models));
        Ok(Self {
            models,
            written,
            auth,
            invocation,
        })
    }

    /// The model of the files and tables that is meant; `None` where a server on this machine may have it.
    fn named(&self, provider: Option<&str>, pattern: Option<&str>) -> Option<Model> {
        let is_of = |model: &&Model| provider.is_none_or(|provider| model.provider == provider);
        let Some(pattern) = pattern else {
            let own = self
                .models
                .iter()
                .filter(is_of)
                .find(|model| self.can_ask(model));
            return own.cloned();
        };
        let full = |model: &Model| format!("{}/{}", model.provider, model.id);
        let candidates: Vec<&Model> = self.models.iter().filter(is_of).collect();
        let exact = |model: &&&Model| model.id == pattern || full(model) == pattern;
        let close = |model: &&&Model| full(model).contains(pattern);
        let fitting: Vec<&Model> = match candidates.iter().filter(exact).count() {
            0 => candidates.iter().filter(close).copied().collect(),
            _ => candidates.iter().filter(exact).copied().collect(),
        };
        let with_key = fitting.iter().find(|model| self.can_ask(model));
        if let Some(model) = with_key.or_else(|| fitting.first()) {
            return Some(Model::clone(model));
        }
        // A model that is not in the table is asked for by its name.
        let (provider, id) = match (provider, pattern.split_once('/')) {
            (Some(provider), _) => (provider, pattern),
            (None, Some((provider, id))) => (provider, id),
            (None, None) => return None,
        };
        Provider::find(provider).map(|provider| provider.model(id))
    }

    /// Whether there is a key, or none is needed.
    fn can_ask(&self, model: &Model) -> bool {
        match self.credential(&model.provider) {
            Ok(Credential::None) => Provider::find(&model.provider).is_none(),
            Ok(Credential::ApiKey(_) | Credential::Bearer(_)) => true,
            Err(_) => false,
        }
    }

    /// The key of a provider: from `auth.json`, `models.json`, or the environment.
    fn credential(&self, provider: &str) -> Result<Credential, Failure> {
        let files = [(&self.auth, AUTH_FILE), (&self.written, MODELS_FILE)];
        for (keys, file) in files {
            if let Some(value) = keys.get(provider) {
                let key = value.resolve(|name| self.variable(name)).map_err(|why| {
                    Failure::usage(format!("{file}: the key of {provider}: {why}"))
                })?;
                return Ok(Credential::ApiKey(key));
            }
        }
        let variables = Provider::find(provider).map_or(&[][..], |provider| provider.key_variables);
        let key = variables.iter().find_map(|name| self.variable(name));
        Ok(key.map_or(Credential::None, |key| Credential::ApiKey(Secret::new(key))))
    }

    fn variable(&self, name: &str) -> Option<String> {
        let (_, value) = self
            .invocation
            .host
            .environment
            .iter()
            .find(|(known, _)| known == name)?;
        let text = value.to_str()?.trim();
        (!text.is_empty()).then(|| text.to_owned())
    }

    /// A model of a server on this machine.
    async fn local(
        &self,
        provider: Option<&str>,
        pattern: Option<&str>,
        http: &reqwest::Client,
    ) -> Result<Model, Failure> {
        let models = find_local_models(http, &local_servers()).await;
        let fits = |model: &&Model| {
            provider.is_none_or(|provider| model.provider == provider)
                && pattern.is_none_or(|pattern| {
                    format!("{}/{}", model.provider, model.id).contains(pattern)
                })
        };
        if let Some(model) = models.iter().find(fits) {
            return Ok(model.clone());
        }
        match pattern.or(provider) {
            Some(wanted) => {
                let mut names: Vec<String> = models
                    .iter()
                    .chain(&self.models)
                    .map(|model| format!("{}/{}", model.provider, model.id))
                    .collect();
                names.truncate(NAMES_MAX);
                let failure = Failure::usage(format!("there is no model `{wanted}`"));
                Err(failure.hint(format!(
                    "there are {}; --provider NAME takes any name of that provider",
                    names.join(", ")
                )))
            }
            None => Err(no_model()),
        }
    }
}

/// Models that an error names.
const NAMES_MAX: usize = 12;

/// Where servers on this machine are looked for.
fn local_servers() -> Vec<LocalServer> {
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

fn no_key(provider: &str) -> Failure {
    let variables = Provider::find(provider).map_or(&[][..], |provider| provider.key_variables);
    Failure::new(Exit::Usage, format!("there is no key for {provider}")).hint(format!(
        "set {}, or put it into {AUTH_FILE} in Pirn's folder",
        variables.join(" or ")
    ))
}

fn no_model() -> Failure {
    let variables: Vec<&str> = PROVIDERS
        .iter()
        .filter_map(|provider| provider.key_variables.first().copied())
        .collect();
    Failure::new(Exit::Usage, "there is no model to ask")
        .hint(format!("with a provider: set its key, one of {}", variables.join(", ")))
        .hint("on this machine: start Ollama, llama.cpp's llama-server, LM Studio or vLLM; it is found by itself")
}
