//! Runs the tool's own code, with its turn, its deadline and its cancellation.

use std::pin::{Pin, pin};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use serde_json::Value;
use tokio_util::sync::CancellationToken;

use super::Pipeline;
use super::end::{End, Refusal};
use super::request::FailureKind;
use super::steps::Tracking;
use crate::clock::{Deadline, OpenCall};
use crate::content::{ContentBlock, ToolResult};
use crate::context::{CallContext, Origin, OutputSink, Update, UpdateSink};
use crate::event::{EventCall, EventKind};
use crate::panic::{guarded, guarded_future};
use crate::registry::Entry;
use crate::schema::undeclared;

/// What the tool's code returned, or the message of its panic.
type Finished = Result<ToolResult, String>;

/// A call that may run.
pub(super) struct Run<'a> {
    pub(super) entry: Arc<Entry>,
    pub(super) arguments: Value,
    pub(super) context: CallContext,
    pub(super) stop: Stop,
    pub(super) tracking: &'a Tracking<'a>,
    /// The call as events name it, where somebody listens.
    pub(super) event_call: Option<Arc<EventCall>>,
    pub(super) updates: Option<UpdateSink>,
}

/// What stops a call.
pub(super) struct Stop {
    /// The caller's token, where it is not above `own` anyway.
    pub(super) caller: Option<CancellationToken>,
    /// The call's own token, below the one that was given for it.
    pub(super) own: CancellationToken,
}

impl Stop {
    pub(super) fn is_stopped(&self) -> bool {
        self.own.is_cancelled()
            || self
                .caller
                .as_ref()
                .is_some_and(CancellationToken::is_cancelled)
    }

    pub(super) async fn stopped(&self) {
        match &self.caller {
            Some(caller) => tokio::select! {
                () = self.own.cancelled() => {}
                () = caller.cancelled() => self.own.cancel(),
            },
            None => self.own.cancelled().await,
        }
    }
}

/// Ends what a call may still do once it is over, also when it is dropped.
struct Openness {
    is_open: Arc<AtomicBool>,
    cancel_when_dropped: Option<CancellationToken>,
}

impl Drop for Openness {
    fn drop(&mut self) {
        self.is_open.store(false, Ordering::Release);
        if let Some(cancel) = &self.cancel_when_dropped {
            cancel.cancel();
        }
    }
}

impl Pipeline {
    /// Runs the tool's own code.
    pub(super) async fn execute(&self, run: Run<'_>) -> Result<End, Refusal> {
        let Run {
            entry,
            arguments,
            mut context,
            stop,
            tracking,
            event_call,
            updates,
        } = run;
        let deadline = context.deadline.clone();
        let deadline = deadline.as_ref();
        let turns = entry.is_sequential().then(|| {
            // Sequential calls inside this one get a queue of their own: they would wait for this one in the outer queue.
            let inner = Arc::default();
            context
                .nesting
                .turns
                .replace(inner)
                .unwrap_or_else(|| self.inner.registry.turns())
        });
        let _turn = match &turns {
            Some(turns) => Some(wait_for_turn(turns, &stop, deadline, tracking.open).await?),
            None => None,
        };
        let is_open = Arc::new(AtomicBool::new(true));
        context.outputs = self.output_sink(&context, event_call.as_ref());
        context.updates = self.update_sink(&context, event_call, updates, &is_open);
        let mut openness = Openness {
            is_open,
            cancel_when_dropped: Some(stop.own.clone()),
        };
        let handler = Arc::clone(entry.tool.handler());
        let (spec, origin) = (entry.tool.spec(), context.origin);
        // Other tools say themselves what they do not know.
        let of_server = spec.namespace.is_some();
        let passed_on = of_server
            .then(|| undeclared(&spec.input_schema, &arguments))
            .flatten();
        tracking.begin();
        let mut call = pin!(guarded_future(move || handler.call(arguments, context)));
        let (finished, stopped_by) = tokio::select! {
            biased;
            finished = &mut call => (Some(finished), stop.is_stopped().then(Refusal::aborted)),
            () = stop.stopped() => (self.wind_down(call).await, Some(Refusal::aborted())),
            () = expiry(deadline) => {
                stop.own.cancel();
                let timed_out = Refusal::new(FailureKind::Timeout, timed_out(deadline));
                (self.wind_down(call).await, Some(timed_out))
            }
        };
        if matches!(finished, Some(Ok(_))) {
            openness.cancel_when_dropped = None;
        }
        let finished = match passed_on {
            Some(complaint) => finished
                .map(|finished| finished.map(|result| tell_passed_on(result, &complaint, origin))),
            None => finished,
        };
        Ok(ended(&entry.tool.spec().name, finished, stopped_by))
    }

    /// Waits a bounded time for a call that was told to stop.
    async fn wind_down(&self, call: Pin<&mut impl Future<Output = Finished>>) -> Option<Finished> {
        tokio::time::timeout(self.inner.cancel_grace, call)
            .await
            .ok()
    }

    fn output_sink(
        &self,
        context: &CallContext,
        call: Option<&Arc<EventCall>>,
    ) -> Option<OutputSink> {
        self.inner.events.as_ref()?;
        let (pipeline, call) = (self.clone(), call.cloned());
        let run_id = Arc::clone(&context.nesting.run.id);
        Some(Arc::new(move |text| {
            pipeline
                .inner
                .emit(&run_id, call.as_ref(), || EventKind::Output(text));
        }))
    }

    fn update_sink(
        &self,
        context: &CallContext,
        call: Option<Arc<EventCall>>,
        updates: Option<UpdateSink>,
        is_open: &Arc<AtomicBool>,
    ) -> Option<UpdateSink> {
        if updates.is_none() && self.inner.events.is_none() {
            return None;
        }
        let pipeline = self.clone();
        let run_id = Arc::clone(&context.nesting.run.id);
        let is_open = Arc::clone(is_open);
        Some(Arc::new(move |update: Update| {
            if !is_open.load(Ordering::Acquire) {
                return;
            }
            pipeline.inner.emit(&run_id, call.as_ref(), || {
                EventKind::Updated(update.clone())
            });
            if let Some(updates) = &updates {
                let _ignored = guarded(|| updates(update));
            }
        }))
    }
}

/// Tells of an argument that the tool does not declare: scripts beside the result, anybody else in it.
fn tell_passed_on(result: ToolResult, complaint: &str, origin: Origin) -> ToolResult {
    let note = format!("an argument was passed on that the tool does not declare: {complaint}");
    match origin {
        Origin::Nested => result.with_notes([note]),
        Origin::Model | Origin::User | Origin::Extension => {
            let mut result = result;
            result
                .content
                .push(ContentBlock::text(format!("[Note: {note}]")));
            result
        }
    }
}

/// `finished` is `None` when the tool did not confirm in time that it stopped; `stopped_by` says what told it to.
fn ended(name: &str, finished: Option<Finished>, stopped_by: Option<Refusal>) -> End {
    match (finished, stopped_by) {
        (Some(Ok(result)), None) => End::from_result(result),
        // A call that succeeded all the same has succeeded: its effects are real, so its result is kept.
        (Some(Ok(result)), Some(_)) if !result.is_error => End::from_result(result),
        (Some(Ok(result)), Some(stop)) => End {
            result,
            failure: Some(stop.kind),
            confirmed: true,
        },
        (Some(Err(panic)), None) => {
            let message = format!("Tool {name} panicked, which is a bug in it: {panic}");
            End::unconfirmed(FailureKind::Panicked, message)
        }
        (Some(Err(panic)), Some(stop)) => {
            let message = format!(
                "{}; the tool panicked while it stopped, which is a bug in it: {panic}",
                stop.message
            );
            End::unconfirmed(stop.kind, message)
        }
        (None, stop) => {
            let stop = stop.unwrap_or_else(Refusal::aborted);
            let message = format!(
                "{}; the tool did not confirm, so it may have taken effect",
                stop.message
            );
            End::unconfirmed(stop.kind, message)
        }
    }
}

async fn wait_for_turn<'a>(
    turns: &'a tokio::sync::Mutex<()>,
    stop: &Stop,
    deadline: Option<&Deadline>,
    open: &OpenCall,
) -> Result<tokio::sync::MutexGuard<'a, ()>, Refusal> {
    let _waiting = open.wait_for_turn();
    tokio::select! {
        biased;
        () = stop.stopped() => Err(Refusal::aborted()),
        turn = turns.lock() => Ok(turn),
        () = expiry(deadline) => {
            let message = format!("{} while it waited for its turn; it was not started", timed_out(deadline));
            Err(Refusal::new(FailureKind::Timeout, message))
        }
    }
}

fn timed_out(deadline: Option<&Deadline>) -> String {
    format!(
        "Operation timed out after {:?}",
        deadline.map(Deadline::limit).unwrap_or_default()
    )
}

async fn expiry(deadline: Option<&Deadline>) {
    match deadline {
        Some(deadline) => deadline.over().await,
        None => std::future::pending().await,
    }
}
