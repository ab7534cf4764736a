//! Cells: waiting in pieces, ends, terminating.

use std::time::Duration;

use pirn_codemode::{
    Abort, Cell, CellStatus, LayoutKind, LayoutOptions, Progress, RunOptions, Script, WaitError,
    lay_out_update,
};
use serde_json::json;

use crate::support::{
    Lab, SOON, calls, ended, engine, failure, next, options, short_grace, texts, value,
};

#[tokio::test]
async fn every_update_has_only_what_is_new() {
    let lab = Lab::new();
    let cell = lab.start(
        "text('a'); notify('n'); yield_control(); await tools.gate({name: 'one'}); text('b'); yield_control();
         await tools.gate({name: 'two'}); console.log('c'); return 3;",
    );
    let update = next(&cell).await;
    assert!(matches!(update.status, CellStatus::Running));
    assert_eq!(
        (texts(&update.output), update.notifications.len()),
        (vec!["a".to_owned()], 1)
    );
    lab.has_received(1).await;
    let update = cell.wait(Duration::ZERO).await.unwrap();
    assert!(matches!(update.status, CellStatus::Running));
    assert_eq!(
        (texts(&update.output), update.notifications.len()),
        (vec![], 0)
    );
    lab.open("one");
    assert_eq!(texts(&next(&cell).await.output), ["b"]);
    lab.open("two");
    let update = next(&cell).await;
    assert_eq!(texts(&update.output), ["console: c"]);
    let result = ended(&update);
    assert_eq!(texts(&result.output), ["a", "b", "console: c"]);
    assert_eq!(value(result), json!(3));
    assert_eq!(cell.wait(SOON).await.unwrap_err(), WaitError::Gone);
    assert_eq!(cell.terminate().await.unwrap_err(), WaitError::Gone);
}

#[tokio::test]
async fn a_second_waiter_is_refused_without_disturbing_the_first() {
    let lab = Lab::new();
    let cell = lab.start("await tools.gate({name: 'go'}); return 1;");
    let first = cell.wait(SOON);
    tokio::pin!(first);
    assert!(futures_util::poll!(first.as_mut()).is_pending());
    assert_eq!(cell.wait(SOON).await.unwrap_err(), WaitError::Busy);
    lab.open("go");
    assert_eq!(value(ended(&first.await.unwrap())), json!(1));
}

#[tokio::test]
async fn a_dropped_wait_makes_room_for_another() {
    let lab = Lab::new();
    let cell = lab.start("await tools.gate({name: 'go'}); return 1;");
    {
        let first = cell.wait(SOON);
        tokio::pin!(first);
        assert!(futures_util::poll!(first.as_mut()).is_pending());
    }
    lab.open("go");
    assert_eq!(value(ended(&next(&cell).await)), json!(1));
}

#[tokio::test]
async fn a_finish_nobody_saw_wins_over_a_later_terminate() {
    let lab = Lab::new();
    let cell = lab.start("store('k', 1); text('out'); return 'done';");
    cell.ended().await;
    assert!(cell.has_ended());
    let update = cell.terminate().await.unwrap();
    assert_eq!(texts(&update.output), ["out"]);
    let result = ended(&update);
    assert_eq!(value(result), json!("done"));
    assert_eq!(result.store_writes.len(), 1);
}

#[tokio::test]
async fn terminating_stops_calls_and_drops_store_writes() {
    let lab = Lab::new();
    let cell = lab.start(
        "store('k', 1); text('out'); await Promise.all([tools.gate({name: 'x'}), tools.deaf()]);",
    );
    lab.has_received(2).await;
    let update = cell.terminate().await.unwrap();
    let CellStatus::Terminated(result) = &update.status else {
        panic!("it was terminated: {update:?}")
    };
    assert_eq!(failure(result), "aborted: The script was terminated");
    assert_eq!(calls(result), ["gate cancelled", "deaf unknown"]);
    assert!(result.store_writes.is_empty());
    let laid_out = lay_out_update(
        &update,
        "7",
        Duration::from_millis(1_500),
        &LayoutOptions {
            kind: LayoutKind::Items,
            ..LayoutOptions::default()
        },
    );
    let shown: Vec<&str> = laid_out
        .content
        .iter()
        .filter_map(pirn_tool::ContentBlock::as_text)
        .collect();
    assert_eq!(
        shown,
        [
            "Script terminated\nWall time 1.5 seconds\nOutput:\n",
            "out",
            "Tool calls made before the failure (they are not undone): gate (cancelled), deaf (unknown)"
        ]
    );
}

#[tokio::test]
async fn a_computing_script_is_terminated_where_it_stands() {
    let lab = Lab::new();
    for code in [
        "for (;;);",
        "'a'.repeat(1e6).replace(/(a+)+b/, '');",
        "for (;;) { try { null.x } catch {} }",
    ] {
        let cell = lab.start(code);
        assert!(
            matches!(
                cell.wait(Duration::from_millis(5)).await.unwrap().status,
                CellStatus::Running
            ),
            "{code}"
        );
        let update = tokio::time::timeout(SOON, cell.terminate())
            .await
            .unwrap()
            .unwrap();
        assert!(matches!(update.status, CellStatus::Terminated(_)), "{code}");
    }
}

#[tokio::test]
async fn terminating_while_another_waits_gives_the_end_to_the_waiter() {
    let lab = Lab::new();
    let cell = lab.start("await tools.gate({name: 'never'});");
    lab.has_received(1).await;
    let waiter = cell.wait(SOON);
    tokio::pin!(waiter);
    assert!(futures_util::poll!(waiter.as_mut()).is_pending());
    assert_eq!(cell.terminate().await.unwrap_err(), WaitError::Busy);
    assert!(matches!(
        waiter.await.unwrap().status,
        CellStatus::Terminated(_)
    ));
}

#[tokio::test]
async fn two_terminates_do_not_disturb_each_other() {
    let lab = Lab::new();
    let cell = lab.start("await tools.gate({name: 'never'});");
    let (first, second) = tokio::join!(cell.terminate(), cell.terminate());
    assert!(matches!(first.unwrap().status, CellStatus::Terminated(_)));
    assert_eq!(second.unwrap_err(), WaitError::Busy);
}

#[tokio::test]
async fn terminating_one_cell_leaves_others_of_the_same_handle_alone() {
    let lab = Lab::new();
    let shared = Abort::new();
    let start = |code: &str| {
        let options = RunOptions {
            abort: shared.clone(),
            ..options(short_grace())
        };
        Cell::start(engine(), &Script::new(code), &lab.environment(), options)
    };
    let (one, other) = (
        start("await tools.gate({name: 'a'});"),
        start("return tools.gate({name: 'b'});"),
    );
    one.terminate().await.unwrap();
    assert!(!shared.is_aborted());
    lab.open("b");
    assert_eq!(value(ended(&next(&other).await)), json!("b"));
}

#[tokio::test]
async fn the_callers_handle_stops_a_cell_too() {
    let lab = Lab::new();
    let abort = Abort::new();
    let options = RunOptions {
        abort: abort.clone(),
        ..RunOptions::default()
    };
    let cell = Cell::start(
        engine(),
        &Script::new("await tools.gate({name: 'x'});"),
        &lab.environment(),
        options,
    );
    lab.has_received(1).await;
    abort.abort("the turn was interrupted");
    assert_eq!(
        failure(ended(&next(&cell).await)),
        "aborted: the turn was interrupted"
    );
}

#[tokio::test]
async fn a_dropped_cell_stops_its_script_and_calls() {
    let lab = Lab::new();
    let cell = lab.start("tools.deaf(); for (;;) await tools.echo(1).catch(() => null);");
    lab.has_received(3).await;
    drop(cell);
    lab.has_ended("deaf").await;
    let waiting = lab.start("await tools.gate({name: 'never'});");
    drop(waiting);
}

#[tokio::test]
async fn a_script_that_cannot_start_ends_its_cell() {
    let lab = Lab::new();
    let cell = lab.start("return (;");
    let update = next(&cell).await;
    assert!(failure(ended(&update)).starts_with("script: "));
}

#[tokio::test]
async fn a_task_that_dies_ends_its_cell() {
    let lab = Lab::new();
    let progress: pirn_codemode::ProgressSink = std::sync::Arc::new(|progress| {
        assert!(
            !matches!(progress, Progress::Output(_)),
            "the test wants it"
        );
    });
    let options = RunOptions {
        progress: Some(progress),
        ..RunOptions::default()
    };
    let cell = Cell::start(
        engine(),
        &Script::new("text('x'); return 1;"),
        &lab.environment(),
        options,
    );
    let update = next(&cell).await;
    assert!(failure(ended(&update)).starts_with("sandbox: The task that ran the script was ended"));
}

#[tokio::test]
async fn updates_are_laid_out_with_the_cells_state() {
    let lab = Lab::new();
    let cell =
        lab.start("text('first'); yield_control(); await tools.gate({name: 'go'}); return {a: 1};");
    let options = LayoutOptions {
        kind: LayoutKind::Items,
        ..LayoutOptions::default()
    };
    let shown = |update: &pirn_codemode::CellUpdate| -> Vec<String> {
        let content = lay_out_update(update, "12", Duration::from_secs(3), &options).content;
        content
            .iter()
            .filter_map(pirn_tool::ContentBlock::as_text)
            .map(str::to_owned)
            .collect()
    };
    let head = |first: &str| format!("{first}\nWall time 3.0 seconds\nOutput:\n");
    assert_eq!(
        shown(&next(&cell).await),
        [head("Script running with cell ID 12"), "first".to_owned()]
    );
    lab.open("go");
    assert_eq!(
        shown(&next(&cell).await),
        [head("Script completed"), "{\"a\":1}".to_owned()]
    );
}
