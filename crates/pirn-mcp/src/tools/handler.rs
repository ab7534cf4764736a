//! Runs a server's tool as one of Pirn's.

use std::sync::{Arc, OnceLock};

use futures_util::future::BoxFuture;
use pirn_file::SpillFolder;
use pirn_tool::{CallContext, Origin, SchemaCheck, ToolHandler, ToolResult};
use serde_json::{Map, Value, json};

use super::result::{ResultOrigin, to_nested_result, to_tool_result};
use crate::error::Error;

#[cfg(test)]
mod tests;

/// Calls the tools of one server. The implementation connects where needed, passes the call's cancellation on, and ends within
/// the server's limits.
pub(crate) trait ToolCaller: Send + Sync + 'static {
    /// Calls a tool by the server's name of it. Returns the whole `CallToolResult`; one with `isError` is no error.
    fn call<'a>(
        &'a self,
        tool_name: &'a str,
        arguments: Map<String, Value>,
        context: &'a CallContext,
    ) -> BoxFuture<'a, Result<Value, Error>>;
}

/// The handler of one tool of one server.
pub(crate) struct McpToolHandler {
    server_tool: Arc<ServerTool>,
}

struct ServerTool {
    server: String,
    tool_name: String,
    structured_schema: Option<Value>,
    /// Compiled when the first result with structured content arrives.
    structured_check: OnceLock<SchemaCheck>,
    caller: Arc<dyn ToolCaller>,
    spill: SpillFolder,
}

impl McpToolHandler {
    /// A handler that calls `tool_name` through `caller`. `structured_schema` is the server's output schema.
    pub(crate) fn new(
        server: String,
        tool_name: String,
        structured_schema: Option<Value>,
        caller: Arc<dyn ToolCaller>,
        spill: SpillFolder,
    ) -> Self {
        Self {
            server_tool: Arc::new(ServerTool {
                server,
                tool_name,
                structured_schema,
                structured_check: OnceLock::new(),
                caller,
                spill,
            }),
        }
    }
}

impl ToolHandler for McpToolHandler {
    fn call(&self, arguments: Value, context: CallContext) -> BoxFuture<'static, ToolResult> {
        let server_tool = Arc::clone(&self.server_tool);
        Box::pin(async move {
            let arguments = match arguments {
                Value::Object(arguments) => arguments,
                Value::Null => Map::new(),
                Value::Bool(_) | Value::Number(_) | Value::String(_) | Value::Array(_) => {
                    return ToolResult::error(format!(
                        "The arguments of \"{}\" must be an object.",
                        server_tool.tool_name
                    ));
                }
            };
            let answer = server_tool
                .caller
                .call(&server_tool.tool_name, arguments, &context)
                .await;
            match answer {
                Ok(result) => match context.origin {
                    Origin::Nested => server_tool.nested_result(result),
                    Origin::Model | Origin::User | Origin::Extension => {
                        server_tool.finish(result).await
                    }
                },
                Err(error) => error_result(&error),
            }
        })
    }
}

impl ServerTool {
    /// For a script, which gets the result as it is: nothing is decoded, cut or written.
    fn nested_result(&self, result: Value) -> ToolResult {
        to_nested_result(&self.origin(), result)
    }

    fn origin(&self) -> ResultOrigin<'_> {
        let schema = self.structured_schema.as_ref();
        ResultOrigin {
            server: &self.server,
            tool: &self.tool_name,
            structured_check: schema.map(|schema| {
                self.structured_check
                    .get_or_init(|| SchemaCheck::new(schema))
            }),
        }
    }

    /// For whoever reads it. Off the asynchronous threads: results may have many megabytes, and files are written.
    async fn finish(self: Arc<Self>, result: Value) -> ToolResult {
        let server_tool = Arc::clone(&self);
        let finished = tokio::task::spawn_blocking(move || {
            to_tool_result(&server_tool.origin(), result, &server_tool.spill)
        });
        finished.await.unwrap_or_else(|error| {
            ToolResult::error(format!(
                "MCP server \"{}\": the result of \"{}\" could not be read: {error}",
                self.server, self.tool_name
            ))
        })
    }
}

/// A failure as a tool's result: what happened, then what to do about it, a line each.
pub(super) fn error_result(error: &Error) -> ToolResult {
    let result = ToolResult::error(with_hints(error.to_string(), error));
    match error.data() {
        Some(data) => result.with_details(json!({"server": error.server(), "data": data})),
        None => result,
    }
}

/// Adds an error's hints to a text about it.
pub(super) fn with_hints(mut text: String, error: &Error) -> String {
    for hint in error.hints() {
        text.push('\n');
        text.push_str(hint);
    }
    text
}
