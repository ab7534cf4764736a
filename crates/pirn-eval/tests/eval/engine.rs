//! JavaScript without node: by Pirn's own engine, with the same limits and receipts.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use pirn_eval::{
    Error, ErrorKind, EvalOutcome, EvalRequest, EvalUpdate, KernelState, Language, StateStore as _,
    own_script_engine,
};
use serde_json::{Value, json};

use crate::support::{Bench, Test, assert_failed, assert_ok, block_on, javascript};

pub(crate) const TESTS: &[Test] = &[
    ("without_node_the_engine_runs_programs", runs),
    ("calls_are_bounded_and_recorded", calls),
    ("inputs_arrive_whole", inputs),
    ("losses_are_named", losses),
    ("its_failures_commit_nothing", failures),
    ("a_stuck_program_is_stopped", stuck),
    ("without_node_and_engine_it_says_what_to_do", nothing),
    ("an_engine_that_cannot_be_made_is_told", no_engine),
];

fn bench() -> Bench {
    Bench::with(|options| {
        options.environment = vec![("PATH".into(), "/srv".into())];
        options.script_engine = Some(own_script_engine());
    })
}

async fn eval(bench: &Bench, code: &str) -> EvalOutcome {
    bench.kernel.eval(javascript(code)).await
}

fn runs() {
    block_on(async {
        let bench = bench();
        let outcome = eval(&bench, "state.n = 1").await;
        assert_ok(&outcome);
        assert_eq!(outcome.interpreter, "pirn-vm");
        assert_eq!(outcome.state, KernelState::Committed);
        assert!(outcome.notes[0].contains("pirn-vm"), "{:?}", outcome.notes);
        assert_eq!(outcome.sandbox, None);
        for (code, value) in [
            ("return [state.n, 1 + 1]", json!([1, 2])),
            ("state.n += 1; return state.n", json!(2)),
            (
                "state = {n: state.n, new: [true]}; return state.new",
                json!([true]),
            ),
            ("return await tool.echo({a: 1})", json!({"a": 1})),
            (
                "return await tool.call('echo', {b: null})",
                json!({"b": null}),
            ),
            (
                "return tool.list().map((entry) => entry.name + ':' + entry.effect)",
                json!(["echo:read", "hang:read", "big:read", "peak:read"]),
            ),
            (
                "return tool.parallel([{name: 'echo', input: {x: 1}}, {name: 'echo', input: {x: 2}}], 2)",
                json!([{"x": 1}, {"x": 2}]),
            ),
            (
                "const seen = await tool; return typeof seen.then",
                json!("undefined"),
            ),
            (
                "try { await tool.nothing({}) } catch (error) { return `${error.name}|${error.message}` }",
                json!("CapabilityUnknown|Nothing is called nothing."),
            ),
            (
                "try { await tool.echo({when: new Date(0)}) } catch (error) { return error.name }",
                json!("InputInvalid"),
            ),
            ("return tools === tool", json!(true)),
            (
                "try { require('node:fs') } catch (error) { return error.message.includes('eval.node') }",
                json!(true),
            ),
            ("return state", json!({"n": 2, "new": [true]})),
        ] {
            let outcome = eval(&bench, code).await;
            assert_ok(&outcome);
            assert_eq!(outcome.value, Some(value), "{code}");
            assert!(outcome.is_kernel_reused);
        }
    });
}

fn calls() {
    block_on(async {
        let bench = bench();
        let outcome = eval(
            &bench,
            "const peaks = await Promise.all(Array.from({length: 40}, () => tool.peak({}))); return Math.max(...peaks)",
        )
        .await;
        assert_eq!(outcome.value, Some(json!(32)));
        assert_eq!(outcome.calls.len(), 40);
        assert_eq!(outcome.calls[0].effects, ["read"]);
        let printed = Arc::new(Mutex::new(String::new()));
        let heard = Arc::clone(&printed);
        let outcome = bench
            .kernel
            .eval(EvalRequest {
                updates: Some(Arc::new(move |update| {
                    if let EvalUpdate::Stdout(text) = update {
                        heard.lock().unwrap().push_str(&text);
                    }
                })),
                ..javascript("console.log('a', {b: 1}); console.log('x'.repeat(100_000))")
            })
            .await;
        assert_ok(&outcome);
        assert!(outcome.is_cut && outcome.stdout.len() <= 51_200);
        assert!(outcome.stdout.starts_with("a "), "{}", outcome.stdout);
        assert!(outcome.stdout.starts_with(printed.lock().unwrap().as_str()));
    });
}

fn inputs() {
    block_on(async {
        let outcome = eval(
            &bench(),
            "const given = {text: 'x'.repeat(60_000), list: Array.from({length: 2_500}, (_, at) => at)}; \
             const back = await tool.echo(given); return [back.text.length, back.list.length, back.list[2_499]]",
        )
        .await;
        assert_eq!(outcome.value, Some(json!([60_000, 2_500, 2_499])));
    });
}

fn losses() {
    block_on(async {
        let outcome = eval(
            &bench(),
            "return {when: new Date(0), map: new Map([['a', 1]]), bad: NaN}",
        )
        .await;
        assert_eq!(
            outcome.value,
            Some(json!({"when": "1970-01-01T00:00:00.000Z", "map": [["a", 1]], "bad": null}))
        );
        assert_eq!(
            outcome.lossy,
            [
                "value.when: a Date became text",
                "value.map: a Map became an array of pairs",
                "value.bad: NaN became null"
            ]
        );
    });
}

fn failures() {
    block_on(async {
        let bench = bench();
        assert_ok(&eval(&bench, "state.n = 1").await);
        for (code, kind, part) in [
            (
                "state.n = 2; throw new TypeError('no')",
                "user_error",
                "TypeError: no",
            ),
            (
                "state.n = new Date(0)",
                "state_invalid",
                "state.n is a Date",
            ),
            ("state.n = state", "state_invalid", "part of itself"),
            ("state = []", "state_invalid", "plain object"),
            (
                "tool.nothing({}); return 1",
                "user_error",
                "CapabilityUnknown",
            ),
            ("const = 1", "user_error", ""),
        ] {
            let outcome = eval(&bench, code).await;
            assert_failed(&outcome, kind, part);
            assert_eq!(outcome.state, KernelState::Unchanged);
            assert_eq!(outcome.value, None::<Value>);
        }
        let state = bench.store.load("main", Language::JavaScript).unwrap();
        assert_eq!(state.as_deref(), Some(r#"{"n":1}"#));
        // Lines are those of the program.
        let failure = eval(&bench, "const a = 1;\nnull.x").await.failure.unwrap();
        let trace = failure.trace.unwrap();
        assert!(trace.contains("program.js:2:"), "{trace}");
    });
}

fn stuck() {
    block_on(async {
        let bench = bench();
        assert_ok(&eval(&bench, "state.n = 1").await);
        for code in ["for (;;) {}", "await tool.hang({})"] {
            let request = EvalRequest {
                timeout: Duration::from_millis(200),
                ..javascript(code)
            };
            assert_failed(&bench.kernel.eval(request).await, "timeout", "");
        }
        assert_eq!(eval(&bench, "return state.n").await.value, Some(json!(1)));
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

fn no_engine() {
    block_on(async {
        let bench = Bench::with(|options| {
            options.environment = vec![("PATH".into(), "/srv".into())];
            options.script_engine = Some(Arc::new(|| {
                Err(Error::new(ErrorKind::ScriptEngine, "no memory for it"))
            }));
        });
        let outcome = bench.kernel.eval(javascript("return 1")).await;
        assert_failed(&outcome, "spawn", "no memory for it");
    });
}
