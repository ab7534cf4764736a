//! The steps of a call, from its start to its end.

use std::pin::pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::task::Poll;
use std::time::Duration;

use serde_json::Value;
use tokio::sync::watch;

use super::end::{End, Record, Refusal};
use super::execute::{Run, Stop};
use super::permit::Candidate;
use super::request::{CallOutcome, CallRequest, CallStage, FailureKind, not_found};
use super::{NESTING_DEPTH_MAX, Nesting, Pipeline, Placement};
use crate::clock::OpenCall;
use crate::content::ToolResult;
use crate::context::CallContext;
use crate::depth::{JSON_DEPTH_MAX, count_values, dismantle};
use crate::event::EventCall;
use crate::hook::{BeforeVerdict, HookCall};
use crate::panic::guarded_future;
use crate::registry::Entry;

/// How a call's way is followed from outside while it is under way.
pub(super) struct Tracking<'a> {
    pub(super) open: &'a OpenCall,
    /// Set when the tool's own code begins.
    has_begun: &'a AtomicBool,
    stage: Option<&'a watch::Sender<CallStage>>,
    /// The call as events name it, where somebody listens.
    event_call: Option<&'a Arc<EventCall>>,
    /// The question that an earlier attempt at the same call asked.
    pub(super) question_id: Option<&'a str>,
}

impl Tracking<'_> {
    /// Tells the next stage to whoever follows the call.
    pub(super) fn enter(&self, stage: impl FnOnce() -> CallStage) {
        if let Some(sender) = self.stage {
            sender.send_replace(stage());
        }
    }

    pub(super) fn begin(&self) {
        self.has_begun.store(true, Ordering::Relaxed);
        self.enter(|| CallStage::Begun);
    }
}

/// How long one after-hook may take. It runs also for cancelled calls, so cancelling cannot end it.
const AFTER_HOOK_TIMEOUT: Duration = Duration::from_mins(1);

impl Pipeline {
    pub(super) async fn run(
        &self,
        mut request: CallRequest,
        parent_call_id: Option<String>,
        nesting: Nesting,
        placement: Placement,
    ) -> CallOutcome {
        let is_too_deep = count_values(&request.arguments).is_none();
        if is_too_deep {
            dismantle(request.arguments.take());
        }
        let record = Record::start(self, &mut request, parent_call_id, &nesting);
        let call = HookCall {
            call_id: &record.call_id,
            parent_call_id: record.parent_call_id.as_deref(),
            tool_name: &record.tool_name,
            origin: request.origin,
        };
        let mut end = if is_too_deep {
            let message = format!(
                "The arguments of {} are nested deeper than {JSON_DEPTH_MAX} levels",
                record.tool_name
            );
            Refusal::new(FailureKind::InvalidArguments, message).into()
        } else {
            let tracking = Tracking {
                open: &placement.open,
                has_begun: &record.has_begun,
                event_call: record.event_call.as_ref(),
                stage: placement.stage.as_ref(),
                question_id: placement.question_id.as_deref(),
            };
            self.run_checked(call, request, nesting, &tracking)
                .await
                .unwrap_or_else(End::from)
        };
        self.after_hooks(call, &mut end).await;
        record.close(end)
    }

    async fn run_checked(
        &self,
        call: HookCall<'_>,
        request: CallRequest,
        nesting: Nesting,
        tracking: &Tracking<'_>,
    ) -> Result<End, Refusal> {
        let stop = Stop {
            caller: nesting.caller_cancel.clone(),
            own: request.cancel.child_token(),
        };
        if stop.is_stopped() {
            return Err(Refusal::aborted());
        }
        if nesting.depth > NESTING_DEPTH_MAX {
            let message = format!(
                "Calls are nested more than {NESTING_DEPTH_MAX} deep; this one was not made"
            );
            return Err(Refusal::new(FailureKind::Blocked, message));
        }
        let Some(entry) = self.inner.registry.resolve(call.tool_name, request.origin) else {
            return Err(Refusal::new(
                FailureKind::NotFound,
                not_found(call.tool_name),
            ));
        };
        let mut arguments = validated(&entry, request.arguments)?;
        self.before_hooks(call, &mut arguments, &stop).await?;
        let candidate = Candidate {
            call,
            entry: &entry,
            arguments: &arguments,
            nesting: &nesting,
        };
        let approved = self.permit(&candidate, tracking, &stop).await?;
        if stop.is_stopped() {
            return Err(Refusal::aborted());
        }
        let context = CallContext {
            call_id: call.call_id.to_owned(),
            parent_call_id: call.parent_call_id.map(str::to_owned),
            origin: request.origin,
            cancel: stop.own.clone(),
            lifetime: request.lifetime,
            deadline: request
                .timeout
                .map(|limit| tracking.open.clock.deadline(limit)),
            approved,
            updates: None,
            outputs: None,
            pipeline: Some(self.clone()),
            nesting,
        };
        let run = Run {
            entry,
            arguments,
            context,
            stop,
            tracking,
            event_call: tracking.event_call.cloned(),
            updates: request.updates,
        };
        self.execute(run).await
    }

    async fn before_hooks(
        &self,
        call: HookCall<'_>,
        arguments: &mut Value,
        stop: &Stop,
    ) -> Result<(), Refusal> {
        for hook in &self.inner.hooks {
            let verdict = tokio::select! {
                biased;
                verdict = guarded_future(|| hook.before(call, arguments)) => verdict,
                () = stop.stopped() => return Err(Refusal::aborted()),
            };
            match verdict {
                Ok(Ok(BeforeVerdict::Continue)) => {}
                Ok(Ok(BeforeVerdict::Block { reason }) | Err(reason)) => {
                    let reason = if reason.is_empty() {
                        "Tool execution was blocked".to_owned()
                    } else {
                        reason
                    };
                    return Err(Refusal::new(FailureKind::Blocked, reason));
                }
                Err(panic) => {
                    let message = format!(
                        "Tool execution was blocked: a hook panicked, which is a bug in it: {panic}"
                    );
                    return Err(Refusal::new(FailureKind::Blocked, message));
                }
            }
        }
        Ok(())
    }

    async fn after_hooks(&self, call: HookCall<'_>, end: &mut End) {
        for hook in &self.inner.hooks {
            let message = match within(
                AFTER_HOOK_TIMEOUT,
                guarded_future(|| hook.after(call, &end.result)),
            )
            .await
            {
                Some(Ok(Ok(change))) => {
                    change.apply(&mut end.result);
                    continue;
                }
                Some(Ok(Err(message))) => message,
                Some(Err(panic)) => format!("A hook panicked, which is a bug in it: {panic}"),
                None => format!(
                    "A hook did not finish within {} seconds",
                    AFTER_HOOK_TIMEOUT.as_secs()
                ),
            };
            // The result may hold what the hook was to take out; what it cost stays true.
            end.result = ToolResult {
                usage: end.result.usage,
                ..ToolResult::error(message)
            };
        }
        // Hooks may turn a failure into a success and the other way round; the kind follows the flag.
        end.failure = match (end.result.is_error, end.failure) {
            (false, _) => None,
            (true, None) => Some(FailureKind::Failed),
            (true, failure) => failure,
        };
    }
}

fn validated(entry: &Arc<Entry>, arguments: Value) -> Result<Value, Refusal> {
    entry
        .arguments_checked(arguments)
        .map_err(|message| Refusal::new(FailureKind::InvalidArguments, message))
}

/// Waits for `future` at most `limit`. The clock is touched only when the future is not ready at once.
async fn within<F: Future>(limit: Duration, future: F) -> Option<F::Output> {
    let mut future = pin!(future);
    let first = std::future::poll_fn(|task| Poll::Ready(future.as_mut().poll(task))).await;
    match first {
        Poll::Ready(output) => Some(output),
        Poll::Pending => tokio::time::timeout(limit, future).await.ok(),
    }
}
