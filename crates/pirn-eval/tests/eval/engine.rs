//! JavaScript without node: by the embedder's engine, with the same limits and receipts.

use std::sync::Arc;
use std::time::Duration;

use futures_util::future::BoxFuture;
use pirn_eval::{
    EvalErrorKind, EvalFailure, EvalRequest, KernelState, Language, ScriptEnd, ScriptEngine,
    ScriptRun, StateStore as _,
};
use serde_json::{Value, json};

use crate::support::{Bench, Test, assert_failed, assert_ok, block_on, javascript};

pub(crate) const TESTS: &[Test] = &[
    ("without_node_the_engine_runs_programs", runs),
    ("its_failures_commit_nothing", failures),
    ("a_stuck_engine_is_given_up", stuck),
    ("without_node_and_engine_it_says_what_to_do", nothing),
];

/// An engine whose programs are words.
struct Words;

impl ScriptEngine for Words {
    fn name(&self) -> &'static str {
        "words"
    }

    fn run(&self, run: ScriptRun) -> BoxFuture<'static, ScriptEnd> {
        Box::pin(async move {
            let end = |result, state: &str| ScriptEnd {
                result,
                lossy: Vec::new(),
                state: state.to_owned(),
            };
            match run.code.as_str() {
                "state" => end(Ok(Value::from(run.state.clone())), &run.state),
                "count" => end(Ok(Value::Null), r#"{"n":9007199254740993}"#),
                "bad state" => end(Ok(Value::Null), "[]"),
                "call" => {
                    let calls = (0..40).map(|_| run.host.call("peak".to_owned(), Value::Null));
                    let most = futures_util::future::join_all(calls)
                        .await
                        .into_iter()
                        .filter_map(|result| result.ok()?.as_u64())
                        .max();
                    end(Ok(Value::from(most)), &run.state)
                }
                "print" => {
                    run.host.print(&"x".repeat(100_000));
                    run.host.print_error("error");
                    end(Ok(Value::Null), &run.state)
                }
                "throw" => {
                    let failure = EvalFailure {
                        kind: EvalErrorKind::UserError,
                        message: "Error: no".to_owned(),
                        trace: None,
                    };
                    end(Err(failure), "{}")
                }
                _ => std::future::pending().await,
            }
        })
    }
}

fn bench() -> Bench {
    Bench::with(|options| {
        options.environment = vec![("PATH".into(), "/srv".into())];
        options.script_engine = Some(Arc::new(Words));
    })
}

fn runs() {
    block_on(async {
        let bench = bench();
        let outcome = bench.kernel.eval(javascript("count")).await;
        assert_ok(&outcome);
        assert_eq!(outcome.interpreter, "words");
        assert_eq!(outcome.state, KernelState::Committed);
        assert!(outcome.notes[0].contains("words"), "{:?}", outcome.notes);
        assert_eq!(outcome.sandbox, None);
        let outcome = bench.kernel.eval(javascript("state")).await;
        assert_eq!(outcome.value, Some(json!(r#"{"n":9007199254740993}"#)));
        assert!(outcome.is_kernel_reused);
        let outcome = bench.kernel.eval(javascript("call")).await;
        assert_eq!(outcome.value, Some(json!(32)));
        assert_eq!(outcome.calls.len(), 40);
        assert_eq!(outcome.calls[0].effects, ["read"]);
        let outcome = bench.kernel.eval(javascript("print")).await;
        assert!(outcome.is_cut && outcome.stdout.len() <= 51_200);
        assert_eq!(outcome.stderr, "error");
    });
}

fn failures() {
    block_on(async {
        let bench = bench();
        assert_ok(&bench.kernel.eval(javascript("count")).await);
        for (code, kind) in [("throw", "user_error"), ("bad state", "state_invalid")] {
            let outcome = bench.kernel.eval(javascript(code)).await;
            assert_failed(&outcome, kind, "");
            assert_eq!(outcome.state, KernelState::Unchanged);
        }
        let state = bench.store.load("main", Language::JavaScript).unwrap();
        assert_eq!(state.as_deref(), Some(r#"{"n":9007199254740993}"#));
    });
}

fn stuck() {
    block_on(async {
        let bench = bench();
        let request = EvalRequest {
            timeout: Duration::from_millis(200),
            ..javascript("for ever")
        };
        assert_failed(&bench.kernel.eval(request).await, "timeout", "0.2 s");
        assert_ok(&bench.kernel.eval(javascript("state")).await);
    });
}

fn nothing() {
    block_on(async {
        let bench = Bench::with(|options| {
            options.environment = vec![("PATH".into(), "/srv".into())];
        });
        let outcome = bench.kernel.eval(javascript("return 1")).await;
        assert_failed(&outcome, "spawn", "Install Node.js");
    });
}
