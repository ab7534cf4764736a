//! What an embedding program adds to a conversation, and where it can say no.

use std::sync::Arc;

use futures_util::future::BoxFuture;
use pirn_model::{AssistantMessage, ToolCall, ToolResultMessage};
use tokio_util::sync::CancellationToken;

use crate::event::CompactionReason;
use crate::machine::{CALL_ABORTED, refused};
use crate::ports::Conversation;

/// Something of the embedding program's that takes part in a conversation. Every method has a default that lets everything pass.
///
/// Hooks are asked in their order, and each sees what the ones before it made. Whatever fails refuses: a request is not sent, a
/// call is not made, a result counts as an error. A run that is stopped does not wait for its hooks.
///
/// Calls that scripts make go through the hooks of the tools' pipeline instead, and whether a project is trusted is asked of
/// the hooks of the settings.
pub trait AgentHook: Send + Sync {
    /// What it is called where its refusal is told.
    fn name(&self) -> &str;

    /// The conversation begins or goes on with the session of this id.
    fn session_started(&self, _session_id: &str) {}

    /// The conversation was closed.
    fn session_ended(&self, _session_id: &str) {}

    /// The model is about to be asked. It reads what is left in `conversation`; the session stays as it is. A refusal ends the run
    /// with [`End::Refused`](crate::End::Refused).
    fn before_request<'a>(
        &'a self,
        _conversation: &'a mut Conversation,
    ) -> BoxFuture<'a, Result<(), String>> {
        Box::pin(async { Ok(()) })
    }

    /// The model has replied, or failed to.
    fn after_request<'a>(&'a self, _reply: &'a AssistantMessage) -> BoxFuture<'a, ()> {
        Box::pin(async {})
    }

    /// A call of the model's is about to be made, with the arguments that are left. A refusal is the result that the model reads.
    fn before_call<'a>(&'a self, _call: &'a mut ToolCall) -> BoxFuture<'a, Result<(), String>> {
        Box::pin(async { Ok(()) })
    }

    /// A call has ended. The model reads what is left of the result; a refusal stands in its place.
    fn after_call<'a>(
        &'a self,
        _call: &'a ToolCall,
        _result: &'a mut ToolResultMessage,
    ) -> BoxFuture<'a, Result<(), String>> {
        Box::pin(async { Ok(()) })
    }

    /// A reply and the results of its calls are complete.
    fn after_turn<'a>(
        &'a self,
        _reply: &'a AssistantMessage,
        _results: &'a [ToolResultMessage],
    ) -> BoxFuture<'a, ()> {
        Box::pin(async {})
    }

    /// The conversation is about to be made shorter. A refusal leaves it as it is.
    fn before_compaction(&self, _reason: CompactionReason) -> BoxFuture<'_, Result<(), String>> {
        Box::pin(async { Ok(()) })
    }
}

/// The hooks of a conversation, in their order.
#[derive(Clone, Default)]
pub(crate) struct Hooks(pub(crate) Vec<Arc<dyn AgentHook>>);

/// Why something does not happen.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Stopped {
    /// The run was stopped meanwhile.
    Aborted,
    /// A hook says no; says which and why.
    Refused(String),
}

impl Hooks {
    pub(crate) fn session_started(&self, session_id: &str) {
        for hook in &self.0 {
            hook.session_started(session_id);
        }
    }

    pub(crate) fn session_ended(&self, session_id: &str) {
        for hook in &self.0 {
            hook.session_ended(session_id);
        }
    }

    pub(crate) async fn before_request(
        &self,
        conversation: &mut Conversation,
        cancel: &CancellationToken,
    ) -> Result<(), Stopped> {
        for hook in &self.0 {
            ask(&**hook, hook.before_request(conversation), cancel).await?;
        }
        Ok(())
    }

    pub(crate) async fn after_request(&self, reply: &AssistantMessage, cancel: &CancellationToken) {
        for hook in &self.0 {
            tell(hook.after_request(reply), cancel).await;
        }
    }

    /// The call as it is to be made, or the result that stands for it.
    pub(crate) async fn before_call(
        &self,
        call: &ToolCall,
        cancel: &CancellationToken,
    ) -> Result<ToolCall, ToolResultMessage> {
        let mut changed = call.clone();
        for hook in &self.0 {
            let verdict = ask(&**hook, hook.before_call(&mut changed), cancel).await;
            verdict.map_err(|stopped| refused(call, &stopped.for_model()))?;
        }
        // The model knows its call by these.
        changed.id.clone_from(&call.id);
        changed.name.clone_from(&call.name);
        Ok(changed)
    }

    pub(crate) async fn after_call(
        &self,
        call: &ToolCall,
        mut result: ToolResultMessage,
        cancel: &CancellationToken,
    ) -> ToolResultMessage {
        for hook in &self.0 {
            let verdict = ask(&**hook, hook.after_call(call, &mut result), cancel).await;
            if let Err(stopped) = verdict {
                return refused(call, &stopped.for_model());
            }
            result.tool_call_id.clone_from(&call.id);
            result.tool_name.clone_from(&call.name);
        }
        result
    }

    pub(crate) async fn after_turn(
        &self,
        reply: &AssistantMessage,
        results: &[ToolResultMessage],
        cancel: &CancellationToken,
    ) {
        for hook in &self.0 {
            tell(hook.after_turn(reply, results), cancel).await;
        }
    }

    pub(crate) async fn before_compaction(
        &self,
        reason: CompactionReason,
        cancel: &CancellationToken,
    ) -> Result<(), Stopped> {
        for hook in &self.0 {
            ask(&**hook, hook.before_compaction(reason), cancel).await?;
        }
        Ok(())
    }
}

impl Stopped {
    fn for_model(&self) -> String {
        match self {
            Self::Aborted => CALL_ABORTED.to_owned(),
            Self::Refused(why) => why.clone(),
        }
    }
}

/// What a hook says, unless the run is stopped first.
async fn ask(
    hook: &dyn AgentHook,
    verdict: BoxFuture<'_, Result<(), String>>,
    cancel: &CancellationToken,
) -> Result<(), Stopped> {
    let verdict = tokio::select! {
        biased;
        () = cancel.cancelled() => return Err(Stopped::Aborted),
        verdict = verdict => verdict,
    };
    verdict.map_err(|why| Stopped::Refused(format!("{} refused: {why}", hook.name())))
}

/// Lets a hook look, unless the run is stopped first.
async fn tell(look: BoxFuture<'_, ()>, cancel: &CancellationToken) {
    tokio::select! {
        biased;
        () = cancel.cancelled() => {}
        () = look => {}
    }
}
