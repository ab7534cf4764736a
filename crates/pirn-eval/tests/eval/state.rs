//! State: committed all or nothing, as the text it is.

use std::sync::Arc;

use pirn_eval::{
    Error, ErrorKind, EvalRequest, Kernel, KernelState, Language, MemoryStateStore,
    STATE_BYTES_MAX, STATE_NODES_MAX, StateStore,
};
use serde_json::json;

use crate::support::{Bench, Test, assert_failed, assert_ok, block_on, options, request};

pub(crate) const TESTS: &[Test] = &[
    ("it_counts_over_evals_and_branches", counts),
    ("huge_integers_stay_as_they_are", integers),
    ("the_largest_is_kept_and_one_more_is_not", largest),
    ("a_million_brackets_overflow_nothing", brackets),
    ("damaged_and_failing_stores_are_told", stores),
    ("big_state_and_long_code_fit_one_frame", fits),
];

fn counts() {
    let code = "state['n'] = state.get('n', 0) + 1; finish(value=state['n'])";
    block_on(async {
        let bench = Bench::scripted();
        for (branch, expected, is_reused) in [
            ("a", 1, false),
            ("a", 2, true),
            ("b", 1, false),
            ("a", 3, true),
        ] {
            let outcome = bench
                .kernel
                .eval(EvalRequest {
                    branch: branch.to_owned(),
                    ..request(code)
                })
                .await;
            assert_ok(&outcome);
            assert_eq!(outcome.value, Some(json!(expected)));
            assert_eq!(outcome.is_kernel_reused, is_reused);
            assert_eq!(outcome.state, KernelState::Committed);
        }
    });
}

fn integers() {
    block_on(async {
        let bench = Bench::scripted();
        let code = "finish(state={'n': 2**53 + 1, 'huge': 10**300})";
        assert_ok(&bench.eval(code).await);
        let code = "assert state == {'n': 2**53 + 1, 'huge': 10**300}, state; finish()";
        assert_ok(&bench.eval(code).await);
    });
}

fn largest() {
    block_on(async {
        let bench = Bench::scripted();
        let nodes = STATE_NODES_MAX - 2;
        let code = format!("finish(state={{'a': [1] * {nodes}}})");
        assert_ok(&bench.eval(&code).await);
        let code = format!("finish(state={{'a': [1] * {}}})", nodes + 1);
        assert_failed(&bench.eval(&code).await, "state_too_large", "100000 values");
        let bytes = STATE_BYTES_MAX - 8;
        let code = format!("finish(state={{'a': 'x' * {bytes}}})");
        assert_ok(&bench.eval(&code).await);
        let code = format!("finish(state={{'a': 'x' * {}}})", bytes + 1);
        assert_failed(&bench.eval(&code).await, "state_too_large", "1000001");
        let code = format!("assert len(state['a']) == {bytes}; finish()");
        assert_ok(&bench.eval(&code).await);
    });
}

fn brackets() {
    let code = r#"
deep = b"[" * DEPTH + b"]" * DEPTH
raw(b'{"type":"eval_result","id":"' + e["id"].encode() + b'","ok":true,"elapsedMs":1,"FIELD":' + deep + b',"lossy":[]}\n')
time.sleep(60)
"#;
    block_on(async {
        let bench = Bench::scripted();
        let run = |field: &str, depth: &str| {
            let code = code.replace("FIELD", field).replace("DEPTH", depth);
            let bench = &bench;
            async move { bench.eval(&code).await }
        };
        // Refused where it is read, without a crash.
        let outcome = run("value", "999_900").await;
        assert_failed(&outcome, "protocol", "value");
        let code = r#"
deep = b"[" * 999_900 + b"]" * 999_900
raw(b'{"type":"eval_result","id":"' + e["id"].encode() + b'","ok":true,"elapsedMs":1,"state":{"a":' + deep + b'}}\n')
complete(); os._exit(0)
"#;
        assert_failed(&bench.eval(code).await, "state_too_large", "values");
        let code = r#"
deep = b"[" * 999_900 + b"]" * 999_900
raw(b'{"type":"capability_call","evalId":"' + e["id"].encode() + b'","callId":"1","name":"echo","input":' + deep + b'}\n')
assert not receive()["ok"]
finish()
"#;
        assert_ok(&bench.eval(code).await);
        let code = "raw(b'[' * 1_000_000 + b'\\n'); time.sleep(60)";
        assert_failed(&bench.eval(code).await, "protocol", "bad frame");
    });
}

/// A store that does what its fields say.
struct BadStore {
    stored: Result<Option<String>, &'static str>,
}

fn store_error(text: &str) -> Error {
    Error::new(ErrorKind::StateNotWritten, text)
}

impl StateStore for BadStore {
    fn load(&self, _branch: &str, _language: Language) -> Result<Option<String>, Error> {
        self.stored.clone().map_err(store_error)
    }

    fn commit(&self, _branch: &str, _language: Language, _state: &str) -> Result<(), Error> {
        Err(store_error("the disk is full"))
    }

    fn clear(&self, _branch: &str) -> Result<(), Error> {
        Err(store_error("the disk is gone"))
    }

    fn fork(&self, _from: &str, _to: &str) -> Result<(), Error> {
        Ok(())
    }
}

fn stores() {
    let cases = [
        (Err("the disk is gone"), "state_invalid", "the disk is gone"),
        (Ok(Some("{\"a\":".to_owned())), "state_invalid", "damaged"),
        (Ok(Some("[1]".to_owned())), "state_invalid", "damaged"),
        (
            Ok(Some("{},\"x\":{}".to_owned())),
            "state_invalid",
            "damaged",
        ),
        (Ok(None), "state_not_stored", "the disk is full"),
    ];
    block_on(async {
        for (stored, kind, part) in cases {
            let bench =
                Bench::scripted_with(|options| options.state = Arc::new(BadStore { stored }));
            let outcome = bench.eval("finish(value=1)").await;
            assert_failed(&outcome, kind, part);
            assert_eq!(outcome.state, KernelState::Unchanged);
            assert_eq!(outcome.value, None);
            let cleared = bench.kernel.reset("main").await;
            assert_eq!(cleared.unwrap_err().to_string(), "the disk is gone");
        }
    });
}

fn fits() {
    block_on(async {
        let store = Arc::new(MemoryStateStore::default());
        let folder = tempfile::tempdir().unwrap();
        let mut options = options(&store, folder.path());
        options.workers.python = Some(crate::support::SCRIPTED.to_owned());
        options.confinement.level = pirn_sandbox::LevelChoice::AtMost(pirn_sandbox::Level::Basic);
        let state = format!("{{\"a\":\"{}\"}}", "x".repeat(STATE_BYTES_MAX - 8));
        store.commit("main", Language::Python, &state).unwrap();
        let kernel = Kernel::new(options);
        let code = format!("#{}\nfinish()", "\u{1}".repeat(90_000));
        assert_ok(&kernel.eval(request(&code)).await);
        let code = "x".repeat(100_001);
        let outcome = kernel.eval(request(&code)).await;
        assert_failed(&outcome, "code_too_large", "100001");
    });
}
