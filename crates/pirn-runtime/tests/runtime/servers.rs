//! One set of servers for all clients.

use pirn_mcp::{ConfigFile, Scope, ServerSelection};
use pirn_runtime::{BuiltinTools, Runtime, RuntimeBuilder, ServerOptions};
use pirn_tool::{CallRequest, Origin};
use tokio_util::sync::CancellationToken;

use crate::place::{Place, anything, run};

/// Its tool tells which process answers.
const SERVER: &str = r#"
import json, os, sys

for line in sys.stdin:
    message = json.loads(line)
    if "id" not in message:
        continue
    result = {
        "initialize": {"protocolVersion": "2025-06-18", "capabilities": {"tools": {}}, "serverInfo": {"name": "pid", "version": "1"}},
        "tools/list": {"tools": [{"name": name, "inputSchema": {"type": "object"}} for name in ("pid", "big")]},
        "tools/call": {"content": [{"type": "text", "text": str(os.getpid())}]},
    }.get(message["method"])
    if message.get("params", {}).get("name") == "big":
        result = {"content": [{"type": "text", "text": "x" * 1_000_000}]}
    answer = {"result": result} if result else {"error": {"code": -32601, "message": "no such method"}}
    print(json.dumps({"jsonrpc": "2.0", "id": message["id"], **answer}), flush=True)
"#;

/// A runtime with the server `one`.
pub(crate) fn runtime(place: &Place) -> Runtime {
    with_server(place, SERVER, |builder| builder)
}

/// A runtime with the server `one`, which runs this program.
pub(crate) fn with_server(
    place: &Place,
    program: &str,
    with: impl FnOnce(RuntimeBuilder) -> RuntimeBuilder,
) -> Runtime {
    let program = place.write("server.py", program);
    let config = place.write(
        "mcp.json",
        &serde_json::json!({"mcpServers": {"one": {"command": "python3", "args": [program]}}})
            .to_string(),
    );
    let loaded = pirn_mcp::load(&[ConfigFile {
        scope: Scope::User,
        path: config,
    }]);
    assert!(loaded.problems.is_empty(), "{:?}", loaded.problems);
    with(place.builder())
        .builtin_tools(BuiltinTools::None)
        .servers(ServerOptions {
            entries: loaded.servers,
            ..ServerOptions::default()
        })
        .build()
        .unwrap()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn two_clients_meet_the_same_process() {
    let place = Place::new();
    let runtime = runtime(&place);
    let servers = runtime.servers().unwrap();
    servers
        .manager()
        .wait_for(ServerSelection::All, &CancellationToken::new())
        .await;
    assert!(servers.missing(ServerSelection::All).is_empty());
    let code = "return Promise.all([tools.mcp__one__pid(), tools.mcp__one__pid()])";
    let (one, other) = (anything(&runtime), anything(&runtime));
    let (first, second) = tokio::join!(run(&one, code), run(&other, code));
    assert_eq!(first, second);
    runtime.shutdown().await;
    let id = first.split('"').nth(1).unwrap().to_owned();
    assert!(!std::path::Path::new("/proc").join(&id).exists(), "{first}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn results_for_scripts_write_no_files_and_those_for_models_end_with_the_runtime() {
    let place = Place::new();
    let runtime = runtime(&place);
    let manager = runtime.servers().unwrap().manager();
    manager
        .wait_for(ServerSelection::All, &CancellationToken::new())
        .await;
    let client = anything(&runtime);
    let code = "const all = await Promise.all(Array.from({length: 20}, () => tools.mcp__one__big()));
        return all.map((result) => result.content[0].text.length).reduce((sum, length) => sum + length)";
    assert_eq!(run(&client, code).await, "20000000");
    assert_eq!(place.temporary_files(), 0);

    let mut request = CallRequest::new("1", "mcp__one__big", serde_json::json!({}));
    request.origin = Origin::User;
    let outcome = client.call(request).await;
    let text = outcome.result.joined_text();
    assert!(text.contains("Full output: "), "{}", text.len());
    assert_eq!(place.temporary_files(), 1);
    runtime.shutdown().await;
    drop((client, runtime, outcome));
    assert_eq!(place.temporary_files(), 0);
}
