//! The calls of one script: started in order within the limits, recorded, stopped with it, saved with it.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::{Duration, Instant};

use pirn_tool::{CallDispatch, CallPanic, CallStage, CallStatus, DispatchFull, Receipt, excerpt};
use pirn_vm::{CallId, CallTarget, JsonText, Settlement};
use tokio::sync::watch;
use tokio_util::sync::CancellationToken;

use super::results::WaitingResults;
use super::{Collected, Progress, SavedCall, SavedStage};
use crate::abort::Abort;
use crate::host::{CallEnd, Environment, HostCall, ResumedCall};
use crate::limits::{Limit, ScriptLimits};

/// Bytes of the arguments of calls that wait for room, in all: what the memory of one script is by default.
const WAITING_BYTES_MAX: usize = 256 << 20;

/// Notes about calls that a script's result tells; equal ones are told once.
const CALL_NOTES_MAX: usize = 20;

/// A call, and the place of its record; globals have none.
type Key = (CallId, Option<usize>);

/// The calls of one script, running and waiting.
pub(crate) struct Calls {
    environment: Environment,
    pub(crate) records: Vec<Receipt>,
    started: Vec<Instant>,
    dispatch: CallDispatch<Key, CallEnd>,
    /// What is needed to save the calls that are open.
    open: BTreeMap<CallId, OpenCall>,
    cancel: CancellationToken,
    /// The results that the script has not read.
    pub(super) results: WaitingResults,
    total_max: u32,
    bytes_max: usize,
}

#[derive(Clone)]
struct OpenCall {
    record: Option<usize>,
    arguments: Option<JsonText>,
    stage: watch::Sender<CallStage>,
    cancel: CancellationToken,
}

impl OpenCall {
    fn of(record: Option<usize>, call: &HostCall) -> Self {
        Self {
            record,
            arguments: call.arguments.clone(),
            stage: call.stage.clone(),
            cancel: call.cancel.clone(),
        }
    }

    fn saved(&self, id: CallId, stage: SavedStage) -> SavedCall {
        SavedCall {
            id: id.as_u32(),
            record: self.record,
            arguments: self.arguments.clone(),
            stage,
        }
    }
}

/// How calls in flight come to their end.
#[derive(Clone, Copy)]
enum Ending {
    ByThemselves,
    Told,
}

/// How long calls may take to end when their script is suspended.
#[derive(Clone, Copy)]
pub(super) struct Graces {
    /// How long calls may go on by themselves.
    pub(super) suspend: Duration,
    /// Once they were told to stop.
    pub(super) cancel: Duration,
}

impl Calls {
    pub(super) fn new(
        environment: Environment,
        limits: &ScriptLimits,
        results: WaitingResults,
    ) -> Self {
        Self {
            environment,
            records: Vec::new(),
            started: Vec::new(),
            dispatch: CallDispatch::new(limits.calls_in_flight_max, WAITING_BYTES_MAX),
            open: BTreeMap::new(),
            cancel: CancellationToken::new(),
            results,
            total_max: limits.calls_max,
            bytes_max: limits.call_bytes_max,
        }
    }

    /// Puts back the records of a saved script.
    pub(super) fn continue_from(&mut self, records: Vec<Receipt>, now: Instant) {
        self.started = vec![now; records.len()];
        self.records = records;
    }

    /// Takes a call on, or says why it is refused.
    pub(super) fn accept(
        &mut self,
        id: CallId,
        target: CallTarget,
        name: String,
        arguments: Option<JsonText>,
        collected: &mut Collected,
    ) -> Option<CallEnd> {
        let size = arguments.as_ref().map_or(0, |json| json.as_str().len());
        let mut number = 0;
        let mut record = None;
        if target == CallTarget::Tool {
            if self.records.len() >= self.total_max as usize {
                let limit = self.total_max;
                let message = format!(
                    "{name}: the script has made {limit} calls, which is its limit. {}",
                    Limit::CallsMax.advice()
                );
                return Some(over_limit(&name, None, message));
            }
            number = number_of(self.records.len());
            record = Some(self.records.len());
            let call_id = self.environment.host.call_id(number);
            let call_id = call_id.unwrap_or_else(|| number.to_string());
            let shown = arguments.as_ref().map_or("", |json| json.as_str());
            self.records
                .push(Receipt::with_start(&call_id, &name, shown));
            self.started.push(Instant::now());
            if let Some(record) = self.records.last() {
                collected.report(&Progress::CallStarted(record));
            }
        }
        if size > self.bytes_max {
            let limit = self.bytes_max;
            let message = format!(
                "{name}: the argument has {size} bytes of JSON, the limit is {limit}. {}",
                Limit::CallBytes.advice()
            );
            let end = over_limit(&name, self.environment.host.call_id(number), message);
            self.close(record, &end, collected);
            return Some(end);
        }
        let call = HostCall {
            number,
            target,
            name,
            arguments,
            cancel: self.cancel.child_token(),
            stage: watch::Sender::new(CallStage::Waiting),
            question_id: None,
        };
        if self.add((id, record), call).is_err() {
            let limit = WAITING_BYTES_MAX >> 20;
            let name = self.record_name(record);
            let message = format!(
                "{name}: the calls that wait for earlier ones to end hold more than {limit} MiB of arguments together; await some \
                 before you make more"
            );
            let end = over_limit(&name, self.environment.host.call_id(number), message);
            self.close(record, &end, collected);
            return Some(end);
        }
        None
    }

    /// Takes a call on: it is made at once, or when there is room.
    fn add(&mut self, key: Key, call: HostCall) -> Result<(), DispatchFull> {
        let (id, record) = key;
        let open = OpenCall::of(record, &call);
        let size = call
            .arguments
            .as_ref()
            .map_or(0, |json| json.as_str().len());
        let host = Arc::clone(&self.environment.host);
        self.dispatch.add(key, size, move || {
            // From here on it has begun, unless the host says otherwise.
            call.stage.send_replace(CallStage::Begun);
            host.call(call)
        })?;
        self.open.insert(id, open);
        Ok(())
    }

    fn record_name(&self, record: Option<usize>) -> String {
        record
            .and_then(|index| self.records.get(index))
            .map_or_else(|| "the call".to_owned(), |record| record.name.clone())
    }

    /// Starts waiting calls while there is room for them and for their results, and takes the ends of those that are done.
    pub(super) fn progress(
        &mut self,
        context: &mut Context<'_>,
        collected: &mut Collected,
        settled: &mut Vec<(CallId, CallEnd)>,
    ) {
        self.dispatch.hold(!self.results.have_room(context));
        while let Poll::Ready(Some(((id, record), end))) = self.dispatch.poll_next(context) {
            self.open.remove(&id);
            let end = self.delivered(record, end.unwrap_or_else(|panic| panicked(&panic)));
            self.results.add(end.bytes());
            self.dispatch.hold(!self.results.have_room(context));
            self.close(record, &end, collected);
            settled.push((id, end));
        }
    }

    /// What the script gets of an end: bounded, and an error that names the call.
    fn delivered(&self, record: Option<usize>, end: CallEnd) -> CallEnd {
        let CallEnd {
            settlement,
            status,
            error,
            notes,
        } = end;
        let limit = self.bytes_max;
        let settlement = match settlement {
            Settlement::Resolved(Some(json)) if json.as_str().len() > limit => {
                let size = json.as_str().len();
                let message = format!(
                    "the result has {size} bytes of JSON, the limit is {limit}; ask for less of it. {}",
                    Limit::CallBytes.advice()
                );
                Settlement::Rejected {
                    message,
                    tool: None,
                    call_id: None,
                    kind: Some(KIND_LIMIT.to_owned()),
                    data: None,
                }
            }
            resolved @ Settlement::Resolved(_) => resolved,
            Settlement::Rejected {
                message,
                tool,
                call_id,
                kind,
                data,
            } => {
                let message = if message.len() > limit {
                    excerpt(&message, limit)
                } else {
                    message
                };
                Settlement::Rejected {
                    message,
                    tool,
                    call_id,
                    kind,
                    data: data.filter(|data| data.as_str().len() <= limit),
                }
            }
        };
        let numbered = record.and_then(|index| Some((number_of(index), self.records.get(index)?)));
        let settlement = match (settlement, numbered) {
            (
                Settlement::Rejected {
                    message,
                    tool,
                    call_id,
                    kind,
                    data,
                },
                Some((number, record)),
            ) => Settlement::Rejected {
                message,
                tool: tool.or_else(|| Some(record.name.clone())),
                call_id: call_id.or_else(|| self.environment.host.call_id(number)),
                kind: kind.or_else(|| Some(kind_of(status).to_owned())),
                data,
            },
            (settlement, _) => settlement,
        };
        CallEnd {
            settlement,
            status,
            error,
            notes,
        }
    }

    fn close(&mut self, record: Option<usize>, end: &CallEnd, collected: &mut Collected) {
        for note in &end.notes {
            if collected.notes.len() < CALL_NOTES_MAX && !collected.notes.contains(note) {
                collected.notes.push(note.clone());
            }
        }
        let Some(index) = record else { return };
        let duration = self.started.get(index).map(Instant::elapsed);
        let Some(record) = self.records.get_mut(index) else {
            return;
        };
        let error = match &end.settlement {
            Settlement::Rejected { message, .. } => Some(message.as_str()),
            Settlement::Resolved(_) => end.error.as_deref(),
        };
        record.end(end.status, duration.unwrap_or_default(), error);
        collected.report(&Progress::CallEnded(record));
    }

    /// Cancels what still runs and waits for it, but not for ever.
    pub(super) async fn stop_all(&mut self, grace: Duration, collected: &mut Collected) {
        self.cancel.cancel();
        // A call that waited for room never started.
        for (id, record) in self.dispatch.forget_waiting() {
            self.open.remove(&id);
            let end = CallEnd::cancelled(format!("{} was not started", self.record_name(record)));
            self.close(record, &end, collected);
        }
        self.stop_in_flight(grace, collected, |_, _, _| {}).await;
    }

    /// Tells one call to stop, because the script no longer wants it.
    pub(super) fn cancel(&self, id: CallId) {
        if let Some(call) = self.open.get(&id) {
            call.cancel.cancel();
        }
    }

    /// The tool calls that are open, in the order they were made.
    pub(super) fn open_records(&self) -> impl Iterator<Item = &Receipt> {
        self.records
            .iter()
            .filter(|record| record.status == CallStatus::Unfinished)
    }

    /// Every open call as it is to be saved; they go on.
    pub(super) fn checkpoint(&self) -> Vec<SavedCall> {
        self.open
            .iter()
            .map(|(id, call)| call.saved(*id, SavedStage::Open(call.stage.borrow().clone())))
            .collect()
    }

    /// Ends the calls in flight; gives every open call as it is to be saved. Calls that have not begun are left where they are,
    /// those that ask with their questions. Calls that have begun may end by themselves, then they are told to stop.
    pub(super) async fn pause(
        &mut self,
        graces: Graces,
        abort: &Abort,
        collected: &mut Collected,
    ) -> Vec<SavedCall> {
        self.dispatch.forget_waiting();
        self.drop_unbegun();
        let mut saved: Vec<SavedCall> = Vec::new();
        let unbegun: Vec<CallId> = self
            .open
            .iter()
            .filter(|(_, call)| *call.stage.borrow() != CallStage::Begun)
            .map(|(id, _)| *id)
            .collect();
        for id in unbegun {
            if let Some(call) = self.open.remove(&id) {
                let stage = SavedStage::Open(call.stage.borrow().clone());
                saved.push(call.saved(id, stage));
            }
        }
        let mut ended = |id: CallId, call: OpenCall, end: Option<CallEnd>| {
            let stage = end.map_or(SavedStage::Open(CallStage::Begun), SavedStage::Ended);
            saved.push(call.saved(id, stage));
        };
        tokio::select! {
            () = self.await_in_flight(graces.suspend, collected, Ending::ByThemselves, &mut ended) => {}
            () = abort.aborted() => {}
        }
        self.cancel.cancel();
        self.stop_in_flight(graces.cancel, collected, ended).await;
        saved
    }

    /// Drops the futures of calls that were made and have not begun.
    fn drop_unbegun(&mut self) {
        let open = &self.open;
        self.dispatch.retain_in_flight(|(id, _)| {
            open.get(id)
                .is_none_or(|open| *open.stage.borrow() == CallStage::Begun)
        });
    }

    /// Waits for calls that were told to stop, and says how each ended; `None` for those that did not confirm in time.
    async fn stop_in_flight(
        &mut self,
        grace: Duration,
        collected: &mut Collected,
        mut stopped: impl FnMut(CallId, OpenCall, Option<CallEnd>),
    ) {
        self.await_in_flight(grace, collected, Ending::Told, &mut stopped)
            .await;
        self.dispatch.drop_in_flight();
        let end = CallEnd {
            status: CallStatus::Unknown,
            ..CallEnd::error("the call was stopped and did not confirm; it may have taken effect")
        };
        for (id, call) in std::mem::take(&mut self.open) {
            self.close(call.record, &end, collected);
            stopped(id, call, None);
        }
    }

    /// Takes the ends of calls in flight until there is none, or the time is up.
    async fn await_in_flight(
        &mut self,
        grace: Duration,
        collected: &mut Collected,
        ending: Ending,
        ended: &mut impl FnMut(CallId, OpenCall, Option<CallEnd>),
    ) {
        let all = async {
            while let Some(((id, record), end)) = self.dispatch.next().await {
                let end = end.unwrap_or_else(|panic| panicked(&panic));
                let status = match (ending, end.status) {
                    // A call that was told to stop and fails has stopped; one that succeeds all the same took effect.
                    (Ending::Told, CallStatus::Error) => CallStatus::Cancelled,
                    (_, status) => status,
                };
                let end = self.delivered(record, CallEnd { status, ..end });
                self.close(record, &end, collected);
                if let Some(call) = self.open.remove(&id) {
                    ended(id, call, Some(end));
                }
            }
        };
        drop(tokio::time::timeout(grace, all).await);
    }

    /// Takes up a call of a saved script, as the host decides. Gives its end, if there is one already.
    pub(super) fn take_up(
        &mut self,
        id: CallId,
        target: CallTarget,
        name: &str,
        saved: SavedCall,
    ) -> Option<CallEnd> {
        let SavedCall {
            record,
            arguments,
            stage,
            ..
        } = saved;
        let stage = match stage {
            SavedStage::Open(stage) => stage,
            SavedStage::Ended(end) => return Some(end),
        };
        let question_id = match &stage {
            CallStage::Asking { question_id } => Some(question_id.clone()),
            CallStage::Waiting | CallStage::Begun => None,
        };
        let call = HostCall {
            number: record.map_or(0, number_of),
            target,
            name: name.to_owned(),
            arguments,
            cancel: self.cancel.child_token(),
            stage: watch::Sender::new(stage.clone()),
            question_id,
        };
        match self.environment.host.resume_call(&call, &stage) {
            ResumedCall::Unknown => return Some(self.unknown(name, record)),
            ResumedCall::Make => {
                if self.add((id, record), call).is_err() {
                    let message =
                        format!("{name}: too much waited with it when the script was saved");
                    return Some(over_limit(name, None, message));
                }
            }
            ResumedCall::Continue(future) => {
                self.open.insert(id, OpenCall::of(record, &call));
                self.dispatch.continue_with((id, record), future);
            }
        }
        if let Some(record) = record.and_then(|index| self.records.get_mut(index)) {
            record.reopen();
        }
        None
    }

    pub(super) fn unknown(&mut self, name: &str, record: Option<usize>) -> CallEnd {
        let message = format!(
            "{name} was running when the script was saved; whether it took effect is unknown"
        );
        if let Some(record) = record.and_then(|index| self.records.get_mut(index)) {
            record.end_unknown(&message);
        }
        let number = record.map(number_of);
        CallEnd {
            settlement: Settlement::Rejected {
                message,
                tool: Some(name.to_owned()),
                call_id: number.and_then(|number| self.environment.host.call_id(number)),
                kind: Some(kind_of(CallStatus::Unknown).to_owned()),
                data: None,
            },
            status: CallStatus::Unknown,
            error: None,
            notes: Vec::new(),
        }
    }
}

/// A run that is dropped takes its calls along, also those that others watch over.
impl Drop for Calls {
    fn drop(&mut self) {
        self.cancel.cancel();
    }
}

/// `error.kind` of a call that one of the script's limits refused.
const KIND_LIMIT: &str = "limit";

fn over_limit(name: &str, call_id: Option<String>, message: String) -> CallEnd {
    let (tool, kind) = (Some(name.to_owned()), Some(KIND_LIMIT.to_owned()));
    CallEnd {
        settlement: Settlement::Rejected {
            message,
            tool,
            call_id,
            kind,
            data: None,
        },
        status: CallStatus::Error,
        error: None,
        notes: Vec::new(),
    }
}

/// `error.kind` where the host gives none.
fn kind_of(status: CallStatus) -> &'static str {
    match status {
        CallStatus::Ok | CallStatus::Error | CallStatus::Unfinished => "failed",
        CallStatus::Cancelled => "cancelled",
        CallStatus::Unknown => "unknown",
    }
}

/// The number of the call whose record has this place.
fn number_of(index: usize) -> u32 {
    u32::try_from(index).unwrap_or(u32::MAX).saturating_add(1)
}

fn panicked(_panic: &CallPanic) -> CallEnd {
    CallEnd {
        status: CallStatus::Unknown,
        ..CallEnd::error(
            "the host panicked while it made this call, which is a bug in it; it may have taken effect",
        )
    }
}
