//! The steps that every call takes, whoever makes it.
//!
//! 1. **Start.** The call gets its id (`<parent>/<n>` when nested), a receipt when nested, and [`EventKind::Started`].
//!    Arguments that are nested too deep to be handled safely end the call here.
//! 2. **Look up.** The tool must exist and be exposed to this caller; a call that was cancelled before it began ends.
//! 3. **Prepare.** The handler may rewrite arguments of older shapes.
//! 4. **Validate** against the input schema, with lossless repairs.
//! 5. **Before-hooks**, in order; each may change the arguments or block.
//! 6. **Policy** allows, denies, or asks a person in the queue of approvals. While all calls that something waits for ask, its
//!    clock stands still.
//! 7. **Turn.** A sequential tool waits until no other sequential call runs. Calls made inside such a call queue among
//!    themselves, so that no nesting can wait for itself.
//! 8. **Run** with a cancellation token and a deadline. A call that is told to stop has a bounded time to confirm; after that it
//!    is dropped and counts as unknown.
//! 9. **After-hooks**, in order, whatever happened before: also for calls that were blocked, denied or not found.
//! 10. **End.** The receipt is closed, usage is added up, [`EventKind::Ended`] is sent: exactly once for every start, also when
//!     the caller drops the call midway.
//!
//! Every failure, a panic of a tool, hook or policy included, is a result with the error flag.

use std::fmt;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use serde_json::Value;
use tokio::sync::watch;
use tokio_util::sync::CancellationToken;

use crate::approval::ApprovalQueue;
use crate::clock::{OpenCall, WaitClock};
use crate::content::Usage;
use crate::context::{CallContext, Origin};
use crate::event::{EventCall, EventKind, EventSink, RuntimeEvent};
use crate::hook::Hook;
use crate::panic::guarded;
use crate::policy::{Policy, RulePolicy};
use crate::receipt::{NestedCalls, ReceiptLog};
use crate::registry::Registry;
use crate::run::{CallSettings, Run};

mod end;
mod execute;
mod permit;
mod request;
mod steps;

pub use request::{CallOutcome, CallRequest, CallStage, FailureKind, NestedOptions};

/// How long a cancelled call may take to confirm; after that it is dropped and counts as unknown.
pub const CANCEL_GRACE_DEFAULT: Duration = Duration::from_secs(3);

/// Levels of calls inside calls. Each is polled inside the one above it, so depth costs stack; scripts need two or three.
const NESTING_DEPTH_MAX: usize = 32;

/// Runs calls: look up, prepare, validate, before-hooks, policy, run, after-hooks, receipt, events. Cheap to clone.
///
/// ```
/// # #[tokio::main(flavor = "current_thread")] async fn main() {
/// use pirn_tool::{CallRequest, Pipeline, Registry, Tool, ToolResult, ToolSpec};
/// use serde_json::json;
///
/// let registry = Registry::new();
/// registry.register(Tool::from_fn(ToolSpec::new("greet", "Greets"), |_, _| async { ToolResult::text("hello") }));
/// let pipeline = Pipeline::builder(registry).build();
/// let outcome = pipeline.call(CallRequest::new("call-1", "greet", json!({}))).await;
/// assert_eq!(outcome.result.joined_text(), "hello");
/// # }
/// ```
#[derive(Clone)]
pub struct Pipeline {
    inner: Arc<Inner>,
}

struct Inner {
    registry: Registry,
    hooks: Vec<Arc<dyn Hook>>,
    policy: Arc<dyn Policy>,
    approvals: Option<ApprovalQueue>,
    events: Option<EventSink>,
    cancel_grace: Duration,
}

impl Inner {
    /// Sends an event, which is only made when somebody listens. A receiver that panics does not disturb the call.
    fn emit(
        &self,
        run_id: &Arc<str>,
        call: Option<&Arc<EventCall>>,
        kind: impl FnOnce() -> EventKind,
    ) {
        if let Some(events) = &self.events {
            let _ignored = guarded(|| {
                events(RuntimeEvent {
                    run_id: Arc::clone(run_id),
                    call: call.cloned(),
                    kind: kind(),
                });
            });
        }
    }
}

impl fmt::Debug for Pipeline {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter
            .debug_struct("Pipeline")
            .field("hooks", &self.inner.hooks.len())
            .finish_non_exhaustive()
    }
}

/// Puts a [`Pipeline`] together.
pub struct PipelineBuilder {
    inner: Inner,
}

impl fmt::Debug for PipelineBuilder {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter
            .debug_struct("PipelineBuilder")
            .finish_non_exhaustive()
    }
}

impl PipelineBuilder {
    /// Adds a hook; hooks run in the order they were added.
    #[must_use]
    pub fn hook(mut self, hook: Arc<dyn Hook>) -> Self {
        self.inner.hooks.push(hook);
        self
    }

    /// Sets the policy; without one every call is allowed.
    #[must_use]
    pub fn policy(mut self, policy: Arc<dyn Policy>) -> Self {
        self.inner.policy = policy;
        self
    }

    /// Sets the queue in which people are asked; without one a call that needs asking is denied.
    #[must_use]
    pub fn approvals(mut self, queue: ApprovalQueue) -> Self {
        self.inner.approvals = Some(queue);
        self
    }

    /// Sets the receiver of events.
    #[must_use]
    pub fn events(mut self, events: EventSink) -> Self {
        self.inner.events = Some(events);
        self
    }

    /// Sets how long a cancelled call may take to confirm.
    #[must_use]
    pub fn cancel_grace(mut self, grace: Duration) -> Self {
        self.inner.cancel_grace = grace;
        self
    }

    /// Makes the pipeline; nothing of it changes afterwards but the registry's tools.
    pub fn build(self) -> Pipeline {
        Pipeline {
            inner: Arc::new(self.inner),
        }
    }
}

/// What nested calls of one root call share.
#[derive(Clone, Default)]
pub(crate) struct CallFamily {
    receipts: ReceiptLog,
    usage: Arc<Mutex<Usage>>,
}

impl CallFamily {
    fn add_usage(&self, usage: Usage) {
        *self.usage.lock().unwrap_or_else(PoisonError::into_inner) += usage;
    }

    fn usage(&self) -> Usage {
        *self.usage.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// How a call is followed from outside, besides its events.
pub(super) struct Placement {
    open: OpenCall,
    stage: Option<watch::Sender<CallStage>>,
    question_id: Option<String>,
}

/// What the nested calls of one caller share.
#[derive(Clone)]
pub(crate) struct Nesting {
    pub(crate) run: Arc<Run>,
    pub(crate) settings: Option<Arc<CallSettings>>,
    family: CallFamily,
    /// Counts the calls made inside this one and stands still while they ask.
    pub(crate) clock: WaitClock,
    /// Levels above this call.
    depth: usize,
    /// The queue in which sequential calls made inside this one wait; the registry's while no caller is sequential.
    turns: Option<Arc<tokio::sync::Mutex<()>>>,
    /// Stops this call besides its own token: that of the caller, where the caller gave another one.
    caller_cancel: Option<CancellationToken>,
}

impl Nesting {
    /// The state of a call that nothing was called from.
    pub(crate) fn root(run: Arc<Run>, clock: WaitClock) -> Self {
        Self {
            run,
            settings: None,
            family: CallFamily::default(),
            clock,
            depth: 0,
            turns: None,
            caller_cancel: None,
        }
    }

    /// The state of a call made inside the one that this belongs to.
    fn nested(&self, clock: &WaitClock) -> Self {
        Self {
            run: Arc::clone(&self.run),
            settings: self.settings.clone(),
            family: self.family.clone(),
            clock: clock.clone(),
            depth: self.depth + 1,
            turns: self.turns.clone(),
            caller_cancel: None,
        }
    }

    pub(crate) fn receipts(&self) -> Option<NestedCalls> {
        self.family.receipts.snapshot()
    }
}

impl Pipeline {
    /// Starts a pipeline over `registry`, with every call allowed and no hooks.
    pub fn builder(registry: Registry) -> PipelineBuilder {
        PipelineBuilder {
            inner: Inner {
                registry,
                hooks: Vec::new(),
                policy: Arc::new(RulePolicy::allow_all()),
                approvals: None,
                events: None,
                cancel_grace: CANCEL_GRACE_DEFAULT,
            },
        }
    }

    /// The tools that calls are looked up in.
    pub fn registry(&self) -> &Registry {
        &self.inner.registry
    }

    /// The queue in which people are asked.
    pub fn approvals(&self) -> Option<&ApprovalQueue> {
        self.inner.approvals.as_ref()
    }

    /// The same pipeline over other tools: hooks, policy, approvals and events stay.
    #[must_use]
    pub fn over(&self, registry: Registry) -> Self {
        let inner = &self.inner;
        Self {
            inner: Arc::new(Inner {
                registry,
                hooks: inner.hooks.clone(),
                policy: Arc::clone(&inner.policy),
                approvals: inner.approvals.clone(),
                events: inner.events.clone(),
                cancel_grace: inner.cancel_grace,
            }),
        }
    }

    /// Makes one call. Never fails and never panics: every failure is an error result.
    pub async fn call(&self, request: CallRequest) -> CallOutcome {
        let open = OpenCall::root();
        // A call without a run is one, and ends it.
        let (run, _ends_with_call) = if let Some(run) = &request.run {
            (Arc::clone(run), None)
        } else {
            let run = Arc::new(Run::new(request.call_id.as_str()));
            let end = self.inner.approvals.clone().map(|queue| RunEnd {
                queue,
                run: Arc::clone(&run),
            });
            (run, end)
        };
        let nesting = Nesting {
            settings: request.settings.clone(),
            ..Nesting::root(run, open.clock.clone())
        };
        let family = nesting.family.clone();
        let placement = Placement {
            open,
            stage: None,
            question_id: None,
        };
        let mut outcome = Box::pin(self.run(request, None, nesting, placement)).await;
        outcome.nested_calls = family.receipts.snapshot();
        let nested_usage = family.usage();
        if nested_usage != Usage::default() {
            *outcome.result.usage.get_or_insert_default() += nested_usage;
        }
        outcome
    }

    /// Makes a call on behalf of the call that `parent` belongs to.
    pub async fn call_nested(
        &self,
        parent: &CallContext,
        name: &str,
        arguments: Value,
    ) -> CallOutcome {
        let request = Self::nested_request(parent, name, arguments, parent.cancel.clone());
        self.nest(parent, request, None, NestedOptions::default())
            .await
    }

    /// Like [`Pipeline::call_nested`], with a token of the caller's that stops only this call. The caller's own token stops it
    /// too.
    pub async fn call_nested_with(
        &self,
        parent: &CallContext,
        name: &str,
        arguments: Value,
        cancel: CancellationToken,
    ) -> CallOutcome {
        let options = NestedOptions {
            cancel: Some(cancel),
            ..NestedOptions::default()
        };
        self.call_nested_with_options(parent, name, arguments, options)
            .await
    }

    /// Like [`Pipeline::call_nested_with`], for a caller that numbers its calls itself: the id is `<parent>/<number>`. Later
    /// calls without a number go on after the highest.
    pub async fn call_nested_numbered(
        &self,
        parent: &CallContext,
        number: u64,
        name: &str,
        arguments: Value,
        cancel: CancellationToken,
    ) -> CallOutcome {
        let options = NestedOptions {
            number: Some(number),
            cancel: Some(cancel),
            ..NestedOptions::default()
        };
        self.call_nested_with_options(parent, name, arguments, options)
            .await
    }

    /// Like [`Pipeline::call_nested`], for a caller that numbers, stops or follows its calls.
    pub async fn call_nested_with_options(
        &self,
        parent: &CallContext,
        name: &str,
        arguments: Value,
        mut options: NestedOptions,
    ) -> CallOutcome {
        let caller_cancel = options.cancel.is_some().then(|| parent.cancel.clone());
        let cancel = options
            .cancel
            .take()
            .unwrap_or_else(|| parent.cancel.clone());
        let request = match options.number {
            Some(number) => {
                parent.nesting.clock.number_after(number);
                Self::numbered_request(parent, number, name, arguments, cancel)
            }
            None => Self::nested_request(parent, name, arguments, cancel),
        };
        self.nest(parent, request, caller_cancel, options).await
    }

    async fn nest(
        &self,
        parent: &CallContext,
        request: CallRequest,
        caller_cancel: Option<CancellationToken>,
        options: NestedOptions,
    ) -> CallOutcome {
        let open = parent.nesting.clock.open();
        let nesting = Nesting {
            caller_cancel,
            ..parent.nesting.nested(&open.clock)
        };
        let placement = Placement {
            open,
            stage: options.stage,
            question_id: options.question_id,
        };
        Box::pin(self.run(request, Some(parent.call_id.clone()), nesting, placement)).await
    }

    fn nested_request(
        parent: &CallContext,
        name: &str,
        arguments: Value,
        cancel: CancellationToken,
    ) -> CallRequest {
        let number = parent.nesting.clock.next_number();
        Self::numbered_request(parent, number, name, arguments, cancel)
    }

    fn numbered_request(
        parent: &CallContext,
        number: u64,
        name: &str,
        arguments: Value,
        cancel: CancellationToken,
    ) -> CallRequest {
        CallRequest {
            call_id: format!("{}/{number}", parent.call_id),
            tool_name: name.to_owned(),
            arguments,
            origin: Origin::Nested,
            cancel,
            lifetime: parent.lifetime.clone(),
            timeout: None,
            updates: None,
            run: None,
            settings: None,
        }
    }
}

/// Forgets the run that a call without one was, also when the call is dropped. What the call left behind, such as a script in
/// the background, may still ask.
struct RunEnd {
    queue: ApprovalQueue,
    run: Arc<Run>,
}

impl Drop for RunEnd {
    fn drop(&mut self) {
        self.queue.forget_run(&self.run.id);
    }
}
