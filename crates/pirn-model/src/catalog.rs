//! The models that can be asked for, and how a model is found by what a person types.

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;

use crate::auth_file::AuthFile;
use crate::credentials::{CredentialError, Credentials, KeyCommand};
use crate::files::read_models_file;
use crate::model::{Model, ThinkingLevel};
use crate::provider::{PROVIDERS, Provider};
use crate::task::TaskModel;

/// The user's models, in Pirn's folder.
const MODELS_FILE: &str = "models.json";
/// Models that an error names.
const NAMES_MAX: usize = 12;

/// A model as a person asks for it.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct ModelPattern<'a> {
    /// Only models of this provider.
    pub provider: Option<&'a str>,
    /// A name, a part of one, or `PROVIDER/NAME`.
    pub name: Option<&'a str>,
    /// How much it shall think.
    pub level: Option<ThinkingLevel>,
}

impl<'a> ModelPattern<'a> {
    /// Reads `NAME[:LEVEL]`. What follows the last colon counts as a level only when it is one: names hold colons too.
    pub fn parse(provider: Option<&'a str>, text: Option<&'a str>) -> Self {
        let Some(text) = text else {
            return Self {
                provider,
                ..Self::default()
            };
        };
        let split = text
            .rsplit_once(':')
            .and_then(|(name, level)| Some((name, ThinkingLevel::from_name(level)?)));
        let (name, level) = match split {
            Some((name, level)) => (name, Some(level)),
            None => (text, None),
        };
        Self {
            provider,
            name: Some(name),
            level,
        }
    }

    /// Whether a model is one of the provider and holds the name.
    pub fn fits(&self, model: &Model) -> bool {
        self.provider
            .is_none_or(|provider| model.provider == provider)
            && self
                .name
                .is_none_or(|name| model.full_name().contains(name))
    }
}

/// What a pattern led to.
#[derive(Debug, Clone, PartialEq)]
pub enum Found {
    /// The one model that fits.
    Model(Box<Model>),
    /// Models of several providers fit, and none of them has a key.
    Several(Vec<String>),
    /// None here; a server on this machine may have it.
    Nothing,
}

/// The models of `models.json` and of the table, with the keys for them.
#[derive(Debug)]
pub struct Catalog {
    models: Vec<Model>,
    task_models: Vec<TaskModel>,
    credentials: Credentials,
}

impl Catalog {
    /// Reads `models.json` and `auth.json` in Pirn's folder, as far as they are there. `environment` is where providers' own
    /// variables and `$NAME` are looked up.
    pub fn read(
        folder: Option<&Path>,
        environment: BTreeMap<String, String>,
        commands: Arc<dyn KeyCommand>,
    ) -> Result<Self, CredentialError> {
        let (file, entries) = match folder {
            Some(folder) => (
                read_models_file(&folder.join(MODELS_FILE)).map_err(CredentialError::new)?,
                AuthFile::new(folder).read()?,
            ),
            None => Default::default(),
        };
        let mut models = file.models;
        models.extend(PROVIDERS.iter().flat_map(Provider::models));
        Ok(Self {
            models,
            task_models: file.task_models,
            credentials: Credentials::new(entries, file.keys, environment, commands),
        })
    }

    /// With a key that counts before all others.
    #[must_use]
    pub fn with_given_key(self, key: Option<crate::Secret>) -> Self {
        Self {
            credentials: self.credentials.with_given(key),
            ..self
        }
    }

    /// The models, the user's own first.
    pub fn models(&self) -> &[Model] {
        &self.models
    }

    /// Classifiers and image models, all of them the user's own.
    pub fn task_models(&self) -> &[TaskModel] {
        &self.task_models
    }

    /// The keys, and where they come from.
    pub fn credentials(&self) -> &Credentials {
        &self.credentials
    }

    /// Whether models of a provider can be asked: there is a key, or none is needed.
    pub fn can_ask(&self, provider: &str) -> bool {
        self.credentials.source(provider).is_some() || Provider::find(provider).is_none()
    }

    /// The model that is meant: an exact name before a part of one, and a model that can be asked before others. A name that is
    /// not in the table is asked for as it is where its provider is known.
    pub fn find(&self, pattern: ModelPattern<'_>) -> Found {
        let of_provider = |model: &&Model| {
            pattern
                .provider
                .is_none_or(|provider| model.provider == provider)
        };
        let mut candidates = self.models.iter().filter(of_provider);
        let Some(name) = pattern.name else {
            return match candidates.find(|model| self.can_ask(&model.provider)) {
                Some(model) => Found::Model(Box::new(model.clone())),
                None => Found::Nothing,
            };
        };
        let candidates: Vec<&Model> = candidates.collect();
        let exact = |model: &&&Model| model.id == name || model.full_name() == name;
        let mut fitting: Vec<&Model> = candidates.iter().filter(exact).copied().collect();
        if fitting.is_empty() {
            fitting = candidates
                .iter()
                .filter(|model| pattern.fits(model))
                .copied()
                .collect();
        }
        if let Some(model) = fitting.iter().find(|model| self.can_ask(&model.provider)) {
            return Found::Model(Box::new(Model::clone(model)));
        }
        if let Some((first, others)) = fitting.split_first() {
            if others.iter().all(|other| other.provider == first.provider) {
                return Found::Model(Box::new(Model::clone(first)));
            }
            let names = fitting.iter().map(|model| model.full_name());
            return Found::Several(names.take(NAMES_MAX).collect());
        }
        let (provider, id) = match (pattern.provider, name.split_once('/')) {
            (Some(provider), _) => (provider, name),
            (None, Some((provider, id))) => (provider, id),
            (None, None) => return Found::Nothing,
        };
        match Provider::find(provider) {
            Some(provider) => Found::Model(Box::new(provider.model(id))),
            None => Found::Nothing,
        }
    }
}

#[cfg(test)]
mod tests;
