//! The calls of one eval: their inputs, their results on the way back, and their receipts.

use std::collections::{BTreeMap, HashSet};
use std::sync::Arc;
use std::time::Duration;

use pirn_tool::{CallDispatch, CallPanic, CallStatus, DispatchFull, Receipt};
use serde_json::Value;
use tokio::time::{Instant, timeout};
use tokio_util::sync::CancellationToken;

use super::effects::EffectNames;
use crate::frame::{TooLarge, push_call_result};
use crate::limits::{
    CALL_GRACE, CALLS_IN_FLIGHT_MAX, CALLS_WAITING_BYTES_MAX, CAPABILITY_NAME_BYTES_MAX,
    FRAME_BYTES_MAX,
};
use crate::outcome::ProgramCall;
use crate::request::{CapabilityCaller, CapabilityFailure, EvalRequest, EvalUpdate, Updates};
use crate::text::cut;
use crate::validate::has_huge_integer;

/// The calls of one eval.
pub(super) struct Calls {
    caller: Arc<dyn CapabilityCaller>,
    updates: Option<Updates>,
    effects: EffectNames,
    cancel: CancellationToken,
    dispatch: CallDispatch<String, CallEnd>,
    /// The records of the calls that are open, by the ids of the calls.
    open: BTreeMap<String, Receipt>,
    seen: HashSet<String>,
    ended: Vec<ProgramCall>,
}

/// How a call ended, and how long it took.
struct CallEnd {
    result: Result<Value, CapabilityFailure>,
    elapsed: Duration,
}

/// A call that has ended.
pub(super) struct EndedCall {
    call_id: String,
    end: CallEnd,
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
            dispatch: CallDispatch::new(CALLS_IN_FLIGHT_MAX, CALLS_WAITING_BYTES_MAX),
            open: BTreeMap::new(),
            seen: HashSet::new(),
            ended: Vec::new(),
        }
    }

    /// How many have not ended.
    pub(super) fn open(&self) -> usize {
        self.dispatch.open()
    }

    /// Takes a call on, or refuses it into `out`.
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
        let receipt = |name: &str| Receipt::with_start(call_id, name, input);
        if name.len() > CAPABILITY_NAME_BYTES_MAX {
            let shown = cut(name, CAPABILITY_NAME_BYTES_MAX);
            let failure = refusal("CapabilityUnknown", format!("Nothing is called {shown}…."));
            self.refuse(receipt(shown), &failure, out);
            return Ok(());
        }
        if self.cancel.is_cancelled() {
            let failure = refusal("Aborted", "The eval is being stopped.".to_owned());
            self.refuse(receipt(name), &failure, out);
            return Ok(());
        }
        let value = match read_input(input) {
            Ok(value) => value,
            Err(failure) => {
                self.refuse(receipt(name), &failure, out);
                return Ok(());
            }
        };
        if self.add(call_id, name, value, input.len()).is_ok() {
            self.open.insert(call_id.to_owned(), receipt(name));
        } else {
            let text = "Too many calls wait; make fewer at once.".to_owned();
            self.refuse(receipt(name), &refusal("CapabilityFailed", text), out);
        }
        Ok(())
    }

    fn add(
        &mut self,
        call_id: &str,
        name: &str,
        input: Value,
        input_bytes: usize,
    ) -> Result<(), DispatchFull> {
        let name = name.to_owned();
        let caller = Arc::clone(&self.caller);
        let cancel = self.cancel.child_token();
        let updates = self.updates.clone();
        self.dispatch.add(call_id.to_owned(), input_bytes, move || {
            if let Some(updates) = updates {
                updates(EvalUpdate::CallStarted { name: name.clone() });
            }
            let started = Instant::now();
            let call = caller.call(name, input, cancel);
            Box::pin(async move {
                CallEnd {
                    result: call.await,
                    elapsed: started.elapsed(),
                }
            })
        })
    }

    /// Waits for the next end; never ends while no call is open. Nothing is lost when it is dropped before it ends.
    pub(super) async fn next(&mut self) -> EndedCall {
        match self.dispatch.next().await {
            Some((call_id, end)) => EndedCall {
                call_id,
                end: end.unwrap_or_else(|panic| panicked(&panic)),
            },
            None => std::future::pending().await,
        }
    }

    /// Notes an end, and answers it into `out`.
    pub(super) fn settle(&mut self, ended: EndedCall, out: &mut Vec<u8>) {
        let EndedCall {
            call_id,
            end: CallEnd { result, elapsed },
        } = ended;
        let is_stopping = self.cancel.is_cancelled();
        let answer = push_call_result(out, &call_id, result.as_ref(), is_stopping);
        let mut error = result.err();
        if let Err(TooLarge { bytes }) = answer {
            let text = format!(
                "The result has {bytes} bytes; {FRAME_BYTES_MAX} is the limit. Ask for less at once."
            );
            let failure = refusal("ResultTooLarge", text);
            // A sentence always fits.
            let _short = push_call_result(out, &call_id, Err(&failure), is_stopping);
            error = Some(failure);
        }
        if let Some(receipt) = self.open.remove(&call_id) {
            let status = if error.is_none() {
                CallStatus::Ok
            } else {
                CallStatus::Error
            };
            let message = error.as_ref().map(|failure| failure.message.as_str());
            self.record(receipt, status, elapsed, message);
        }
    }

    /// Tells all that run to end, and forgets those that wait. No further call starts.
    pub(super) fn cancel(&mut self) {
        self.cancel.cancel();
        for call_id in self.dispatch.forget_waiting() {
            if let Some(receipt) = self.open.remove(&call_id) {
                self.record(receipt, CallStatus::Cancelled, Duration::ZERO, None);
            }
        }
    }

    /// Ends all that run, and gives the records. Calls that do not end within [`CALL_GRACE`] are dropped.
    pub(super) async fn finish(mut self) -> Vec<ProgramCall> {
        self.cancel();
        let stopping_at = Instant::now();
        let mut unheard = Vec::new();
        let _late = timeout(CALL_GRACE, async {
            while self.open() > 0 {
                let ended = self.next().await;
                unheard.clear();
                self.settle(ended, &mut unheard);
            }
        })
        .await;
        self.dispatch.drop_in_flight();
        for receipt in std::mem::take(&mut self.open).into_values() {
            self.record(receipt, CallStatus::Unknown, stopping_at.elapsed(), None);
        }
        self.ended
    }

    fn refuse(&mut self, receipt: Receipt, failure: &CapabilityFailure, out: &mut Vec<u8>) {
        // A sentence always fits.
        let _short = push_call_result(out, &receipt.id, Err(failure), self.cancel.is_cancelled());
        let message = Some(failure.message.as_str());
        self.record(receipt, CallStatus::Error, Duration::ZERO, message);
    }

    fn record(
        &mut self,
        mut receipt: Receipt,
        status: CallStatus,
        elapsed: Duration,
        error: Option<&str>,
    ) {
        receipt.end(status, elapsed, error);
        if let Some(updates) = &self.updates {
            updates(EvalUpdate::CallEnded {
                name: receipt.name.clone(),
                ok: status == CallStatus::Ok,
            });
        }
        let effects = self.effects.of(&receipt.name);
        self.ended.push(ProgramCall { receipt, effects });
    }
}

fn refusal(name: &str, message: String) -> CapabilityFailure {
    CapabilityFailure {
        name: name.to_owned(),
        message,
    }
}

fn panicked(panic: &CallPanic) -> CallEnd {
    CallEnd {
        result: Err(refusal(
            "CapabilityFailed",
            format!("The call panicked: {}.", panic.message),
        )),
        elapsed: Duration::ZERO,
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
