//! Questions of MCP servers, asked as every question is.

use futures_util::future::BoxFuture;
use pirn_mcp::{ElicitationAnswer, ElicitationKind, ElicitationRequest, Elicitor};
use pirn_tool::{Answer, ApprovalQueue, ApprovalRequest, Effects, Form, Subject};
use serde_json::json;
use tokio_util::sync::CancellationToken;

/// Servers ask for all runs together: a question does not say which call it is about.
const RUN_ID: &str = "servers";

/// Asks on behalf of servers.
#[derive(Debug)]
pub(crate) struct ServerQuestions {
    queue: ApprovalQueue,
    project: String,
}

impl ServerQuestions {
    pub(crate) fn new(queue: ApprovalQueue, project: String) -> Self {
        Self { queue, project }
    }

    fn request(&self, request: ElicitationRequest) -> ApprovalRequest {
        let form = match request.kind {
            ElicitationKind::Form { schema } => Form::Values { schema },
            ElicitationKind::Url { url } => Form::Page { url },
        };
        // Two questions of a server are two, although they have the same subject's name.
        let arguments = json!({"message": request.message, "form": form});
        ApprovalRequest {
            run_id: RUN_ID.to_owned(),
            project: self.project.clone(),
            ..ApprovalRequest::new(
                Subject::Elicitation {
                    server: request.server,
                    message: request.message,
                    form,
                },
                Effects::NONE,
                arguments,
            )
        }
    }
}

impl Elicitor for ServerQuestions {
    fn elicit(
        &self,
        request: ElicitationRequest,
        cancel: CancellationToken,
    ) -> BoxFuture<'static, ElicitationAnswer> {
        let asking = self.queue.ask(self.request(request));
        Box::pin(async move {
            let reply = tokio::select! {
                reply = asking => reply,
                // Dropping the question withdraws it.
                () = cancel.cancelled() => return ElicitationAnswer::Cancel,
            };
            match reply.answer {
                Answer::Allow { values, .. } => ElicitationAnswer::Accept(values),
                Answer::Deny { .. } => ElicitationAnswer::Decline,
                Answer::Unanswered { .. } | Answer::Expired => ElicitationAnswer::Cancel,
            }
        })
    }
}
