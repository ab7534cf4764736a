//! The real workers, at every level that the machine offers.

use pirn_eval::{EvalRequest, Kernel, KernelState, PythonEngine};
use pirn_sandbox::{Layer, Level, LevelChoice};
use serde_json::json;

use crate::support::{Bench, Test, assert_failed, assert_ok, block_on, javascript, request};

pub(crate) const TESTS: &[Test] = &[
    ("python_works_at_every_level", python),
    ("python_lives_on", python_live),
    ("javascript_works", javascript_works),
    ("stuck_programs_end_at_every_level", stuck),
    ("programs_killed_for_memory_are_told_why", memory),
    ("a_folder_whose_name_is_not_text_is_refused", odd_folder),
];

async fn eval_ok(kernel: &Kernel, request: EvalRequest) -> pirn_eval::EvalOutcome {
    let outcome = kernel.eval(request).await;
    assert_ok(&outcome);
    outcome
}

fn python() {
    block_on(async {
        for level in Level::ALL {
            let bench =
                Bench::with(|options| options.confinement.level = LevelChoice::AtMost(level));
            let outcome = eval_ok(&bench.kernel, request("1 + 1")).await;
            assert_eq!(outcome.value, Some(json!(2)));
            assert!(outcome.interpreter.starts_with("python 3."));
            let report = outcome.sandbox.unwrap();
            assert_eq!(report.level, Some(level));
            let has_namespace = report.layers.contains(&Layer::ProcessNamespace);
            assert_eq!(has_namespace, level != Level::Basic);
            let code = "state['n'] = state.get('n', 0) + 1; print('out'); state['n']";
            for n in 1..4 {
                let outcome = eval_ok(&bench.kernel, request(code)).await;
                assert_eq!(outcome.value, Some(json!(n)));
                assert_eq!(outcome.stdout, "out\n");
                assert_eq!(outcome.state, KernelState::Committed);
                assert!(outcome.is_kernel_reused);
            }
            let code = "[tool.echo(a=1), tool.call('echo', {'b': 2})]";
            let outcome = eval_ok(&bench.kernel, request(code)).await;
            assert_eq!(outcome.value, Some(json!([{"a": 1}, {"b": 2}])));
            assert_eq!(outcome.calls.len(), 2);
            let outcome = bench.eval("state['n'] = 100\nprint('x')\n1/0").await;
            assert_failed(&outcome, "user_error", "ZeroDivisionError");
            assert_eq!(outcome.state, KernelState::Unchanged);
            assert_eq!(outcome.stdout, "x\n");
            let outcome = bench.eval("open('/usr/pirn-was-here', 'w')").await;
            assert_failed(&outcome, "user_error", "/usr/pirn-was-here");
            let note = outcome.notes.join(" ");
            assert!(note.contains("sandbox.writeRoots"), "{:?}", outcome.notes);
            let outcome = bench.eval("import os; os._exit(0)").await;
            assert_failed(&outcome, "worker_exit", "without a finalized result");
            let outcome = eval_ok(&bench.kernel, request("state['n']")).await;
            assert_eq!(outcome.value, Some(json!(3)));
        }
    });
}

fn python_live() {
    block_on(async {
        let bench = Bench::with(|options| options.python_engine = PythonEngine::Persistent);
        eval_ok(
            &bench.kernel,
            request("x = 20\ndef double(n): return 2 * n"),
        )
        .await;
        let outcome = eval_ok(&bench.kernel, request("double(x) + 2")).await;
        assert_eq!(outcome.value, Some(json!(42)));
        assert!(outcome.is_kernel_reused);
    });
}

fn javascript_works() {
    block_on(async {
        let bench = Bench::with(|_| {});
        let code = "state.n = (state.n ?? 0) + 1; console.log('out'); return [state.n, await tool.echo({a: 1})]";
        for n in 1..3 {
            let outcome = eval_ok(&bench.kernel, javascript(code)).await;
            assert_eq!(outcome.value, Some(json!([n, {"a": 1}])));
            assert_eq!(outcome.stdout, "out\n");
            assert!(outcome.interpreter.starts_with("node "));
        }
    });
}

fn stuck() {
    block_on(async {
        for level in Level::ALL {
            let bench =
                Bench::with(|options| options.confinement.level = LevelChoice::AtMost(level));
            eval_ok(&bench.kernel, request("1")).await;
            for code in [
                "while True: pass",
                "import signal, time\nfor n in (2, 15): signal.signal(n, signal.SIG_IGN)\nwhile True: time.sleep(60)",
            ] {
                let mut request = request(code);
                request.timeout = std::time::Duration::from_millis(300);
                let outcome = bench.kernel.eval(request).await;
                assert_failed(&outcome, "timeout", "timed out");
                assert_eq!(outcome.state, KernelState::Unchanged);
                eval_ok(&bench.kernel, crate::support::request("1")).await;
            }
        }
    });
}

fn memory() {
    block_on(async {
        for level in Level::ALL {
            let bench = Bench::with(|options| {
                options.confinement.level = LevelChoice::AtMost(level);
                options.confinement.limits.memory_bytes = Some(200 << 20);
            });
            let report = eval_ok(&bench.kernel, request("1")).await.sandbox.unwrap();
            let is_counted = report.layers.contains(&Layer::CgroupMemory);
            for greedy in [
                request("len(bytearray(800_000_000))"),
                javascript("return new Uint8Array(800_000_000).fill(1).length"),
            ] {
                let language = greedy.language;
                let outcome = bench.kernel.eval(greedy).await;
                assert!(outcome.failure.is_some(), "{language:?} {level:?}");
                let is_told = outcome
                    .notes
                    .iter()
                    .any(|note| note.contains("200 MiB") && note.contains("sandbox.memoryMb"));
                assert_eq!(is_told, is_counted, "{language:?} {level:?} {outcome:#?}");
            }
            let outcome = bench.eval("1/0").await;
            assert_failed(&outcome, "user_error", "ZeroDivisionError");
            assert!(outcome.notes.is_empty(), "{:?}", outcome.notes);
        }
    });
}

fn odd_folder() {
    use std::os::unix::ffi::OsStrExt as _;
    block_on(async {
        let bench = Bench::with(|options| {
            let name = std::ffi::OsStr::from_bytes(b"odd\xff");
            let folder = &mut options.confinement.working_folder;
            *folder = folder.join(name);
            std::fs::create_dir(folder).unwrap();
        });
        for request in [request("1"), javascript("return 1")] {
            let outcome = bench.kernel.eval(request).await;
            assert_failed(&outcome, "spawn", "the name of the folder is not UTF-8");
        }
    });
}
