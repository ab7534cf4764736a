//! The one road every call takes, whoever makes it.

use std::any::Any;
use std::fmt;
use std::panic::AssertUnwindSafe;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::{Duration, Instant};

use futures_util::FutureExt as _;
use serde_json::Value;
use tokio_util::sync::CancellationToken;

use crate::content::{ToolResult, Usage};
use crate::context::{CallContext, Origin, Update, UpdateSink};
use crate::event::{CallEvent, EventSink};
use crate::hook::{BeforeVerdict, Hook, HookCall};
use crate::policy::{Approver, Decision, Policy, PolicyInput, RulePolicy};
use crate::receipt::{CallStatus, NestedCalls, ReceiptLog};
use crate::registry::{Entry, Registry};

/// How long a cancelled call may take to confirm; after that it is dropped and counts as unknown.
pub const CANCEL_GRACE_DEFAULT: Duration = Duration::from_secs(3);

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

impl fmt::Debug for Pipeline {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_struct("Pipeline").field("hooks", &self.inner.hooks.len()).finish_non_exhaustive()
    }
}

/// Puts a [`Pipeline`] together.
pub struct PipelineBuilder {
    inner: Inner,
}

impl fmt::Debug for PipelineBuilder {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_struct("PipelineBuilder").finish_non_exhaustive()
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
        Pipeline { inner: Arc::new(self.inner) }
    }
}

/// One call to make.
pub struct CallRequest {
    /// The id the model or front end gave it.
    pub call_id: String,
    /// The tool's name.
    pub tool_name: String,
    /// The arguments, not yet validated.
    pub arguments: Value,
    /// Who calls.
    pub origin: Origin,
    /// Fires when the call should stop.
    pub cancel: CancellationToken,
    /// Fires when the owner of background processes ends; a child of `cancel` by default.
    pub lifetime: CancellationToken,
    /// Cancels the call after this time.
    pub timeout: Option<Duration>,
    /// Receives progress.
    pub updates: Option<UpdateSink>,
}

impl CallRequest {
    /// A call by the model without time limit.
    pub fn new(call_id: impl Into<String>, tool_name: impl Into<String>, arguments: Value) -> Self {
        let cancel = CancellationToken::new();
        Self {
            call_id: call_id.into(),
            tool_name: tool_name.into(),
            arguments,
            origin: Origin::Model,
            lifetime: cancel.child_token(),
            cancel,
            timeout: None,
            updates: None,
        }
    }

    /// Sets who calls.
    #[must_use]
    pub fn origin(mut self, origin: Origin) -> Self {
        self.origin = origin;
        self
    }

    /// Sets the token that stops the call.
    #[must_use]
    pub fn cancel(mut self, cancel: CancellationToken) -> Self {
        self.lifetime = cancel.child_token();
        self.cancel = cancel;
        self
    }
}

impl fmt::Debug for CallRequest {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter
            .debug_struct("CallRequest")
            .field("call_id", &self.call_id)
            .field("tool_name", &self.tool_name)
            .finish_non_exhaustive()
    }
}

/// Why a call failed, where the pipeline knows.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum FailureKind {
    /// No such tool, or not one this caller may call.
    NotFound,
    /// The arguments do not fit the schema.
    InvalidArguments,
    /// A hook blocked the call.
    Blocked,
    /// Policy or a person denied it.
    Denied,
    /// The tool itself failed.
    Failed,
    /// The call was cancelled.
    Cancelled,
    /// The call ran past its deadline.
    Timeout,
    /// The tool panicked: a bug in it.
    Panicked,
}

impl FailureKind {
    /// The name scripts see as `error.kind`.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::NotFound => "not_found",
            Self::InvalidArguments => "invalid_arguments",
            Self::Blocked => "blocked",
            Self::Denied => "denied",
            Self::Failed => "failed",
            Self::Cancelled => "cancelled",
            Self::Timeout => "timeout",
            Self::Panicked => "panicked",
        }
    }

    /// Whether the tool's code ran at all; where it did not, nothing took effect.
    pub fn ran(self) -> bool {
        match self {
            Self::NotFound | Self::InvalidArguments | Self::Blocked | Self::Denied => false,
            Self::Failed | Self::Cancelled | Self::Timeout | Self::Panicked => true,
        }
    }
}

/// What became of a call.
#[derive(Debug, Clone)]
pub struct CallOutcome {
    /// The call's id.
    pub call_id: String,
    /// The tool's name.
    pub tool_name: String,
    /// The result; an error result says why.
    pub result: ToolResult,
    /// Why it failed; `None` exactly when `result.is_error` is false.
    pub failure: Option<FailureKind>,
    /// What became of it, for receipts.
    pub status: CallStatus,
    /// The time from look-up to the last hook.
    pub duration: Duration,
    /// The calls made inside this one, at every depth. Only on calls that are not nested themselves.
    pub nested_calls: Option<NestedCalls>,
}

impl CallOutcome {
    pub(crate) fn not_found(name: &str, call_id: &str) -> Self {
        Self {
            call_id: call_id.to_owned(),
            tool_name: name.to_owned(),
            result: ToolResult::error(format!("Tool {name} not found")),
            failure: Some(FailureKind::NotFound),
            status: CallStatus::Error,
            duration: Duration::ZERO,
            nested_calls: None,
        }
    }
}

/// What nested calls of one root call share.
#[derive(Clone, Default)]
pub(crate) struct CallFamily {
    receipts: ReceiptLog,
    usage: Arc<std::sync::Mutex<Usage>>,
}

/// What nested calls of one caller share.
#[derive(Clone, Default)]
pub(crate) struct Nesting {
    family: CallFamily,
    /// Numbers the nested calls of one caller, from 1.
    next: Arc<AtomicU64>,
    /// Sequential tools whose turn this call or one of its callers holds, so that nesting cannot deadlock.
    held: Vec<String>,
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

    /// Makes one call. Never fails and never panics: every failure is an error result.
    pub async fn call(&self, request: CallRequest) -> CallOutcome {
        let family = CallFamily::default();
        let nesting = Nesting { family: family.clone(), ..Nesting::default() };
        let mut outcome = Box::pin(self.run(request, None, nesting)).await;
        outcome.nested_calls = family.receipts.snapshot();
        let nested_usage = *family.usage.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
        if nested_usage != Usage::default() {
            *outcome.result.usage.get_or_insert_default() += nested_usage;
        }
        outcome
    }

    /// Makes a call on behalf of the call that `parent` belongs to.
    pub async fn call_nested(&self, parent: &CallContext, name: &str, arguments: Value) -> CallOutcome {
        self.call_nested_with(parent, name, arguments, parent.cancel.child_token()).await
    }

    /// Like [`Pipeline::call_nested`], with a token of the caller's that stops only this call.
    pub async fn call_nested_with(
        &self,
        parent: &CallContext,
        name: &str,
        arguments: Value,
        cancel: CancellationToken,
    ) -> CallOutcome {
        let number = parent.nesting.next.fetch_add(1, Ordering::Relaxed) + 1;
        let family = parent.nesting.family.clone();
        let request = CallRequest {
            call_id: format!("{}/{number}", parent.call_id),
            tool_name: name.to_owned(),
            arguments,
            origin: Origin::Nested,
            cancel,
            lifetime: parent.lifetime.clone(),
            timeout: None,
            updates: None,
        };
        let slot = family.receipts.start(&request.call_id, name, &request.arguments);
        let nesting = Nesting { family: family.clone(), next: Arc::default(), held: parent.nesting.held.clone() };
        let outcome = Box::pin(self.run(request, Some(parent.call_id.clone()), nesting)).await;
        let error = outcome.failure.is_some().then(|| outcome.result.joined_text());
        let duration_ms = u64::try_from(outcome.duration.as_millis()).unwrap_or(u64::MAX);
        family.receipts.finish(slot, outcome.status, duration_ms, error.as_deref());
        if let Some(usage) = outcome.result.usage {
            *family.usage.lock().unwrap_or_else(std::sync::PoisonError::into_inner) += usage;
        }
        outcome
    }

    async fn run(&self, request: CallRequest, parent_call_id: Option<String>, nesting: Nesting) -> CallOutcome {
        let started_at = Instant::now();
        if let Some(events) = &self.inner.events {
            events(CallEvent::Started {
                call_id: request.call_id.clone(),
                parent_call_id: parent_call_id.clone(),
                tool_name: request.tool_name.clone(),
                arguments: request.arguments.clone(),
                origin: request.origin,
            });
        }
        let call_id = request.call_id.clone();
        let tool_name = request.tool_name.clone();
        let origin = request.origin;
        let call = HookCall {
            call_id: &call_id,
            parent_call_id: parent_call_id.as_deref(),
            tool_name: &tool_name,
            origin,
        };
        let mut end = self.run_checked(call, request, nesting).await;
        self.after_hooks(call, &mut end).await;
        let duration = started_at.elapsed();
        let status = end.status();
        if let Some(events) = &self.inner.events {
            events(CallEvent::Ended {
                call_id: call_id.clone(),
                parent_call_id: parent_call_id.clone(),
                tool_name: tool_name.clone(),
                status,
                result: Arc::new(end.result.clone()),
                duration,
            });
        }
        CallOutcome { call_id, tool_name, result: end.result, failure: end.failure, status, duration, nested_calls: None }
    }

    async fn run_checked(&self, call: HookCall<'_>, request: CallRequest, nesting: Nesting) -> End {
        if request.cancel.is_cancelled() {
            return End::failure(FailureKind::Cancelled, "Operation aborted");
        }
        let Some(entry) = self.inner.registry.resolve(call.tool_name, request.origin) else {
            return End::failure(FailureKind::NotFound, format!("Tool {} not found", call.tool_name));
        };
        let spec = entry.tool.spec();
        let prepared = entry.tool.handler().prepare_arguments(request.arguments);
        let mut arguments = match entry.validator().check(&spec.name, prepared) {
            Ok(arguments) => arguments,
            Err(message) => return End::failure(FailureKind::InvalidArguments, message),
        };
        for hook in &self.inner.hooks {
            match hook.before(call, &mut arguments).await {
                Ok(BeforeVerdict::Continue) => {}
                Ok(BeforeVerdict::Block { reason }) if reason.is_empty() => {
                    return End::failure(FailureKind::Blocked, "Tool execution was blocked");
                }
                Ok(BeforeVerdict::Block { reason }) | Err(reason) => {
                    return End::failure(FailureKind::Blocked, reason);
                }
            }
        }
        let input = PolicyInput { tool: spec, arguments: &arguments, origin: request.origin };
        match self.inner.policy.decide(input) {
            Decision::Allow => {}
            Decision::Deny { reason } => {
                return End::failure(FailureKind::Denied, denied(&spec.name, &reason));
            }
            Decision::Ask { reason } => {
                let Some(approver) = &self.inner.approver else {
                    let reason = format!("{reason}; it needs approval and there is nobody to ask");
                    return End::failure(FailureKind::Denied, denied(&spec.name, &reason));
                };
                let allowed = tokio::select! {
                    allowed = approver.ask(call.call_id, input, &reason) => allowed,
                    () = request.cancel.cancelled() => {
                        return End::failure(FailureKind::Cancelled, "Operation aborted");
                    }
                };
                if !allowed {
                    return End::failure(FailureKind::Denied, denied(&spec.name, &reason));
                }
            }
        }
        let context = CallContext {
            call_id: request.call_id,
            parent_call_id: call.parent_call_id.map(str::to_owned),
            origin: request.origin,
            cancel: request.cancel,
            lifetime: request.lifetime,
            deadline: request.timeout.map(|timeout| Instant::now() + timeout),
            updates: None,
            pipeline: Some(self.clone()),
            nesting,
        };
        self.execute(&entry, arguments, context, request.updates).await
    }

    /// Runs the tool's own code, with its deadline and cancellation.
    async fn execute(
        &self,
        entry: &Arc<Entry>,
        arguments: Value,
        mut context: CallContext,
        updates: Option<UpdateSink>,
    ) -> End {
        let cancel = context.cancel.clone();
        let name = &entry.tool.spec().name;
        let needs_turn = entry.is_sequential() && !context.nesting.held.contains(name);
        let _turn = if needs_turn {
            context.nesting.held.push(name.clone());
            tokio::select! {
                turn = entry.turn.lock() => Some(turn),
                () = cancel.cancelled() => return End::failure(FailureKind::Cancelled, "Operation aborted"),
            }
        } else {
            None
        };
        let open = Arc::new(AtomicBool::new(true));
        context.updates = self.update_sink(&context.call_id, updates, &open);
        let deadline = context.deadline;
        let handler = Arc::clone(entry.tool.handler());
        // The handler's own synchronous part can panic too, so it is called inside the guarded future.
        let guarded = AssertUnwindSafe(async move { handler.call(arguments, context).await }).catch_unwind();
        tokio::pin!(guarded);
        let expired = async {
            match deadline {
                Some(at) => tokio::time::sleep_until(at.into()).await,
                None => std::future::pending().await,
            }
        };
        let end = tokio::select! {
            biased;
            finished = &mut guarded => End::from_run(name, finished),
            () = cancel.cancelled() => self.wind_down(guarded, FailureKind::Cancelled).await,
            () = expired => {
                cancel.cancel();
                self.wind_down(guarded, FailureKind::Timeout).await
            }
        };
        open.store(false, Ordering::Relaxed);
        end
    }

    /// Waits a bounded time for a call that was told to stop.
    async fn wind_down(
        &self,
        call: impl Future<Output = Result<ToolResult, Box<dyn Any + Send>>>,
        kind: FailureKind,
    ) -> End {
        match tokio::time::timeout(self.inner.cancel_grace, call).await {
            // A call that finished all the same has finished: its effects are real, so its result is kept.
            Ok(Ok(result)) if !result.is_error => End { result, failure: None, confirmed: true },
            Ok(Ok(result)) => End { result, failure: Some(kind), confirmed: true },
            Ok(Err(_panic)) => End { confirmed: false, ..End::failure(kind, "Operation aborted") },
            Err(_elapsed) => End {
                confirmed: false,
                ..End::failure(kind, "Operation aborted; the tool did not confirm, so it may have taken effect")
            },
        }
    }

    fn update_sink(
        &self,
        call_id: &str,
        updates: Option<UpdateSink>,
        open: &Arc<AtomicBool>,
    ) -> Option<UpdateSink> {
        let events = self.inner.events.clone();
        if updates.is_none() && events.is_none() {
            return None;
        }
        let call_id = call_id.to_owned();
        let open = Arc::clone(open);
        Some(Arc::new(move |update: Update| {
            if !open.load(Ordering::Relaxed) {
                return;
            }
            if let Some(events) = &events {
                events(CallEvent::Updated { call_id: call_id.clone(), update: update.clone() });
            }
            if let Some(updates) = &updates {
                updates(update);
            }
        }))
    }

    async fn after_hooks(&self, call: HookCall<'_>, end: &mut End) {
        for hook in &self.inner.hooks {
            match hook.after(call, &end.result).await {
                Ok(change) => change.apply(&mut end.result),
                Err(message) => end.result = ToolResult::error(message),
            }
        }
        // Hooks may turn a failure into a success and the other way round; the kind follows the flag.
        end.failure = match (end.result.is_error, end.failure) {
            (false, _) => None,
            (true, None) => Some(FailureKind::Failed),
            (true, failure) => failure,
        };
    }
}

/// The end of a call before it is reported.
struct End {
    result: ToolResult,
    failure: Option<FailureKind>,
    confirmed: bool,
}

impl End {
    fn failure(kind: FailureKind, message: impl Into<String>) -> Self {
        Self { result: ToolResult::error(message), failure: Some(kind), confirmed: true }
    }

    fn from_run(name: &str, finished: Result<ToolResult, Box<dyn Any + Send>>) -> Self {
        match finished {
            Ok(result) => {
                let failure = result.is_error.then_some(FailureKind::Failed);
                Self { result, failure, confirmed: true }
            }
            Err(panic) => {
                let message = panic
                    .downcast_ref::<&str>()
                    .map(|text| (*text).to_owned())
                    .or_else(|| panic.downcast_ref::<String>().cloned())
                    .unwrap_or_else(|| "no message".to_owned());
                let text = format!("Tool {name} panicked, which is a bug in it: {message}");
                Self { confirmed: false, ..Self::failure(FailureKind::Panicked, text) }
            }
        }
    }

    fn status(&self) -> CallStatus {
        match (self.failure, self.confirmed) {
            (None, _) => CallStatus::Ok,
            (Some(_), false) => CallStatus::Unknown,
            (Some(FailureKind::Cancelled | FailureKind::Timeout), true) => CallStatus::Cancelled,
            (Some(_), true) => CallStatus::Error,
        }
    }
}

fn denied(name: &str, reason: &str) -> String {
    format!("Tool {name} was denied ({reason})")
}
