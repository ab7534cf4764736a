//! What programs reach over the network under an allow-list, and who is asked.

use std::sync::{Arc, Mutex};

use pirn_eval::{EvalOutcome, KernelOptions, PythonEngine};
use pirn_sandbox::{NetworkAnswer, NetworkAsker, NetworkFuture, NetworkMode};
use serde_json::json;
use tokio::sync::Notify;

use crate::support::{Bench, Test, assert_failed, assert_ok, block_on, eventually, request};

pub(crate) const TESTS: &[Test] = &[
    ("hosts_are_asked_about_and_answers_hold", answers),
    ("nobody_to_ask_means_refused", nobody),
    ("what_was_decided_is_in_the_outcome", decisions),
    ("a_question_ends_with_its_eval", withdrawn),
    ("what_runs_on_between_evals_asks_nobody", between),
];

/// Sends a request through the proxy, and gives its status.
const FETCH: &str = r#"
import http.client, os, urllib.parse
def fetch(host):
    proxy = urllib.parse.urlparse(os.environ["HTTP_PROXY"])
    connection = http.client.HTTPConnection(proxy.hostname, proxy.port, timeout=15)
    connection.request("GET", f"http://{host}/")
    return connection.getresponse().status
"#;

/// What a refused request gets.
const REFUSED: u16 = 403;

/// Somebody with one answer for all, or with none.
#[derive(Debug, Default)]
struct Somebody {
    answer: Option<NetworkAnswer>,
    asked: Mutex<Vec<String>>,
    begun: Notify,
    withdrawn: Arc<Notify>,
}

/// Tells that it is gone.
struct Waiting(Arc<Notify>);

impl Drop for Waiting {
    fn drop(&mut self) {
        self.0.notify_one();
    }
}

impl NetworkAsker for Somebody {
    fn ask<'a>(&'a self, host: &'a str, port: u16) -> NetworkFuture<'a, NetworkAnswer> {
        self.asked.lock().unwrap().push(format!("{host}:{port}"));
        self.begun.notify_one();
        let waiting = Waiting(Arc::clone(&self.withdrawn));
        Box::pin(async move {
            let _waiting = waiting;
            match self.answer {
                Some(answer) => answer,
                None => std::future::pending().await,
            }
        })
    }
}

impl Somebody {
    fn who_says(answer: Option<NetworkAnswer>) -> Arc<Self> {
        Arc::new(Self {
            answer,
            ..Self::default()
        })
    }

    fn asked(&self) -> Vec<String> {
        self.asked.lock().unwrap().clone()
    }
}

fn allow_list(options: &mut KernelOptions, allow: &[&str]) {
    options.confinement.network = NetworkMode::AllowList;
    options.confinement.network_rules.allow =
        allow.iter().map(|rule| rule.parse().unwrap()).collect();
}

fn bench(somebody: &Arc<Somebody>, engine: PythonEngine) -> Bench {
    Bench::with(|options| {
        allow_list(options, &[]);
        options.python_engine = engine;
        options.network_asker = Some(Arc::clone(somebody) as Arc<_>);
    })
}

/// Fetches from a name that nobody has: allowed requests fail behind the proxy.
async fn fetch(bench: &Bench) -> EvalOutcome {
    bench
        .eval(&format!(
            "{FETCH}\n[fetch('nobody.invalid') for n in range(2)]"
        ))
        .await
}

fn answers() {
    block_on(async {
        for (answer, is_refused, questions) in [
            (NetworkAnswer::Once, false, 4),
            (NetworkAnswer::Session, false, 1),
            (NetworkAnswer::Always, false, 1),
            (NetworkAnswer::Deny, true, 1),
            (NetworkAnswer::Unanswered, true, 4),
        ] {
            for engine in [PythonEngine::Fresh, PythonEngine::Persistent] {
                let somebody = Somebody::who_says(Some(answer));
                let bench = bench(&somebody, engine);
                for _eval in 0..2 {
                    let outcome = fetch(&bench).await;
                    assert_ok(&outcome);
                    let statuses = outcome.value.unwrap();
                    let refusals = json!([REFUSED, REFUSED]);
                    assert_eq!(statuses == refusals, is_refused, "{answer:?} {statuses}");
                }
                let heard = somebody.asked();
                assert_eq!(heard, vec!["nobody.invalid:80"; questions], "{answer:?}");
            }
        }
    });
}

fn nobody() {
    block_on(async {
        let bench = Bench::with(|options| allow_list(options, &[]));
        let outcome = fetch(&bench).await;
        assert_eq!(outcome.value, Some(json!([REFUSED, REFUSED])));
        let outcome = bench
            .eval(&format!("{FETCH}\n1 / (fetch('nobody.invalid') - 403)"))
            .await;
        assert_failed(&outcome, "user_error", "ZeroDivisionError");
        let notes = outcome.notes.join(" ");
        assert!(
            notes.contains("nobody.invalid:80") && notes.contains("sandbox.allowedHosts"),
            "{notes}"
        );
    });
}

fn decisions() {
    block_on(async {
        let bench = Bench::with(|options| allow_list(options, &["nobody.invalid"]));
        let code =
            format!("{FETCH}\nfetch('nobody.invalid'), fetch('other.invalid'), fetch('x' * 5000)");
        assert_ok(&bench.eval("1").await);
        let outcome = bench.eval(&code).await;
        assert_ok(&outcome);
        let told: Vec<String> = outcome
            .decisions
            .iter()
            .map(|decision| format!("{:?} {}:{}", decision.verdict, decision.host, decision.port))
            .collect();
        assert_eq!(
            told[..2],
            ["Allowed nobody.invalid:80", "Refused other.invalid:80"]
        );
        assert!(told.len() == 3 && told[2].len() < 600, "{told:?}");
        assert_eq!(
            outcome.decisions[1].reason,
            "it is not among the allowed hosts"
        );
        assert!(bench.eval("1").await.decisions.is_empty());
    });
}

fn withdrawn() {
    block_on(async {
        let somebody = Somebody::who_says(None);
        let bench = bench(&somebody, PythonEngine::Fresh);
        for _eval in 0..2 {
            let asking = request(&format!("{FETCH}\nfetch('nobody.invalid')"));
            let cancel = asking.cancel.clone();
            let (outcome, ()) = tokio::join!(bench.kernel.eval(asking), async {
                somebody.begun.notified().await;
                cancel.cancel();
                somebody.withdrawn.notified().await;
            });
            assert_failed(&outcome, "aborted", "aborted");
        }
        assert_eq!(somebody.asked(), ["nobody.invalid:80"; 2]);
    });
}

fn between() {
    let code = r#"
import threading, time
def later():
    while not os.path.exists("go"): time.sleep(0.01)
    open("status.part", "w").write(str(fetch("nobody.invalid")))
    os.rename("status.part", "status")
threading.Thread(target=later, daemon=True).start()
"#;
    block_on(async {
        let somebody = Somebody::who_says(Some(NetworkAnswer::Once));
        let bench = bench(&somebody, PythonEngine::Persistent);
        assert_ok(&bench.eval(&format!("{FETCH}\n{code}")).await);
        let work = bench.folder.path().join("work");
        std::fs::write(work.join("go"), "").unwrap();
        eventually("the answer", || work.join("status").exists()).await;
        let status = std::fs::read_to_string(work.join("status")).unwrap();
        assert_eq!(status, REFUSED.to_string());
        assert_eq!(somebody.asked(), Vec::<String>::new());
    });
}
