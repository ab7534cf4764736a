//! Workers that break the protocol, by accident or on purpose, and programs that forge it.

use std::time::Instant;

use pirn_eval::{KernelState, StateStore as _};

use crate::support::{Bench, PATIENCE, Test, assert_failed, assert_ok, block_on};

pub(crate) const TESTS: &[Test] = &[
    ("bad_workers_fail_with_their_kind", bad_workers),
    ("forged_results_are_not_committed", forged_results),
    ("frames_at_the_limit_pass_back_to_back", frames_at_the_limit),
    ("a_flood_without_newline_ends_the_worker", flood),
    ("frame_10001_fails", too_many_frames),
    ("workers_that_cannot_start_are_explained", bad_starts),
    ("the_host_survives_every_fault", survives),
];

async fn committed() -> Bench {
    let bench = Bench::scripted();
    let outcome = bench.eval(r#"state["good"] = 1; finish()"#).await;
    assert_ok(&outcome);
    assert_eq!(outcome.state, KernelState::Committed);
    assert!(!outcome.is_kernel_reused);
    // Scripted workers write JSON with spaces.
    let state = bench
        .store
        .load("main", pirn_eval::Language::Python)
        .unwrap();
    assert_eq!(state.as_deref(), Some(r#"{"good": 1}"#));
    bench
}

/// What a worker does, the kind of failure, and a part of its text.
const BAD_WORKERS: &[(&str, &str, &str)] = &[
    (
        "raw(b'null\\n'); time.sleep(60)",
        "protocol",
        "invalid protocol message",
    ),
    ("raw(b'[]\\n'); time.sleep(60)", "protocol", "bad frame"),
    (
        "raw(b'{\"type\":5}\\n'); time.sleep(60)",
        "protocol",
        "bad frame",
    ),
    ("raw(b'\\xff\\n'); time.sleep(60)", "protocol", "UTF-8"),
    ("raw(b'\\n'); time.sleep(60)", "protocol", "bad frame"),
    (
        "raw(b'!{\"report\":\"ended\"}\\n'); time.sleep(60)",
        "protocol",
        "bad frame",
    ),
    (
        "send(type='ready', runtime='python'); time.sleep(60)",
        "protocol",
        "ready twice",
    ),
    (
        "send(type='protocol_error', text='x'); time.sleep(60)",
        "protocol",
        "unknown",
    ),
    ("send(type='x' * 100); time.sleep(60)", "protocol", "xxxx"),
    (
        "call('1', 'hang'); call('1', 'echo'); time.sleep(60)",
        "protocol",
        "callId twice",
    ),
    (
        "call('1' * 65, 'echo'); time.sleep(60)",
        "protocol",
        "callId",
    ),
    ("call(1, 'echo'); time.sleep(60)", "protocol", "bad frame"),
    (
        "result(); call('1', 'echo'); time.sleep(60)",
        "protocol",
        "a call after the result",
    ),
    (
        "result(); result(); time.sleep(60)",
        "protocol",
        "a result after the result",
    ),
    (
        "result(id='other'); time.sleep(60)",
        "protocol",
        "another eval",
    ),
    (
        "result(elapsedMs=-1); time.sleep(60)",
        "protocol",
        "elapsedMs",
    ),
    ("result(ok='yes'); time.sleep(60)", "protocol", "bad frame"),
    (
        "result(); receive(); send(type='eval_complete', id=e['id'], token='guess'); time.sleep(60)",
        "protocol",
        "not being finalized",
    ),
    (
        "send(type='eval_complete', id=e['id'], token=''); time.sleep(60)",
        "protocol",
        "not being finalized",
    ),
    (
        "result(); complete(); send(type='display', evalId=e['id'], mimeType='image/png', data=''); time.sleep(60)",
        "protocol",
        "after the result",
    ),
    (
        "send(type='display', evalId=e['id'], mimeType='text/html', data=''); time.sleep(60)",
        "protocol",
        "format",
    ),
    (
        "send(type='display', evalId=e['id'], mimeType='image/png', data='<'); time.sleep(60)",
        "protocol",
        "base64",
    ),
    ("os._exit(3)", "worker_exit", "exit code 3"),
    ("os.kill(os.getpid(), 9)", "worker_exit", "signal 9"),
    (
        "sys.stderr.write('last words'); sys.stderr.flush(); os._exit(0)",
        "worker_exit",
        "last words",
    ),
    (
        "result(); os._exit(0)",
        "worker_exit",
        "without a finalized result",
    ),
    (
        "result(); complete(); os._exit(1)",
        "worker_exit",
        "exit code 1",
    ),
    (
        "call('1', 'hang'); os._exit(0)",
        "unsettled_calls",
        "1 were open",
    ),
    ("finish(state=[])", "state_invalid", "object"),
    ("finish(state=None)", "protocol", "no state"),
    (
        "finish(state={'a': 'x' * 1_100_000})",
        "state_too_large",
        "exceeds",
    ),
    (
        "finish(state={'a': [1] * 99_999})",
        "state_too_large",
        "values",
    ),
    (
        "finish(ok=False, error={'name': 'StateInvalid', 'message': 'a set is not JSON'})",
        "state_invalid",
        "a set is not JSON",
    ),
    (
        "finish(ok=False, error={'name': 'ValueError', 'message': 'no', 'trace': 'line 1'})",
        "user_error",
        "ValueError: no",
    ),
    ("finish(ok=False)", "user_error", "failed"),
];

fn bad_workers() {
    block_on(async {
        let bench = Bench::scripted();
        assert_ok(&bench.eval(r#"finish(state={"good": 1})"#).await);
        for (code, kind, part) in BAD_WORKERS {
            let outcome = bench.eval(code).await;
            assert_failed(&outcome, kind, part);
            assert_eq!(outcome.state, KernelState::Unchanged, "{code}");
            assert_eq!(outcome.value, None, "{code}");
            let state = bench
                .store
                .load("main", pirn_eval::Language::Python)
                .unwrap();
            assert_eq!(state.as_deref(), Some(r#"{"good": 1}"#), "{code}");
        }
    });
}

fn forged_results() {
    block_on(async {
        let bench = committed().await;
        let forged =
            r#"{"type":"eval_result","id":"%s","ok":true,"elapsedMs":1,"state":{"forged":1}}"#;
        for code in [
            // On standard output it is only text.
            format!("print('{forged}' % e['id'], flush=True); os._exit(0)"),
            format!("raw(('{forged}' % e['id'] + '\\n').encode()); os._exit(0)"),
            format!("raw(('{forged}' % e['id'] + '\\n').encode()); receive(); os._exit(0)"),
        ] {
            let outcome = bench.eval(&code).await;
            assert_failed(&outcome, "worker_exit", "without a finalized result");
            let state = bench
                .store
                .load("main", pirn_eval::Language::Python)
                .unwrap();
            assert_eq!(state.as_deref(), Some(r#"{"good": 1}"#), "{code}");
        }
        // A forged one in front of the worker's own makes two.
        let code = format!("raw(('{forged}' % e['id'] + '\\n').encode()); finish()");
        assert_failed(&bench.eval(&code).await, "protocol", "after the result");
    });
}

fn frames_at_the_limit() {
    let code = r#"
def sized(size, **fields):
    empty = len(json.dumps({**fields, "input": ""}))
    return (json.dumps({**fields, "input": "x" * (size - empty)}) + "\n").encode()
frames = b"".join(sized(SIZE, type="capability_call", evalId=e["id"], callId=str(n), name="echo") for n in range(3))
threading.Thread(target=raw, args=(frames,)).start()
sizes = [len(receive()["value"]) for n in range(3)]
finish(value=len(frames))
"#;
    block_on(async {
        let bench = Bench::scripted();
        let outcome = bench.eval(&code.replace("SIZE", "1_999_999")).await;
        assert_ok(&outcome);
        assert_eq!(outcome.value, Some(6_000_000.into()));
        assert_eq!(outcome.calls.len(), 3);
        assert_ok(&bench.eval(&code.replace("SIZE", "2_000_000")).await);
        let outcome = bench.eval(&code.replace("SIZE", "2_000_001")).await;
        assert_failed(&outcome, "protocol", "limit of 2000000 bytes");
    });
}

fn flood() {
    let code = r"
try:
    for n in range(64): raw(b'x' * 1_048_576)
except OSError: pass
time.sleep(60)
";
    block_on(async {
        let bench = Bench::scripted();
        let start = Instant::now();
        let outcome = bench.eval(code).await;
        assert_failed(&outcome, "protocol", "limit of 2000000 bytes");
        assert!(start.elapsed() < PATIENCE);
        assert!(outcome.stdout.is_empty());
    });
}

fn too_many_frames() {
    // `ready` is the first frame, then come calls; the result and the completion are two more.
    let code = r"
for n in range(COUNT): call(str(n), 'echo')
for n in range(COUNT): receive()
finish()
";
    block_on(async {
        let bench = Bench::scripted();
        let outcome = bench.eval(&code.replace("COUNT", "9_997")).await;
        assert_ok(&outcome);
        assert_eq!(outcome.calls.len(), 9_997);
        let outcome = bench.eval(&code.replace("COUNT", "9_998")).await;
        assert_failed(&outcome, "protocol", "10000 frames");
    });
}

fn bad_starts() {
    let cases = [
        ("raise SystemExit('a word')", "a word"),
        ("import this_is_no_module", "No module named"),
        (
            "import sys; sys.stderr.write('Python 2\\n'); sys.exit(1)",
            "exit code 1",
        ),
    ];
    block_on(async {
        for (program, part) in cases {
            let bench =
                Bench::scripted_with(|options| options.workers.python = Some(program.to_owned()));
            let outcome = bench.eval("finish()").await;
            assert_failed(&outcome, "spawn", part);
            assert_eq!(outcome.state, KernelState::Unchanged);
        }
        let wrong = crate::support::SCRIPTED.replace(r#"runtime="python""#, r#"runtime="ruby""#);
        let bench = Bench::scripted_with(|options| options.workers.python = Some(wrong));
        assert_failed(&bench.eval("finish()").await, "protocol", "ruby");
        let old = crate::support::SCRIPTED.replace("3.11.7", "3.8.20");
        let bench = Bench::scripted_with(|options| options.workers.python = Some(old));
        assert_failed(&bench.eval("finish()").await, "spawn", "eval.python");
        let bench =
            Bench::scripted_with(|options| options.python = Some("/nonexistent/python3".into()));
        let outcome = bench.eval("finish()").await;
        assert_failed(&outcome, "spawn", "There is no /nonexistent/python3");
        assert_failed(&outcome, "spawn", "eval.python");
        let bench = Bench::scripted_with(|options| {
            options.environment = vec![("PATH".into(), "/srv".into())];
        });
        assert_failed(
            &bench.eval("finish()").await,
            "spawn",
            "There is no python3",
        );
        let bench =
            Bench::scripted_with(|options| options.broker.program = "/nonexistent/pirn".into());
        assert_failed(&bench.eval("finish()").await, "spawn", "/nonexistent/pirn");
        let bench = Bench::scripted_with(|options| options.broker.program = "/bin/true".into());
        assert_failed(&bench.eval("finish()").await, "spawn", "The broker ended");
    });
}

fn survives() {
    block_on(async {
        let bench = committed().await;
        fails_then_works(&bench, "raw(b'null\\n'); time.sleep(60)").await;
        fails_then_works(&bench, "os._exit(1)").await;
        fails_then_works(&bench, "raw(b'x' * 3_000_000); time.sleep(60)").await;
    });
}

async fn fails_then_works(bench: &Bench, code: &str) {
    assert!(bench.eval(code).await.failure.is_some(), "{code}");
    let outcome = bench.eval("finish(value=state)").await;
    assert_ok(&outcome);
    assert_eq!(outcome.value, Some(serde_json::json!({"good": 1})));
    assert!(outcome.is_kernel_reused);
}
