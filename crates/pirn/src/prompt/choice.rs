//! Which model is asked, and with which key.

use pirn_model::{
    Catalog, Credential, Found, Model, ModelPattern, PROVIDERS, Provider, ThinkingLevel,
    find_local_models,
};

use super::PromptArguments;
use crate::catalog;
use crate::failure::{Exit, Failure};
use crate::invocation::Invocation;

/// Models that an error names.
const NAMES_MAX: usize = 12;

/// A model that can be asked.
#[derive(Debug)]
pub(crate) struct Chosen {
    pub(crate) model: Model,
    /// How much it thinks.
    pub(crate) thinking: ThinkingLevel,
}

/// Chooses the model: the one that was asked for, else the first one that there is a key for, else one of a server on this
/// machine.
pub(crate) async fn choose(
    arguments: &PromptArguments,
    invocation: &Invocation,
    http: &reqwest::Client,
) -> Result<Chosen, Failure> {
    let catalog = catalog::read(invocation)?.with_given_key(arguments.given_key());
    let pattern = ModelPattern::parse(arguments.provider.as_deref(), arguments.model.as_deref());
    let model = match catalog.find(pattern) {
        Found::Model(model) => *model,
        Found::Nothing => local(&catalog, pattern, http).await?,
        Found::Several(names) => {
            let name = pattern.name.unwrap_or_default();
            let failure = Failure::usage(format!(
                "several models are called like `{name}`: {}",
                names.join(", ")
            ));
            return Err(failure
                .hint("--provider NAME says whose is meant; there is no key for any of them yet"));
        }
    };
    let credential = catalog
        .credentials()
        .credential(&model.provider)
        .await
        .map_err(catalog::unusable)?;
    if let (Credential::None, Some(provider)) = (&credential, Provider::find(&model.provider)) {
        return Err(no_key(provider));
    }
    let thinking = model.clamp(arguments.thinking.or(pattern.level).unwrap_or_default());
    Ok(Chosen { model, thinking })
}

/// A model of a server on this machine.
async fn local(
    catalog: &Catalog,
    pattern: ModelPattern<'_>,
    http: &reqwest::Client,
) -> Result<Model, Failure> {
    let models = find_local_models(http, &catalog::local_servers()).await;
    if let Some(model) = models.iter().find(|model| pattern.fits(model)) {
        return Ok(model.clone());
    }
    let Some(wanted) = pattern.name.or(pattern.provider) else {
        return Err(no_model());
    };
    let names: Vec<String> = models
        .iter()
        .chain(catalog.models())
        .take(NAMES_MAX)
        .map(Model::full_name)
        .collect();
    let failure = Failure::usage(format!("there is no model `{wanted}`"));
    Err(failure.hint(format!(
        "there are {}; `pirn models` lists all, and --provider NAME takes any name of that provider",
        names.join(", ")
    )))
}

fn no_key(provider: &Provider) -> Failure {
    Failure::new(Exit::Usage, format!("there is no key for {}", provider.id)).hint(format!(
        "set {}, or keep one with `pirn auth login {}`",
        provider.key_variables.join(" or "),
        provider.id
    ))
}

fn no_model() -> Failure {
    let variables: Vec<&str> = PROVIDERS
        .iter()
        .filter_map(|provider| provider.key_variables.first().copied())
        .collect();
    Failure::new(Exit::Usage, "there is no model to ask")
        .hint(format!(
            "with a provider: `pirn auth login PROVIDER`, or set its key, one of {}",
            variables.join(", ")
        ))
        .hint("on this machine: start Ollama, llama.cpp's llama-server, LM Studio or vLLM; it is found by itself")
}
