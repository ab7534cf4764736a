//! What the interface wants done, carried out over the conversation.

mod commands;

use std::path::PathBuf;
use std::sync::Arc;

use pirn_agent::{Agent, CommandAudience, WhileBusy};
use pirn_model::UserMessage;
use pirn_runtime::{Client, Runtime};
use pirn_session::now_ms;
use pirn_tool::{Answer, AnswerError, ApprovalQueue, CallRequest};
use pirn_tui::{Audience, News, NewsSender, Order, Outside};
use serde_json::json;

use crate::prompt::CatalogModels;

/// Files that can be completed.
const FILES_MAX: usize = 5_000;

/// Carries orders out. Cheap to clone.
#[derive(Debug, Clone)]
pub(super) struct Orders {
    pub(super) agent: Agent,
    pub(super) models: Arc<CatalogModels>,
    /// Makes the calls of the user's own.
    pub(super) user: Client,
    pub(super) approvals: Option<ApprovalQueue>,
    pub(super) runtime: Runtime,
    pub(super) news: NewsSender,
    pub(super) cwd: PathBuf,
    pub(super) sessions: Option<PathBuf>,
}

impl Outside for Orders {
    fn order(&mut self, order: Order) {
        match order {
            Order::Say(text) => self.say(text, WhileBusy::Steer),
            Order::FollowUp(text) => self.say(text, WhileBusy::FollowUp),
            Order::Stop => {
                self.agent.abort();
                self.agent.abort_command();
            }
            Order::TakeBackQueue => {
                let (steering, follow_up) = self.agent.clear_queue();
                let texts: Vec<String> = steering
                    .iter()
                    .chain(&follow_up)
                    .map(|message| message.content.joined_text())
                    .collect();
                if !texts.is_empty() {
                    self.news.send(News::Draft(texts.join("\n")));
                }
            }
            Order::RunCommand { command, audience } => self.run_command(command, audience),
            Order::Answer {
                revision,
                id,
                answer,
            } => self.answer(revision, &id, answer),
            Order::Command { name, arguments } => {
                let orders = self.clone();
                tokio::spawn(async move {
                    if let Err(why) = orders.command(name, &arguments).await {
                        orders.news.send(News::Failure(why));
                    }
                });
            }
            Order::ListFiles => {
                let orders = self.clone();
                tokio::spawn(async move { orders.list_files().await });
            }
        }
    }

    fn suspend(&mut self) {
        // It goes on where it was stopped. When it cannot be stopped it just goes on.
        let _goes_on =
            rustix::process::kill_process(rustix::process::getpid(), rustix::process::Signal::TSTP);
    }
}

impl Orders {
    fn say(&self, text: String, while_busy: WhileBusy) {
        let message = UserMessage::text(text.clone(), now_ms());
        if let Err(error) = self.agent.prompt(message, while_busy) {
            self.news.send(News::Failure(error.to_string()));
            self.news.send(News::Draft(text));
        }
    }

    fn run_command(&self, command: String, audience: Audience) {
        let (agent, news) = (self.agent.clone(), self.news.clone());
        let audience = match audience {
            Audience::Model => CommandAudience::Model,
            Audience::User => CommandAudience::User,
        };
        tokio::spawn(async move {
            let remark = match agent.run_command(&command, audience).await {
                Ok(run) => {
                    news.send(News::CommandOutput(run.output));
                    match run.exit_code {
                        _ if run.cancelled => Some("stopped".to_owned()),
                        Some(0) => None,
                        Some(code) => Some(format!("ended with {code}")),
                        None => Some("ended without a code".to_owned()),
                    }
                }
                Err(error) => Some(error.to_string()),
            };
            news.send(News::CommandEnded(remark));
        });
    }

    fn answer(&self, revision: u64, id: &str, answer: Answer) {
        let Some(approvals) = &self.approvals else {
            return;
        };
        match approvals.answer(revision, id, answer) {
            // What waited for it is gone, or is shown again as it is now.
            Ok(()) | Err(AnswerError::NotOpen | AnswerError::Stale | AnswerError::NotOffered) => {}
            Err(AnswerError::NotKept(error)) => {
                let words = format!("the answer cannot be kept, so it counts once: {error}");
                self.news.send(News::Failure(words));
                // There is nothing left to try.
                let _gone = approvals.answer(revision, id, Answer::allow_once());
            }
        }
    }

    async fn list_files(&self) {
        let arguments = json!({"pattern": "*", "limit": FILES_MAX});
        let request = CallRequest::new("files", "find", arguments);
        let text = self.user.call(request).await.result.joined_text();
        let files = text
            .lines()
            .take_while(|line| !line.is_empty())
            .map(str::to_owned)
            .collect();
        self.news.send(News::Files(files));
    }
}
