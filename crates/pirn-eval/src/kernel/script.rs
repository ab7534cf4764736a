//! JavaScript by the embedder's engine, where there is no node: same limits, same receipts, no process.

use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use futures_util::future::BoxFuture;
use serde_json::Value;
use serde_json::value::RawValue;
use tokio::sync::Semaphore;
use tokio::time::{Instant, sleep_until, timeout};
use tokio_util::sync::CancellationToken;

use super::effects::EffectNames;
use super::judge::{StateChange, blank_outcome, failure, refused};
use super::queue::Job;
use crate::capture::Capture;
use crate::limits::{CALL_GRACE, CALLS_IN_FLIGHT_MAX, FRAMES_MAX, LOSSY_MAX, NAME_BYTES_MAX};
use crate::options::KernelOptions;
use crate::outcome::{CallReceipt, EvalErrorKind, EvalFailure, EvalOutcome};
use crate::request::{CapabilityCaller, CapabilityFailure, EvalUpdate, Updates};
use crate::script::{ScriptEnd, ScriptHost, ScriptRun};
use crate::text::cut_marked;
use crate::validate::{StateProblem, check_state};

/// How long an engine may take to end after its cancellation; then it is dropped.
const ENGINE_GRACE: Duration = Duration::from_millis(500);

/// The kernel, as a program of an engine sees it.
struct Host {
    caller: Arc<dyn CapabilityCaller>,
    updates: Option<Updates>,
    effects: EffectNames,
    cancel: CancellationToken,
    turns: Arc<Semaphore>,
    record: Arc<Mutex<Record>>,
}

struct Record {
    calls: u32,
    receipts: Vec<CallReceipt>,
    stdout: Kept,
    stderr: Kept,
}

/// What is kept of one output.
struct Kept {
    capture: Capture,
    text: String,
}

impl Kept {
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
            cancel: CancellationToken::new(),
            turns: Arc::new(Semaphore::new(CALLS_IN_FLIGHT_MAX)),
            record: Arc::new(Mutex::new(Record {
                calls: 0,
                receipts: Vec::new(),
                stdout: Kept::new(output_bytes),
                stderr: Kept::new(output_bytes),
            })),
        }
    }

    fn update(&self, update: impl FnOnce() -> EvalUpdate) {
        if let Some(updates) = &self.updates {
            updates(update());
        }
    }
}

impl ScriptHost for Host {
    fn call(
        &self,
        name: String,
        input: Value,
    ) -> BoxFuture<'static, Result<Value, CapabilityFailure>> {
        let refusal = |name: &str, message: &str| CapabilityFailure {
            name: name.to_owned(),
            message: message.to_owned(),
        };
        let mut record = lock(&self.record);
        record.calls += 1;
        let is_within = record.calls <= FRAMES_MAX;
        drop(record);
        if self.cancel.is_cancelled() || !is_within {
            let text = "No further call can be made: the eval is over, or it has made too many.";
            let refused = refusal("Aborted", text);
            return Box::pin(std::future::ready(Err(refused)));
        }
        let effects = self.effects.of(&name);
        let caller = Arc::clone(&self.caller);
        let turns = Arc::clone(&self.turns);
        let cancel = self.cancel.child_token();
        let record = Arc::clone(&self.record);
        let updates = self.updates.clone();
        let closed = refusal("Aborted", "The eval is over.");
        Box::pin(async move {
            let Ok(_turn) = turns.acquire_owned().await else {
                return Err(closed);
            };
            let started = Instant::now();
            let tell = |update| {
                if let Some(updates) = &updates {
                    updates(update);
                }
            };
            tell(EvalUpdate::CallStarted { name: name.clone() });
            let result = caller.call(name.clone(), input, cancel).await;
            let ok = result.is_ok();
            tell(EvalUpdate::CallEnded {
                name: name.clone(),
                ok,
            });
            lock(&record).receipts.push(CallReceipt {
                name,
                effects,
                elapsed: started.elapsed(),
                ok,
            });
            result
        })
    }

    fn print(&self, text: &str) {
        // The lock is let go before somebody is told.
        let new = lock(&self.record).stdout.push(text);
        if let Some(new) = new {
            self.update(|| EvalUpdate::Stdout(new));
        }
    }

    fn print_error(&self, text: &str) {
        // The lock is let go before somebody is told.
        let new = lock(&self.record).stderr.push(text);
        if let Some(new) = new {
            self.update(|| EvalUpdate::Stderr(new));
        }
    }
}

/// Runs one eval by the engine of the options.
pub(super) async fn run(
    options: &KernelOptions,
    job: &Job,
    committed: Option<&RawValue>,
) -> (EvalOutcome, StateChange) {
    let language = job.request.language;
    let Some(engine) = &options.script_engine else {
        let text = "There is no engine for JavaScript.".to_owned();
        return (
            refused(language, EvalErrorKind::Spawn, text),
            StateChange::Keep,
        );
    };
    let limit = options.output_bytes();
    let host = Arc::new(Host::new(job, limit));
    let started = Instant::now();
    let time = options.timeout(job.request.timeout);
    host.update(|| EvalUpdate::Started);
    let mut running = engine.run(ScriptRun {
        code: job.code.clone(),
        state: committed.map_or_else(|| "{}".to_owned(), |state| state.get().to_owned()),
        capabilities: job.request.capabilities.clone(),
        host: Arc::clone(&host) as Arc<dyn ScriptHost>,
        cancel: host.cancel.clone(),
    });
    let (end, forced) = tokio::select! {
        end = &mut running => (Some(end), None),
        forced = stopped(job, started + time, time) => {
            host.cancel.cancel();
            (timeout(ENGINE_GRACE, running).await.ok(), Some(forced))
        }
    };
    host.cancel.cancel();
    settle_calls(&host).await;
    let mut outcome = blank_outcome(language);
    engine.name().clone_into(&mut outcome.interpreter);
    outcome.elapsed = started.elapsed();
    outcome.is_kernel_reused = committed.is_some();
    outcome
        .notes
        .push(format!("There is no node, so {} ran it.", engine.name()));
    let mut record = lock(&host.record);
    let Record {
        stdout,
        stderr,
        receipts,
        ..
    } = &mut *record;
    for (kept, shown) in [(stdout, &mut outcome.stdout), (stderr, &mut outcome.stderr)] {
        kept.capture.finish(&mut kept.text);
        outcome.is_cut |= kept.capture.is_cut();
        *shown = std::mem::take(&mut kept.text);
    }
    outcome.calls = std::mem::take(receipts);
    drop(record);
    let change = take_end(end, forced, limit, &mut outcome);
    (outcome, change)
}

/// Waits for what stops an eval.
async fn stopped(job: &Job, deadline: Instant, time: Duration) -> EvalFailure {
    tokio::select! {
        () = sleep_until(deadline) => failure(
            EvalErrorKind::Timeout,
            format!("It timed out after {} s.", time.as_secs_f64()),
        ),
        () = job.request.cancel.cancelled() => {
            failure(EvalErrorKind::Aborted, "It was aborted.".to_owned())
        }
        () = job.abandoned.cancelled() => {
            failure(EvalErrorKind::Aborted, "It was aborted.".to_owned())
        }
        () = job.ticket.handle().invalidated.cancelled() => failure(
            EvalErrorKind::Invalidated,
            "It was invalidated: the kernel was reset or closed.".to_owned(),
        ),
    }
}

/// Waits a bounded time until no call runs: each holds a turn.
async fn settle_calls(host: &Host) {
    let all = u32::try_from(CALLS_IN_FLIGHT_MAX).unwrap_or(u32::MAX);
    let _late = timeout(CALL_GRACE, host.turns.acquire_many(all)).await;
    host.turns.close();
}

fn take_end(
    end: Option<ScriptEnd>,
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
        outcome.failure = Some(failure(EvalErrorKind::WorkerExit, text));
        return StateChange::Keep;
    };
    match end.result {
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
        Ok(value) => match check_state(&end.state) {
            Ok(()) => {
                outcome.value = Some(value).filter(|value| *value != Value::Null);
                outcome.lossy = end
                    .lossy
                    .into_iter()
                    .take(LOSSY_MAX)
                    .map(|place| cut_marked(place, NAME_BYTES_MAX))
                    .collect();
                StateChange::Commit(end.state)
            }
            Err(StateProblem::Invalid(text)) => {
                outcome.failure = Some(failure(EvalErrorKind::StateInvalid, text));
                StateChange::Keep
            }
            Err(StateProblem::TooLarge(text)) => {
                outcome.failure = Some(failure(EvalErrorKind::StateTooLarge, text));
                StateChange::Keep
            }
        },
    }
}
