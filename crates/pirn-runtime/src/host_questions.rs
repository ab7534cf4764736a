//! Questions about hosts, asked as every question is.

use pirn_sandbox::{NetworkAnswer, NetworkAsker, NetworkFuture};
use pirn_tool::{
    Answer, ApprovalQueue, ApprovalRequest, Choice, Covers, Effects, Scope, Subject, Target,
};
use serde_json::json;

/// Hosts are asked about for all runs together: a connection does not say which command makes it.
const RUN_ID: &str = "hosts";

/// Asks about hosts that no rule of an allow-list decides about.
#[derive(Debug)]
pub(crate) struct HostQuestions {
    queue: ApprovalQueue,
    project: String,
    /// Who wants to reach hosts, as the start of a sentence.
    who: &'static str,
}

impl HostQuestions {
    pub(crate) fn new(queue: ApprovalQueue, project: String, who: &'static str) -> Self {
        Self {
            queue,
            project,
            who,
        }
    }

    fn request(&self, host: &str, port: u16) -> ApprovalRequest {
        let host = host.to_ascii_lowercase();
        let covers = Covers::Host {
            host: host.clone(),
            port,
        };
        let choice = |scope| Choice::new(scope, covers.clone());
        ApprovalRequest {
            run_id: RUN_ID.to_owned(),
            project: self.project.clone(),
            target: Some(Target::Host {
                host: host.clone(),
                port,
            }),
            reason: self.who.to_owned(),
            choices: vec![Choice::ONCE, choice(Scope::Session), choice(Scope::Always)],
            ..ApprovalRequest::new(
                Subject::Host,
                Effects::NETWORK,
                json!({"host": host, "port": port}),
            )
        }
    }
}

impl NetworkAsker for HostQuestions {
    fn ask<'a>(&'a self, host: &'a str, port: u16) -> NetworkFuture<'a, NetworkAnswer> {
        let asking = self.queue.ask(self.request(host, port));
        Box::pin(async move {
            match asking.await.answer {
                Answer::Allow { choice, .. } => match choice.scope {
                    Scope::Once => NetworkAnswer::Once,
                    Scope::Run | Scope::Session => NetworkAnswer::Session,
                    Scope::Always => NetworkAnswer::Always,
                },
                Answer::Deny { .. } => NetworkAnswer::Deny,
                Answer::Unanswered { .. } | Answer::Expired => NetworkAnswer::Unanswered,
            }
        })
    }
}
