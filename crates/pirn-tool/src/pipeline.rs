//! The steps that every call takes, whoever makes it.
//!
//! 1. **Start.** The call gets its id (`<parent>/<n>` when nested), a receipt when nested, and [`CallEvent::Started`].
//!    Arguments that are nested too deep to be handled safely end the call here.
//! 2. **Look up.** The tool must exist and be exposed to this caller; a call that was cancelled before it began ends.
//! 3. **Prepare.** The handler may rewrite arguments of older shapes.
//! 4. **Validate** against the input schema, with lossless repairs.
//! 5. **Before-hooks**, in order; each may change the arguments or block.
//! 6. **Policy** allows, denies, or asks a person through the approver.
//! 7. **Turn.** A sequential tool waits until no other sequential call runs. Calls made inside such a call queue among
//!    themselves, so that no nesting can wait for itself.
//! 8. **Run** with a cancellation token and a deadline. A call that is told to stop has a bounded time to confirm; after that it
//!    is dropped and counts as unknown.
//! 9. **After-hooks**, in order, whatever happened before: also for calls that were blocked, denied or not found.
//! 10. **End.** The receipt is closed, usage is added up, [`CallEvent::Ended`] is sent: exactly once for every start, also when
//!     the caller drops the call midway.
//!
//! Every failure, a panic of a tool, hook, policy or approver included, is a result with the error flag.

use std::fmt;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use serde_json::Value;
use tokio_util::sync::CancellationToken;

use crate::clock::{OpenCall, WaitClock};
use crate::content::Usage;
use crate::context::{CallContext, Origin};
use crate::event::{CallEvent, EventSink};
use crate::hook::Hook;
use crate::policy::{Approver, Policy, RulePolicy};
use crate::receipt::{NestedCalls, ReceiptLog};
use crate::registry::Registry;

mod end;
mod execute;
mod panic;
mod request;
mod steps;

pub use request::{CallOutcome, CallRequest, FailureKind};

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
    approver: Option<Arc<dyn Approver>>,
    events: Option<EventSink>,
    cancel_grace: Duration,
}

impl Inner {
    /// Sends an event, which is only made when somebody listens. A receiver that panics does not disturb the call.
    fn emit(&self, event: impl FnOnce() -> CallEvent) {
        if let Some(events) = &self.events {
            let _ignored = panic::guarded(|| events(event()));
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

    /// Sets who is asked; without anyone a call that needs asking is denied.
    #[must_use]
    pub fn approver(mut self, approver: Arc<dyn Approver>) -> Self {
        self.inner.approver = Some(approver);
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

    /// Finishes the pipeline.
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

/// What the nested calls of one caller share.
#[derive(Clone, Default)]
pub(crate) struct Nesting {
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
    /// The state of a call made inside the one that this belongs to.
    fn nested(&self, clock: &WaitClock) -> Self {
        Self {
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
                approver: None,
                events: None,
                cancel_grace: CANCEL_GRACE_DEFAULT,
            },
        }
    }

    /// The tools.
    pub fn registry(&self) -> &Registry {
        &self.inner.registry
    }

    /// The same pipeline over other tools: hooks, policy, approver and events stay.
    #[must_use]
    pub fn over(&self, registry: Registry) -> Self {
        let inner = &self.inner;
        Self {
            inner: Arc::new(Inner {
                registry,
                hooks: inner.hooks.clone(),
                policy: Arc::clone(&inner.policy),
                approver: inner.approver.clone(),
                events: inner.events.clone(),
                cancel_grace: inner.cancel_grace,
            }),
        }
    }

    /// Makes one call. Never fails and never panics: every failure is an error result.
    pub async fn call(&self, request: CallRequest) -> CallOutcome {
        let open = OpenCall::root();
        let nesting = Nesting {
            clock: open.clock.clone(),
            ..Nesting::default()
        };
        let family = nesting.family.clone();
        let mut outcome = Box::pin(self.run(request, None, nesting, open)).await;
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
        self.nest(parent, request, None).await
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
        let request = Self::nested_request(parent, name, arguments, cancel);
        self.nest(parent, request, Some(parent.cancel.clone()))
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
        parent.nesting.clock.number_after(number);
        let request = Self::numbered_request(parent, number, name, arguments, cancel);
        self.nest(parent, request, Some(parent.cancel.clone()))
            .await
    }

    async fn nest(
        &self,
        parent: &CallContext,
        request: CallRequest,
        caller_cancel: Option<CancellationToken>,
    ) -> CallOutcome {
        let open = parent.nesting.clock.open();
        let nesting = Nesting {
            caller_cancel,
            ..parent.nesting.nested(&open.clock)
        };
        Box::pin(self.run(request, Some(parent.call_id.clone()), nesting, open)).await
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
        }
    }
}
