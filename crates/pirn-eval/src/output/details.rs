//! The facts about an eval, for front ends and for the session's record. They hold no inputs and no outputs of calls.

use std::time::Duration;

use pirn_tool::CallStatus;
use serde_json::{Value, json};

use super::EvalReport;
use crate::outcome::{EvalFailure, EvalOutcome, ProgramCall};

/// Calls that are listed; a program may make thousands, and a session keeps every result for good.
const CALLS_MAX: usize = 256;
/// Places of the value that are listed.
const LOSSY_MAX: usize = 32;

impl EvalReport {
    /// The facts, as `details` of the result. `is_cut` says whether the text of the result was cut.
    pub fn details(&self, is_cut: bool) -> Value {
        match self {
            Self::Refused {
                language,
                failure,
                denial,
            } => json!({
                "ok": false,
                "language": language.as_str(),
                "elapsedMs": 0,
                "capabilityCalls": 0,
                "capabilityInvocations": [],
                "kernelReused": false,
                "truncated": is_cut,
                "error": error(failure),
                "denied": denial.is_some(),
                "state": "unchanged",
            }),
            Self::Ran { outcome, approval } => {
                let mut details = ran(outcome, is_cut);
                details["approval"] = approval.as_str().into();
                details
            }
        }
    }
}

fn ran(outcome: &EvalOutcome, is_cut: bool) -> Value {
    let invocations: Vec<Value> = outcome
        .calls
        .iter()
        .take(CALLS_MAX)
        .map(invocation)
        .collect();
    let mut details = json!({
        "ok": outcome.failure.is_none(),
        "language": outcome.language.as_str(),
        "elapsedMs": milliseconds(outcome.elapsed),
        "capabilityCalls": outcome.calls.len(),
        "capabilityInvocations": invocations,
        "kernelReused": outcome.is_kernel_reused,
        "truncated": outcome.is_cut || is_cut,
        "denied": false,
        "state": outcome.state.as_str(),
        "interpreter": outcome.interpreter,
    });
    if let Some(failure) = &outcome.failure {
        details["error"] = error(failure);
    }
    if !outcome.lossy.is_empty() {
        let places: Vec<&String> = outcome.lossy.iter().take(LOSSY_MAX).collect();
        details["lossy"] = json!(places);
    }
    if !outcome.notes.is_empty() {
        details["notes"] = json!(outcome.notes);
    }
    // A report always serialises: it is names and sentences.
    if let Some(Ok(report)) = outcome.sandbox.as_ref().map(serde_json::to_value) {
        details["sandbox"] = report;
        if !outcome.decisions.is_empty() {
            details["sandbox"]["decisions"] = json!(outcome.decisions);
        }
    }
    details
}

fn invocation(call: &ProgramCall) -> Value {
    let receipt = &call.receipt;
    json!({
        "name": receipt.name,
        "effects": call.effects,
        "elapsedMs": receipt.duration_ms.unwrap_or_default(),
        "ok": receipt.status == CallStatus::Ok,
    })
}

fn error(failure: &EvalFailure) -> Value {
    let mut error = json!({"kind": failure.kind.as_str(), "message": failure.message});
    if let Some(trace) = &failure.trace {
        error["trace"] = trace.as_str().into();
    }
    error
}

fn milliseconds(duration: Duration) -> u64 {
    u64::try_from(duration.as_millis()).unwrap_or(u64::MAX)
}
