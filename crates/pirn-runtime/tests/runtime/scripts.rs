//! Scripts on the runtime's one service: as tools of a model, in the background, saved.

use std::time::Duration;

use pirn_runtime::{ScriptRun, ScriptTools};
use pirn_tool::{CallRequest, ToolResult};
use serde_json::json;

use crate::place::{Place, anything, run};

fn exec(code: &str) -> CallRequest {
    CallRequest::new("1", "exec", json!({"code": code}))
}

fn text(result: &ToolResult) -> String {
    result.joined_text()
}

#[tokio::test]
async fn a_model_has_exec_and_wait_over_the_one_service() {
    let place = Place::new();
    let runtime = place.builder().build().unwrap();
    let (client, other) = (anything(&runtime), anything(&runtime));
    client.offer_scripts(ScriptTools::default()).unwrap();
    assert!(other.registry().get("exec").is_none());

    let code = "// @options: {\"yield_time_ms\": 0}\ntext('first'); await new Promise((go) => setTimeout(go, 20)); return 'last'";
    let begun = client.call(exec(code)).await;
    assert!(text(&begun.result).contains("Script running"), "{begun:?}");
    let cells = runtime.scripts().unwrap().board().list("");
    assert_eq!(cells.len(), 1, "{cells:?}");
    let wait = json!({"cell_id": cells[0].cell_id});
    let ended = client.call(CallRequest::new("2", "wait", wait)).await;
    assert!(text(&ended.result).ends_with("last"), "{ended:?}");
    runtime.shutdown().await;
}

#[tokio::test]
async fn all_scripts_share_a_store() {
    let place = Place::new();
    let runtime = place.builder().build().unwrap();
    let client = anything(&runtime);
    client.offer_scripts(ScriptTools::default()).unwrap();
    client.call(exec("store('seen', 7)")).await;
    assert_eq!(run(&anything(&runtime), "return load('seen')").await, "7");
}

#[tokio::test]
async fn a_script_in_the_background_ends_with_the_runtime() {
    let place = Place::new();
    let runtime = place.builder().build().unwrap();
    let code = "await new Promise((go) => setTimeout(go, 1e8))";
    let script = anything(&runtime)
        .start_script(ScriptRun::new("run", code))
        .await
        .unwrap();
    let update = script.wait(Duration::ZERO).await.unwrap().update;
    assert!(update.output.is_empty());
    let ((), end) = tokio::join!(runtime.shutdown(), script.ended());
    let error = end.unwrap().result.outcome.unwrap_err();
    assert_eq!(error.message.to_string(), "The script was terminated");
}

#[tokio::test]
async fn a_script_that_is_dropped_leaves_the_board() {
    let place = Place::new();
    let runtime = place.builder().build().unwrap();
    let code = "await new Promise((go) => setTimeout(go, 1e8))";
    let script = anything(&runtime)
        .start_script(ScriptRun::new("run", code))
        .await
        .unwrap();
    let board = runtime.scripts().unwrap().board();
    assert_eq!(board.list("").len(), 1);
    drop(script);
    assert!(board.list("").is_empty());
}

#[tokio::test]
async fn settings_say_how_many_scripts_there_may_be() {
    let mut settings = pirn_settings::Settings::default();
    settings.codemode.cells_max = 1;
    let place = Place::new();
    let runtime = place.builder().settings(settings).build().unwrap();
    let client = anything(&runtime);
    let code = "await new Promise((go) => setTimeout(go, 1e8))";
    let first = client
        .start_script(ScriptRun::new("1", code))
        .await
        .unwrap();
    let error = client
        .start_script(ScriptRun::new("2", code))
        .await
        .unwrap_err();
    let cause = std::error::Error::source(&error).unwrap().to_string();
    assert!(cause.contains('1') && cause.contains("running"), "{cause}");
    drop(first);
    assert_eq!(run(&client, "return 1").await, "1");
}
