//! Queues, time-outs, cancellation, resets and closes, in both engines.

use std::time::{Duration, Instant};

use pirn_eval::{EvalOutcome, EvalRequest, KernelState, LIVE_NAMESPACES_MAX, PythonEngine};
use serde_json::json;

use crate::support::{
    Bench, PATIENCE, Test, assert_failed, assert_ok, block_on, eventually, is_alive, request,
};

pub(crate) const TESTS: &[Test] = &[
    ("a_timeout_kills_a_stuck_eval_and_the_next_works", timeouts),
    (
        "a_timeout_kills_grandchildren_that_ignore_term",
        grandchildren,
    ),
    ("the_timeout_is_clamped", clamped),
    ("an_interrupted_program_may_tell_its_result", interrupted),
    ("cancelling_ends_queued_and_running_evals", cancelling),
    ("dropping_an_eval_ends_it", dropping),
    ("reset_rejects_what_runs_and_what_waits", reset),
    (
        "overlapping_resets_let_nothing_between_them_run",
        overlapping,
    ),
    ("reset_of_one_branch_leaves_others", other_branches),
    ("close_rejects_everything_for_good", close),
    ("a_live_namespace_goes_on", live),
    (
        "a_live_namespace_survives_an_interrupt_that_it_handles",
        live_interrupt,
    ),
    (
        "a_live_namespace_that_ignores_an_interrupt_is_replaced",
        live_ignores,
    ),
    (
        "a_live_namespace_that_breaks_the_protocol_is_replaced",
        live_faults,
    ),
    ("live_namespaces_are_bounded", live_bounded),
    (
        "a_live_namespace_sends_more_frames_than_one_eval_may",
        live_many,
    ),
    ("reset_and_close_wait_for_a_live_namespace", live_reset),
];

/// Runs a program with a time-out.
async fn timed(bench: &Bench, code: &str, timeout: Duration) -> EvalOutcome {
    bench
        .kernel
        .eval(EvalRequest {
            timeout,
            ..request(code)
        })
        .await
}

const SHORT: Duration = Duration::from_millis(300);

/// Announces its process and waits for ever.
const STUCK: &str =
    "os.chdir(e['cwd']); open('stuck', 'w').write(str(os.getpid()))\nwhile True: time.sleep(60)";

fn timeouts() {
    block_on(async {
        let bench = Bench::scripted();
        for code in [
            "print('partial', flush=True); time.sleep(60)",
            "signal.signal(signal.SIGINT, signal.SIG_IGN); signal.signal(signal.SIGTERM, signal.SIG_IGN); print('partial', flush=True)\nwhile True: time.sleep(60)",
            "print('partial', flush=True); call('1', 'hang'); receive()",
            "print('partial', flush=True); result(); receive(); time.sleep(60)",
            "print('partial', flush=True); result(); complete(); time.sleep(60)",
        ] {
            let outcome = timed(&bench, code, SHORT).await;
            assert_failed(&outcome, "timeout", "timed out after 0.3 s");
            assert_eq!(outcome.state, KernelState::Unchanged);
            assert_eq!(outcome.stdout, "partial\n", "{code}");
            assert!(outcome.elapsed >= SHORT && outcome.elapsed < PATIENCE);
            assert_ok(&bench.eval("finish()").await);
        }
    });
}

fn grandchildren() {
    let code = r#"
os.chdir(e["cwd"])
child = "import signal, time, os; signal.signal(signal.SIGTERM, signal.SIG_IGN); open('born', 'w').write(str(os.getpid())); time.sleep(600)"
subprocess.Popen([sys.executable, "-c", child], start_new_session=True)
while not os.path.exists("born"): time.sleep(0.01)
time.sleep(60)
"#;
    block_on(async {
        let bench = Bench::scripted();
        let outcome = timed(&bench, code, Duration::from_secs(1)).await;
        assert_failed(&outcome, "timeout", "timed out");
        let born = std::fs::read_to_string(bench.folder.path().join("work/born")).unwrap();
        let grandchild = born.parse().unwrap();
        eventually("its end", || !is_alive(grandchild)).await;
    });
}

fn clamped() {
    block_on(async {
        let bench = Bench::scripted_with(|options| options.timeout_max = SHORT);
        let outcome = timed(&bench, "time.sleep(60)", Duration::from_secs(500)).await;
        assert_failed(&outcome, "timeout", "0.3 s");
    });
}

fn interrupted() {
    let code = r"
try: time.sleep(60)
except KeyboardInterrupt:
    print('interrupted')
    finish(ok=False, interruptHandled=True, error={'name': 'KeyboardInterrupt', 'message': '', 'trace': 'line 2'})
";
    block_on(async {
        let bench = Bench::scripted();
        let outcome = timed(&bench, code, SHORT).await;
        assert_failed(&outcome, "timeout", "timed out");
        assert_eq!(outcome.stdout, "interrupted\n");
        assert_eq!(outcome.failure.unwrap().trace.as_deref(), Some("line 2"));
    });
}

fn cancelling() {
    block_on(async {
        let bench = Bench::scripted();
        let stuck = request(STUCK);
        let cancel = stuck.cancel.clone();
        let queued = request("finish()");
        let cancel_queued = queued.cancel.clone();
        let marker = bench.folder.path().join("work/stuck");
        let ((stuck, queued), ()) = tokio::join!(
            async { tokio::join!(bench.kernel.eval(stuck), bench.kernel.eval(queued)) },
            async {
                eventually("the stuck one", || marker.exists()).await;
                cancel_queued.cancel();
                cancel.cancel();
            }
        );
        assert_failed(&stuck, "aborted", "aborted");
        assert_failed(&queued, "aborted", "before it ran");
        let cancelled = request("finish()");
        cancelled.cancel.cancel();
        assert_failed(&bench.kernel.eval(cancelled).await, "aborted", "aborted");
        assert_ok(&bench.eval("finish()").await);
    });
}

fn dropping() {
    block_on(async {
        let bench = Bench::scripted();
        let marker = bench.folder.path().join("work/stuck");
        tokio::select! {
            outcome = bench.eval(STUCK) => panic!("{outcome:?}"),
            () = eventually("the stuck one", || marker.exists()) => {}
        }
        assert_ok(&bench.eval("finish()").await);
        assert!(!bench.kernel.status().languages[0].is_running);
    });
}

fn reset() {
    block_on(async {
        let bench = Bench::scripted();
        assert_ok(&bench.eval("finish(state={'a': 1})").await);
        let marker = bench.folder.path().join("work/stuck");
        let (stuck, queued, ()) = tokio::join!(bench.eval(STUCK), bench.eval("finish()"), async {
            eventually("the stuck one", || marker.exists()).await;
            bench.kernel.reset("main").await.unwrap();
        });
        assert_failed(&stuck, "invalidated", "invalidated");
        assert_eq!(stuck.state, KernelState::Lost);
        assert_failed(&queued, "invalidated", "before it ran");
        let outcome = bench.eval("finish(value=state)").await;
        assert_ok(&outcome);
        assert_eq!(outcome.value, Some(json!({})));
        assert!(!outcome.is_kernel_reused);
    });
}

fn overlapping() {
    block_on(async {
        let bench = Bench::scripted();
        let marker = bench.folder.path().join("work/stuck");
        let between = "os.chdir(e['cwd']); open('between', 'w'); finish()";
        let (stuck, first, second, between, after) = tokio::join!(
            bench.eval(STUCK),
            async {
                eventually("the stuck one", || marker.exists()).await;
                bench.kernel.reset("main").await
            },
            async {
                eventually("the stuck one", || marker.exists()).await;
                // The first reset is under way by now, or comes next; either way this eval is before the second one.
                bench.kernel.reset("main").await
            },
            bench.eval(between),
            async {
                eventually("the stuck one", || marker.exists()).await;
                tokio::task::yield_now().await;
                bench.eval("finish(value=1)").await
            }
        );
        assert_failed(&stuck, "invalidated", "invalidated");
        assert!(first.is_ok() && second.is_ok(), "{first:?} {second:?}");
        assert_failed(&between, "invalidated", "before it ran");
        assert!(!bench.folder.path().join("work/between").exists());
        let was_after = after.failure.is_none();
        if !was_after {
            assert_failed(&after, "invalidated", "before it ran");
        }
        assert_ok(&bench.eval("finish()").await);
    });
}

fn other_branches() {
    block_on(async {
        let bench = Bench::scripted();
        let other = EvalRequest {
            branch: "other".to_owned(),
            ..request(
                "os.chdir(e['cwd']); open('stuck', 'w')\nwhile not os.path.exists('go'): time.sleep(0.01)\nfinish(state={'kept': 1})",
            )
        };
        let marker = bench.folder.path().join("work/stuck");
        let (outcome, ()) = tokio::join!(bench.kernel.eval(other), async {
            eventually("the other", || marker.exists()).await;
            bench.kernel.reset("main").await.unwrap();
            std::fs::write(bench.folder.path().join("work/go"), "").unwrap();
        });
        assert_ok(&outcome);
        assert_eq!(outcome.state, KernelState::Committed);
    });
}

fn close() {
    block_on(async {
        let bench = Bench::scripted();
        let marker = bench.folder.path().join("work/stuck");
        let (stuck, queued, process) =
            tokio::join!(bench.eval(STUCK), bench.eval("finish()"), async {
                eventually("the stuck one", || {
                    std::fs::read(&marker).is_ok_and(|text| !text.is_empty())
                })
                .await;
                bench.kernel.close().await;
                std::fs::read_to_string(&marker).unwrap()
            });
        assert_failed(&stuck, "invalidated", "closed");
        assert_eq!(stuck.state, KernelState::Unchanged);
        assert_failed(&queued, "invalidated", "closed");
        assert!(!process.is_empty());
        assert_failed(&bench.eval("finish()").await, "invalidated", "closed");
        assert!(bench.kernel.status().is_closed);
        bench.kernel.close().await;
    });
}

/// A kernel with live namespaces; programs keep things in `box`.
fn live_bench() -> Bench {
    Bench::scripted_with(|options| {
        options.python_engine = PythonEngine::Persistent;
        let kept = crate::support::SCRIPTED.replace("while True:\n    e = receive()", "box = {}\nsignal.signal(signal.SIGINT, signal.SIG_IGN)\nwhile True:\n    e = receive()");
        options.workers.python = Some(kept);
    })
}

const COUNT: &str = "box['n'] = box.get('n', 0) + 1; finish(value=[box['n'], os.getpid()])";

/// Counts; gives the count and the process.
async fn count(bench: &Bench) -> (u64, u64, EvalOutcome) {
    let outcome = bench.eval(COUNT).await;
    assert_ok(&outcome);
    let value = outcome.value.clone().unwrap();
    (
        value[0].as_u64().unwrap(),
        value[1].as_u64().unwrap(),
        outcome,
    )
}

fn live() {
    block_on(async {
        let bench = live_bench();
        let (first, process, outcome) = count(&bench).await;
        assert_eq!((first, outcome.is_kernel_reused), (1, false));
        assert_eq!(outcome.state, KernelState::Committed);
        let (second, same, outcome) = count(&bench).await;
        assert_eq!((second, same, outcome.is_kernel_reused), (2, process, true));
        let failed = bench
            .eval("box['n'] = 10; finish(ok=False, error={'name': 'E', 'message': 'm'})")
            .await;
        assert_failed(&failed, "user_error", "E: m");
        assert_eq!(failed.state, KernelState::Mutated);
        assert_eq!(count(&bench).await.0, 11);
        assert_eq!(bench.kernel.status().languages[0].live_branches, ["main"]);
    });
}

const HANDLES: &str = r"
def stop(*_): raise KeyboardInterrupt
signal.signal(signal.SIGINT, stop)
box['n'] = box.get('n', 0) + 1
try: WAIT
except KeyboardInterrupt:
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    finish(ok=False, interruptHandled=True, error={'name': 'KeyboardInterrupt', 'message': ''})
";

fn live_interrupt() {
    block_on(async {
        let bench = live_bench();
        let (_, process, _) = count(&bench).await;
        for wait in ["time.sleep(60)", "call('1', 'hang'); receive()"] {
            let outcome = timed(&bench, &HANDLES.replace("WAIT", wait), SHORT).await;
            assert_failed(&outcome, "timeout", "timed out");
            assert_eq!(outcome.state, KernelState::Mutated, "{wait}");
        }
        let (counted, same, outcome) = count(&bench).await;
        assert_eq!((counted, same), (4, process));
        assert!(outcome.is_kernel_reused);
    });
}

fn live_ignores() {
    block_on(async {
        let bench = live_bench();
        let (_, process, _) = count(&bench).await;
        // It goes on after the interrupt and ends as if nothing had been.
        let outcome = timed(&bench, "time.sleep(0.6); finish(value=1)", SHORT).await;
        assert_failed(&outcome, "timeout", "timed out");
        assert_eq!(outcome.state, KernelState::Lost);
        let (counted, other, outcome) = count(&bench).await;
        assert_eq!(counted, 1);
        assert_ne!(other, process);
        assert!(!outcome.is_kernel_reused);
        // Its program is over, so it has a moment to finish, and stays.
        let outcome = timed(&bench, "result(); time.sleep(0.6); complete()", SHORT).await;
        assert_failed(&outcome, "timeout", "timed out");
        assert_eq!(outcome.state, KernelState::Mutated);
        assert_eq!(count(&bench).await.0, 2);
        // It never finishes.
        let outcome = timed(&bench, "result(); time.sleep(60)", SHORT).await;
        assert_failed(&outcome, "timeout", "timed out");
        assert_eq!(outcome.state, KernelState::Lost);
        assert_eq!(count(&bench).await.0, 1);
    });
}

fn live_faults() {
    block_on(async {
        let bench = live_bench();
        for (code, kind) in [
            ("raw(b'null\\n'); time.sleep(60)", "protocol"),
            ("os._exit(1)", "worker_exit"),
        ] {
            count(&bench).await;
            let outcome = bench.eval(code).await;
            assert_failed(&outcome, kind, "");
            assert_eq!(outcome.state, KernelState::Lost);
            let (counted, _, outcome) = count(&bench).await;
            assert_eq!((counted, outcome.is_kernel_reused), (1, false));
            assert!(outcome.notes.is_empty(), "the eval itself said so");
        }
        for code in [
            "threading.Timer(0.2, lambda: raw(b'null\\n')).start(); finish()",
            "threading.Timer(0.2, lambda: os._exit(1)).start(); finish()",
        ] {
            assert_ok(&bench.eval(code).await);
            eventually("the end of an idle namespace", || {
                bench.kernel.status().languages[0].live_branches.is_empty()
            })
            .await;
            let (counted, _, outcome) = count(&bench).await;
            assert_eq!((counted, outcome.is_kernel_reused), (1, false));
            assert!(outcome.notes[0].contains("is gone"), "{:?}", outcome.notes);
        }
    });
}

fn live_bounded() {
    block_on(async {
        let bench = live_bench();
        let run = |branch: usize| {
            bench.kernel.eval(EvalRequest {
                branch: branch.to_string(),
                ..request(COUNT)
            })
        };
        for branch in 0..=LIVE_NAMESPACES_MAX {
            assert_ok(&run(branch).await);
        }
        let live = bench.kernel.status().languages[0].live_branches.clone();
        assert_eq!(live.len(), LIVE_NAMESPACES_MAX);
        assert!(!live.contains(&"0".to_owned()));
        assert!(run(LIVE_NAMESPACES_MAX).await.is_kernel_reused);
        let outcome = run(0).await;
        assert!(!outcome.is_kernel_reused);
        assert!(
            outcome.notes[0].contains("make room"),
            "{:?}",
            outcome.notes
        );
    });
}

/// The bound is that of an eval, not of a namespace. Calls are made together: each wait for an answer is several changes between
/// three processes.
fn live_many() {
    const EVALS: usize = 60;
    const CALLS: usize = 200;
    let code = format!(
        "for n in range({CALLS}): call(str(n), 'echo')\nfor n in range({CALLS}): receive()\nfinish()"
    );
    block_on(async {
        let bench = live_bench();
        for _ in 0..EVALS {
            let outcome = bench.eval(&code).await;
            assert_ok(&outcome);
            assert_eq!(outcome.calls.len(), CALLS);
        }
    });
}

fn live_reset() {
    block_on(async {
        let bench = live_bench();
        let (_, process, _) = count(&bench).await;
        bench.kernel.reset("main").await.unwrap();
        let folder = format!("/proc/{process}");
        assert!(!std::path::Path::new(&folder).exists());
        let (counted, process, outcome) = count(&bench).await;
        assert_eq!((counted, outcome.is_kernel_reused), (1, false));
        assert!(outcome.notes.is_empty());
        let start = Instant::now();
        let marker = bench.folder.path().join("work/stuck");
        let (stuck, ()) = tokio::join!(bench.eval(STUCK), async {
            eventually("the stuck one", || marker.exists()).await;
            bench.kernel.reset("main").await.unwrap();
        });
        assert_failed(&stuck, "invalidated", "invalidated");
        assert_eq!(stuck.state, KernelState::Lost);
        assert!(start.elapsed() < PATIENCE);
        assert!(!std::path::Path::new(&format!("/proc/{process}")).exists());
        let (_, process, _) = count(&bench).await;
        bench.kernel.close().await;
        assert!(!std::path::Path::new(&format!("/proc/{process}")).exists());
    });
}
