//! Live namespaces, and how workers and brokers end.

use std::time::Duration;

use pirn_eval::{EvalOutcome, EvalRequest, KernelState, PythonEngine};
use serde_json::{Value, json};

use crate::support::{
    Bench, assert_failed, assert_ok, block_on, eventually, is_alive, javascript, request,
};

/// Long enough for a program to start, and short.
const SHORT: Duration = Duration::from_millis(400);

fn bench() -> Bench {
    Bench::with(|options| options.python_engine = PythonEngine::Persistent)
}

async fn value(bench: &Bench, code: &str) -> Value {
    let outcome = bench.eval(code).await;
    assert_ok(&outcome);
    outcome.value.unwrap_or_default()
}

/// Runs a program and cancels it once it has made a file named `started`.
async fn cancelled(bench: &Bench, code: &str) -> EvalOutcome {
    let request = request(&format!("open('started', 'w').close()\n{code}"));
    let cancel = request.cancel.clone();
    let marker = bench.folder.path().join("work/started");
    let (outcome, ()) = tokio::join!(bench.kernel.eval(request), async {
        eventually("the start", || marker.exists()).await;
        cancel.cancel();
    });
    std::fs::remove_file(marker).unwrap();
    outcome
}

pub(super) fn broker_terminated() {
    let code = r#"
os.chdir(e['cwd'])
stubborn = "import signal, time\nfor number in (2, 15): signal.signal(number, signal.SIG_IGN)\nopen('born', 'w').close()\ntime.sleep(600)"
child = subprocess.Popen([sys.executable, '-c', stubborn])
while not os.path.exists('born'): time.sleep(0.01)
open('pids', 'w').write('%d %d' % (os.getpid(), child.pid))
time.sleep(600)
"#;
    block_on(async {
        let bench = Bench::scripted();
        let told = bench.folder.path().join("work/pids");
        let (outcome, pids) = tokio::join!(bench.eval(code), async {
            eventually("the grandchild", || {
                std::fs::read(&told).is_ok_and(|told| !told.is_empty())
            })
            .await;
            let pids: Vec<u32> = std::fs::read_to_string(&told)
                .unwrap()
                .split(' ')
                .map(|pid| pid.parse().unwrap())
                .collect();
            let broker = crate::kills::find_broker(&bench).unwrap();
            let status = std::process::Command::new("/bin/kill")
                .args(["-TERM", &broker.to_string()])
                .status()
                .unwrap();
            assert!(status.success());
            pids
        });
        assert!(outcome.failure.is_some(), "{outcome:?}");
        eventually("the end of all", || !pids.iter().any(|pid| is_alive(*pid))).await;
        assert_ok(&bench.eval("finish()").await);
    });
}

pub(super) fn python_only() {
    block_on(async {
        let live = bench();
        assert_ok(&live.eval("kept = 1").await);
        assert_eq!(value(&live, "'kept' in globals()").await, json!(true));
        let code = "globalThis.kept = (globalThis.kept ?? 0) + 1; return globalThis.kept";
        for _ in 0..2 {
            let outcome = live.kernel.eval(javascript(code)).await;
            assert_ok(&outcome);
            assert_eq!(outcome.value, Some(json!(1)));
        }
        let fresh = Bench::with(|_| {});
        assert_ok(&fresh.eval("kept = 1").await);
        assert_eq!(value(&fresh, "'kept' in globals()").await, json!(false));
    });
}

pub(super) fn abort() {
    block_on(async {
        let bench = bench();
        let pid = value(&bench, "import os\nkept = 1\nos.getpid()").await;
        let outcome = cancelled(&bench, "kept = 2\nwhile True:\n    pass").await;
        assert_failed(&outcome, "aborted", "aborted");
        let failure = outcome.failure.unwrap();
        let text = format!("{}{:?}{}", failure.message, failure.trace, outcome.stderr);
        assert!(text.contains("KeyboardInterrupt"), "{text}");
        assert_eq!(outcome.state, KernelState::Mutated);
        let after = value(&bench, "[os.getpid(), kept]").await;
        assert_eq!(after, json!([pid, 2]));
    });
}

pub(super) fn interrupted_calls() {
    block_on(async {
        let bench = bench();
        let pid = value(&bench, "import os\nos.getpid()").await;
        for _ in 0..2 {
            let outcome = cancelled(&bench, "tool.hang()").await;
            assert_failed(&outcome, "aborted", "aborted");
            assert_eq!(outcome.state, KernelState::Mutated, "{outcome:#?}");
        }
        assert_eq!(value(&bench, "os.getpid()").await, pid);
        // What is left over of the calls would answer these.
        let code = "tool.parallel([('echo', {'n': n}) for n in range(8)])";
        let expected: Vec<Value> = (0..8).map(|n| json!({"n": n})).collect();
        assert_eq!(value(&bench, code).await, json!(expected));
    });
}

pub(super) fn ignores_everything() {
    block_on(async {
        let bench = bench();
        assert_ok(&bench.eval("kept = 1").await);
        let code = "import signal\nfor number in (signal.SIGINT, signal.SIGTERM):\n    signal.signal(number, signal.SIG_IGN)\nwhile True:\n    pass";
        let outcome = bench
            .kernel
            .eval(EvalRequest {
                timeout: SHORT,
                ..request(code)
            })
            .await;
        assert_failed(&outcome, "timeout", "timed out");
        assert_eq!(outcome.state, KernelState::Lost);
        let outcome = bench.eval("'kept' in globals()").await;
        assert_ok(&outcome);
        assert_eq!(outcome.value, Some(json!(false)));
        assert!(!outcome.is_kernel_reused);
    });
}

pub(super) fn no_fallback() {
    block_on(async {
        // As on a system where supervised children cannot be started at all.
        let bench = Bench::with(|options| {
            options.python_engine = PythonEngine::Persistent;
            options.broker.program = "/nonexistent/broker".into();
        });
        assert_failed(&bench.eval("1").await, "spawn", "/nonexistent/broker");
    });
}

pub(super) fn many() {
    /// As many as a live namespace has to survive; a soak run has them all.
    const SOAK: usize = 20_000;
    const QUICK: usize = 500;
    let count = if std::env::var_os("PIRN_SOAK").is_some() {
        SOAK
    } else {
        QUICK
    };
    // Without the limit of the other tests.
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .worker_threads(2)
        .enable_all()
        .build()
        .unwrap();
    runtime.block_on(async {
        let bench = bench();
        assert_ok(&bench.eval("n = 0").await);
        for _ in 0..count {
            assert_ok(&bench.eval("n += 1; tool.echo(n=n)").await);
        }
        assert_eq!(value(&bench, "n").await, json!(count));
    });
}
