//! JavaScript by Pirn's own engine, where there is no node: same limits, same receipts, no process.

use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use futures_util::future::BoxFuture;
use pirn_codemode::{
    Abort, CallEnd, Environment, HostCall, JsonText, Output, Progress, RunOptions, ScriptHost,
    ScriptLimits, Settlement, run_script, spread_global,
};
use pirn_tool::{CallStatus, Deadline, Receipt};
use serde_json::Value;
use serde_json::value::RawValue;
use tokio::time::{Instant, timeout};
use tokio_util::sync::CancellationToken;

use super::effects::EffectNames;
use super::judge::{StateChange, blank_outcome, failure, refused};
use super::queue::Job;
use crate::capture::Capture;
use crate::limits::{
    CALL_GRACE, CALLS_IN_FLIGHT_MAX, FRAME_BYTES_MAX, FRAMES_MAX, LOSSY_MAX, NAME_BYTES_MAX,
};
use crate::options::KernelOptions;
use crate::outcome::{EvalFailure, EvalFailureKind, EvalOutcome, ProgramCall};
use crate::request::{CapabilityCaller, CapabilityFailure, EvalUpdate, Updates};
use crate::script::{CALL, ENGINE_NAME, Returned, returned, script_of};
use crate::text::cut_marked;
use crate::validate::{StateProblem, check_state};

/// How long a script may take to end after its cancellation, besides what its calls have; then it is dropped.
const SCRIPT_GRACE: Duration = Duration::from_millis(500);

/// Performs the calls of one program, and keeps what it prints. How many calls run at once is the runner's business.
struct Host {
    caller: Arc<dyn CapabilityCaller>,
    updates: Option<Updates>,
    effects: EffectNames,
    record: Arc<Mutex<Record>>,
}

struct Record {
    calls: u32,
    ended: Vec<ProgramCall>,
    stdout: KeptOutput,
}

/// What is kept of one output.
struct KeptOutput {
    capture: Capture,
    text: String,
}

impl KeptOutput {
    fn new(bytes_max: usize) -> Self {
        Self {
            capture: Capture::new(bytes_max),
            text: String::new(),
        }
    }

    /// Adds text; gives what was kept of it, if anything.
    fn push(&mut self, text: &str) -> Option<String> {
        let before = self.text.len();
        self.capture.push(text.as_bytes(), &mut self.text);
        let new = self.text.get(before..).unwrap_or_default();
        (!new.is_empty()).then(|| new.to_owned())
    }
}

fn lock(record: &Mutex<Record>) -> std::sync::MutexGuard<'_, Record> {
    record.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Host {
    fn new(job: &Job, output_bytes: usize) -> Self {
        let request = &job.request;
        Self {
            caller: Arc::clone(&request.caller),
            updates: request.updates.clone(),
            effects: EffectNames::new(request),
            record: Arc::new(Mutex::new(Record {
                calls: 0,
                ended: Vec::new(),
                stdout: KeptOutput::new(output_bytes),
            })),
        }
    }

    fn update(&self, update: impl FnOnce() -> EvalUpdate) {
        if let Some(updates) = &self.updates {
            updates(update());
        }
    }

    fn print(&self, text: &str) {
        // The lock is let go before somebody is told.
        let new = lock(&self.record).stdout.push(text);
        if let Some(new) = new {
            self.update(|| EvalUpdate::Stdout(new));
        }
    }
}

impl ScriptHost for Host {
    fn call(&self, call: HostCall) -> BoxFuture<'static, CallEnd> {
        let HostCall {
            arguments, cancel, ..
        } = call;
        let arguments = arguments.as_ref().map(JsonText::parse);
        let Some(Ok((name, input))) = arguments.map(|value| value.map(name_and_input)) else {
            let end = CallEnd::error("the input is nested too deep");
            return Box::pin(std::future::ready(end));
        };
        let mut record = lock(&self.record);
        record.calls += 1;
        let number = record.calls;
        let is_within = number <= FRAMES_MAX;
        drop(record);
        if !is_within {
            let failure = CapabilityFailure {
                name: "Aborted".to_owned(),
                message: format!("No further call can be made: the limit is {FRAMES_MAX}."),
            };
            return Box::pin(std::future::ready(end_of(Err(failure))));
        }
        let effects = self.effects.of(&name);
        let mut receipt = Receipt::with_start_of(&number.to_string(), &name, &input);
        let caller = Arc::clone(&self.caller);
        let record = Arc::clone(&self.record);
        let updates = self.updates.clone();
        Box::pin(async move {
            let started = Instant::now();
            let tell = |update| {
                if let Some(updates) = &updates {
                    updates(update);
                }
            };
            tell(EvalUpdate::CallStarted { name: name.clone() });
            let result = caller.call(name.clone(), input, cancel).await;
            let ok = result.is_ok();
            tell(EvalUpdate::CallEnded { name, ok });
            let error = result
                .as_ref()
                .err()
                .map(|failure| failure.message.as_str());
            let status = if ok {
                CallStatus::Ok
            } else {
                CallStatus::Error
            };
            receipt.end(status, started.elapsed(), error);
            lock(&record).ended.push(ProgramCall { receipt, effects });
            end_of(result)
        })
    }
}

fn end_of(result: Result<Value, CapabilityFailure>) -> CallEnd {
    match result {
        Ok(value) => CallEnd::ok(Some(JsonText::from_value(&value))),
        Err(failure) => CallEnd {
            settlement: Settlement::Rejected {
                message: failure.message,
                tool: None,
                call_id: None,
                kind: Some(failure.name),
                data: None,
            },
            status: CallStatus::Error,
            error: None,
            notes: Vec::new(),
        },
    }
}

/// The name and the input of a call.
fn name_and_input(arguments: Value) -> (String, Value) {
    let Value::Array(mut arguments) = arguments else {
        return (String::new(), Value::Null);
    };
    let input = if arguments.len() > 1 {
        arguments.swap_remove(1)
    } else {
        Value::Null
    };
    let name = arguments.first().and_then(Value::as_str);
    (name.unwrap_or_default().to_owned(), input)
}

/// Runs one eval by the engine of the options.
pub(super) async fn run(
    options: &KernelOptions,
    job: &Job,
    committed: Option<&RawValue>,
) -> (EvalOutcome, StateChange) {
    let not_run = |message: String| {
        let outcome = refused(job.request.language, EvalFailureKind::Spawn, message);
        (outcome, StateChange::Keep)
    };
    let engine = match &options.script_engine {
        Some(source) => source(),
        None => return not_run("There is no engine for JavaScript.".to_owned()),
    };
    let limit = options.output_bytes();
    let host = Arc::new(Host::new(job, limit));
    let environment = Environment::new([], vec![spread_global(CALL)], Arc::clone(&host) as Arc<_>);
    let (engine, environment) = match (engine, environment) {
        (Ok(engine), Ok(environment)) => (engine, environment),
        (Err(error), _) => return not_run(error.to_string()),
        (_, Err(error)) => return not_run(error.to_string()),
    };
    let state = committed.map_or("{}", RawValue::get);
    let script = script_of(&job.code, state, &job.request.capabilities);
    let time = options.timeout(job.request.timeout);
    let cancel = CancellationToken::new();
    let started = Instant::now();
    let deadline = job.request.clock.deadline(time);
    host.update(|| EvalUpdate::Started);
    let run_options = run_options(&host, &cancel, time);
    let mut running = Box::pin(run_script(&engine, &script, &environment, run_options));
    let (result, forced) = tokio::select! {
        result = &mut running => (Some(result), None),
        forced = stopped(job, &deadline) => {
            cancel.cancel();
            let result = timeout(SCRIPT_GRACE + CALL_GRACE, running).await;
            (result.ok(), Some(forced))
        }
    };
    let mut outcome = blank_outcome(job.request.language);
    ENGINE_NAME.clone_into(&mut outcome.interpreter);
    outcome.elapsed = started.elapsed();
    outcome.is_kernel_reused = committed.is_some();
    outcome
        .notes
        .push(format!("There is no node, so {ENGINE_NAME} ran it."));
    let mut record = lock(&host.record);
    let Record { stdout, ended, .. } = &mut *record;
    stdout.capture.finish(&mut stdout.text);
    outcome.is_cut = stdout.capture.is_cut();
    outcome.stdout = std::mem::take(&mut stdout.text);
    outcome.calls = std::mem::take(ended);
    drop(record);
    let end = result.map(|result| returned(&result));
    let change = take_end(end, forced, limit, &mut outcome);
    (outcome, change)
}

/// The limits of a program of `time`: the bounds of the calls are those of workers, the kernel keeps the deadline, and processor
/// time has a limit of its own, since a deadline stands still while a person is asked.
fn run_options(host: &Arc<Host>, cancel: &CancellationToken, time: Duration) -> RunOptions {
    let mut limits = ScriptLimits {
        wall: Duration::MAX,
        calls_in_flight_max: CALLS_IN_FLIGHT_MAX,
        calls_max: FRAMES_MAX,
        call_bytes_max: FRAME_BYTES_MAX,
        cancel_grace: CALL_GRACE,
        ..ScriptLimits::default()
    };
    limits.vm.cpu = time;
    let host = Arc::clone(host);
    RunOptions {
        limits,
        abort: Abort::on(cancel),
        progress: Some(Arc::new(move |progress: Progress<'_>| {
            if let Progress::Output(Output::Console(text) | Output::Text(text)) = progress {
                host.print(&format!("{text}\n"));
            }
        })),
        ..RunOptions::default()
    }
}

/// Waits for what stops an eval.
async fn stopped(job: &Job, deadline: &Deadline) -> EvalFailure {
    tokio::select! {
        () = deadline.over() => failure(
            EvalFailureKind::Timeout,
            format!("It timed out after {} s.", deadline.limit().as_secs_f64()),
        ),
        () = job.request.cancel.cancelled() => {
            failure(EvalFailureKind::Aborted, "It was aborted.".to_owned())
        }
        () = job.abandoned.cancelled() => {
            failure(EvalFailureKind::Aborted, "It was aborted.".to_owned())
        }
        () = job.ticket.handle().invalidated.cancelled() => failure(
            EvalFailureKind::Invalidated,
            "It was invalidated: the kernel was reset or closed.".to_owned(),
        ),
    }
}

fn take_end(
    end: Option<Result<Returned, EvalFailure>>,
    forced: Option<EvalFailure>,
    limit: usize,
    outcome: &mut EvalOutcome,
) -> StateChange {
    if let Some(forced) = forced {
        outcome.failure = Some(forced);
        return StateChange::Keep;
    }
    let Some(end) = end else {
        let text = "The engine ended without a result.".to_owned();
        outcome.failure = Some(failure(EvalFailureKind::WorkerExit, text));
        return StateChange::Keep;
    };
    match end {
        Err(EvalFailure {
            kind,
            message,
            trace,
        }) => {
            outcome.failure = Some(EvalFailure {
                kind,
                message: cut_marked(message, limit),
                trace: trace.map(|trace| cut_marked(trace, limit)),
            });
            StateChange::Keep
        }
        Ok(Returned {
            value,
            lossy,
            state,
        }) => match check_state(state.get()) {
            Ok(()) => {
                outcome.value = Some(value).filter(|value| *value != Value::Null);
                outcome.lossy = lossy
                    .into_iter()
                    .take(LOSSY_MAX)
                    .map(|place| cut_marked(place, NAME_BYTES_MAX))
                    .collect();
                StateChange::Commit(state.get().to_owned())
            }
            Err(StateProblem::Invalid(text)) => {
                outcome.failure = Some(failure(EvalFailureKind::StateInvalid, text));
                StateChange::Keep
            }
            Err(StateProblem::TooLarge(text)) => {
                outcome.failure = Some(failure(EvalFailureKind::StateTooLarge, text));
                StateChange::Keep
            }
        },
    }
}
