//! Calls: what a script gets of them, in which order they run, and what becomes of them.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use pirn_codemode::{Abort, Progress, ResultBudget, RunOptions, ScriptLimits};
use serde_json::{Value, json};

use crate::support::{CALLS_ADVICE, Lab, SOON, calls, failure, options, short_grace, value};

const CALL_ADVICE: &str =
    "To change this limit: the setting codemode.callMb, or pirn exec --call-mb.";

#[tokio::test]
async fn results_cross_as_json() {
    let lab = Lab::new();
    for (call, expected) in [
        (
            "tools.echo({a: [1, 'x', null]})",
            json!({"a": [1, "x", null]}),
        ),
        ("tools.echo('\\ud800') === undefined", json!(false)),
        ("typeof await tools.nothing()", json!("undefined")),
        ("typeof await tools.echo()", json!("undefined")),
        ("tools.echo(1, 2)", json!(1)),
        ("tools.echo([undefined])", json!([null])),
        ("tools['echo'](12345678901234567890n < 0)", json!(false)),
        (
            "tools.echo(1n).catch((error) => error.name)",
            json!("TypeError"),
        ),
    ] {
        let result = lab.run(&format!("return {call};")).await;
        assert_eq!(value(&result), expected, "{call}");
    }
}

#[tokio::test]
async fn a_failed_call_names_itself() {
    let describe = "const tell = async (call) => { try { return await call; } catch (error) {
        return [error instanceof Error, error.message, error.tool, error.callId, error.kind]; } };";
    let lab = Lab::new();
    let cases = [
        (
            "tools.fail({message: 'no'})",
            json!([true, "no", "fail", "lab/1", "failed"]),
        ),
        (
            "tools.fail({})",
            json!([true, "", "fail", "lab/1", "failed"]),
        ),
        (
            "tools.echo('x'.repeat(200))",
            json!([
                true,
                format!(
                    "echo: the argument has 202 bytes of JSON, the limit is 100. {CALL_ADVICE}"
                ),
                "echo",
                "lab/1",
                "limit"
            ]),
        ),
        (
            "tools.panics()",
            json!([
                true,
                "the host panicked while it made this call, which is a bug in it; it may have taken effect",
                "panics",
                "lab/1",
                "unknown"
            ]),
        ),
    ];
    for (call, expected) in cases {
        let limits = ScriptLimits {
            call_bytes_max: 100,
            ..ScriptLimits::default()
        };
        let result = lab
            .run_with(&format!("{describe} return tell({call});"), options(limits))
            .await;
        assert_eq!(value(&result), expected, "{call}");
        assert_eq!(result.calls.len(), 1, "{call}");
    }
}

#[tokio::test]
async fn calls_in_flight_are_limited_and_start_in_order() {
    let lab = Lab::new();
    let limits = ScriptLimits {
        calls_in_flight_max: 2,
        ..ScriptLimits::default()
    };
    let gates = lab.clone();
    let opener = tokio::spawn(async move {
        for (received, gate) in [(2, "a"), (3, "b"), (4, "c"), (4, "d")] {
            gates.has_received(received).await;
            assert!(gates.received().len() <= received);
            gates.open(gate);
        }
    });
    let code = "return Promise.all(['a', 'b', 'c', 'd'].map((name) => tools.gate({name})));";
    let result = lab.run_with(code, options(limits)).await;
    opener.await.unwrap();
    assert_eq!(value(&result), json!(["a", "b", "c", "d"]));
    assert_eq!(lab.most_at_once(), 2);
    let expected: Vec<String> = ["a", "b", "c", "d"]
        .iter()
        .map(|name| format!("gate {{\"name\":\"{name}\"}}"))
        .collect();
    assert_eq!(lab.received(), expected);
}

#[tokio::test]
async fn calls_beyond_the_limit_reject() {
    let lab = Lab::new();
    let limits = ScriptLimits {
        calls_max: 2,
        ..ScriptLimits::default()
    };
    let code = "const ends = await Promise.allSettled([1, 2, 3, 4].map((n) => tools.echo(n)));
        return ends.map((end) => end.value ?? `${end.reason.kind}: ${end.reason.message}`);";
    let result = lab.run_with(code, options(limits)).await;
    let refused =
        format!("limit: echo: the script has made 2 calls, which is its limit. {CALLS_ADVICE}");
    assert_eq!(value(&result), json!([1, 2, refused, refused]));
    assert_eq!(calls(&result), ["echo ok", "echo ok"]);
}

#[tokio::test]
async fn a_result_that_is_too_large_rejects_and_counts_as_done() {
    let lab = Lab::new();
    let limits = ScriptLimits {
        call_bytes_max: 30,
        ..ScriptLimits::default()
    };
    let code = "const text = 'x'.repeat(20); return tools.echo(text).then(() => tools.fail({message: 'y'.repeat(90)}))
        .catch((error) => error.message);";
    let result = lab.run_with(code, options(limits)).await;
    // The argument of `fail` is over the limit itself.
    assert_eq!(
        value(&result),
        json!(format!(
            "fail: the argument has 104 bytes of JSON, the limit is 30. {CALL_ADVICE}"
        ))
    );
    assert_eq!(calls(&result), ["echo ok", "fail error"]);
}

/// The calls that had ended when the script, which computes after it has started them all, showed something.
async fn ended_while_it_computed(limits: ScriptLimits, results: ResultBudget) -> (usize, Value) {
    let ended = Arc::new(AtomicUsize::new(0));
    let seen = Arc::new(AtomicUsize::new(usize::MAX));
    let (ends, seen_in) = (Arc::clone(&ended), Arc::clone(&seen));
    let progress = move |progress: Progress<'_>| match progress {
        Progress::CallEnded(_) => drop(ends.fetch_add(1, Ordering::Relaxed)),
        Progress::Output(_) => seen_in.store(ends.load(Ordering::Relaxed), Ordering::Relaxed),
        _ => {}
    };
    let options = RunOptions {
        limits,
        results,
        progress: Some(Arc::new(progress)),
        ..RunOptions::default()
    };
    let code = "const text64 = 'x'.repeat(64 << 10);
        const all = Array.from({length: 2000}, () => tools.echo(text64));
        let sum = 0;
        for (let n = 0; n < 3e6; n++) sum += n;
        text('computed');
        let read = 0;
        for (const one of all) read += (await one).length;
        return [sum > 0, read];";
    let result = Lab::new().run_with(code, options).await;
    (seen.load(Ordering::Relaxed), value(&result))
}

#[tokio::test]
async fn results_that_wait_to_be_read_are_bounded_for_a_script_and_for_all() {
    let all_read = json!([true, 2_000 * (64 << 10)]);
    let own = ScriptLimits {
        results_bytes_max: 1 << 20,
        ..ScriptLimits::default()
    };
    for (limits, results) in [
        (own, ResultBudget::default()),
        (ScriptLimits::default(), ResultBudget::new(1 << 20)),
    ] {
        let (ended, read) = ended_while_it_computed(limits, results).await;
        // 16 results are 1 MiB; 64 calls may have been under way then.
        assert!(ended <= 16 + 64, "{ended} calls ended");
        assert_eq!(read, all_read);
    }
}

/// Ten thousand results of 1 MiB would be 10 GiB.
#[tokio::test]
async fn ten_thousand_large_results_of_which_one_is_awaited_fit() {
    let lab = Lab::new();
    let code = "const all = Array.from({length: 10000}, () => tools.large());
        return (await all[0]).length;";
    let result = lab.run(code).await;
    assert_eq!(value(&result), json!(1 << 20));
    // It ended as soon as it had the first; what the calls under way gave was never in memory at once.
    assert!(lab.received().len() <= 500, "{}", lab.received().len());
}

#[tokio::test]
async fn calls_alive_at_the_end_are_stopped_and_awaited() {
    for (end, is_ok) in [
        ("return 1", true),
        ("exit()", true),
        ("throw new Error('over')", false),
    ] {
        let lab = Lab::new();
        let code = format!(
            "tools.gate({{name: 'never'}}); tools.stubborn({{name: 'never'}}); tools.deaf(); await tools.echo(1); {end};"
        );
        let result = lab.run_with(&code, options(short_grace())).await;
        assert_eq!(result.is_ok(), is_ok, "{end}");
        assert_eq!(
            calls(&result),
            ["gate cancelled", "stubborn ok", "deaf unknown", "echo ok"],
            "{end}"
        );
        assert!(
            result.calls.iter().all(|call| call.duration_ms.is_some()),
            "{end}"
        );
    }
}

#[tokio::test]
async fn calls_that_waited_for_room_never_start() {
    let lab = Lab::new();
    let limits = ScriptLimits {
        calls_in_flight_max: 1,
        ..short_grace()
    };
    let result = lab
        .run_with(
            "tools.gate({name: 'never'}); tools.echo(2); tools.echo(3); return;",
            options(limits),
        )
        .await;
    assert_eq!(
        calls(&result),
        ["gate cancelled", "echo cancelled", "echo cancelled"]
    );
    assert_eq!(lab.received().len(), 1);
}

#[tokio::test]
async fn an_abort_gives_its_first_reason() {
    let lab = Lab::new();
    let abort = Abort::new();
    let (watched, handle) = (lab.clone(), abort.clone());
    let aborter = tokio::spawn(async move {
        watched.has_received(1).await;
        handle.abort("the user pressed escape");
        handle.abort("a second reason");
    });
    let options = RunOptions {
        abort: abort.clone(),
        ..RunOptions::default()
    };
    let result = lab
        .run_with(
            "text('before'); await tools.gate({name: 'never'});",
            options,
        )
        .await;
    aborter.await.unwrap();
    assert_eq!(failure(&result), "aborted: the user pressed escape");
    assert_eq!(calls(&result), ["gate cancelled"]);
    assert_eq!(result.output.len(), 1);
    let again = lab
        .run_with(
            "return 1",
            RunOptions {
                abort,
                ..RunOptions::default()
            },
        )
        .await;
    assert_eq!(failure(&again), "aborted: the user pressed escape");
    assert_eq!(lab.received().len(), 1);
}

#[tokio::test]
async fn a_parent_abort_reaches_children_and_not_the_other_way_round() {
    let parent = Abort::new();
    let (first, second) = (parent.child(), parent.child());
    first.abort("only the first");
    assert!(first.is_aborted() && !parent.is_aborted() && !second.is_aborted());
    parent.abort("all");
    let lab = Lab::new();
    for (abort, reason) in [
        (first, "only the first"),
        (second, "all"),
        (parent.child(), "all"),
    ] {
        let result = lab
            .run_with(
                "return 1",
                RunOptions {
                    abort,
                    ..RunOptions::default()
                },
            )
            .await;
        assert_eq!(failure(&result), format!("aborted: {reason}"));
    }
}

#[tokio::test]
async fn a_dropped_run_drops_and_cancels_its_calls() {
    let lab = Lab::new();
    let watched = lab.clone();
    let run = tokio::spawn(async move {
        watched
            .run("await Promise.all([tools.gate({name: 'never'}), tools.deaf()]);")
            .await
    });
    lab.has_received(2).await;
    run.abort();
    lab.has_ended("gate").await;
    lab.has_ended("deaf").await;
    assert!(run.await.unwrap_err().is_cancelled());
}

#[tokio::test]
async fn a_computing_script_leaves_the_thread_to_others() {
    let lab = Lab::new();
    let abort = Abort::new();
    let handle = abort.clone();
    // On this thread's runtime: it only gets its turns if the script gives them.
    let ticks = tokio::spawn(async move {
        for _ in 0..10 {
            tokio::time::sleep(Duration::from_millis(2)).await; // sleeps: the timers are what is tested
        }
        handle.abort("the ticks are done");
    });
    for code in [
        "for (;;);",
        "for (;;) await null;",
        "for (;;) await tools.echo(1).catch(() => 0);",
    ] {
        let options = RunOptions {
            abort: abort.child(),
            ..RunOptions::default()
        };
        let result = tokio::time::timeout(SOON, lab.run_with(code, options))
            .await
            .unwrap();
        assert_eq!(failure(&result), "aborted: the ticks are done", "{code}");
    }
    ticks.await.unwrap();
}
