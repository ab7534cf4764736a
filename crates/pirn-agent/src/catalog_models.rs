//! The way to the models of a catalog, over HTTP.

use std::sync::Arc;

use futures_util::future::BoxFuture;
use pirn_codemode::{LayoutKind, ModelHost};
use pirn_model::{
    Api, CacheRetention, Catalog, ClientLimits, Failure, FailureKind, LocalServer, Model,
    ModelClient, Reply, ReplyDecoder, ReplySink, Request, StreamEnd, TaskClient, find_local_models,
};
use pirn_runtime::ScriptTools;
use tokio_util::sync::CancellationToken;

use crate::ports::{Conversation, ModelChoice, Models};
use crate::script_models::ScriptModels;

/// The models of a catalog, and those of servers on this machine, asked over HTTP with the keys of the catalog.
#[derive(Debug)]
pub struct CatalogModels {
    client: ModelClient,
    catalog: Arc<Catalog>,
    http: reqwest::Client,
    local_servers: Vec<LocalServer>,
}

impl CatalogModels {
    /// Asks over `http`, and looks for models at `local_servers` when all are wanted.
    pub fn new(catalog: Catalog, http: reqwest::Client, local_servers: Vec<LocalServer>) -> Self {
        Self {
            client: ModelClient::new(http.clone(), ClientLimits::default()),
            catalog: Arc::new(catalog),
            http,
            local_servers,
        }
    }

    /// How scripts are offered to a model of this API: with `models.*` where there is a classifier or an image model to ask.
    pub fn script_tools(&self, api: Api) -> ScriptTools {
        let models = (!self.catalog.task_models().is_empty()).then(|| {
            let client = TaskClient::new(self.client.clone());
            Arc::new(ScriptModels::new(Arc::clone(&self.catalog), client)) as Arc<dyn ModelHost>
        });
        let layout = match api {
            // This wire has parts in results, so that nothing is written between them.
            Api::OpenAiResponses => LayoutKind::Items,
            Api::OpenAiCompletions | Api::AnthropicMessages | Api::GoogleGenerativeAi => {
                LayoutKind::Joined
            }
        };
        ScriptTools {
            layout,
            models,
            ..ScriptTools::default()
        }
    }

    async fn all(&self) -> Vec<Model> {
        let mut models: Vec<Model> = self
            .catalog
            .models()
            .iter()
            .filter(|model| self.catalog.can_ask(&model.provider))
            .cloned()
            .collect();
        models.extend(find_local_models(&self.http, &self.local_servers).await);
        models
    }
}

impl Models for CatalogModels {
    fn reply<'a>(
        &'a self,
        choice: &'a ModelChoice,
        conversation: &'a Conversation,
        cancel: &'a CancellationToken,
        sink: ReplySink<'a>,
    ) -> BoxFuture<'a, Reply> {
        Box::pin(async move {
            let model = &choice.model;
            let credential = match self.catalog.credentials().credential(&model.provider).await {
                Ok(credential) => credential,
                Err(error) => {
                    let decoder = ReplyDecoder::new(model, choice.thinking, pirn_session::now_ms());
                    let failure = Failure::new(FailureKind::Authentication, error.to_string());
                    return decoder.finish(StreamEnd::Failed(failure)).1;
                }
            };
            let session_id = conversation.session_id.as_deref();
            let request = Request {
                system: &conversation.instructions.prompt,
                tools: &conversation.instructions.tools,
                thinking: choice.thinking,
                session_id,
                retention: match session_id {
                    Some(_) => CacheRetention::default(),
                    None => CacheRetention::None,
                },
                ..Request::new(model, &conversation.messages)
            };
            self.client.reply(&request, &credential, cancel, sink).await
        })
    }

    fn available(&self) -> BoxFuture<'_, Vec<Model>> {
        Box::pin(self.all())
    }
}
