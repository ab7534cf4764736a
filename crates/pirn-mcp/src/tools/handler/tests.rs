use std::sync::Mutex;

use pirn_tool::{CallContext, Tool, ToolSpec};
use serde_json::json;

use super::*;
use crate::error::ErrorKind;

/// Answers every call with the same, and keeps what it was called with.
struct Scripted {
    answer: Result<Value, fn() -> Error>,
    calls: Mutex<Vec<(String, Value)>>,
}

impl ToolCaller for Scripted {
    fn call<'a>(
        &'a self,
        tool_name: &'a str,
        arguments: Map<String, Value>,
        _context: &'a CallContext,
    ) -> BoxFuture<'a, Result<Value, Error>> {
        self.calls
            .lock()
            .unwrap()
            .push((tool_name.to_owned(), arguments.into()));
        let answer = match &self.answer {
            Ok(result) => Ok(result.clone()),
            Err(error) => Err(error()),
        };
        Box::pin(std::future::ready(answer))
    }
}

async fn called(
    answer: Result<Value, fn() -> Error>,
    arguments: Value,
) -> (ToolResult, Vec<(String, Value)>) {
    let caller = Arc::new(Scripted {
        answer,
        calls: Mutex::default(),
    });
    let schema = json!({"type": "object", "properties": {"n": {"type": "integer"}}});
    let handler = McpToolHandler::new(
        "docs".to_owned(),
        "get-page".to_owned(),
        Some(schema),
        Arc::<Scripted>::clone(&caller),
        SpillFolder::none(),
    );
    let tool = Tool::new(ToolSpec::new("mcp__docs__get_page", ""), handler);
    let result = tool
        .handler()
        .call(arguments, CallContext::detached("1"))
        .await;
    let calls = std::mem::take(&mut *caller.calls.lock().unwrap());
    (result, calls)
}

#[tokio::test]
async fn a_call_reaches_the_server_under_its_own_name() {
    let answer = json!({"content": [{"type": "text", "text": "{\"n\":\"x\"}"}], "structuredContent": {"n": "x"}});
    let (result, calls) = called(Ok(answer.clone()), json!({"id": 7})).await;
    assert_eq!(calls, [("get-page".to_owned(), json!({"id": 7}))]);
    assert_eq!(result.joined_text(), "{\"n\":\"x\"}");
    assert_eq!(result.structured, Some(answer));
    assert_eq!(
        result.details,
        Some(json!({
            "server": "docs",
            "tool": "get-page",
            "warnings": ["The structured content does not fit the tool's output schema: n: expected integer, got string \"x\""],
        }))
    );
}

#[tokio::test]
async fn arguments_are_an_object() {
    let (_, calls) = called(Ok(json!({})), Value::Null).await;
    assert_eq!(calls, [("get-page".to_owned(), json!({}))]);
    let (result, calls) = called(Ok(json!({})), json!([1])).await;
    assert!(calls.is_empty());
    assert_eq!(
        result,
        ToolResult::error("The arguments of \"get-page\" must be an object.")
    );
}

#[tokio::test]
async fn an_error_says_what_to_do() {
    let error = || {
        Error::new(ErrorKind::Timeout, "docs", "no answer within 60 s")
            .with_hint("Raise `timeout` in mcp.json.")
            .with_hint("See the log.")
    };
    let (result, _) = called(Err(error), json!({})).await;
    assert_eq!(
        result,
        ToolResult::error(
            "MCP server \"docs\": no answer within 60 s\nRaise `timeout` in mcp.json.\nSee the log."
        )
    );
}
