//! `models.*` of scripts over the catalog: scripts name a provider and an id, keys stay here.

use std::sync::Arc;

use futures_util::future::BoxFuture;
use pirn_codemode::{
    Availability, ClassifyRequest, ImageRequest, ModelAnswer, ModelEntry, ModelHost, ModelQuery,
    ModelRef, ModelStop, ModelType,
};
use pirn_model::{
    Catalog, Classification, Credential, FailureKind, Picture, Questions, RequestUsage, TaskAnswer,
    TaskClient, TaskKind, TaskModel,
};
use serde_json::{Map, Value, json};
use tokio_util::sync::CancellationToken;

/// The models of a catalog, for scripts.
#[derive(Debug, Clone)]
pub struct ScriptModels {
    catalog: Arc<Catalog>,
    client: TaskClient,
}

impl ScriptModels {
    /// Models of this catalog, asked through this client.
    pub fn new(catalog: Arc<Catalog>, client: TaskClient) -> Self {
        Self { catalog, client }
    }

    fn entries(&self, query: &ModelQuery) -> Vec<ModelEntry> {
        let is_wanted = |provider: &str, id: &str| {
            query
                .provider
                .as_deref()
                .is_none_or(|wanted| wanted == provider)
                && query.id.as_deref().is_none_or(|wanted| wanted == id)
                && match query.availability {
                    Availability::Known => true,
                    Availability::Usable => self.catalog.can_ask(provider),
                }
        };
        let entry = |provider: &str, id: &str, mut facts: Map<String, Value>| {
            facts.retain(|name, _| name != "provider" && name != "id");
            ModelEntry {
                provider: provider.to_owned(),
                id: id.to_owned(),
                facts,
            }
        };
        let tasks = |kind: TaskKind| {
            let models = self.catalog.task_models().iter();
            models
                .filter(|model| model.api.kind() == kind && is_wanted(&model.provider, &model.id))
                .map(|model| entry(&model.provider, &model.id, model.public_facts()))
                .collect()
        };
        match query.kind {
            ModelType::Chat => {
                let models = self.catalog.models().iter();
                models
                    .filter(|model| is_wanted(&model.provider, &model.id))
                    .map(|model| entry(&model.provider, &model.id, model.public_facts()))
                    .collect()
            }
            ModelType::Image => tasks(TaskKind::Image),
            ModelType::Classifier => tasks(TaskKind::Classifier),
        }
    }

    /// The model that a script named, with its key.
    async fn task_model(
        &self,
        named: &ModelRef,
        kind: TaskKind,
    ) -> Result<(TaskModel, Credential), String> {
        let ModelRef { provider, id } = named;
        let models = self.catalog.task_models().iter();
        let known = models
            .filter(|model| model.provider == *provider && model.id == *id)
            .find(|model| model.api.kind() == kind);
        let Some(model) = known else {
            let (what, listed) = match kind {
                TaskKind::Classifier => ("classifier", "models.getModelsOfType(\"classifier\")"),
                TaskKind::Image => ("image model", "models.getModelsOfType(\"image\")"),
            };
            return Err(format!(
                "there is no {what} {provider}/{id}; {listed} gives those there are"
            ));
        };
        let credential = self.catalog.credentials().credential(provider).await;
        Ok((
            model.clone(),
            credential.map_err(|error| error.to_string())?,
        ))
    }
}

impl ModelHost for ScriptModels {
    fn models(&self, query: ModelQuery) -> BoxFuture<'static, Result<Vec<ModelEntry>, String>> {
        let entries = self.entries(&query);
        Box::pin(std::future::ready(Ok(entries)))
    }

    fn classify(
        &self,
        model: ModelRef,
        request: ClassifyRequest,
        cancel: CancellationToken,
    ) -> BoxFuture<'static, Result<ModelAnswer, String>> {
        let models = self.clone();
        Box::pin(async move {
            let asked = Classification {
                questions: Questions::parse(&request.questions)?,
                images: pictures(request.images)?,
                state: request.state,
            };
            let (model, credential) = models.task_model(&model, TaskKind::Classifier).await?;
            let answer = models
                .client
                .classify(&model, &asked, &credential, &cancel)
                .await;
            Ok(shown("answers", &model, answer))
        })
    }

    fn generate_images(
        &self,
        model: ModelRef,
        request: ImageRequest,
        cancel: CancellationToken,
    ) -> BoxFuture<'static, Result<ModelAnswer, String>> {
        let models = self.clone();
        Box::pin(async move {
            let (model, credential) = models.task_model(&model, TaskKind::Image).await?;
            let input = &request.input;
            let answer = models
                .client
                .generate_images(&model, input, &credential, &cancel)
                .await;
            Ok(shown("output", &model, answer))
        })
    }
}

fn pictures(blocks: Vec<Value>) -> Result<Vec<Picture>, String> {
    let pictures = blocks.into_iter().enumerate().map(|(index, block)| {
        serde_json::from_value(block)
            .map_err(|_| format!("images[{index}] must be {{type: \"image\", data, mimeType}}"))
    });
    pictures.collect()
}

fn shown(member: &str, model: &TaskModel, answered: TaskAnswer) -> ModelAnswer {
    let mut content = Map::new();
    content.insert("provider".to_owned(), model.provider.as_str().into());
    content.insert("model".to_owned(), model.id.as_str().into());
    let (stop_reason, error_message) = match answered.answer {
        Ok(answer) => {
            content.insert(member.to_owned(), answer);
            (ModelStop::Stop, None)
        }
        Err(failure) => {
            let stop = match failure.kind {
                FailureKind::Aborted => ModelStop::Aborted,
                _ => ModelStop::Error,
            };
            (stop, Some(failure.message))
        }
    };
    if let Some(usage) = answered.usage {
        content.insert("usage".to_owned(), usage_shown(&usage));
    }
    ModelAnswer {
        stop_reason,
        error_message,
        content,
    }
}

fn usage_shown(usage: &RequestUsage) -> Value {
    serde_json::to_value(usage).unwrap_or_else(|_| json!({}))
}
