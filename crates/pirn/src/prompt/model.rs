//! The way to the models of a run.

use futures_util::future::BoxFuture;
use pirn_agent::{Conversation, ModelChoice, Models};
use pirn_model::{CacheRetention, Credential, ModelClient, Reply, ReplySink, Request};
use tokio_util::sync::CancellationToken;

/// Models of one provider, asked over HTTP.
#[derive(Debug)]
pub(super) struct HttpModels {
    pub(super) client: ModelClient,
    pub(super) credential: Credential,
}

impl Models for HttpModels {
    fn reply<'a>(
        &'a self,
        choice: &'a ModelChoice,
        conversation: &'a Conversation,
        cancel: &'a CancellationToken,
        sink: ReplySink<'a>,
    ) -> BoxFuture<'a, Reply> {
        Box::pin(async move {
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
                ..Request::new(&choice.model, &conversation.messages)
            };
            self.client
                .reply(&request, &self.credential, cancel, sink)
                .await
        })
    }
}
