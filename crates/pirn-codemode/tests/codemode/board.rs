//! Scripts that go on in the background: `exec` that yields, `wait`, and the board behind them.

use std::collections::BTreeSet;
use std::sync::Arc;

use pirn_codemode::{
    BoardLimits, CellEventKind, CellState, EXEC_TOOL_NAME, ExecTool, LayoutKind, ScriptLimits,
    ScriptRequest, ScriptService, ScriptServiceOptions, ScriptStore, WAIT_TOOL_NAME,
};
use pirn_tool::{CallRequest, Pipeline, Registry, Tool, ToolResult, ToolSpec};
use serde_json::{Value, json};
use tokio::sync::watch;

use crate::support::{Lab, SOON, engine, value};

/// A pipeline with `exec`, `wait`, `gate {name}`, which ends when it is opened, and `deaf`, which never does.
struct Bench {
    pipeline: Pipeline,
    service: ScriptService,
    store: ScriptStore,
    open: watch::Sender<BTreeSet<String>>,
}

impl Bench {
    fn new() -> Self {
        Self::with(BoardLimits::default())
    }

    fn with(board: BoardLimits) -> Self {
        let store = ScriptStore::default();
        let service = ScriptService::new(ScriptServiceOptions {
            store: Arc::new(store.clone()),
            board,
            ..ScriptServiceOptions::new(engine().clone())
        });
        let open: watch::Sender<BTreeSet<String>> = watch::Sender::default();
        let registry = Registry::new();
        let gates = open.clone();
        let gate = ToolSpec::new("gate", "Waits");
        registry.register(Tool::from_fn(gate, move |arguments, context| {
            let mut gates = gates.subscribe();
            async move {
                let name = arguments["name"].as_str().unwrap_or_default().to_owned();
                tokio::select! {
                    _ = gates.wait_for(|open| open.contains(&name)) => ToolResult::text(name),
                    () = context.cancel.cancelled() => ToolResult::error("stopped"),
                }
            }
        }));
        let exec = ExecTool {
            layout: LayoutKind::Items,
            limits: ScriptLimits {
                cancel_grace: std::time::Duration::from_millis(30),
                ..ScriptLimits::default()
            },
            ..ExecTool::over(service.clone())
        };
        registry.register(exec.wait_tool());
        registry.register(exec.into_tool());
        Self {
            pipeline: Pipeline::builder(registry).build(),
            service,
            store,
            open,
        }
    }

    fn open(&self, name: &str) {
        self.open.send_modify(|open| {
            open.insert(name.to_owned());
        });
    }

    async fn call(&self, tool: &str, arguments: Value) -> Vec<String> {
        let request = CallRequest::new("top", tool, arguments);
        let outcome = tokio::time::timeout(SOON, self.pipeline.call(request))
            .await
            .unwrap();
        let mut texts: Vec<String> = outcome
            .result
            .content
            .iter()
            .filter_map(|block| block.as_text().map(str::to_owned))
            .collect();
        if let Some(head) = texts.first_mut() {
            // The time differs from run to run.
            *head = head.lines().next().unwrap_or_default().to_owned()
                + head.split("Output:\n").nth(1).unwrap_or_default();
        }
        texts
    }

    async fn exec(&self, code: &str) -> Vec<String> {
        self.call(EXEC_TOOL_NAME, json!({"code": code})).await
    }

    async fn wait(&self, cell: &str) -> Vec<String> {
        self.call(WAIT_TOOL_NAME, json!({"cell_id": cell})).await
    }

    async fn terminate(&self, cell: &str) -> Vec<String> {
        self.call(WAIT_TOOL_NAME, json!({"cell_id": cell, "terminate": true}))
            .await
    }

    /// Resolves when so many scripts of nobody's are over and unseen.
    async fn has_finished(&self, count: usize) {
        let mut events = self.service.board().subscribe();
        let finished = || {
            let cells = self.service.board().list("");
            cells
                .iter()
                .filter(|cell| cell.state == CellState::Finished)
                .count()
        };
        while finished() < count {
            tokio::time::timeout(SOON, events.recv())
                .await
                .unwrap()
                .unwrap();
        }
    }
}

const YIELDING: &str = "text('a'); yield_control(); text('b'); await tools.gate({name: 'go'}); text('c'); store('k', 1); return 'd';";

#[tokio::test]
async fn a_script_that_yields_goes_on_and_is_waited_for() {
    let bench = Bench::new();
    assert_eq!(
        bench.exec(YIELDING).await,
        ["Script running with cell ID 1", "a"]
    );
    bench.open("go");
    assert_eq!(bench.wait("1").await, ["Script completed", "b", "c", "d"]);
    assert_eq!(bench.store.values().len(), 1);
    assert!(bench.service.board().list("").is_empty());
}

#[tokio::test]
async fn a_script_that_runs_long_yields() {
    let bench = Bench::new();
    let code = "// @options: {\"yield_time_ms\": 20}\ntext('x'); await tools.gate({name: 'go'}); text('y');";
    assert_eq!(
        bench.exec(code).await,
        ["Script running with cell ID 1", "x"]
    );
    bench.open("go");
    assert_eq!(bench.wait("1").await, ["Script completed", "y"]);
}

#[tokio::test]
async fn ids_that_are_gone_or_never_were_are_told_apart_and_cells_are_listed() {
    let bench = Bench::new();
    assert_eq!(
        bench.wait("nope").await,
        ["Script failedScript error:\nexec cell nope not found"]
    );
    bench
        .exec("yield_control(); await tools.gate({name: 'one'});")
        .await;
    bench
        .exec("// why\nyield_control(); return tools.gate({name: 'two'});")
        .await;
    bench.open("two");
    bench.has_finished(1).await;
    assert_eq!(
        bench.wait("3").await,
        [
            "Script failedScript error:\nexec cell 3 not found\nCells:\n- 1 (running, 0 s old): yield_control(); await tools.gate({name: 'one'});\n\
          - 2 (finished, not yet seen, 0 s old): yield_control(); return tools.gate({name: 'two'});"
        ]
    );
    assert_eq!(bench.wait("2").await, ["Script completed", "two"]);
    let gone = "Script failedScript error:\nexec cell 2 is gone: its end was already delivered, 0 s ago; do not wait for it again\nCells:\n- 1 (running";
    for again in [bench.wait("2").await, bench.terminate("2").await] {
        assert!(again[0].starts_with(gone), "{again:?}");
    }
}

#[tokio::test]
async fn a_finish_that_nobody_saw_wins_over_terminating() {
    let bench = Bench::new();
    bench.exec(YIELDING).await;
    bench.open("go");
    bench.has_finished(1).await;
    assert_eq!(
        bench.terminate("1").await,
        ["Script completed", "b", "c", "d"]
    );
    // What it stored was kept before anybody looked.
    assert_eq!(bench.store.values().len(), 1);
}

#[tokio::test]
async fn terminating_stops_the_script_and_drops_what_it_stored() {
    let bench = Bench::new();
    bench
        .exec("store('k', 1); yield_control(); text('late'); await tools.gate({name: 'never'});")
        .await;
    assert_eq!(
        bench.terminate("1").await,
        [
            "Script terminated",
            "late",
            "Tool calls made before the failure (they are not undone): gate (cancelled)"
        ]
    );
    assert!(bench.store.values().is_empty());
}

#[tokio::test]
async fn a_second_waiter_is_refused() {
    let bench = Bench::new();
    bench.exec(YIELDING).await;
    let first = bench.wait("1");
    tokio::pin!(first);
    assert!(futures_util::poll!(first.as_mut()).is_pending());
    let second = bench.wait("1").await;
    assert!(
        second[0].starts_with("Script failedScript error:\nsomebody else waits for exec cell 1"),
        "{second:?}"
    );
    bench.open("go");
    assert_eq!(first.await, ["Script completed", "b", "c", "d"]);
}

#[tokio::test]
async fn three_empty_waits_are_told_so() {
    let bench = Bench::new();
    let script = "yield_control(); await tools.gate({name: 'go'});";
    bench.exec(script).await;
    let board = bench.service.board();
    let mut empty = Vec::new();
    for _ in 0..3 {
        let delivery = board
            .wait("", "1", std::time::Duration::ZERO)
            .await
            .unwrap();
        empty.push(delivery.empty_waits);
    }
    assert_eq!(empty, [1, 2, 3]);
    let told = bench
        .call(WAIT_TOOL_NAME, json!({"cell_id": "1", "yield_time_ms": 0}))
        .await;
    assert!(
        told[1].starts_with("Note: nothing was new in the last 4 waits."),
        "{told:?}"
    );
    bench.open("go");
    assert_eq!(bench.wait("1").await, ["Script completed"]);
}

#[tokio::test]
async fn ends_are_told_to_subscribers() {
    let bench = Bench::new();
    let mut events = bench.service.board().subscribe();
    bench.exec(YIELDING).await;
    bench.open("go");
    let event = tokio::time::timeout(SOON, events.recv())
        .await
        .unwrap()
        .unwrap();
    assert_eq!(
        (event.cell_id.as_str(), event.kind),
        ("1", CellEventKind::Ended)
    );
    bench.wait("1").await;
    assert_eq!(events.recv().await.unwrap().kind, CellEventKind::Gone);
}

#[tokio::test]
async fn interrupting_the_call_stops_its_own_script_and_no_other() {
    let bench = Bench::new();
    bench.exec(YIELDING).await;
    let request = CallRequest::new(
        "other",
        EXEC_TOOL_NAME,
        json!({"code": "await tools.gate({name: 'never'});"}),
    );
    let cancel = request.cancel.clone();
    let call = bench.pipeline.call(request);
    tokio::pin!(call);
    while bench.service.board().list("").len() < 2 {
        assert!(futures_util::poll!(call.as_mut()).is_pending());
        tokio::task::yield_now().await;
    }
    cancel.cancel();
    assert!(call.await.result.is_error);
    assert_eq!(bench.service.board().list("").len(), 1);
    bench.open("go");
    assert_eq!(bench.wait("1").await, ["Script completed", "b", "c", "d"]);
}

#[tokio::test]
async fn a_full_board_drops_unseen_ends_first_and_then_refuses() {
    let bench = Bench::with(BoardLimits {
        cells_max: 2,
        caller_cells_max: 2,
    });
    bench
        .exec("yield_control(); await tools.gate({name: 'a'});")
        .await;
    bench
        .exec("yield_control(); await tools.gate({name: 'b'});")
        .await;
    let refused = bench.exec("return 3;").await;
    assert!(
        refused[0].starts_with(
            "2 exec cells run, which is the limit; wait for one of them or terminate one. To change this limit: the setting \
             codemode.cellsMax."
        ),
        "{refused:?}"
    );
    bench.open("a");
    bench.has_finished(1).await;
    assert_eq!(bench.exec("return 3;").await, ["Script completed", "3"]);
    let gone = bench.wait("1").await;
    assert!(
        gone[0].contains("exec cell 1 is gone: it had finished and was dropped, unseen"),
        "{gone:?}"
    );
    assert_eq!(bench.service.board().list("").len(), 1);
}

fn request(lab: &Lab, caller: &str, code: &str) -> ScriptRequest {
    ScriptRequest {
        caller: caller.to_owned(),
        code: code.to_owned(),
        file_name: "cell.js".to_owned(),
        environment: lab.environment(),
        limits: crate::support::short_grace(),
        abort: pirn_codemode::Abort::new(),
        progress: None,
    }
}

#[tokio::test]
async fn callers_do_not_see_each_others_cells() {
    let bench = Bench::with(BoardLimits {
        cells_max: 3,
        caller_cells_max: 1,
    });
    let lab = Lab::new();
    let code = "await tools.gate({name: 'x'});";
    let started = bench
        .service
        .start(request(&lab, "one", code))
        .await
        .unwrap();
    let board = bench.service.board();
    let missing = board.wait("two", &started.cell_id, SOON).await.unwrap_err();
    assert_eq!(missing.to_string(), "exec cell 1 not found");
    assert!(
        bench
            .service
            .start(request(&lab, "one", code))
            .await
            .is_err()
    );
    assert!(
        bench
            .service
            .start(request(&lab, "two", code))
            .await
            .is_ok()
    );
    board.shutdown().await;
    for caller in ["one", "two"] {
        let cells = board.list(caller);
        assert!(
            cells.iter().all(|cell| cell.state == CellState::Finished),
            "{cells:?}"
        );
    }
}

#[tokio::test]
async fn the_service_runs_a_script_through_its_yields() {
    let bench = Bench::new();
    let lab = Lab::new();
    let code = "text('a'); yield_control(); text(await tools.echo('b')); store('k', 2); return 3;";
    let (result, commit) = bench.service.run(request(&lab, "", code)).await.unwrap();
    assert_eq!(value(&result), json!(3));
    assert_eq!(commit.unwrap().set.len(), 1);
    assert!(bench.service.board().list("").is_empty());
}

#[tokio::test]
async fn a_suspended_cell_meets_conflicts_in_another_service() {
    let store = ScriptStore::default();
    let service = || {
        ScriptService::new(ScriptServiceOptions {
            store: Arc::new(store.clone()),
            ..ScriptServiceOptions::new(engine().clone())
        })
    };
    let (first, second) = (service(), service());
    let lab = Lab::new();
    let code = "await tools.ask({name: 'x'}); store('k', load('k') ?? 'mine');";
    let started = first.start(request(&lab, "", code)).await.unwrap();
    lab.has_asked(1).await;
    let bytes = first.suspend("", &started).await.unwrap();
    assert!(first.board().list("").is_empty());
    // Meanwhile another script writes the same key.
    let other = "store('k', 'theirs');";
    let (_, stored) = second.run(request(&lab, "", other)).await.unwrap();
    assert!(stored.is_ok());
    let lab = Lab::new();
    let started = second
        .resume(&bytes, request(&lab, "", code))
        .await
        .unwrap();
    lab.has_asked(1).await;
    lab.open("x");
    let delivery = second
        .board()
        .wait("", &started.cell_id, SOON)
        .await
        .unwrap();
    let result = crate::support::ended(&delivery.update);
    assert_eq!(
        result.notes,
        ["another script wrote k meanwhile; this script's value replaced it"]
    );
    assert_eq!(started.commit().unwrap().conflicts, ["k"]);
    for wrong in [&b"nothing"[..], b"{}\nx", &bytes[..bytes.len() - 1]] {
        assert!(second.resume(wrong, request(&lab, "", code)).await.is_err());
    }
}
