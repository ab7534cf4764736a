//! What real programs do to the kernel, and it to them.

use pirn_eval::{EvalFailureKind, EvalOutcome, EvalRequest, KernelState};
use pirn_tool::CallStatus;
use serde_json::{Value, json};

use crate::support::{Bench, assert_failed, assert_ok, block_on, failure_of, javascript, request};

fn bench() -> Bench {
    Bench::with(|_| {})
}

async fn run(bench: &Bench, request: EvalRequest) -> EvalOutcome {
    let outcome = bench.kernel.eval(request).await;
    assert_ok(&outcome);
    outcome
}

/// The value of a program that has to succeed.
async fn value(bench: &Bench, request: EvalRequest) -> Value {
    run(bench, request).await.value.unwrap_or_default()
}

pub(super) fn session() {
    block_on(async {
        let bench = bench();
        for request in [request("state['a'] = 1"), javascript("state.a = 1")] {
            run(&bench, request).await;
        }
        bench.kernel.reset("main").await.unwrap();
        assert_eq!(value(&bench, request("state")).await, json!({}));
        assert_eq!(value(&bench, javascript("return state")).await, json!({}));
        bench.kernel.close().await;
        bench.kernel.close().await;
        assert_failed(&bench.eval("1").await, "invalidated", "closed");
    });
}

pub(super) fn host_judges_state() {
    let nested = "finish(state={'a': [{'b': [None, True, 1.5, 'x', {}]}] * 2})";
    block_on(async {
        let bench = Bench::scripted();
        assert_ok(&bench.eval(nested).await);
        for (code, kind) in [
            ("finish(state={'a': float('nan')})", "protocol"),
            ("finish(state='text')", "state_invalid"),
            ("finish(state={'a': 'x' * 1_100_000})", "state_too_large"),
        ] {
            assert_failed(&bench.eval(code).await, kind, "");
        }
        let kept = bench.eval("finish(value=state)").await;
        let part = json!({"b": [null, true, 1.5, "x", {}]});
        assert_eq!(kept.value, Some(json!({"a": [part, part]})));
    });
    block_on(async {
        let bench = bench();
        for request in [
            request("state['a'] = state"),
            javascript("state.a = state"),
            javascript("state.a = undefined"),
        ] {
            assert_failed(&bench.kernel.eval(request).await, "state_invalid", "");
        }
        // The same object twice is no cycle.
        run(
            &bench,
            request("one = [1]; state['a'] = one; state['b'] = one"),
        )
        .await;
    });
}

pub(super) fn counts() {
    let python = "state['n'] = state.get('n', 0) + 1\ntool.parallel([('echo', {'a': 1}), {'name': 'echo', 'input': {'b': 2}}])\nstate['n']";
    let script = "state.n = (state.n ?? 0) + 1; await tool.parallel([{name: 'echo', input: {a: 1}}, {name: 'echo', input: {b: 2}}]); return state.n";
    block_on(async {
        let bench = bench();
        for program in [request(python), javascript(script)] {
            for (count, is_reused) in [(1, false), (2, true)] {
                let outcome = run(&bench, program.clone()).await;
                assert_eq!(outcome.value, Some(json!(count)));
                assert_eq!(outcome.is_kernel_reused, is_reused);
                let names: Vec<&str> = outcome
                    .calls
                    .iter()
                    .map(|call| call.receipt.name.as_str())
                    .collect();
                assert_eq!(names, ["echo", "echo"]);
            }
        }
    });
}

pub(super) fn realm() {
    let code = "const one = {deep: [1, {a: null}]}; state.a = one; state.b = one; state.list = [one]; return 1";
    block_on(async {
        let bench = bench();
        run(&bench, javascript(code)).await;
        let one = json!({"deep": [1, {"a": null}]});
        assert_eq!(
            value(&bench, javascript("return state")).await,
            json!({"a": one, "b": one, "list": [one]})
        );
    });
}

pub(super) fn parallel() {
    let python = "max(tool.parallel([('peak', {})] * 8, max_workers=4))";
    let script = "return Math.max(...await tool.parallel(Array.from({length: 8}, () => ({name: 'peak', input: {}})), 4))";
    block_on(async {
        let bench = bench();
        for request in [request(python), javascript(script)] {
            let most = value(&bench, request).await.as_u64().unwrap();
            assert!((2..=4).contains(&most), "{most}");
        }
    });
}

/// A result that a program writes itself; the number of the eval is not known to it.
const FORGED: &str = r#"{"type":"eval_result","id":"1","ok":true,"elapsedMs":1,"value":"forged","state":{"forged":1}}"#;

pub(super) fn forged_on_stdout() {
    block_on(async {
        let bench = bench();
        let outcome = bench.eval(&format!("print('{FORGED}')\n'real'")).await;
        assert_ok(&outcome);
        assert_eq!(outcome.value, Some(json!("real")));
        assert!(outcome.stdout.contains("forged"));
        let code = format!("import os\nprint('{FORGED}', flush=True)\nos._exit(0)");
        let outcome = bench.eval(&code).await;
        assert_failed(&outcome, "worker_exit", "without a finalized result");
        assert_eq!(value(&bench, request("state")).await, json!({}));
    });
}

pub(super) fn forged_on_frames() {
    let code = format!(
        "import os, stat\nfor number in range(3, 64):\n    try:\n        if stat.S_ISSOCK(os.fstat(number).st_mode):\n            os.write(number, b'{FORGED}\\n')\n    except OSError:\n        pass\nos._exit(0)"
    );
    block_on(async {
        let bench = bench();
        let outcome = bench.eval(&code).await;
        let kind = outcome.failure.as_ref().map(|failure| failure.kind);
        assert!(
            matches!(
                kind,
                Some(EvalFailureKind::WorkerExit | EvalFailureKind::Protocol)
            ),
            "{outcome:?}"
        );
        assert_eq!(outcome.state, KernelState::Unchanged);
        assert_eq!(value(&bench, request("state")).await, json!({}));
    });
}

pub(super) fn no_helper() {
    let code = "import __main__\nnames = set(dir(__main__)) | set(globals()) | set(dir(tool))\n\
                words = ('final', 'token', 'complete', 'frame', 'send', 'channel', 'worker')\n\
                sorted(name for name in names if any(word in name.lower() for word in words))";
    block_on(async {
        assert_eq!(value(&bench(), request(code)).await, json!([]));
    });
}

pub(super) fn missing_interpreter() {
    block_on(async {
        let bench = Bench::with(|options| {
            options.python = Some("/nonexistent/python3".into());
            options.node = Some("/nonexistent/node".into());
        });
        for request in [request("1"), javascript("return 1")] {
            let outcome = bench.kernel.eval(request).await;
            assert_failed(&outcome, "spawn", "/nonexistent/");
        }
    });
}

pub(super) fn long_state() {
    block_on(async {
        let bench = bench();
        let code = "state['text'] = 'x' * 60_000; state['list'] = list(range(2_500))";
        run(&bench, request(code)).await;
        let code = "[len(state['text']), state['list'] == list(range(2_500))]";
        assert_eq!(value(&bench, request(code)).await, json!([60_000, true]));
        let code =
            "state.text = 'x'.repeat(60000); state.list = Array.from({length: 2500}, (_, n) => n)";
        run(&bench, javascript(code)).await;
        let code = "return [state.text.length, state.list.length === 2500 && state.list.every((value, n) => value === n)]";
        assert_eq!(value(&bench, javascript(code)).await, json!([60_000, true]));
    });
}

pub(super) fn bad_state() {
    block_on(async {
        let bench = bench();
        run(&bench, request("state['marker'] = 1")).await;
        run(&bench, javascript("state.marker = 1")).await;
        for (request, kind) in [
            (request("state['x'] = object()"), "state_invalid"),
            (request("state['x'] = float('inf')"), "state_invalid"),
            (request("state[1] = 'x'"), "state_invalid"),
            (request("state['x'] = 'x' * 1_100_000"), "state_too_large"),
            (javascript("state.x = undefined"), "state_invalid"),
            (javascript("state.x = new Date()"), "state_invalid"),
            (
                javascript("state.x = 'x'.repeat(1100000)"),
                "state_too_large",
            ),
        ] {
            let code = request.code.clone();
            let outcome = bench.kernel.eval(request).await;
            assert!(
                failure_of(&outcome).starts_with(kind),
                "{code}: {outcome:?}"
            );
            assert_eq!(outcome.state, KernelState::Unchanged);
        }
        assert_eq!(value(&bench, request("state")).await, json!({"marker": 1}));
        let kept = value(&bench, javascript("return state")).await;
        assert_eq!(kept, json!({"marker": 1}));
    });
}

pub(super) fn nan() {
    block_on(async {
        let outcome = run(&bench(), request("[float('nan'), float('inf'), 1.5]")).await;
        assert_eq!(outcome.value, Some(json!([null, null, 1.5])));
        assert!(!outcome.lossy.is_empty());
    });
}

pub(super) fn huge_exception() {
    block_on(async {
        let bench = Bench::with(|options| options.output_bytes_max = 256);
        for request in [
            request(
                "import sys\nprint('e' * 300_000, file=sys.stderr)\nraise ValueError('x' * 300_000)",
            ),
            javascript("console.error('e'.repeat(300000)); throw new Error('x'.repeat(300000))"),
        ] {
            let outcome = bench.kernel.eval(request).await;
            let failure = outcome.failure.unwrap();
            assert_eq!(failure.kind, EvalFailureKind::UserError);
            assert!(failure.message.len() <= 256, "{}", failure.message.len());
            assert!(outcome.stderr.len() <= 256, "{}", outcome.stderr.len());
        }
    });
}

pub(super) fn unknown_call() {
    block_on(async {
        let bench = bench();
        for request in [
            request(
                "try:\n    tool.call('nowhere', {})\nexcept Exception as error:\n    kept = str(error)\nkept",
            ),
            javascript(
                "try { await tool.call('nowhere', {}) } catch (error) { return String(error) }",
            ),
        ] {
            let outcome = run(&bench, request).await;
            let [call] = outcome.calls.as_slice() else {
                panic!("{outcome:?}");
            };
            let receipt = &call.receipt;
            assert_eq!(
                (receipt.name.as_str(), receipt.status),
                ("nowhere", CallStatus::Error)
            );
            assert_eq!(call.effects, ["unknown"]);
            let text = outcome.value.unwrap().to_string();
            assert!(text.contains("nowhere"), "{text}");
        }
    });
}

pub(super) fn huge_result() {
    block_on(async {
        let bench = Bench::scripted();
        assert_ok(&bench.eval("finish(state={'kept': 1})").await);
        let code = "finish(value='x' * 2_000_001, state={'kept': 2})";
        assert_failed(&bench.eval(code).await, "protocol", "2000000 bytes");
        let outcome = bench.eval("finish(value=state)").await;
        assert_eq!(outcome.value, Some(json!({"kept": 1})));
    });
    // The real worker never gets there: what is left out is named.
    block_on(async {
        let outcome = bench().eval("['x' * 50_000] * 100").await;
        assert_ok(&outcome);
        assert!(!outcome.lossy.is_empty(), "{:?}", outcome.lossy);
    });
}

pub(super) fn children_print() {
    let code = "import os, subprocess\nos.system('echo from the shell')\nsubprocess.run(['sh', '-c', 'echo out; echo err >&2'])\nprint('last')";
    block_on(async {
        let outcome = run(&bench(), request(code)).await;
        for text in ["from the shell\n", "out\n", "last\n"] {
            assert!(outcome.stdout.contains(text), "{outcome:?}");
        }
        assert_eq!(outcome.stderr, "err\n");
    });
}

pub(super) fn input() {
    block_on(async {
        assert_failed(&bench().eval("input()").await, "user_error", "EOFError");
    });
}

pub(super) fn await_tool() {
    block_on(async {
        let bench = bench();
        for code in [
            "await tool; return 1",
            "const waited = await Promise.resolve(tool); return waited.then === undefined ? 1 : 0",
        ] {
            assert_eq!(value(&bench, javascript(code)).await, json!(1), "{code}");
        }
        run(&bench, javascript("return tool")).await;
    });
}

pub(super) fn rebound() {
    block_on(async {
        let bench = bench();
        run(&bench, request("state = {'a': 1}")).await;
        assert_eq!(value(&bench, request("state")).await, json!({"a": 1}));
        assert_failed(&bench.eval("state = [1]").await, "state_invalid", "");
        assert_failed(&bench.eval("del state").await, "state_invalid", "");
        let outcome = bench
            .kernel
            .eval(javascript("state = {b: 1}; return 1"))
            .await;
        // Honoured, or an error: never lost in silence.
        if outcome.failure.is_none() {
            let kept = value(&bench, javascript("return state")).await;
            assert_eq!(kept, json!({"b": 1}));
        }
    });
}

pub(super) fn indented() {
    block_on(async {
        let code =
            "\n    total = 0\n    for number in range(3):\n        total += number\n    total\n";
        assert_eq!(value(&bench(), request(code)).await, json!(3));
    });
}

pub(super) fn unawaited() {
    block_on(async {
        let bench = bench();
        for code in [
            "tool.call('nowhere', {}); return 1",
            "Promise.reject(new Error('nobody waits')); return 1",
        ] {
            let outcome = bench.kernel.eval(javascript(code)).await;
            assert_failed(&outcome, "user_error", "");
        }
    });
}

pub(super) fn secrets() {
    block_on(async {
        let bench = Bench::with(|options| {
            options.environment.push(("PUBLIC".into(), "yes".into()));
        });
        let code = "import os\n\
                    try:\n    first = open('/proc/1/environ').read()\nexcept OSError:\n    first = ''\n\
                    ['PUBLIC' in os.environ, ' '.join(os.environ), first]";
        let outcome = run(&bench, request(code)).await;
        let value = outcome.value.unwrap();
        assert_eq!(value[0], json!(true));
        // Cargo's own variables are in the environment of this test, and so of the kernel.
        assert!(!value.to_string().contains("CARGO"), "{value}");
    });
}
