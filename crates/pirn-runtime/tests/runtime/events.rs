//! The one stream of events: what happens to calls, questions and servers, and what scripts put out.

use std::sync::{Arc, Mutex};

use pirn_mcp::ServerSelection;
use pirn_runtime::{BuiltinTools, ClientOptions, Runtime, ScriptTools};
use pirn_tool::{
    Answer, ApprovalQueue, CallRequest, Effects, EventKind, EventSubscription, Origin, Rule,
    RulePolicy, RuntimeEvent, Tool, ToolResult, ToolSpec, Verdict,
};
use serde_json::json;
use tokio::sync::Notify;
use tokio_util::sync::CancellationToken;

use crate::place::{Place, anything, run};
use crate::servers::runtime as runtime_with_server;

/// Every event as a line: run, parent, call, tool, arguments, what happened.
fn record(runtime: &Runtime) -> (Arc<Mutex<Vec<String>>>, EventSubscription) {
    let lines: Arc<Mutex<Vec<String>>> = Arc::default();
    let seen = Arc::clone(&lines);
    let subscription = runtime.events().subscribe(Arc::new(move |event| {
        seen.lock().unwrap().push(line(&event));
    }));
    (lines, subscription)
}

fn line(event: &RuntimeEvent) -> String {
    let what = match &event.kind {
        EventKind::Started => "started".to_owned(),
        EventKind::Updated(update) => format!("updated {}", update.text),
        EventKind::Output(text) => format!("output {text}"),
        EventKind::Asked(_) => "asked".to_owned(),
        EventKind::Answered { answer, .. } => {
            format!("answered {}", matches!(answer, Answer::Deny { .. }))
        }
        EventKind::Server {
            name,
            state,
            detail,
        } => {
            format!("server {name} {state} {}", detail.as_deref().unwrap_or("-"))
        }
        EventKind::Note(text) => format!("note {text}"),
        EventKind::Ended { receipt, .. } => format!("ended {:?}", receipt.status),
    };
    match &event.call {
        Some(call) => format!(
            "{} {} {} {} {}: {what}",
            event.run_id,
            call.parent_call_id.as_deref().unwrap_or("-"),
            call.call_id,
            call.tool_name,
            call.arguments
        ),
        None => what,
    }
}

#[tokio::test]
async fn calls_of_scripts_questions_and_output_are_told_in_order() {
    let place = Place::new();
    let queue = ApprovalQueue::builder().answered_by(|_| Answer::deny_with("not now"));
    let spec = ToolSpec::new("save", "").effects(Effects::WRITE);
    let spec = spec.input_schema(json!({"type": "object"}));
    let runtime = place
        .builder()
        .builtin_tools(BuiltinTools::None)
        .tool(Tool::from_fn(spec, |_, _| async {
            ToolResult::text("saved")
        }))
        .approvals(queue)
        .build()
        .unwrap();
    let (lines, _subscription) = record(&runtime);
    let client = runtime.client(ClientOptions::new(RulePolicy {
        rules: vec![Rule::for_effects(Verdict::Ask, Effects::WRITE)],
        ..RulePolicy::allow_all()
    }));
    let code = "text('before'); await tools.save({a: 1}).catch(() => {}); console.log('after')";
    run(&client, code).await;
    let script = format!("run - run exec {}", json!({"code": code}));
    let call = r#"run run run/1 save {"a":1}"#;
    assert_eq!(
        *lines.lock().unwrap(),
        [
            format!("{script}: output before"),
            format!("{call}: started"),
            format!("{call}: asked"),
            format!("{call}: answered true"),
            format!("{call}: ended Error"),
            format!("{script}: output after"),
        ]
    );
    runtime.shutdown().await;
}

#[tokio::test]
async fn output_of_scripts_that_models_run_is_told_at_once_also_in_the_background() {
    let place = Place::new();
    let go = Arc::new(Notify::new());
    let waits = Arc::clone(&go);
    let tool = Tool::from_fn(ToolSpec::new("pause", ""), move |_, _| {
        let go = Arc::clone(&waits);
        async move {
            go.notified().await;
            ToolResult::default()
        }
    });
    let runtime = place
        .builder()
        .builtin_tools(BuiltinTools::None)
        .tool(tool)
        .build()
        .unwrap();
    let outputs: Arc<Mutex<Vec<(String, String)>>> = Arc::default();
    let seen = Arc::clone(&outputs);
    let _subscription = runtime.events().subscribe(Arc::new(move |event| {
        if let (EventKind::Output(text), Some(call)) = (event.kind, event.call) {
            let call = format!("{} {}", call.call_id, call.tool_name);
            seen.lock().unwrap().push((call, text));
        }
    }));
    let client = anything(&runtime);
    client.offer_scripts(ScriptTools::default()).unwrap();
    let model = |id: &str, tool: &str, arguments| {
        let mut request = CallRequest::new(id, tool, arguments);
        request.origin = Origin::Model;
        client.call(request)
    };
    let code = "text('first'); yield_control(); await tools.pause(); console.log('second')";
    let began = model("one", "exec", json!({"code": code})).await;
    let cell_id = began.result.details.unwrap()["cellId"].clone();
    let told = |text: &str| ("one exec".to_owned(), text.to_owned());
    assert_eq!(*outputs.lock().unwrap(), [told("first")]);
    go.notify_one();
    let ended = model("two", "wait", json!({"cell_id": cell_id})).await;
    assert!(ended.result.joined_text().contains("second"), "{ended:?}");
    assert_eq!(*outputs.lock().unwrap(), [told("first"), told("second")]);
    runtime.shutdown().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn states_of_servers_are_told() {
    let place = Place::new();
    let runtime = runtime_with_server(&place);
    let (lines, _subscription) = record(&runtime);
    let manager = runtime.servers().unwrap().manager();
    manager
        .wait_for(ServerSelection::All, &CancellationToken::new())
        .await;
    assert_eq!(
        *lines.lock().unwrap(),
        ["server one connecting -", "server one connected -"]
    );
    runtime.shutdown().await;
}
