//! Whether a call may run: the policy, and the person behind it.

use serde_json::Value;

use super::end::Refusal;
use super::execute::Stop;
use super::request::{CallStage, FailureKind};
use super::steps::Tracking;
use super::{Nesting, Pipeline};
use crate::approval::{
    Answer, ApprovalQueue, ApprovalRequest, Approved, Reply, Subject, ToolSubject, value_hash,
};
use crate::hook::HookCall;
use crate::panic::{guarded, guarded_future};
use crate::policy::{Decision, PolicyInput};
use crate::registry::Entry;
use crate::schema::undeclared;

/// A call that the policy decides about.
pub(super) struct Candidate<'a> {
    pub(super) call: HookCall<'a>,
    pub(super) entry: &'a Entry,
    pub(super) arguments: &'a Value,
    pub(super) nesting: &'a Nesting,
}

impl<'a> Candidate<'a> {
    fn input(&self) -> PolicyInput<'a> {
        PolicyInput {
            tool: self.entry.tool.spec(),
            arguments: self.arguments,
            origin: self.call.origin,
        }
    }

    fn denied(&self, reason: &str) -> Refusal {
        let name = &self.entry.tool.spec().name;
        Refusal::new(
            FailureKind::Denied,
            format!("Tool {name} was denied ({reason})"),
        )
    }
}

impl Pipeline {
    /// Decides whether the call may run. `None` in the good case: nobody had to be asked.
    pub(super) async fn permit(
        &self,
        candidate: &Candidate<'_>,
        tracking: &Tracking<'_>,
        stop: &Stop,
    ) -> Result<Option<Approved>, Refusal> {
        let denied = |reason: &str| candidate.denied(reason);
        let decision =
            guarded(|| self.inner.policy.decide(candidate.input())).map_err(|panic| {
                denied(&format!(
                    "the policy panicked, which is a bug in it: {panic}"
                ))
            })?;
        let reason = match decision {
            Decision::Allow => return Ok(None),
            Decision::Deny { reason } => return Err(denied(&reason)),
            Decision::Ask { reason } => reason,
        };
        let spec = candidate.entry.tool.spec();
        if let Some(complaint) = undeclared(&spec.input_schema, candidate.arguments) {
            let message = format!("Tool {} was not called: {complaint}", spec.name);
            return Err(Refusal::new(FailureKind::InvalidArguments, message));
        }
        let Some(queue) = &self.inner.approvals else {
            return Err(denied(&format!(
                "{reason}; it needs approval and there is nobody to ask"
            )));
        };
        let request = guarded(|| self.question(candidate, tracking, &reason)).map_err(|panic| {
            denied(&format!(
                "the policy panicked, which is a bug in it: {panic}"
            ))
        })?;
        let arguments_hash = request.arguments_hash.clone();
        let target = request.target.clone();
        let reply = tokio::select! {
            biased;
            () = stop.stopped() => return Err(Refusal::aborted()),
            reply = guarded_future(|| ask(queue, request, tracking)) => reply,
        };
        let reply = reply.map_err(|panic| {
            denied(&format!(
                "the receiver of the question panicked, which is a bug in it: {panic}"
            ))
        })?;
        match (reply.answer, reply.approved_by) {
            (Answer::Allow { .. }, Some(by)) => Ok(Some(Approved {
                arguments_hash,
                by,
                target,
            })),
            (Answer::Allow { .. }, None) | (Answer::Deny { words: None }, _) => {
                Err(denied(&reason))
            }
            (Answer::Deny { words: Some(words) }, _) => {
                let mut refusal = denied(&reason);
                refusal.message = format!("{}: {words}", refusal.message);
                Err(refusal)
            }
            (Answer::Unanswered { cause }, _) => {
                Err(denied(&format!("{reason}; it needs approval and {cause}")))
            }
            (Answer::Expired, _) => Err(denied(&format!(
                "{reason}; the question expired before somebody answered"
            ))),
        }
    }

    fn question(
        &self,
        candidate: &Candidate<'_>,
        tracking: &Tracking<'_>,
        reason: &str,
    ) -> ApprovalRequest {
        let tool = &candidate.entry.tool;
        let run = &candidate.nesting.run;
        let subject = tool
            .handler()
            .approval_subject(candidate.arguments)
            .unwrap_or_else(|| {
                let definition = candidate.entry.definition().to_owned();
                Subject::Tool(ToolSubject::with_definition(tool.spec(), definition))
            });
        ApprovalRequest {
            id: tracking.question_id.unwrap_or_default().to_owned(),
            run_id: run.id.to_string(),
            caller: run.caller.to_string(),
            project: run.project.to_string(),
            call_id: Some(candidate.call.call_id.to_owned()),
            parent_call_id: candidate.call.parent_call_id.map(str::to_owned),
            origin: candidate.call.origin,
            subject,
            effects: tool.spec().effects,
            arguments_hash: value_hash(candidate.arguments),
            arguments: candidate.arguments.clone(),
            target: None,
            reason: reason.to_owned(),
            choices: Vec::new(),
        }
        .offer(self.inner.policy.offer(candidate.input()))
    }
}

/// Asks, and lets the clocks above stand still meanwhile.
async fn ask(queue: &ApprovalQueue, request: ApprovalRequest, tracking: &Tracking<'_>) -> Reply {
    let asking = queue.ask(request);
    if !asking.is_open() {
        return asking.await;
    }
    tracking.enter(|| CallStage::Asking {
        question_id: asking.question_id().to_owned(),
    });
    let _still = tracking.open.clock.asking();
    let reply = asking.await;
    tracking.enter(|| CallStage::Waiting);
    reply
}
