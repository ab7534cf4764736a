//! Saving a script that waits, and going on in this or another process.

use std::process::Command;
use std::time::Duration;

use pirn_codemode::{Cell, CheckpointError, RunOptions, ScriptLimits, SuspendError};
use pirn_tool::Receipt;
use serde_json::json;

use crate::support::{
    Lab, SOON, calls, ended, engine, failure, next, options, short_grace, skip, texts, value,
};

async fn resume(lab: &Lab, bytes: &[u8]) -> Cell {
    Cell::resume(engine(), bytes, &lab.environment(), options(short_grace()))
        .await
        .unwrap()
}

/// Half a `Promise.all` is done, one call confirms that it is stopped, one does not, one takes effect, one was not started.
const HALF_DONE: &str = "store('kept', 1); text('before'); console.log('line'); notify('hello');
    const tell = (call) => call.then((value) => value ?? 'undefined', (error) => `${error.kind} ${error.callId}: ${error.message}`);
    const done = await tools.echo('first');
    const all = Promise.all([done, tell(tools.echo('half')), tell(tools.gate({name: 'a'})), tell(tools.deaf()),
        tell(tools.stubborn({name: 'b'})), tell(tools.echo('queued')), new Promise((fire) => setTimeout(() => fire('timer'), 30))]);
    text('waiting');
    return all;";

async fn suspended(lab: &Lab, code: &str, received: usize) -> Vec<u8> {
    let limits = ScriptLimits {
        calls_in_flight_max: 3,
        ..short_grace()
    };
    let cell = Cell::start(
        engine(),
        &pirn_codemode::Script::new(code),
        &lab.environment(),
        options(limits),
    );
    lab.has_received(received).await;
    cell.suspend().await.unwrap()
}

#[tokio::test]
async fn everything_but_the_calls_comes_back() {
    let first = Lab::new();
    let bytes = suspended(&first, HALF_DONE, 5).await;
    first.has_ended("gate").await;
    let second = Lab::new();
    let update = next(&resume(&second, &bytes).await).await;
    let result = ended(&update);
    assert_eq!(
        value(result),
        json!([
            "first",
            "half",
            "cancelled lab/3: gate was stopped",
            "unknown lab/4: deaf was running when the script was saved; whether it took effect is unknown",
            "took effect",
            "queued",
            "timer"
        ])
    );
    // Only the call that had not started is made; nothing is repeated.
    assert_eq!(second.received(), ["echo \"queued\""]);
    assert_eq!(
        calls(result),
        [
            "echo ok",
            "echo ok",
            "gate cancelled",
            "deaf unknown",
            "stubborn ok",
            "echo ok"
        ]
    );
    assert_eq!(
        texts(&result.output),
        ["before", "console: line", "waiting"]
    );
    assert_eq!(result.notifications.len(), 1);
    assert_eq!(result.store_writes.len(), 1);
}

#[tokio::test]
async fn the_host_may_take_calls_up() {
    let bytes = suspended(&Lab::new(), HALF_DONE, 5).await;
    let second = Lab::resuming();
    let cell = resume(&second, &bytes).await;
    // What ended while it was saved has ended.
    assert_eq!(second.resumed(), ["deaf #4 Begun", "echo #6 Waiting"]);
    second.has_received(1).await;
    let update = cell.terminate().await.unwrap();
    let pirn_codemode::CellStatus::Terminated(result) = update.status else {
        panic!("deaf never ends: {update:?}")
    };
    assert_eq!(
        calls(&result),
        [
            "echo ok",
            "echo ok",
            "gate cancelled",
            "deaf unknown",
            "stubborn ok",
            "echo ok"
        ]
    );
}

#[tokio::test]
async fn only_output_nobody_saw_is_new_after_resuming() {
    let lab = Lab::new();
    let code = "text('seen'); notify('seen'); yield_control(); await tools.gate({name: 'a'});
        text('unseen'); notify('unseen'); await tools.gate({name: 'b'}).catch(() => 0); text('later');";
    let cell = lab.start(code);
    assert_eq!(texts(&next(&cell).await.output), ["seen"]);
    lab.open("a");
    lab.has_received(2).await;
    let bytes = cell.suspend().await.unwrap();
    let update = next(&resume(&Lab::new(), &bytes).await).await;
    assert_eq!(texts(&update.output), ["unseen", "later"]);
    assert_eq!(
        update
            .notifications
            .iter()
            .map(ToString::to_string)
            .collect::<Vec<_>>(),
        ["unseen"]
    );
    assert_eq!(texts(&ended(&update).output), ["seen", "unseen", "later"]);
}

#[tokio::test]
async fn a_script_can_be_saved_again_and_again() {
    let code = "const seen = []; for (let n = 0; n < 4; n++) { seen.push(n);
        await tools.gate({name: `${n}`}).catch((error) => seen.push(error.kind)); } return seen;";
    let mut lab = Lab::new();
    let mut cell = lab.start(code);
    for _ in 0..4 {
        lab.has_received(1).await;
        let bytes = cell.suspend().await.unwrap();
        lab = Lab::new();
        cell = resume(&lab, &bytes).await;
    }
    let update = next(&cell).await;
    let result = ended(&update);
    assert_eq!(
        value(result),
        json!([
            0,
            "cancelled",
            1,
            "cancelled",
            2,
            "cancelled",
            3,
            "cancelled"
        ])
    );
    assert_eq!(
        result
            .calls
            .iter()
            .filter_map(Receipt::number)
            .collect::<Vec<_>>(),
        [1, 2, 3, 4]
    );
}

#[tokio::test]
async fn a_script_that_ended_cannot_be_saved() {
    let lab = Lab::new();
    let cell = lab.start("return 1;");
    cell.ended().await;
    let Err(SuspendError::Ended(result)) = cell.suspend().await else {
        panic!("it ended")
    };
    assert_eq!(value(&result), json!(1));
    let cell = lab.start("return 1;");
    next(&cell).await;
    assert!(matches!(cell.suspend().await, Err(SuspendError::Gone)));
}

#[tokio::test]
async fn time_before_saving_counts() {
    let lab = Lab::new();
    let cell = lab
        .start("await tools.gate({name: 'a'}).catch(() => 0); await tools.gate({name: 'never'});");
    lab.has_received(1).await;
    skip(Duration::from_secs(2)).await;
    let bytes = cell.suspend().await.unwrap();
    let limits = ScriptLimits {
        wall: Duration::from_secs(2),
        ..short_grace()
    };
    let cell = Cell::resume(engine(), &bytes, &Lab::new().environment(), options(limits))
        .await
        .unwrap();
    let update = next(&cell).await;
    let told = failure(ended(&update));
    assert!(
        told.starts_with("timeout: The script timed out after 2000 ms ("),
        "{told}"
    );
}

#[tokio::test]
async fn bytes_that_are_no_script_are_refused() {
    let bytes = suspended(&Lab::new(), "await tools.gate({name: 'a'});", 1).await;
    let mut damaged = bytes.clone();
    *damaged.last_mut().unwrap() ^= 1;
    for (wrong, why) in [
        (&b"nothing"[..], "like one"),
        (&bytes[..40], "early"),
        (&damaged, "damaged"),
    ] {
        let error = Cell::resume(
            engine(),
            wrong,
            &Lab::new().environment(),
            RunOptions::default(),
        )
        .await
        .unwrap_err();
        assert!(error.to_string().contains(why), "{error}");
    }
}

#[tokio::test]
async fn calls_that_have_begun_may_end_before_they_are_stopped() {
    let lab = Lab::new();
    let limits = ScriptLimits {
        suspend_grace: SOON,
        ..short_grace()
    };
    let cell = Cell::start(
        engine(),
        &pirn_codemode::Script::new("return await tools.gate({name: 'a'});"),
        &lab.environment(),
        options(limits),
    );
    lab.has_received(1).await;
    let suspending = cell.suspend();
    tokio::pin!(suspending);
    assert!(futures_util::poll!(suspending.as_mut()).is_pending());
    // The script's own task comes to the order.
    tokio::task::yield_now().await;
    lab.open("a");
    let bytes = suspending.await.unwrap();
    let second = Lab::new();
    let update = next(&resume(&second, &bytes).await).await;
    assert_eq!(value(ended(&update)), json!("a"));
    assert_eq!(calls(ended(&update)), ["gate ok"]);
    assert!(second.resumed().is_empty() && second.received().is_empty());
}

#[tokio::test]
async fn a_checkpoint_leaves_script_and_calls_alone() {
    let lab = Lab::new();
    let code = "const tell = (call) => call.then((value) => value, (error) => error.kind);
        text('out'); const all = Promise.all([tell(tools.gate({name: 'a'})), tell(tools.ask({name: 'b'})), tell(tools.echo('queued'))]);
        return all;";
    let limits = ScriptLimits {
        calls_in_flight_max: 2,
        ..short_grace()
    };
    let cell = Cell::start(
        engine(),
        &pirn_codemode::Script::new(code),
        &lab.environment(),
        options(limits),
    );
    lab.has_asked(1).await;
    let bytes = cell.checkpoint().await.unwrap();
    lab.open("a");
    lab.open("b");
    let update = next(&cell).await;
    assert_eq!(value(ended(&update)), json!(["a", "allowed", "queued"]));
    assert!(matches!(
        cell.checkpoint().await,
        Err(CheckpointError::NotRunning)
    ));
    // As after a crash: what had begun is unknown, what was asked is asked with the same id, what waited is made.
    let second = Lab::new();
    let cell = resume(&second, &bytes).await;
    assert_eq!(second.has_asked(1).await, ["question about b"]);
    second.open("b");
    let update = next(&cell).await;
    assert_eq!(
        value(ended(&update)),
        json!(["unknown", "allowed", "queued"])
    );
    assert_eq!(texts(&update.output), ["out"]);
    assert_eq!(
        second.resumed(),
        [
            "gate #1 Begun",
            "ask #2 Asking { question_id: \"question about b\" }",
            "echo #3 Waiting"
        ]
    );
}

#[tokio::test]
async fn an_open_question_survives_the_suspension_and_is_answered_once() {
    let lab = Lab::new();
    let cell = lab.start("const answer = await tools.ask({name: 'x'}); return [answer];");
    lab.has_asked(1).await;
    let bytes = cell.suspend().await.unwrap();
    let second = Lab::new();
    let cell = resume(&second, &bytes).await;
    assert_eq!(second.has_asked(1).await, ["question about x"]);
    second.open("x");
    let update = next(&cell).await;
    assert_eq!(value(ended(&update)), json!(["allowed"]));
    assert_eq!(second.has_asked(1).await.len(), 1);
    assert_eq!(calls(ended(&update)), ["ask ok"]);
}

#[tokio::test]
async fn a_script_that_waits_for_room_is_not_saved() {
    let options = pirn_vm::EngineOptions {
        live_vms_max: 1,
        ..pirn_vm::EngineOptions::default()
    };
    let small = pirn_vm::VmEngine::new(options).unwrap();
    let lab = Lab::new();
    let start = |code: &str| {
        Cell::start(
            &small,
            &pirn_codemode::Script::new(code),
            &lab.environment(),
            RunOptions::default(),
        )
    };
    let first = start("return tools.gate({name: 'go'});");
    lab.has_received(1).await;
    let second = start("return 2;");
    assert!(matches!(
        second.suspend().await,
        Err(SuspendError::NotStarted)
    ));
    let third = start("return 3;");
    lab.open("go");
    assert_eq!(value(ended(&next(&first).await)), json!("go"));
    drop(first);
    assert_eq!(value(ended(&next(&third).await)), json!(3));
}

const CHILD_FILE: &str = "PIRN_TEST_SUSPENDED_SCRIPT";

#[tokio::test]
async fn another_process_goes_on() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("script");
    std::fs::write(&file, suspended(&Lab::new(), HALF_DONE, 5).await).unwrap();
    // This test's own binary runs the test below with the file.
    let output = Command::new(std::env::current_exe().unwrap())
        .args(["--exact", "suspend::in_another_process", "--nocapture"])
        .env(CHILD_FILE, &file)
        .output()
        .unwrap();
    assert!(
        output.status.success(),
        "{}",
        String::from_utf8_lossy(&output.stderr)
    );
    let answer = std::fs::read_to_string(folder.path().join("answer")).unwrap();
    let answer: Vec<String> = serde_json::from_str(&answer).unwrap();
    assert_eq!(answer.len(), 7);
    assert!(answer[3].starts_with("unknown lab/4"), "{answer:?}");
    assert_eq!(answer[4..], ["took effect", "queued", "timer"]);
}

/// The other process of the test above; nothing without its file.
#[tokio::test]
async fn in_another_process() {
    let Some(file) = std::env::var_os(CHILD_FILE) else {
        return;
    };
    let bytes = std::fs::read(&file).unwrap();
    let cell = resume(&Lab::new(), &bytes).await;
    let update = tokio::time::timeout(SOON, next(&cell)).await.unwrap();
    let answer = value(ended(&update)).to_string();
    std::fs::write(std::path::Path::new(&file).with_file_name("answer"), answer).unwrap();
}
