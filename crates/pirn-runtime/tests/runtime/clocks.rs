//! Waiting time while a server asks a person: it passes neither for the script nor for its call.

use std::time::Duration;

use pirn_codemode::ScriptLimits;
use pirn_mcp::ServerSelection;
use pirn_runtime::ScriptRun;
use pirn_tool::{Answer, ApprovalQueue, EventKind};
use tokio::sync::mpsc::UnboundedReceiver;
use tokio_util::sync::CancellationToken;

use crate::place::{Place, anything};
use crate::servers::with_server;

/// How long the scripts may take.
const DEADLINE: Duration = Duration::from_secs(2);
/// How long the person thinks.
const THINKING: Duration = Duration::from_secs(5);

/// Its tool `ask` asks a person and gives the action that it was told; `idle` never answers.
const SERVER: &str = r#"
import json, sys

def say(**message):
    print(json.dumps({"jsonrpc": "2.0", **message}), flush=True)

asking = None
for line in sys.stdin:
    message = json.loads(line)
    method = message.get("method")
    if method == "initialize":
        say(id=message["id"], result={"protocolVersion": "2025-06-18", "capabilities": {"tools": {}}, "serverInfo": {"name": "asks", "version": "1"}})
    elif method == "tools/list":
        say(id=message["id"], result={"tools": [{"name": name, "inputSchema": {"type": "object"}} for name in ("ask", "idle")]})
    elif method == "tools/call":
        asking = message["id"]
        if message["params"]["name"] == "ask":
            schema = {"type": "object", "properties": {"name": {"type": "string"}}}
            say(id="question", method="elicitation/create", params={"message": "Who are you?", "requestedSchema": schema})
    elif method is None and message.get("id") == "question":
        say(id=asking, result={"content": [{"type": "text", "text": message["result"]["action"]}]})
    elif "id" in message:
        say(id=message["id"], error={"code": -32601, "message": "no such method"})
"#;

/// Lets the clock of tokio go on by so much at once.
async fn skip(time: Duration) {
    tokio::time::pause();
    tokio::time::advance(time).await;
    tokio::time::resume();
}

async fn until(happened: &mut UnboundedReceiver<String>, what: &str) {
    while happened.recv().await.unwrap() != what {}
}

fn script(code: &str) -> ScriptRun {
    ScriptRun {
        limits: Some(ScriptLimits {
            wall: DEADLINE,
            ..ScriptLimits::default()
        }),
        ..ScriptRun::new("run", code)
    }
}

#[tokio::test]
async fn a_deadline_of_two_seconds_outlasts_a_question_of_five() {
    let place = Place::new();
    let queue = ApprovalQueue::new();
    let _attended = queue.front_end();
    let runtime = with_server(&place, SERVER, |builder| builder.approvals(queue.clone()));
    let (sender, mut happened) = tokio::sync::mpsc::unbounded_channel();
    let _subscription = runtime
        .events()
        .subscribe(std::sync::Arc::new(move |event| {
            let what = match (event.kind, event.call) {
                (EventKind::Asked(_), _) => "asked".to_owned(),
                (EventKind::Started, Some(call)) => format!("started {}", call.tool_name),
                _ => return,
            };
            // The test may have ended.
            drop(sender.send(what));
        }));
    let manager = runtime.servers().unwrap().manager();
    manager
        .wait_for(ServerSelection::All, &CancellationToken::new())
        .await;
    let client = anything(&runtime);

    let code = "return (await tools.mcp__one__ask()).content[0].text";
    let (end, ()) = tokio::join!(client.run_script(script(code)), async {
        until(&mut happened, "asked").await;
        skip(THINKING).await;
        let open = queue.open_questions();
        let id = &open.questions[0].id;
        queue.answer(open.revision, id, Answer::deny()).unwrap();
    });
    let value = end.unwrap().result.outcome.unwrap().unwrap();
    assert_eq!(value.as_str(), r#""decline""#);

    // The same time without a question is too long.
    let code = "return await tools.mcp__one__idle()";
    let (end, ()) = tokio::join!(client.run_script(script(code)), async {
        until(&mut happened, "started mcp__one__idle").await;
        skip(THINKING).await;
    });
    let error = end.unwrap().result.outcome.unwrap_err();
    let message = error.message.to_string();
    assert!(message.starts_with("The script timed out"), "{message}");
    runtime.shutdown().await;
}
