//! Kernels for tests: a store in memory, calls by closures, and a worker whose protocol the test writes itself.

use std::ffi::OsString;
use std::future::Future;
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use futures_util::future::BoxFuture;
use pirn_eval::{
    BrokerProgram, Capability, CapabilityCaller, CapabilityFailure, EvalOutcome, EvalRequest,
    Kernel, KernelOptions, Language, MemoryStateStore, StateStore,
};
use pirn_sandbox::{Level, LevelChoice, NetworkMode, PolicySpec};
use pirn_tool::{Effects, WaitClock};
use serde_json::{Value, json};
use tokio::runtime::Builder;
use tokio_util::sync::CancellationToken;

pub(crate) const AS_BROKER: &str = "--act-as-broker";
pub(crate) const AS_HOST: &str = "--act-as-host";

/// A test with its name.
pub(crate) type Test = (&'static str, fn());

/// No wait of a test is longer; only failures get there.
pub(crate) const PATIENCE: Duration = Duration::from_secs(20);

/// Runs a test's future with two threads.
pub(crate) fn block_on<F: Future>(future: F) -> F::Output {
    run(Builder::new_multi_thread().worker_threads(2), future)
}

/// Runs a test's future with one thread, so that it may [`skip`] time.
pub(crate) fn block_on_one_thread<F: Future>(future: F) -> F::Output {
    run(&mut Builder::new_current_thread(), future)
}

fn run<F: Future>(runtime: &mut Builder, future: F) -> F::Output {
    runtime.enable_all().build().unwrap().block_on(async {
        tokio::time::timeout(9 * PATIENCE, future)
            .await
            .expect("the test hangs")
    })
}

/// Lets the clock of waiting time go on by so much at once.
pub(crate) async fn skip(time: Duration) {
    tokio::time::pause();
    tokio::time::advance(time).await;
    tokio::time::resume();
}

/// The beginning of a worker that speaks the protocol; the code of the eval is what it does with it. `result`, `finish` and
/// `complete` do what a good worker does.
pub(crate) const SCRIPTED: &str = r#"
import json, os, signal, socket, subprocess, sys, threading, time
s = socket.socket(fileno=int(sys.argv[2]))
f = s.makefile("rb")
def raw(data): s.sendall(data)
def send(**fields): raw((json.dumps(fields) + "\n").encode())
def receive():
    line = f.readline()
    if not line: os._exit(0)
    return json.loads(line)
send(type="ready", runtime="python", version="3.11.7")
while True:
    e = receive()
    state = e.get("state")
    def result(**fields):
        send(**{**{"type": "eval_result", "id": e["id"], "ok": True, "elapsedMs": 1, "state": state}, **fields})
    def complete():
        m = receive()
        while m["type"] == "capability_result": m = receive()
        send(type="eval_complete", id=e["id"], token=m["token"])
    def call(id, name, input=None): send(type="capability_call", evalId=e["id"], callId=id, name=name, input=input)
    def finish(**fields):
        sys.stdout.flush(); sys.stderr.flush()
        result(**fields)
        complete()
        if e["engine"] == "fresh": os._exit(0)
    exec(e["code"])
    if e["engine"] == "fresh": os._exit(0)
"#;

/// A kernel with what tests look at.
pub(crate) struct Bench {
    pub(crate) kernel: Kernel,
    pub(crate) store: Arc<MemoryStateStore>,
    pub(crate) folder: tempfile::TempDir,
}

/// Options for the test binary as broker, in a folder of its own.
pub(crate) fn options(store: &Arc<MemoryStateStore>, folder: &std::path::Path) -> KernelOptions {
    let broker = BrokerProgram {
        program: std::env::current_exe().unwrap(),
        // The folder tells the brokers of tests apart.
        arguments: vec![OsString::from(AS_BROKER), folder.into()],
    };
    let work = folder.join("work");
    std::fs::create_dir_all(&work).unwrap();
    let temp = folder.join("temp");
    std::fs::create_dir_all(&temp).unwrap();
    let mut confinement = PolicySpec::new(work, temp);
    confinement.network = NetworkMode::Off;
    let mut options = KernelOptions::new(
        broker,
        confinement,
        Arc::clone(store) as Arc<dyn StateStore>,
    );
    options.environment = ["PATH", "LANG"]
        .into_iter()
        .filter_map(|name| Some((name.into(), std::env::var_os(name)?)))
        .collect();
    options
}

impl Bench {
    /// A kernel with changed options.
    pub(crate) fn with(change: impl FnOnce(&mut KernelOptions)) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let store = Arc::new(MemoryStateStore::default());
        let mut options = options(&store, folder.path());
        change(&mut options);
        Self {
            kernel: Kernel::new(options),
            store,
            folder,
        }
    }

    /// A kernel with [`SCRIPTED`] workers, each eval in a process of its own, since they know no zygote.
    pub(crate) fn scripted() -> Self {
        Self::scripted_with(|_| {})
    }

    pub(crate) fn scripted_with(change: impl FnOnce(&mut KernelOptions)) -> Self {
        Self::with(|options| {
            options.workers.python = Some(SCRIPTED.to_owned());
            options.confinement.level = LevelChoice::AtMost(Level::Basic);
            change(options);
        })
    }

    pub(crate) async fn eval(&self, code: &str) -> EvalOutcome {
        self.kernel.eval(request(code)).await
    }
}

/// A request for Python with the calls of [`Tools`].
pub(crate) fn request(code: &str) -> EvalRequest {
    EvalRequest {
        language: Language::Python,
        code: code.to_owned(),
        timeout: PATIENCE,
        clock: WaitClock::default(),
        branch: "main".to_owned(),
        capabilities: capabilities(),
        caller: Arc::new(Tools::default()),
        updates: None,
        cancel: CancellationToken::new(),
    }
}

/// The same in JavaScript.
pub(crate) fn javascript(code: &str) -> EvalRequest {
    EvalRequest {
        language: Language::JavaScript,
        ..request(code)
    }
}

fn capabilities() -> Vec<Capability> {
    ["echo", "hang", "big", "peak"]
        .into_iter()
        .map(|name| Capability {
            name: name.to_owned(),
            description: format!("For tests: {name}"),
            effects: Effects::READ,
            input_schema: json!({"type": "object"}),
        })
        .collect()
}

/// `echo` gives its input back, `hang` ignores everything, `big` gives more than a frame, `peak` takes its time and gives how
/// many of it ran at once at most.
#[derive(Debug, Default)]
pub(crate) struct Tools {
    load: Arc<Mutex<(usize, usize)>>,
    pub(crate) names: Arc<Mutex<Vec<String>>>,
}

impl CapabilityCaller for Tools {
    fn call(
        &self,
        name: String,
        input: Value,
        _cancel: CancellationToken,
    ) -> BoxFuture<'static, Result<Value, CapabilityFailure>> {
        self.names.lock().unwrap().push(name.clone());
        let load = Arc::clone(&self.load);
        Box::pin(async move {
            match name.as_str() {
                "echo" => Ok(input),
                "hang" => std::future::pending().await,
                "big" => Ok(Value::from("x".repeat(2_000_000))),
                "peak" => {
                    {
                        let mut load = load.lock().unwrap();
                        load.0 += 1;
                        load.1 = load.1.max(load.0);
                    }
                    tokio::time::sleep(Duration::from_millis(5)).await; // sleeps: the work of a tool
                    let mut load = load.lock().unwrap();
                    load.0 -= 1;
                    Ok(Value::from(load.1))
                }
                "panic" => panic!("on purpose"),
                _ => Err(CapabilityFailure {
                    name: "CapabilityUnknown".to_owned(),
                    message: format!("Nothing is called {name}."),
                }),
            }
        })
    }
}

/// What went wrong, as `kind: message`; empty when nothing did.
pub(crate) fn failure_of(outcome: &EvalOutcome) -> String {
    outcome
        .failure
        .as_ref()
        .map_or_else(String::new, |failure| {
            format!("{}: {}", failure.kind.as_str(), failure.message)
        })
}

/// Fails unless the eval succeeded.
#[track_caller]
pub(crate) fn assert_ok(outcome: &EvalOutcome) {
    assert!(outcome.failure.is_none(), "{outcome:#?}");
}

/// Fails unless the eval failed with this kind and a text that has this part.
#[track_caller]
pub(crate) fn assert_failed(outcome: &EvalOutcome, kind: &str, part: &str) {
    let failure = failure_of(outcome);
    assert!(
        failure.starts_with(&format!("{kind}: ")) && failure.contains(part),
        "{kind} with {part:?}, got {failure:?}: {outcome:#?}"
    );
}

/// Waits until a condition holds.
pub(crate) async fn eventually(what: &str, condition: impl Fn() -> bool) {
    let start = Instant::now();
    while !condition() {
        assert!(start.elapsed() < PATIENCE, "never: {what}");
        tokio::time::sleep(Duration::from_millis(5)).await; // sleeps: polls what other processes do
    }
}

/// Whether a process is there and not a zombie.
pub(crate) fn is_alive(process: u32) -> bool {
    std::fs::read_to_string(format!("/proc/{process}/stat"))
        .ok()
        .and_then(|stat| {
            stat.rsplit_once(") ")
                .map(|(_, rest)| !rest.starts_with('Z'))
        })
        .unwrap_or(false)
}
