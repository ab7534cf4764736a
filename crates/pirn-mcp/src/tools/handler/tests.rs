use std::sync::Mutex;

use pirn_tool::{CallContext, Origin};
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
    let result = handler.call(arguments, CallContext::detached("1")).await;
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

/// Calls a tool whose results have 1 MB of text and an image of no known kind, and counts the files written.
async fn files_written(origin: Origin, calls: usize) -> usize {
    let folder = tempfile::tempdir().unwrap();
    let answer = json!({"content": [
        {"type": "text", "text": "x".repeat(1_000_000)},
        {"type": "image", "mimeType": "image/bmp", "data": "Qk0="},
    ]});
    let caller = Arc::new(Scripted {
        answer: Ok(answer.clone()),
        calls: Mutex::default(),
    });
    let handler = McpToolHandler::new(
        "docs".to_owned(),
        "big".to_owned(),
        None,
        caller,
        SpillFolder::new(folder.path()),
    );
    for number in 0..calls {
        let mut context = CallContext::detached(number.to_string());
        context.origin = origin;
        let result = handler.call(json!({}), context).await;
        assert_eq!(result.structured.as_ref(), Some(&answer));
        let is_for_a_script = origin == Origin::Nested;
        assert_eq!(result.content.is_empty(), is_for_a_script);
    }
    std::fs::read_dir(folder.path()).unwrap().count()
}

#[tokio::test]
async fn only_results_that_somebody_reads_are_written_to_files() {
    assert_eq!(files_written(Origin::Nested, 20).await, 0);
    for origin in [Origin::Model, Origin::User, Origin::Extension] {
        assert_eq!(files_written(origin, 2).await, 4);
    }
}

#[tokio::test]
async fn an_error_inside_a_script_keeps_its_words() {
    let answer = json!({"isError": true, "content": [{"type": "text", "text": "no such page"}]});
    let caller = Arc::new(Scripted {
        answer: Ok(answer.clone()),
        calls: Mutex::default(),
    });
    let handler = McpToolHandler::new(
        "docs".to_owned(),
        "page".to_owned(),
        None,
        caller,
        SpillFolder::none(),
    );
    let mut context = CallContext::detached("1");
    context.origin = Origin::Nested;
    let result = handler.call(json!({}), context).await;
    assert!(result.is_error);
    assert_eq!(result.joined_text(), "no such page");
    assert_eq!(result.structured, Some(answer));
}

#[tokio::test]
async fn the_data_of_an_error_is_told() {
    let (result, _) = called(
        Err(|| {
            Error::new(
                ErrorKind::Server { code: -32_602 },
                "docs",
                "Invalid params (code -32602)",
            )
            .with_data(Some(json!({"field": "start", "why": "must be before end"})))
        }),
        json!({}),
    )
    .await;
    assert_eq!(
        result.joined_text(),
        r#"MCP server "docs": Invalid params (code -32602): {"field":"start","why":"must be before end"}"#
    );
    assert_eq!(
        result.details,
        Some(json!({"server": "docs", "data": {"field": "start", "why": "must be before end"}}))
    );
}
