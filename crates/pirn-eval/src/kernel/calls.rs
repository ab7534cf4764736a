//! The calls of one eval: how many run, which wait, and their receipts.

use std::any::Any;
use std::collections::{BTreeMap, HashSet, VecDeque};
use std::panic::AssertUnwindSafe;
use std::sync::Arc;
use std::time::Duration;

use futures_util::FutureExt as _;
use futures_util::StreamExt as _;
use futures_util::future::BoxFuture;
use futures_util::stream::FuturesUnordered;
use serde_json::Value;
use tokio::time::{Instant, timeout};
use tokio_util::sync::CancellationToken;

use super::effects::EffectNames;
use crate::frame::{TooLarge, push_call_result};
use crate::limits::{
    CALL_GRACE, CALLS_IN_FLIGHT_MAX, CALLS_WAITING_BYTES_MAX, CAPABILITY_NAME_BYTES_MAX,
    FRAME_BYTES_MAX,
};
use crate::outcome::CallReceipt;
use crate::request::{CapabilityCaller, CapabilityFailure, EvalRequest, EvalUpdate, Updates};
use crate::text::cut;
use crate::validate::has_huge_integer;

/// The calls of one eval.
pub(super) struct Calls {
    caller: Arc<dyn CapabilityCaller>,
    updates: Option<Updates>,
    effects: EffectNames,
    cancel: CancellationToken,
    running: FuturesUnordered<BoxFuture<'static, Finished>>,
    running_names: BTreeMap<String, (String, Instant)>,
    waiting: VecDeque<Waiting>,
    waiting_bytes: usize,
    seen: HashSet<String>,
    receipts: Vec<CallReceipt>,
}

struct Waiting {
    call_id: String,
    name: String,
    input: Value,
    input_bytes: usize,
}

/// A call that has ended.
pub(super) struct Finished {
    call_id: String,
    result: Result<Value, CapabilityFailure>,
}

/// A `callId` came twice.
#[derive(Debug)]
pub(super) struct Duplicate;

impl Calls {
    pub(super) fn new(request: &EvalRequest) -> Self {
        Self {
            caller: Arc::clone(&request.caller),
            updates: request.updates.clone(),
            effects: EffectNames::new(request),
            cancel: CancellationToken::new(),
            running: FuturesUnordered::new(),
            running_names: BTreeMap::new(),
            waiting: VecDeque::new(),
            waiting_bytes: 0,
            seen: HashSet::new(),
            receipts: Vec::new(),
        }
    }

    /// How many have not ended.
    pub(super) fn open(&self) -> usize {
        self.running.len() + self.waiting.len()
    }

    /// Whether one may end.
    pub(super) fn are_running(&self) -> bool {
        !self.running.is_empty()
    }

    /// Takes a call. What is refused at once is answered into `out`.
    pub(super) fn request(
        &mut self,
        call_id: &str,
        name: &str,
        input: &str,
        out: &mut Vec<u8>,
    ) -> Result<(), Duplicate> {
        if !self.seen.insert(call_id.to_owned()) {
            return Err(Duplicate);
        }
        if name.len() > CAPABILITY_NAME_BYTES_MAX {
            let shown = cut(name, CAPABILITY_NAME_BYTES_MAX);
            let failure = refusal("CapabilityUnknown", format!("Nothing is called {shown}…."));
            self.refuse(call_id, shown, &failure, out);
            return Ok(());
        }
        if self.cancel.is_cancelled() {
            let failure = refusal("Aborted", "The eval is being stopped.".to_owned());
            self.refuse(call_id, name, &failure, out);
            return Ok(());
        }
        let value = match read_input(input) {
            Ok(value) => value,
            Err(failure) => {
                self.refuse(call_id, name, &failure, out);
                return Ok(());
            }
        };
        if self.running.len() < CALLS_IN_FLIGHT_MAX {
            self.start(call_id.to_owned(), name.to_owned(), value);
        } else if self.waiting_bytes + input.len() > CALLS_WAITING_BYTES_MAX {
            let text = "Too many calls wait; make fewer at once.".to_owned();
            self.refuse(call_id, name, &refusal("CapabilityFailed", text), out);
        } else {
            self.waiting_bytes += input.len();
            self.waiting.push_back(Waiting {
                call_id: call_id.to_owned(),
                name: name.to_owned(),
                input: value,
                input_bytes: input.len(),
            });
        }
        Ok(())
    }

    /// Waits for the next end; only while [`Calls::are_running`]. Nothing is lost when it is dropped before it ends.
    pub(super) async fn next(&mut self) -> Option<Finished> {
        self.running.next().await
    }

    /// Notes an end, answers it into `out`, and starts what waits.
    pub(super) fn settle(&mut self, finished: Finished, out: &mut Vec<u8>) {
        let Finished { call_id, result } = finished;
        let answer = push_call_result(out, &call_id, result.as_ref());
        let mut is_ok = result.is_ok();
        if let Err(TooLarge { bytes }) = answer {
            is_ok = false;
            let text = format!(
                "The result has {bytes} bytes; {FRAME_BYTES_MAX} is the limit. Ask for less at once."
            );
            let failure = refusal("ResultTooLarge", text);
            // A sentence always fits.
            let _short = push_call_result(out, &call_id, Err(&failure));
        }
        if let Some((name, started)) = self.running_names.remove(&call_id) {
            self.record(name, started.elapsed(), is_ok);
        }
        if !self.cancel.is_cancelled()
            && let Some(next) = self.waiting.pop_front()
        {
            self.waiting_bytes -= next.input_bytes;
            self.start(next.call_id, next.name, next.input);
        }
    }

    /// Tells all that run to end, and forgets those that wait. No further call starts.
    pub(super) fn cancel(&mut self) {
        self.cancel.cancel();
        self.waiting_bytes = 0;
        for waiting in std::mem::take(&mut self.waiting) {
            self.record(waiting.name, Duration::ZERO, false);
        }
    }

    /// Ends all that run, and gives the receipts. Calls that do not end within [`CALL_GRACE`] are dropped.
    pub(super) async fn finish(mut self) -> Vec<CallReceipt> {
        self.cancel();
        let mut unheard = Vec::new();
        let _late = timeout(CALL_GRACE, async {
            while let Some(finished) = self.running.next().await {
                unheard.clear();
                self.settle(finished, &mut unheard);
            }
        })
        .await;
        let dropped = std::mem::take(&mut self.running_names);
        for (name, started) in dropped.into_values() {
            self.record(name, started.elapsed(), false);
        }
        self.receipts
    }

    fn start(&mut self, call_id: String, name: String, input: Value) {
        self.update(|| EvalUpdate::CallStarted { name: name.clone() });
        self.running_names
            .insert(call_id.clone(), (name.clone(), Instant::now()));
        let caller = Arc::clone(&self.caller);
        let cancel = self.cancel.child_token();
        let call = async move { caller.call(name, input, cancel).await };
        let guarded = AssertUnwindSafe(call).catch_unwind();
        self.running.push(Box::pin(async move {
            let result = guarded
                .await
                .unwrap_or_else(|panic| Err(refusal("CapabilityFailed", panic_text(&panic))));
            Finished { call_id, result }
        }));
    }

    fn refuse(
        &mut self,
        call_id: &str,
        name: &str,
        failure: &CapabilityFailure,
        out: &mut Vec<u8>,
    ) {
        // A sentence always fits.
        let _short = push_call_result(out, call_id, Err(failure));
        self.record(name.to_owned(), Duration::ZERO, false);
    }

    fn record(&mut self, name: String, elapsed: Duration, ok: bool) {
        self.update(|| EvalUpdate::CallEnded {
            name: name.clone(),
            ok,
        });
        let effects = self.effects.of(&name);
        self.receipts.push(CallReceipt {
            name,
            effects,
            elapsed,
            ok,
        });
    }

    fn update(&self, update: impl FnOnce() -> EvalUpdate) {
        if let Some(updates) = &self.updates {
            updates(update());
        }
    }
}

fn refusal(name: &str, message: String) -> CapabilityFailure {
    CapabilityFailure {
        name: name.to_owned(),
        message,
    }
}

/// Reads an input whole, or says why that cannot be.
fn read_input(input: &str) -> Result<Value, CapabilityFailure> {
    if has_huge_integer(input) {
        let text = "An integer of the input has more than 64 bits; give it as a string.".to_owned();
        return Err(refusal("CapabilityFailed", text));
    }
    serde_json::from_str(input).map_err(|error| {
        let text = format!("The input cannot be read whole: {error}.");
        refusal("CapabilityFailed", text)
    })
}

fn panic_text(panic: &Box<dyn Any + Send>) -> String {
    let text = panic
        .downcast_ref::<&str>()
        .map(|text| (*text).to_owned())
        .or_else(|| panic.downcast_ref::<String>().cloned())
        .unwrap_or_else(|| "unknown".to_owned());
    format!("The call panicked: {text}.")
}
