use std::sync::{Arc, Mutex};

use futures_util::future::BoxFuture;
use pirn_eval::{
    Capability, CapabilityFailure, EvalErrorKind, ScriptEnd, ScriptEngine as _, ScriptHost,
    ScriptRun,
};
use pirn_tool::Effects;
use serde_json::{Value, json};
use tokio_util::sync::CancellationToken;

use super::VmScripts;

#[derive(Default)]
struct Host {
    printed: Mutex<String>,
    called: Mutex<Vec<(String, Value)>>,
}

impl ScriptHost for Host {
    fn call(
        &self,
        name: String,
        input: Value,
    ) -> BoxFuture<'static, Result<Value, CapabilityFailure>> {
        self.called
            .lock()
            .unwrap()
            .push((name.clone(), input.clone()));
        Box::pin(async move {
            match name.as_str() {
                "echo" => Ok(input),
                _ => Err(CapabilityFailure {
                    name: "CapabilityUnknown".to_owned(),
                    message: format!("there is no tool `{name}`"),
                }),
            }
        })
    }

    fn print(&self, text: &str) {
        self.printed.lock().unwrap().push_str(text);
    }

    fn print_error(&self, text: &str) {
        self.print(text);
    }
}

async fn run(code: &str, state: &str) -> (ScriptEnd, Arc<Host>) {
    let host = Arc::new(Host::default());
    let end = VmScripts
        .run(ScriptRun {
            code: code.to_owned(),
            state: state.to_owned(),
            capabilities: vec![Capability {
                name: "echo".to_owned(),
                description: "Echoes.".to_owned(),
                effects: Effects::READ,
                input_schema: json!({"type": "object"}),
            }],
            host: host.clone(),
            cancel: CancellationToken::new(),
        })
        .await;
    (end, host)
}

/// The value and the state of a program that must succeed.
async fn ok(code: &str, state: &str) -> (Value, String) {
    let (end, _) = run(code, state).await;
    (end.result.unwrap(), end.state)
}

#[tokio::test]
async fn programs_have_state_and_tools() {
    for (code, value, state) in [
        ("return 1 + 1", json!(2), "{\"n\":1}"),
        ("state.n += 1", Value::Null, "{\"n\":2}"),
        (
            "state = {new: [true]}; return state.new",
            json!([true]),
            "{\"new\":[true]}",
        ),
        (
            "return await tool.echo({a: 1})",
            json!({"a": 1}),
            "{\"n\":1}",
        ),
        (
            "return await tool.call('echo', {b: null})",
            json!({"b": null}),
            "{\"n\":1}",
        ),
        (
            "return tool.list().map((entry) => entry.name + ':' + entry.effect)",
            json!(["echo:read"]),
            "{\"n\":1}",
        ),
        (
            "return tool.parallel([{name: 'echo', input: {x: 1}}, {name: 'echo', input: {x: 2}}], 2)",
            json!([{"x": 1}, {"x": 2}]),
            "{\"n\":1}",
        ),
        (
            "const seen = await tool; return typeof seen.then",
            json!("undefined"),
            "{\"n\":1}",
        ),
        (
            "try { await tool.nothing({}) } catch (error) { return `${error.name}|${error.message}` }",
            json!("CapabilityUnknown|there is no tool `nothing`"),
            "{\"n\":1}",
        ),
        (
            "try { await tool.echo({when: new Date(0)}) } catch (error) { return error.name }",
            json!("InputInvalid"),
            "{\"n\":1}",
        ),
    ] {
        assert_eq!(
            ok(code, "{\"n\":1}").await,
            (value, state.to_owned()),
            "{code}"
        );
    }
}

#[tokio::test]
async fn inputs_arrive_whole() {
    let long = "x".repeat(60_000);
    let (_, host) = run(
        "await tool.echo({text: 'x'.repeat(60_000), list: Array.from({length: 2_500}, (_, at) => at)})",
        "{}",
    )
    .await;
    let called = host.called.lock().unwrap();
    assert_eq!(called[0].1["text"], long);
    assert_eq!(called[0].1["list"].as_array().unwrap().len(), 2_500);
}

#[tokio::test]
async fn losses_are_named() {
    let (end, _) = run(
        "return {when: new Date(0), map: new Map([['a', 1]]), bad: NaN}",
        "{}",
    )
    .await;
    assert_eq!(
        end.result.unwrap(),
        json!({"when": "1970-01-01T00:00:00.000Z", "map": [["a", 1]], "bad": null})
    );
    assert_eq!(
        end.lossy,
        [
            "value.when: a Date became text",
            "value.map: a Map became an array of pairs",
            "value.bad: NaN became null"
        ]
    );
}

#[tokio::test]
async fn failures_have_kinds_and_leave_the_state() {
    for (code, kind, part) in [
        (
            "state.n = 2; throw new TypeError('no')",
            EvalErrorKind::UserError,
            "TypeError: no",
        ),
        (
            "state.n = new Date(0)",
            EvalErrorKind::StateInvalid,
            "state.n is a Date",
        ),
        (
            "state.n = state",
            EvalErrorKind::StateInvalid,
            "part of itself",
        ),
        ("state = []", EvalErrorKind::StateInvalid, "plain object"),
        (
            "tool.nothing({}); return 1",
            EvalErrorKind::UserError,
            "CapabilityUnknown",
        ),
        ("const = 1", EvalErrorKind::UserError, ""),
    ] {
        let (end, _) = run(code, "{\"n\":1}").await;
        let failure = end.result.unwrap_err();
        assert_eq!(failure.kind, kind, "{code}: {failure:?}");
        assert!(failure.message.contains(part), "{code}: {failure:?}");
        assert_eq!(end.state, "{\"n\":1}");
    }
    // Lines are those of the program.
    let (end, _) = run("const a = 1;\nnull.x", "{}").await;
    let trace = end.result.unwrap_err().trace.unwrap();
    assert!(trace.contains("program.js:2:"), "{trace}");
}

#[tokio::test]
async fn what_is_printed_goes_to_the_kernel() {
    let (_, host) = run("console.log('a', {b: 1}); console.log('c')", "{}").await;
    let printed = host.printed.lock().unwrap();
    assert!(
        printed.starts_with("a ") && printed.ends_with("\nc\n"),
        "{printed}"
    );
}

#[tokio::test]
async fn a_program_that_does_not_end_is_stopped() {
    let host = Arc::new(Host::default());
    let cancel = CancellationToken::new();
    let run = VmScripts.run(ScriptRun {
        code: "console.log('started'); for (;;) {}".to_owned(),
        state: "{}".to_owned(),
        capabilities: Vec::new(),
        host: host.clone(),
        cancel: cancel.clone(),
    });
    let task = tokio::spawn(run);
    cancel.cancel();
    let end = tokio::time::timeout(std::time::Duration::from_secs(20), task)
        .await
        .unwrap()
        .unwrap();
    assert_eq!(end.result.unwrap_err().kind, EvalErrorKind::Aborted);
}
