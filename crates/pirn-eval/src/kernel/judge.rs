//! From what one eval left to its outcome: whether it counts, what is committed, what a reader is told.

use serde_json::Value;

use super::protocol::{Completion, Provisional};
use super::run::{End, Transcript};
use crate::frame::{Cause, EngineName, WorkerError};
use crate::limits::NAME_BYTES_MAX;
use crate::outcome::{EvalFailure, EvalFailureKind, EvalOutcome, KernelState, ProgramCall};
use crate::request::Language;
use crate::text::cut_marked;
use crate::validate::{StateProblem, check_state};

/// What a worker calls errors about `state`.
const STATE_INVALID: &str = "StateInvalid";
const STATE_TOO_LARGE: &str = "StateTooLarge";

/// An outcome that says nothing yet.
pub(super) fn blank_outcome(language: Language) -> EvalOutcome {
    EvalOutcome {
        language,
        stdout: String::new(),
        stderr: String::new(),
        is_cut: false,
        value: None,
        value_text: None,
        displays: Vec::new(),
        lossy: Vec::new(),
        failure: None,
        calls: Vec::new(),
        decisions: Vec::new(),
        state: KernelState::Unchanged,
        is_kernel_reused: false,
        elapsed: std::time::Duration::ZERO,
        interpreter: String::new(),
        sandbox: None,
        notes: Vec::new(),
    }
}

/// The outcome of an eval that never ran.
pub(super) fn refused(language: Language, kind: EvalFailureKind, message: String) -> EvalOutcome {
    EvalOutcome {
        failure: Some(failure(kind, message)),
        ..blank_outcome(language)
    }
}

pub(super) fn failure(kind: EvalFailureKind, message: String) -> EvalFailure {
    EvalFailure {
        kind,
        message,
        trace: None,
    }
}

/// What is to be done with the state of a branch.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum StateChange {
    /// The program succeeded and left this state, which was checked.
    Commit(String),
    /// A live namespace goes on.
    Live,
    /// The state stays as it was committed before.
    Keep,
    /// A live namespace is gone.
    Gone,
}

/// What the judge needs to know besides.
pub(super) struct JudgeContext {
    pub(super) language: Language,
    pub(super) engine: EngineName,
    pub(super) output_bytes_max: usize,
}

/// Judges an eval. The change says what to do with the state; the outcome's `state` is then the caller's to set.
pub(super) fn judge(
    transcript: Transcript,
    receipts: Vec<ProgramCall>,
    open_calls: usize,
    end: &End,
    broker_end: &str,
    context: &JudgeContext,
) -> (EvalOutcome, StateChange) {
    let limit = context.output_bytes_max;
    let mut outcome = blank_outcome(context.language);
    outcome.stdout = transcript.stdout;
    outcome.stderr = transcript.stderr;
    outcome.calls = receipts;
    outcome.interpreter = transcript.interpreter;
    outcome.elapsed = transcript
        .started
        .map(|at| at.elapsed())
        .unwrap_or_default();
    let mut protocol = transcript.protocol;
    outcome.displays = std::mem::take(&mut protocol.displays);
    if protocol.displays_left_out > 0 {
        outcome.notes.push(format!(
            "{} pictures above the limit were left out.",
            protocol.displays_left_out
        ));
    }
    let is_started = transcript.started.is_some();
    let result = protocol.into_result();
    let is_complete = matches!(&result, Some((_, Completion::Complete)));
    let ended_well = match end {
        End::Ended(ended) => {
            outcome.is_cut = ended.is_cut;
            outcome.decisions.clone_from(&ended.decisions);
            outcome.notes.extend_from_slice(&ended.set_aside);
            match ended.cause {
                Cause::Finished => context.engine == EngineName::Fresh && is_complete,
                Cause::Kept => is_complete,
                Cause::NoInterpreter | Cause::NotStarted | Cause::Died => false,
            }
        }
        End::BrokerGone | End::BrokerSilent | End::BrokerUnreadable | End::NotSent(_) => false,
    };
    let is_kept = matches!(end, End::Ended(ended) if ended.cause == Cause::Kept);
    let provisional = result.map(|(result, _)| result).unwrap_or_default();
    outcome.failure = match transcript.forced {
        Some(forced) => Some(forced),
        None if !ended_well => Some(end_failure(end, open_calls, &outcome.stderr, broker_end)),
        None if !provisional.is_ok => Some(program_failure(provisional.error.as_ref(), limit)),
        None => None,
    };
    if let Some(failure) = &mut outcome.failure {
        failure.message = cut_marked(std::mem::take(&mut failure.message), limit);
        if failure.trace.is_none() && failure.kind != EvalFailureKind::UserError {
            failure.trace = trace_of(provisional.error.as_ref(), limit);
        }
    }
    let change = match context.engine {
        EngineName::Persistent if is_kept => StateChange::Live,
        EngineName::Persistent if is_started => StateChange::Gone,
        EngineName::Fresh if outcome.failure.is_none() => take_state(&provisional, &mut outcome),
        EngineName::Persistent | EngineName::Fresh => StateChange::Keep,
    };
    if outcome.failure.is_none() {
        outcome.value = provisional.value.filter(|value| *value != Value::Null);
        outcome.value_text = provisional.value_text.map(|text| cut_marked(text, limit));
        outcome.lossy = provisional.lossy;
    }
    (outcome, change)
}

/// Checks the state of a successful fresh eval; a bad one makes the eval fail.
fn take_state(result: &Provisional, outcome: &mut EvalOutcome) -> StateChange {
    let problem = match &result.state {
        None => failure(
            EvalFailureKind::Protocol,
            "The worker's result has no state.".to_owned(),
        ),
        Some(state) => match check_state(state) {
            Ok(()) => return StateChange::Commit(state.clone()),
            Err(StateProblem::Invalid(text)) => failure(EvalFailureKind::StateInvalid, text),
            Err(StateProblem::TooLarge(text)) => failure(EvalFailureKind::StateTooLarge, text),
        },
    };
    outcome.failure = Some(problem);
    StateChange::Keep
}

/// An eval that ended without a result that counts.
fn end_failure(end: &End, open_calls: usize, stderr: &str, broker_end: &str) -> EvalFailure {
    let ended = match end {
        End::Ended(ended) => ended,
        End::NotSent(text) => return failure(EvalFailureKind::CodeTooLarge, text.clone()),
        End::BrokerGone | End::BrokerSilent | End::BrokerUnreadable => {
            return failure(EvalFailureKind::WorkerExit, broker_end.to_owned());
        }
    };
    match ended.cause {
        Cause::NoInterpreter | Cause::NotStarted => {
            failure(EvalFailureKind::Spawn, ended.detail.clone())
        }
        Cause::Finished | Cause::Died | Cause::Kept if open_calls > 0 => failure(
            EvalFailureKind::UnsettledCalls,
            format!(
                "The worker ended before capability calls settled ({open_calls} were open): {}.",
                ended.detail
            ),
        ),
        Cause::Finished | Cause::Died | Cause::Kept => {
            let mut text = format!(
                "The worker exited without a finalized result: {}.",
                ended.detail
            );
            let tail = stderr.trim();
            if !tail.is_empty() {
                let start = tail.ceil_char_boundary(tail.len().saturating_sub(TAIL_BYTES));
                text.push_str(" It wrote: ");
                text.push_str(tail.get(start..).unwrap_or_default());
            }
            failure(EvalFailureKind::WorkerExit, text)
        }
    }
}

/// How much of standard error an error text repeats, in bytes; all of it is in the outcome.
const TAIL_BYTES: usize = 1_000;

/// An eval whose program failed.
fn program_failure(error: Option<&WorkerError>, limit: usize) -> EvalFailure {
    let Some(error) = error else {
        return failure(EvalFailureKind::UserError, "The program failed.".to_owned());
    };
    let kind = match error.name.as_str() {
        STATE_INVALID => EvalFailureKind::StateInvalid,
        STATE_TOO_LARGE => EvalFailureKind::StateTooLarge,
        _ => EvalFailureKind::UserError,
    };
    let name = cut_marked(error.name.clone(), NAME_BYTES_MAX);
    let message = if kind != EvalFailureKind::UserError || name.is_empty() {
        error.message.clone()
    } else if error.message.is_empty() {
        name
    } else {
        format!("{name}: {}", error.message)
    };
    EvalFailure {
        kind,
        message,
        trace: trace_of(Some(error), limit),
    }
}

fn trace_of(error: Option<&WorkerError>, limit: usize) -> Option<String> {
    error?
        .trace
        .clone()
        .filter(|trace| !trace.is_empty())
        .map(|trace| cut_marked(trace, limit))
}
