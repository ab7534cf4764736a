//! A host with a handful of tools, and one-line ways to run scripts over it.

use std::collections::BTreeSet;
use std::sync::{Arc, Mutex, OnceLock};
use std::time::Duration;

use futures_util::future::BoxFuture;
use pirn_codemode::{
    CallEnd, Cell, CellUpdate, Environment, HostCall, ResumedCall, RunOptions, Script, ScriptHost,
    ScriptLimits, ScriptResult, run_script,
};
use pirn_tool::{CallStage, CallStatus, WaitClock};
use pirn_vm::{JsonText, Output, VmEngine};
use serde_json::{Value, json};
use tokio::sync::watch;

/// Longer than anything here takes; only a broken test waits for it.
pub(crate) const SOON: Duration = Duration::from_secs(20);

/// Follows a refusal of one call too many.
pub(crate) const CALLS_ADVICE: &str =
    "To change this limit: the setting codemode.callsMax, or pirn exec --calls-max.";

/// A picture of one pixel.
pub(crate) const PNG_1X1: &str = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==";

pub(crate) fn engine() -> &'static VmEngine {
    static ENGINE: OnceLock<VmEngine> = OnceLock::new();
    ENGINE.get_or_init(|| VmEngine::new(pirn_vm::EngineOptions::default()).unwrap())
}

/// The tools:
/// - `echo` gives its argument back, `nothing` gives undefined, `fail {message}` fails;
/// - `gate {name}` ends when [`Lab::open`] is called with that name, and confirms when it is stopped;
/// - `stubborn {name}` ends likewise, but succeeds when it is stopped;
/// - `ask {name}` waits for a person until [`Lab::open`] is called with that name, then takes effect;
/// - `large` gives a text of 1 MiB;
/// - `deaf` never ends and never confirms; `panics` panics.
pub(crate) const TOOLS: [&str; 9] = [
    "echo", "nothing", "fail", "gate", "stubborn", "ask", "large", "deaf", "panics",
];

/// A host whose calls tests can watch and steer.
#[derive(Clone)]
pub(crate) struct Lab {
    state: Arc<LabState>,
}

struct LabState {
    received: watch::Sender<Vec<String>>,
    open: watch::Sender<BTreeSet<String>>,
    ended: watch::Sender<Vec<String>>,
    resumes: bool,
    resumed: Mutex<Vec<String>>,
    clock: WaitClock,
    /// The questions so far.
    questions: watch::Sender<Vec<String>>,
    running: Mutex<(usize, usize)>,
}

impl Lab {
    pub(crate) fn new() -> Self {
        Self::with_resumes(false)
    }

    /// A host that takes up the calls of saved scripts: they end when their gate opens.
    pub(crate) fn resuming() -> Self {
        Self::with_resumes(true)
    }

    fn with_resumes(resumes: bool) -> Self {
        let state = LabState {
            received: watch::Sender::default(),
            open: watch::Sender::default(),
            ended: watch::Sender::default(),
            resumes,
            resumed: Mutex::default(),
            clock: WaitClock::default(),
            questions: watch::Sender::default(),
            running: Mutex::default(),
        };
        Self {
            state: Arc::new(state),
        }
    }

    pub(crate) fn environment(&self) -> Environment {
        let tools = TOOLS.map(|name| (name.to_owned(), format!("The {name} tool")));
        Environment::new(tools, Vec::new(), Arc::new(self.clone())).unwrap()
    }

    /// Lets `gate {name}` and `stubborn {name}` end.
    pub(crate) fn open(&self, name: &str) {
        self.state.open.send_modify(|open| {
            open.insert(name.to_owned());
        });
    }

    /// The calls so far: name and argument.
    pub(crate) fn received(&self) -> Vec<String> {
        self.state.received.borrow().clone()
    }

    /// Resolves when so many calls were received.
    pub(crate) async fn has_received(&self, count: usize) {
        let mut received = self.state.received.subscribe();
        tokio::time::timeout(SOON, received.wait_for(|calls| calls.len() >= count))
            .await
            .unwrap()
            .unwrap();
    }

    /// Resolves when a call with this name was dropped or has ended.
    pub(crate) async fn has_ended(&self, name: &str) {
        let mut ended = self.state.ended.subscribe();
        let is_there = |calls: &Vec<String>| calls.iter().any(|call| call == name);
        tokio::time::timeout(SOON, ended.wait_for(is_there))
            .await
            .unwrap()
            .unwrap();
    }

    pub(crate) fn resumed(&self) -> Vec<String> {
        self.state.resumed.lock().unwrap().clone()
    }

    /// Resolves when so many questions were asked; gives them.
    pub(crate) async fn has_asked(&self, count: usize) -> Vec<String> {
        let mut questions = self.state.questions.subscribe();
        tokio::time::timeout(SOON, questions.wait_for(|asked| asked.len() >= count))
            .await
            .unwrap()
            .unwrap()
            .clone()
    }

    /// The most calls that ran at the same time.
    pub(crate) fn most_at_once(&self) -> usize {
        self.state.running.lock().unwrap().1
    }

    pub(crate) async fn run(&self, code: &str) -> ScriptResult {
        self.run_with(code, RunOptions::default()).await
    }

    pub(crate) async fn run_with(&self, code: &str, options: RunOptions) -> ScriptResult {
        run_script(engine(), &Script::new(code), &self.environment(), options).await
    }

    pub(crate) fn start(&self, code: &str) -> Cell {
        Cell::start(
            engine(),
            &Script::new(code),
            &self.environment(),
            options(short_grace()),
        )
    }
}

/// Marks a call as running for as long as it lives.
struct Running(Arc<LabState>, String);

impl Running {
    fn begin(state: &Arc<LabState>, name: &str) -> Self {
        let mut running = state.running.lock().unwrap();
        running.0 += 1;
        running.1 = running.1.max(running.0);
        Self(Arc::clone(state), name.to_owned())
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        self.0.running.lock().unwrap().0 -= 1;
        let name = self.1.clone();
        self.0.ended.send_modify(|ended| ended.push(name));
    }
}

impl ScriptHost for Lab {
    fn call(&self, call: HostCall) -> BoxFuture<'static, CallEnd> {
        let shown = format!(
            "{} {}",
            call.name,
            call.arguments.as_ref().map_or("", JsonText::as_str)
        );
        self.state
            .received
            .send_modify(|calls| calls.push(shown.trim_end().to_owned()));
        let running = Running::begin(&self.state, &call.name);
        let state = Arc::clone(&self.state);
        Box::pin(async move {
            let _running = running;
            perform(&state, call).await
        })
    }

    fn resume_call(&self, call: &HostCall, stage: &CallStage) -> ResumedCall {
        let shown = format!("{} #{} {stage:?}", call.name, call.number);
        self.state.resumed.lock().unwrap().push(shown);
        match stage {
            CallStage::Waiting | CallStage::Asking { .. } => ResumedCall::Make,
            CallStage::Begun if !self.state.resumes => ResumedCall::Unknown,
            CallStage::Begun => {
                let (state, call) = (Arc::clone(&self.state), call.clone());
                ResumedCall::Continue(Box::pin(async move { perform(&state, call).await }))
            }
        }
    }

    fn clock(&self) -> WaitClock {
        self.state.clock.clone()
    }

    fn call_id(&self, number: u32) -> Option<String> {
        Some(format!("lab/{number}"))
    }
}

async fn perform(state: &LabState, call: HostCall) -> CallEnd {
    let arguments: Value = call
        .arguments
        .as_ref()
        .map(|json| json.parse().unwrap())
        .unwrap_or_default();
    let field = |name: &str| arguments[name].as_str().unwrap_or_default().to_owned();
    let opened = async |name: String| {
        let mut open = state.open.subscribe();
        drop(open.wait_for(|open| open.contains(&name)).await);
    };
    match call.name.as_str() {
        "echo" => CallEnd::ok(call.arguments),
        "nothing" => CallEnd::ok(None),
        "large" => CallEnd::ok(Some(JsonText::from_value(&json!("x".repeat(1 << 20))))),
        "fail" => CallEnd::error(field("message")),
        "gate" => tokio::select! {
            () = opened(field("name")) => CallEnd::ok(Some(JsonText::from_value(&json!(field("name"))))),
            () = call.cancel.cancelled() => CallEnd::cancelled("gate was stopped"),
        },
        "stubborn" => tokio::select! {
            () = opened(field("name")) => CallEnd::ok(Some(JsonText::new("\"opened\""))),
            () = call.cancel.cancelled() => CallEnd::ok(Some(JsonText::new("\"took effect\""))),
        },
        "ask" => {
            let _asking = state.clock.asking();
            let question_id = call
                .question_id
                .unwrap_or_else(|| format!("question about {}", field("name")));
            call.stage.send_replace(CallStage::Asking {
                question_id: question_id.clone(),
            });
            state.questions.send_modify(|asked| asked.push(question_id));
            opened(field("name")).await;
            call.stage.send_replace(CallStage::Begun);
            CallEnd::ok(Some(JsonText::new("\"allowed\"")))
        }
        "panics" => panic!("the test wants it"),
        _ => std::future::pending().await,
    }
}

pub(crate) fn options(limits: ScriptLimits) -> RunOptions {
    RunOptions {
        limits,
        ..RunOptions::default()
    }
}

/// Limits under which calls that do not confirm are given up at once.
pub(crate) fn short_grace() -> ScriptLimits {
    ScriptLimits {
        cancel_grace: Duration::from_millis(30),
        suspend_grace: Duration::from_millis(30),
        ..ScriptLimits::default()
    }
}

/// The returned value; panics with the error where there is none.
pub(crate) fn value(result: &ScriptResult) -> Value {
    match &result.outcome {
        Ok(value) => value
            .as_ref()
            .map(|json| json.parse().unwrap())
            .unwrap_or_default(),
        Err(error) => panic!("the script failed: {error:?}"),
    }
}

/// Kind, message and hint of the error; panics where there is none.
pub(crate) fn failure(result: &ScriptResult) -> String {
    let error = result.outcome.as_ref().expect_err("the script should fail");
    let hint = error
        .hint
        .as_deref()
        .map(|hint| format!(" ({hint})"))
        .unwrap_or_default();
    format!("{}: {}{hint}", error.kind.as_str(), error.message)
}

/// `name status` of every call.
pub(crate) fn calls(result: &ScriptResult) -> Vec<String> {
    let status = |status: CallStatus| pirn_codemode::status_name(status);
    result
        .calls
        .iter()
        .map(|call| format!("{} {}", call.name, status(call.status)))
        .collect()
}

pub(crate) fn texts(output: &[Output]) -> Vec<String> {
    output
        .iter()
        .map(|item| match item {
            Output::Text(text) => text.to_string(),
            Output::Console(text) => format!("console: {text}"),
            Output::Image { mime_type, .. } | Output::Audio { mime_type, .. } => mime_type.clone(),
        })
        .collect()
}

/// Lets the clock of waiting time go on by so much at once.
pub(crate) async fn skip(time: Duration) {
    tokio::time::pause();
    tokio::time::advance(time).await;
    tokio::time::resume();
}

/// Waits for what is new of a cell.
pub(crate) async fn next(cell: &Cell) -> CellUpdate {
    cell.wait(SOON).await.unwrap()
}

pub(crate) fn ended(update: &CellUpdate) -> &ScriptResult {
    match &update.status {
        pirn_codemode::CellStatus::Ended(result) => result,
        other => panic!("the cell should have ended: {other:?}"),
    }
}
