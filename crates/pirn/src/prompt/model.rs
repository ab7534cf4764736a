//! The model of a run.

use futures_util::future::BoxFuture;
use pirn_agent::{Conversation, Models};
use pirn_model::{
    AssistantMessage, ModelClient, Reply, ReplyDecoder, ReplySink, Request, StreamEnd,
};
use tokio_util::sync::CancellationToken;

use super::choice::Chosen;

/// One model, asked over HTTP.
#[derive(Debug)]
pub(super) struct ChosenModel {
    pub(super) client: ModelClient,
    pub(super) chosen: Chosen,
}

impl Models for ChosenModel {
    fn reply<'a>(
        &'a self,
        conversation: &'a Conversation,
        cancel: &'a CancellationToken,
        sink: ReplySink<'a>,
    ) -> BoxFuture<'a, Reply> {
        Box::pin(async move {
            let request = Request {
                system: &conversation.instructions.prompt,
                tools: &conversation.instructions.tools,
                thinking: self.chosen.thinking,
                session_id: Some(&conversation.session_id),
                ..Request::new(&self.chosen.model, &conversation.messages)
            };
            self.client
                .reply(&request, &self.chosen.credential, cancel, sink)
                .await
        })
    }

    fn blank(&self) -> AssistantMessage {
        let chosen = &self.chosen;
        let decoder = ReplyDecoder::new(&chosen.model, chosen.thinking, pirn_session::now_ms());
        let (_, reply) = decoder.finish(StreamEnd::Closed);
        AssistantMessage {
            stop_reason: pirn_model::StopReason::Pending,
            error_message: None,
            ..reply.message
        }
    }
}
