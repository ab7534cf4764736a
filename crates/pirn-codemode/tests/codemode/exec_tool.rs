//! Scripts as a tool of a real pipeline: hooks, policy, receipts, usage, updates.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use futures_util::future::BoxFuture;
use pirn_codemode::{EXEC_TOOL_NAME, ExecTool, ScriptService, ScriptServiceOptions, ScriptStore};
use pirn_tool::{
    BeforeVerdict, CallOutcome, CallRequest, CallStatus, Decision, Effects, Hook, HookCall,
    NestedCalls, Pipeline, PipelineBuilder, Policy, PolicyInput, Registry, Tool, ToolResult,
    ToolSpec, Usage,
};
use serde_json::{Value, json};

use crate::support::{SOON, engine};

fn registry(exec: ExecTool) -> Registry {
    let registry = Registry::new();
    let number = json!({"type": "object", "properties": {"n": {"type": "integer", "description": "How many"}}, "required": ["n"]});
    let double = ToolSpec::new("double", "Doubles a number")
        .input_schema(number)
        .output_schema(json!({"type": "object"}));
    registry.register(Tool::from_fn(double, |arguments, _| async move {
        let n = arguments["n"].as_i64().unwrap_or_default();
        ToolResult {
            usage: Some(Usage {
                input_tokens: 3,
                output_tokens: 1,
                cost: 0.5,
            }),
            ..ToolResult::text(format!("{n} doubled")).with_structured(json!({"n": n * 2}))
        }
    }));
    let write = ToolSpec::new("write", "Writes").effects(Effects::WRITE);
    registry.register(Tool::from_fn(write, |_, _| async {
        ToolResult::text("written")
    }));
    registry.register(Tool::from_fn(
        ToolSpec::new("hang", "Hangs"),
        |_, context| async move {
            context.cancel.cancelled().await;
            ToolResult::error("stopped")
        },
    ));
    registry.register(Tool::from_fn(
        ToolSpec::new("deaf", "Never confirms"),
        |_, _| std::future::pending(),
    ));
    registry.register(exec.into_tool());
    registry
}

fn exec() -> ExecTool {
    let limits = pirn_codemode::ScriptLimits {
        cancel_grace: Duration::from_millis(10),
        ..pirn_codemode::ScriptLimits::default()
    };
    ExecTool {
        limits,
        ..ExecTool::new(engine().clone())
    }
}

fn builder() -> PipelineBuilder {
    Pipeline::builder(registry(exec())).cancel_grace(Duration::from_millis(30))
}

fn request(code: &str) -> CallRequest {
    CallRequest::new("top", EXEC_TOOL_NAME, json!({"code": code}))
}

async fn run(pipeline: &Pipeline, code: &str) -> CallOutcome {
    pipeline.call(request(code)).await
}

/// Id, name and status of rows.
fn rows(outcome: &CallOutcome) -> Vec<String> {
    let calls = outcome.result.details.as_ref().unwrap()["calls"]
        .as_array()
        .unwrap()
        .clone();
    let part = |row: &Value, key: &str| row[key].as_str().unwrap().to_owned();
    calls
        .iter()
        .map(|row| {
            format!(
                "{} {} {}",
                part(row, "id"),
                part(row, "name"),
                part(row, "status")
            )
        })
        .collect()
}

/// The same of receipts.
fn receipts(nested: Option<&NestedCalls>) -> Vec<String> {
    let status = pirn_codemode::status_name;
    let calls = nested
        .map(|nested| nested.calls.as_slice())
        .unwrap_or_default();
    calls
        .iter()
        .map(|call| format!("{} {} {}", call.id, call.name, status(call.status)))
        .collect()
}

/// The returned JSON, from the result's text.
fn returned(outcome: &CallOutcome) -> Value {
    let text = outcome.result.joined_text();
    let body = text.split("Output:\n").nth(1).unwrap_or_default();
    // Notes follow the value.
    let json = body
        .split("<console_output>")
        .next()
        .unwrap_or_default()
        .trim();
    serde_json::from_str(json).unwrap_or_else(|_| panic!("no JSON in {text}"))
}

#[tokio::test]
async fn structured_content_text_and_errors_reach_the_script() {
    let pipeline = builder().build();
    let code = "return [await tools.double({n: 2}), await tools.write(), await tools.write({}),
        await tools.double({n: '3'}), await tools.double({m: 1}).catch((error) => [error.kind, error.tool, error.callId])];";
    let outcome = run(&pipeline, code).await;
    let invalid = json!(["invalid_arguments", "double", "top/5"]);
    assert_eq!(
        returned(&outcome),
        json!([{"n": 4}, "written", "written", {"n": 6}, invalid])
    );
    assert!(!outcome.result.is_error);
}

#[tokio::test]
async fn a_wrong_argument_is_answered_with_the_declaration_before_the_call() {
    let pipeline = builder().build();
    let outcome = run(&pipeline, "text('kept'); await tools.double({n: 'many'});").await;
    assert!(outcome.result.is_error);
    insta::assert_snapshot!(
        outcome
            .result
            .joined_text()
            .replace(|c: char| c.is_ascii_digit(), "0")
    );
}

#[tokio::test]
async fn rows_and_receipts_agree_when_calls_queue_fail_or_are_refused() {
    let limits = pirn_codemode::ScriptLimits {
        calls_in_flight_max: 2,
        call_bytes_max: 2_000,
        calls_max: 9,
        ..exec().limits
    };
    let pipeline = Pipeline::builder(registry(ExecTool { limits, ..exec() }))
        .cancel_grace(Duration::from_millis(30))
        .build();
    let code = "let deep = 1; for (let n = 0; n < 200; n++) deep = [deep];
        const ends = await Promise.allSettled([
            tools.double({n: 1}), tools.double({n: 'x'}), tools.double(deep), tools.write('y'.repeat(3000)), tools.write({}),
            tools.double({n: 2})]);
        tools.hang(); tools.deaf(); tools.write(); tools.write();
        return ends.map((end) => end.reason?.callId ?? 'fine');";
    let outcome = run(&pipeline, code).await;
    let expected = [
        "top/1 double ok",
        "top/2 double error",
        "top/3 double error",
        "top/4 write error",
        "top/5 write ok",
        "top/6 double ok",
        "top/7 hang cancelled",
        "top/8 deaf unknown",
        "top/9 write cancelled",
    ];
    assert_eq!(rows(&outcome), expected);
    // What never left the script has no receipt: the argument that was too large, and the call that waited for room.
    let made: Vec<&str> = expected
        .iter()
        .copied()
        .filter(|row| !row.contains("/4") && !row.contains("/9"))
        .collect();
    assert_eq!(receipts(outcome.nested_calls.as_ref()), made);
    assert_eq!(
        returned(&outcome),
        json!(["fine", "top/2", "top/3", "top/4", "fine", "fine"])
    );
}

struct Meddler;

impl Hook for Meddler {
    fn before<'a>(
        &'a self,
        call: HookCall<'a>,
        arguments: &'a mut Value,
    ) -> BoxFuture<'a, Result<BeforeVerdict, String>> {
        let verdict = match call.tool_name {
            "write" => BeforeVerdict::Block {
                reason: format!("{} of {:?} is blocked", call.call_id, call.parent_call_id),
            },
            "double" => {
                arguments["n"] = json!(100);
                BeforeVerdict::Continue
            }
            _ => BeforeVerdict::Continue,
        };
        Box::pin(std::future::ready(Ok(verdict)))
    }
}

#[tokio::test]
async fn hooks_see_nested_calls() {
    let pipeline = builder().hook(Arc::new(Meddler)).build();
    let code = "return [await tools.double({n: 1}), await tools.write().catch((error) => `${error.kind}: ${error.message}`)];";
    let expected = json!([{"n": 200}, "blocked: top/2 of Some(\"top\") is blocked"]);
    assert_eq!(returned(&run(&pipeline, code).await), expected);
}

struct NoWrites;

impl Policy for NoWrites {
    fn decide(&self, input: PolicyInput<'_>) -> Decision {
        if input.tool.name == "write" {
            Decision::Deny {
                reason: "read only".into(),
            }
        } else {
            Decision::Allow
        }
    }
}

#[tokio::test]
async fn a_denied_call_fails_the_script_and_nothing_else() {
    let pipeline = builder().policy(Arc::new(NoWrites)).build();
    let caught = run(
        &pipeline,
        "return tools.write().catch((error) => [error.kind, error.message]);",
    )
    .await;
    assert_eq!(
        returned(&caught),
        json!(["denied", "Tool write was denied (read only)"])
    );
    let uncaught = run(
        &pipeline,
        "await tools.double({n: 1}); await tools.write();",
    )
    .await;
    let text = uncaught.result.joined_text();
    assert!(uncaught.result.is_error);
    assert!(
        text.contains("Script error:\nError: Tool write was denied (read only)"),
        "{text}"
    );
    assert!(text.contains("double (ok), write (error)"), "{text}");
}

#[tokio::test]
async fn usage_of_nested_calls_is_added_up() {
    let outcome = run(
        &builder().build(),
        "await Promise.all([1, 2, 3].map((n) => tools.double({n})));",
    )
    .await;
    assert_eq!(
        outcome.result.usage,
        Some(Usage {
            input_tokens: 9,
            output_tokens: 3,
            cost: 1.5
        })
    );
}

#[tokio::test]
async fn updates_carry_the_rows_so_far() {
    let updates = Arc::new(Mutex::new(Vec::new()));
    let sink = Arc::clone(&updates);
    let mut request = request(
        "await tools.double({n: 1}); await Promise.all([tools.write(), tools.double({n: 'x'})]).catch(() => 0);",
    );
    request.updates = Some(Arc::new(move |update| {
        let rows = update.details.unwrap()["calls"].as_array().unwrap().clone();
        let shown: Vec<String> = rows
            .iter()
            .map(|row| row["status"].as_str().unwrap().to_owned())
            .collect();
        sink.lock().unwrap().push(shown.join(" "));
    }));
    builder().build().call(request).await;
    let expected = [
        "",
        "running",
        "ok",
        "ok running",
        "ok ok",
        "ok ok running",
        "ok ok error",
    ];
    assert_eq!(*updates.lock().unwrap(), expected);
}

#[tokio::test]
async fn updates_carry_the_end_of_the_output() {
    let updates = Arc::new(Mutex::new(Vec::new()));
    let sink = Arc::clone(&updates);
    let mut request = request("text('one'); await tools.write(); console.log('two')");
    request.updates = Some(Arc::new(move |update| {
        sink.lock().unwrap().push(update.text);
    }));
    builder().build().call(request).await;
    let expected = ["", "one\n", "one\n", "one\n", "one\ntwo\n"];
    assert_eq!(*updates.lock().unwrap(), expected);
}

#[tokio::test]
async fn a_script_with_many_calls_sends_bounded_updates() {
    let size = Arc::new(Mutex::new((0, 0)));
    let sink = Arc::clone(&size);
    let mut request = request("for (let n = 0; n < 2000; n++) await tools.write();");
    request.updates = Some(Arc::new(move |update| {
        let rows = update.details.unwrap()["calls"].as_array().unwrap().len();
        let mut size = sink.lock().unwrap();
        *size = (size.0 + 1, size.1.max(rows));
    }));
    let outcome = tokio::time::timeout(SOON, builder().build().call(request))
        .await
        .unwrap();
    assert_eq!(rows(&outcome).len(), 2_000);
    let (updates, most_rows) = *size.lock().unwrap();
    assert!(
        updates < 2_000 && most_rows <= 256,
        "{updates} updates, up to {most_rows} rows"
    );
}

#[tokio::test]
async fn options_and_notes_reach_the_result() {
    let pipeline = builder().build();
    let text = async |code: &str| run(&pipeline, code).await.result.joined_text();
    let timed_out = text("// @options: {\"timeout_ms\": 40}\nawait tools.hang();").await;
    assert!(
        timed_out.contains("The script timed out after 40 ms")
            && timed_out.contains("hang (cancelled)"),
        "{timed_out}"
    );
    let cut = text("// @options: {\"max_output_tokens\": 5}\nreturn 'x'.repeat(400);").await;
    assert!(cut.contains("tokens truncated…"), "{cut}");
    let fenced = text("```js\nreturn 'out of the fence';\n```").await;
    assert!(
        fenced.contains("out of the fence") && fenced.contains("Note: "),
        "{fenced}"
    );
    let notified = text("notify('half way'); return 1;").await;
    assert!(notified.contains("Note: notify(): half way"), "{notified}");
    assert!(
        text("// @options: {\"timeout\": 1}\nreturn 1;")
            .await
            .contains("timeout")
    );
}

#[tokio::test]
async fn the_store_is_shared_by_the_scripts_of_one_tool() {
    let store = ScriptStore::default();
    let exec = ExecTool::over(ScriptService::new(ScriptServiceOptions {
        store: Arc::new(store.clone()),
        ..ScriptServiceOptions::new(engine().clone())
    }));
    let pipeline = Pipeline::builder(registry(exec)).build();
    let outcome = run(&pipeline, "store('k', {n: 1}); store('old', undefined);").await;
    assert_eq!(
        outcome.result.details.unwrap()["store"],
        json!({"set": {"k": {"n": 1}}, "delete": ["old"]})
    );
    assert_eq!(
        returned(&run(&pipeline, "return load('k');").await),
        json!({"n": 1})
    );
    run(&pipeline, "store('k', 2); throw new Error('no');").await;
    assert_eq!(
        store.values().get("k").map(pirn_vm::JsonText::as_str),
        Some("{\"n\":1}")
    );
}

#[tokio::test]
async fn cancelling_the_call_stops_the_script_and_its_calls() {
    let pipeline = builder().build();
    let request = request("tools.deaf(); await tools.hang();");
    let cancel = request.cancel.clone();
    let (outcome, ()) = tokio::join!(pipeline.call(request), async {
        tokio::task::yield_now().await;
        cancel.cancel();
    });
    assert!(outcome.result.is_error);
    let statuses: Vec<CallStatus> = outcome
        .nested_calls
        .map(|nested| nested.calls.iter().map(|call| call.status).collect())
        .unwrap_or_default();
    assert!(
        !statuses.contains(&CallStatus::Unfinished) && !statuses.contains(&CallStatus::Ok),
        "{statuses:?}"
    );
}

#[tokio::test]
async fn scripts_cannot_start_scripts() {
    let pipeline = builder().build();
    let code = "return ['exec' in tools, ALL_TOOLS.length, await (async () => tools.exec({code: '1'}))().catch((e) => e.name)];";
    assert_eq!(
        returned(&run(&pipeline, code).await),
        json!([false, 4, "TypeError"])
    );
}

#[tokio::test]
async fn raw_code_is_taken_for_the_program() {
    let pipeline = builder().build();
    let raw = CallRequest::new("top", EXEC_TOOL_NAME, json!("return [1];"));
    assert_eq!(returned(&pipeline.call(raw).await), json!([1]));
}
