//! A front end's view of a runtime: the tools that it sees, and what its calls may do.

use std::sync::Arc;

use pirn_eval::{EVAL_TOOL_NAME, EvalReport};
use pirn_mcp::FindReachedTools;
use pirn_tool::{
    CallContext, CallOutcome, CallRequest, EventCall, EventKind, Pipeline, Policy, Registry, Run,
    RuntimeEvent,
};
use serde_json::{Value, json};
use tokio_util::sync::CancellationToken;

use crate::error::{Error, ErrorKind};
use crate::evals::EvalRun;
use crate::runtime::Runtime;
use crate::servers::reached_tools;
use crate::tool_filter::ToolFilter;

/// What a client sees and may do.
#[derive(Clone)]
pub struct ClientOptions {
    /// Which tools there are.
    pub tools: ToolFilter,
    /// Decides which of the client's calls run, are asked about, or are denied.
    pub policy: Arc<dyn Policy>,
    /// For whom the calls are made, such as the client of a gateway; empty where there is only one.
    pub caller: String,
    /// Whether calls wait for servers that are still starting.
    pub starting_servers: StartingServers,
}

/// What calls do about the servers that they reach and that are still starting.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum StartingServers {
    /// Nothing: whoever makes the calls has waited for them.
    #[default]
    Ignored,
    /// They wait: a program for the servers whose tools it names, a search for all.
    AwaitedByCalls,
}

impl ClientOptions {
    /// A client that sees all tools.
    pub fn new(policy: impl Policy + 'static) -> Self {
        Self {
            tools: ToolFilter::default(),
            policy: Arc::new(policy),
            caller: String::new(),
            starting_servers: StartingServers::default(),
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

/// A front end's view of a runtime. Cheap to clone.
#[derive(Debug, Clone)]
pub struct Client {
    runtime: Runtime,
    pipeline: Pipeline,
    caller: Arc<str>,
}

impl Client {
    pub(crate) fn new(runtime: Runtime, options: ClientOptions) -> Self {
        let registry = options.tools.apply(runtime.registry());
        let mut builder = Pipeline::builder(registry).policy(options.policy);
        if let (StartingServers::AwaitedByCalls, Some(servers)) =
            (options.starting_servers, runtime.servers())
        {
            let find: FindReachedTools = Arc::new(reached_tools);
            builder = builder.hook(Arc::new(servers.manager().wait_hook(find)));
        }
        for hook in &runtime.inner().hooks {
            builder = builder.hook(Arc::clone(hook));
        }
        if let Some(approvals) = runtime.approvals() {
            builder = builder.approvals(approvals.clone());
        }
        builder = builder.events(runtime.events().sink());
        Self {
            runtime,
            pipeline: builder.build(),
            caller: Arc::from(options.caller),
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

    /// For whom the calls are made; empty where there is only one.
    pub fn caller(&self) -> &str {
        &self.caller
    }

    /// Makes one call. It is cancelled when the runtime ends.
    pub async fn call(&self, request: CallRequest) -> CallOutcome {
        let cancel = request.cancel.clone();
        self.until_the_end(self.pipeline.call(request), || cancel.cancel())
            .await
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
        let arguments = json!({
            "language": run.arguments.language.as_str(),
            "code": run.arguments.code,
        });
        let context = self.context(call_id.into(), EVAL_TOOL_NAME, arguments, cancel.clone());
        let _ends_children = context.lifetime.clone().drop_guard();
        let running = evals.run(&self.pipeline, &context, run);
        let report = self.until_the_end(running, || cancel.cancel()).await;
        self.end_run(&context);
        Ok(report)
    }

    /// What was allowed or denied for a run counts no more.
    pub(crate) fn end_run(&self, context: &CallContext) {
        if let Some(approvals) = self.runtime.approvals() {
            approvals.end_run(&context.run().id);
        }
    }

    /// Does work that `stop` stops when the runtime ends, whose shutdown waits for it.
    pub(crate) async fn until_the_end<T>(
        &self,
        work: impl Future<Output = T>,
        stop: impl FnOnce(),
    ) -> T {
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

    /// The context of a script or a program that the front end itself runs. Events name it as a call of the tool that does the same
    /// for models. Its lifetime ends with the runtime's at the latest.
    pub(crate) fn context(
        &self,
        call_id: String,
        tool_name: &str,
        arguments: Value,
        cancel: CancellationToken,
    ) -> CallContext {
        let inner = self.runtime.inner();
        let run = Run::new(call_id.as_str())
            .caller(Arc::clone(&self.caller))
            .project(Arc::clone(&inner.project));
        let run_id = Arc::clone(&run.id);
        let mut context = CallContext::detached(call_id).with_run(Arc::new(run));
        let call = Arc::new(EventCall {
            call_id: context.call_id.clone(),
            parent_call_id: None,
            tool_name: tool_name.to_owned(),
            arguments,
            origin: context.origin,
        });
        let events = inner.events.clone();
        context = context.with_outputs(Arc::new(move |text| {
            events.send(RuntimeEvent {
                run_id: Arc::clone(&run_id),
                call: Some(Arc::clone(&call)),
                kind: EventKind::Output(text),
            });
        }));
        context.cancel = cancel;
        context.lifetime = inner.lifetime.child_token();
        context
    }
}
