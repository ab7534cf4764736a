//! A front end's view of a runtime: the tools that it sees, and what its calls may do.

use std::sync::Arc;

use pirn_codemode::{
    Abort, PipelineHost, ProgressSink, RunOptions, Script, ScriptLimits, ScriptResult, run_script,
};
use pirn_eval::EvalReport;
use pirn_tool::{
    Approver, CallContext, CallOutcome, CallRequest, EventSink, Pipeline, Policy, Registry,
};
use tokio_util::sync::CancellationToken;

use crate::error::{Error, ErrorKind};
use crate::evals::EvalRun;
use crate::runtime::Runtime;
use crate::tool_filter::ToolFilter;

/// What a client sees and may do.
#[derive(Clone)]
pub struct ClientOptions {
    /// Which tools there are.
    pub tools: ToolFilter,
    /// Decides about calls.
    pub policy: Arc<dyn Policy>,
    /// Who is asked; without anyone a call that needs asking is denied.
    pub approver: Option<Arc<dyn Approver>>,
    /// Hears of what happens to calls.
    pub events: Option<EventSink>,
}

impl ClientOptions {
    /// A client that sees all tools, asks nobody and hears of nothing.
    pub fn new(policy: impl Policy + 'static) -> Self {
        Self {
            tools: ToolFilter::default(),
            policy: Arc::new(policy),
            approver: None,
            events: None,
        }
    }
}

impl std::fmt::Debug for ClientOptions {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter
            .debug_struct("ClientOptions")
            .field("tools", &self.tools)
            .finish_non_exhaustive()
    }
}

/// One script to run.
#[derive(Clone)]
pub struct ScriptRun {
    /// The call that the script's calls are nested in.
    pub call_id: String,
    /// What to run.
    pub script: Script,
    /// What it may use.
    pub limits: ScriptLimits,
    /// Stops it.
    pub abort: Abort,
    /// Told what happens meanwhile.
    pub progress: Option<ProgressSink>,
}

impl ScriptRun {
    /// A script with an empty store and the contract's limits.
    pub fn new(call_id: impl Into<String>, code: impl Into<String>) -> Self {
        Self {
            call_id: call_id.into(),
            script: Script::new(code),
            limits: ScriptLimits::default(),
            abort: Abort::new(),
            progress: None,
        }
    }
}

impl std::fmt::Debug for ScriptRun {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter
            .debug_struct("ScriptRun")
            .field("call_id", &self.call_id)
            .field("limits", &self.limits)
            .finish_non_exhaustive()
    }
}

/// A front end's view of a runtime. Cheap to clone.
#[derive(Debug, Clone)]
pub struct Client {
    runtime: Runtime,
    pipeline: Pipeline,
}

impl Client {
    pub(crate) fn new(runtime: Runtime, options: ClientOptions) -> Self {
        let registry = options.tools.apply(runtime.registry());
        let mut builder = Pipeline::builder(registry).policy(options.policy);
        for hook in &runtime.inner().hooks {
            builder = builder.hook(Arc::clone(hook));
        }
        if let Some(approver) = options.approver {
            builder = builder.approver(approver);
        }
        if let Some(events) = options.events {
            builder = builder.events(events);
        }
        Self {
            runtime,
            pipeline: builder.build(),
        }
    }

    /// The runtime behind it.
    pub fn runtime(&self) -> &Runtime {
        &self.runtime
    }

    /// The tools that this client sees.
    pub fn registry(&self) -> &Registry {
        self.pipeline.registry()
    }

    /// What all calls of this client go through.
    pub fn pipeline(&self) -> &Pipeline {
        &self.pipeline
    }

    /// Makes one call. It is cancelled when the runtime ends.
    pub async fn call(&self, request: CallRequest) -> CallOutcome {
        let cancel = request.cancel.clone();
        self.until_the_end(self.pipeline.call(request), || cancel.cancel())
            .await
    }

    /// Runs a script to its end, over the tools that this client sees. What its commands left in the background ends with it, and
    /// both end with the runtime.
    pub async fn run_script(&self, run: ScriptRun) -> Result<ScriptResult, Error> {
        let engine = self.runtime.engine()?;
        let context = self.context(run.call_id, CancellationToken::new());
        let _ends_children = context.lifetime.clone().drop_guard();
        let environment = PipelineHost::environment(&self.pipeline, &context, &[]);
        let abort = run.abort.clone();
        let options = RunOptions {
            limits: run.limits,
            abort: run.abort,
            progress: run.progress,
            ..RunOptions::default()
        };
        let running = run_script(engine, &run.script, &environment, options);
        Ok(self
            .until_the_end(running, || abort.abort("Pirn ends"))
            .await)
    }

    /// Runs a program to its end. What its commands left in the background ends with it, and both end with the runtime. Fails
    /// where the runtime has no evals.
    pub async fn evaluate(
        &self,
        call_id: impl Into<String>,
        run: EvalRun,
        cancel: CancellationToken,
    ) -> Result<EvalReport, Error> {
        let Some(evals) = &self.runtime.inner().evals else {
            return Err(Error::new(
                ErrorKind::Input,
                "this runtime was made without evals",
            ));
        };
        let context = self.context(call_id.into(), cancel.clone());
        let _ends_children = context.lifetime.clone().drop_guard();
        let running = evals.run(&self.pipeline, &context, run);
        Ok(self.until_the_end(running, || cancel.cancel()).await)
    }

    /// Does work that `stop` stops when the runtime ends, whose shutdown waits for it.
    async fn until_the_end<T>(&self, work: impl Future<Output = T>, stop: impl FnOnce()) -> T {
        let inner = self.runtime.inner();
        let _waited_for = inner.work.token();
        let mut work = std::pin::pin!(work);
        tokio::select! {
            biased;
            () = inner.lifetime.cancelled() => stop(),
            done = &mut work => return done,
        }
        work.await
    }

    /// The context of a call that the front end itself makes. Its lifetime ends with the runtime's at the latest.
    fn context(&self, call_id: String, cancel: CancellationToken) -> CallContext {
        let mut context = CallContext::detached(call_id);
        context.cancel = cancel;
        context.lifetime = self.runtime.inner().lifetime.child_token();
        context
    }
}
