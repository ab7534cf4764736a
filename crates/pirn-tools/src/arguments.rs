//! From validated JSON arguments to typed ones.

use std::sync::Arc;

use pirn_tool::{CallContext, Tool, ToolHandler, ToolResult, ToolSpec};
use serde::de::DeserializeOwned;
use serde_json::Value;

use crate::options::ToolsOptions;

/// The text of every call that was stopped.
pub(crate) const ABORTED: &str = "Operation aborted";

/// The result of a tool: `Err` holds the text of a failure.
pub(crate) type Outcome = Result<ToolResult, String>;

/// Joins a specification and an async function over typed arguments.
pub(crate) fn typed_tool<A, F, Fut>(spec: ToolSpec, options: Arc<ToolsOptions>, run: F) -> Tool
where
    A: DeserializeOwned + Send + 'static,
    F: Fn(A, Arc<ToolsOptions>, CallContext) -> Fut + Send + Sync + 'static,
    Fut: Future<Output = Outcome> + Send + 'static,
{
    typed_tool_with(spec, options, |arguments| arguments, run)
}

/// Like [`typed_tool`], with a function that rewrites arguments of older shapes before they are validated.
pub(crate) fn typed_tool_with<A, P, F, Fut>(
    spec: ToolSpec,
    options: Arc<ToolsOptions>,
    prepare: P,
    run: F,
) -> Tool
where
    A: DeserializeOwned + Send + 'static,
    P: Fn(Value) -> Value + Send + Sync + 'static,
    F: Fn(A, Arc<ToolsOptions>, CallContext) -> Fut + Send + Sync + 'static,
    Fut: Future<Output = Outcome> + Send + 'static,
{
    Tool::new(
        spec,
        Typed {
            options,
            prepare,
            run,
            arguments: std::marker::PhantomData,
        },
    )
}

struct Typed<A, P, F> {
    options: Arc<ToolsOptions>,
    prepare: P,
    run: F,
    arguments: std::marker::PhantomData<fn() -> A>,
}

impl<A, P, F, Fut> ToolHandler for Typed<A, P, F>
where
    A: DeserializeOwned + Send + 'static,
    P: Fn(Value) -> Value + Send + Sync + 'static,
    F: Fn(A, Arc<ToolsOptions>, CallContext) -> Fut + Send + Sync + 'static,
    Fut: Future<Output = Outcome> + Send + 'static,
{
    fn call(
        &self,
        arguments: Value,
        context: CallContext,
    ) -> futures_util::future::BoxFuture<'static, ToolResult> {
        match serde_json::from_value(arguments) {
            Ok(arguments) => {
                let run = (self.run)(arguments, Arc::clone(&self.options), context);
                Box::pin(async move { run.await.unwrap_or_else(ToolResult::error) })
            }
            Err(error) => {
                Box::pin(async move { ToolResult::error(format!("Invalid arguments: {error}")) })
            }
        }
    }

    fn prepare_arguments(&self, arguments: Value) -> Value {
        (self.prepare)(arguments)
    }
}
