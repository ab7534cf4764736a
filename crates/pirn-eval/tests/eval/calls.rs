//! Calls of programs: whole inputs, limits, order, receipts.

use std::sync::{Arc, Mutex};
use std::time::Instant;

use pirn_eval::EvalUpdate;
use pirn_tool::CallStatus;
use serde_json::json;

use crate::support::{Bench, PATIENCE, Test, assert_failed, assert_ok, block_on, request};

pub(crate) const TESTS: &[Test] = &[
    ("inputs_arrive_whole_or_are_refused", inputs),
    ("at_most_32_run_at_once", in_flight),
    ("waiting_inputs_are_bounded", waiting_bytes),
    ("receipts_tell_names_effects_and_ends", receipts),
    ("results_above_the_limit_become_errors", big_results),
    ("a_result_waits_for_open_calls", settles),
    ("an_uncooperative_call_does_not_hold_the_end", uncooperative),
    ("updates_tell_what_happens", updates),
];

fn inputs() {
    let code = r#"
cases = [json.dumps("é" * 60_000), "9007199254740993", "18446744073709551615", "[1.5,null,{\"a\":[]}]", json.dumps(list(range(3000)))]
for n, case in enumerate(cases):
    raw(('{"type":"capability_call","evalId":"%s","callId":"%d","name":"echo","input":%s}\n' % (e["id"], n, case)).encode())
    m = receive()
    assert m["ok"] and m["value"] == json.loads(case), m
refused = ["18446744073709551616", "[" * 200 + "]" * 200, '"\\ud800"']
for n, case in enumerate(refused):
    raw(('{"type":"capability_call","evalId":"%s","callId":"r%d","name":"echo","input":%s}\n' % (e["id"], n, case)).encode())
    m = receive()
    assert not m["ok"] and m["error"]["name"] == "CapabilityFailed", m
finish()
"#;
    block_on(async {
        let outcome = Bench::scripted().eval(code).await;
        assert_ok(&outcome);
        assert_eq!(
            outcome
                .calls
                .iter()
                .filter(|call| call.receipt.status == CallStatus::Ok)
                .count(),
            5
        );
    });
}

fn in_flight() {
    let code = r"
for n in range(200): call(str(n), 'peak')
finish(value=max(receive()['value'] for n in range(200)))
";
    block_on(async {
        let outcome = Bench::scripted().eval(code).await;
        assert_ok(&outcome);
        assert_eq!(outcome.value, Some(json!(32)));
        assert_eq!(outcome.calls.len(), 200);
    });
}

fn waiting_bytes() {
    let code = r"
for n in range(32): call(str(n), 'hang')
for n in range(9): call('w%d' % n, 'echo', 'x' * 1_900_000)
m = receive()
assert m['callId'] == 'w8' and 'Too many calls wait' in m['error']['message'], m
os._exit(0)
";
    block_on(async {
        let outcome = Bench::scripted().eval(code).await;
        assert_failed(&outcome, "unsettled_calls", "40 were open");
    });
}

fn receipts() {
    let code = r"
call('1', 'echo', {'a': 1})
receive()
call('2', 'nothing')
error = receive()['error']
call('3', 'x' * 65)
long = receive()['error']
call('4', 'panic')
panic = receive()['error']
finish(value=[error['name'], long['name'], panic['name'], panic['message']])
";
    block_on(async {
        let outcome = Bench::scripted().eval(code).await;
        assert_ok(&outcome);
        let value = json!([
            "CapabilityUnknown",
            "CapabilityUnknown",
            "CapabilityFailed",
            "The call panicked: on purpose."
        ]);
        assert_eq!(outcome.value, Some(value));
        let calls: Vec<_> = outcome
            .calls
            .iter()
            .map(|call| {
                let is_ok = call.receipt.status == CallStatus::Ok;
                (call.receipt.name.as_str(), call.effects.join(","), is_ok)
            })
            .collect();
        let long = "x".repeat(64);
        let expected = [
            ("echo", "read".to_owned(), true),
            ("nothing", "unknown".to_owned(), false),
            (long.as_str(), "unknown".to_owned(), false),
            ("panic", "unknown".to_owned(), false),
        ];
        assert_eq!(calls, expected);
    });
}

fn big_results() {
    let code = "call('1', 'big'); finish(value=receive()['error']['name'])";
    block_on(async {
        let outcome = Bench::scripted().eval(code).await;
        assert_ok(&outcome);
        assert_eq!(outcome.value, Some(json!("ResultTooLarge")));
        assert_eq!(outcome.calls[0].receipt.status, CallStatus::Error);
    });
}

fn settles() {
    // The result is there before the calls have ended; the token comes after all of them.
    let code = r"
for n in range(40): call(str(n), 'peak')
result()
kinds = [receive()['type'] for n in range(40)]
assert set(kinds) == {'capability_result'}, kinds
complete()
os._exit(0)
";
    block_on(async {
        let outcome = Bench::scripted().eval(code).await;
        assert_ok(&outcome);
        assert_eq!(outcome.calls.len(), 40);
    });
}

fn uncooperative() {
    block_on(async {
        let bench = Bench::scripted();
        assert_ok(&bench.eval("finish()").await);
        let start = Instant::now();
        let outcome = bench
            .eval("call('1', 'hang'); time.sleep(0.1); os._exit(0)")
            .await;
        assert_failed(
            &outcome,
            "unsettled_calls",
            "before capability calls settled",
        );
        assert!(start.elapsed() < PATIENCE);
        assert_eq!(outcome.calls.len(), 1);
        assert_eq!(outcome.calls[0].receipt.status, CallStatus::Unknown);
    });
}

fn updates() {
    let code = "print('out', flush=True); call('1', 'echo'); receive(); print('err', file=sys.stderr, flush=True); finish()";
    block_on(async {
        let heard = Arc::new(Mutex::new(Vec::new()));
        let hearing = Arc::clone(&heard);
        let mut request = request(code);
        request.updates = Some(Arc::new(move |update| {
            hearing.lock().unwrap().push(update);
        }));
        let bench = Bench::scripted();
        assert_ok(&bench.kernel.eval(request).await);
        let heard = heard.lock().unwrap();
        assert_eq!(heard.first(), Some(&EvalUpdate::Started));
        for wanted in [
            EvalUpdate::Stdout("out\n".to_owned()),
            EvalUpdate::Stderr("err\n".to_owned()),
            EvalUpdate::CallStarted {
                name: "echo".to_owned(),
            },
            EvalUpdate::CallEnded {
                name: "echo".to_owned(),
                ok: true,
            },
        ] {
            assert!(heard.contains(&wanted), "{wanted:?} in {heard:?}");
        }
    });
}
