//! Many scripts at once on one engine.

use std::sync::Arc;

use pirn_codemode::{EXEC_TOOL_NAME, ExecTool, RunOptions, Script, run_script};
use pirn_tool::{CallRequest, Pipeline, Registry, Tool, ToolResult, ToolSpec};
use serde_json::json;

use crate::support::{Lab, engine, value};

/// Scripts that run at once; the engine has room for more.
const SCRIPTS: usize = 100;

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn scripts_do_not_disturb_each_other() {
    let tasks: Vec<_> = (0..SCRIPTS)
        .map(|seed| {
            tokio::spawn(async move {
                let code = format!(
                    "let sum = 0;
                     for (let round = 0; round < 5; round++) {{
                         const parts = await Promise.all([1, 2, 3, 4].map((n) => tools.echo(n * {seed})));
                         sum += parts.reduce((a, b) => a + b) + [...Array(500).keys()].filter((n) => n % 7 === 0).length;
                         await new Promise((done) => setTimeout(done, round));
                     }}
                     return sum;"
                );
                let result = run_script(engine(), &Script::new(code), &Lab::new().environment(), RunOptions::default()).await;
                (seed, value(&result), result.calls.len())
            })
        })
        .collect();
    for task in tasks {
        let (seed, sum, calls) = task.await.unwrap();
        assert_eq!((sum, calls), (json!(5 * (10 * seed + 72)), 20));
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn stores_merge_under_load() {
    let registry = Registry::new();
    registry.register(Tool::from_fn(
        ToolSpec::new("now", "Tells the time"),
        |_, _| async { ToolResult::text("noon") },
    ));
    let store = pirn_codemode::ScriptStore::default();
    let exec = ExecTool::over(pirn_codemode::ScriptService::new(
        pirn_codemode::ScriptServiceOptions {
            store: Arc::new(store.clone()),
            ..pirn_codemode::ScriptServiceOptions::new(engine().clone())
        },
    ));
    registry.register(exec.into_tool());
    let pipeline = Arc::new(Pipeline::builder(registry).build());
    let tasks: Vec<_> = (0..SCRIPTS)
        .map(|n| {
            let pipeline = Arc::clone(&pipeline);
            tokio::spawn(async move {
                let code = format!("store('own{n}', await tools.now()); store('shared', {n});");
                let id = format!("call{n}");
                let outcome = pipeline
                    .call(CallRequest::new(id, EXEC_TOOL_NAME, json!({"code": code})))
                    .await;
                assert!(!outcome.result.is_error, "{}", outcome.result.joined_text());
                outcome.result.details.unwrap()["store"]["set"]
                    .as_object()
                    .unwrap()
                    .len()
            })
        })
        .collect();
    for task in tasks {
        assert_eq!(task.await.unwrap(), 2);
    }
    assert_eq!(store.values().len(), SCRIPTS + 1);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn many_waiting_cells_cost_nothing_to_stop() {
    let lab = Lab::new();
    let cells: Vec<_> = (0..40)
        .map(|n| lab.start(&format!("await tools.gate({{name: 'never{n}'}});")))
        .collect();
    lab.has_received(40).await;
    let ends =
        futures_util::future::join_all(cells.iter().map(pirn_codemode::Cell::terminate)).await;
    assert!(ends.iter().all(Result::is_ok));
}
