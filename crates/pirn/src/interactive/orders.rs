//! What the interface wants done, carried out over the conversation.

mod commands;

use std::path::PathBuf;
use std::sync::{Arc, Mutex, PoisonError};

use pirn_agent::{Agent, CommandAudience, WhileBusy};
use pirn_file::Access;
use pirn_model::UserMessage;
use pirn_runtime::{Client, Runtime};
use pirn_session::now_ms;
use pirn_tool::{Answer, AnswerError, ApprovalQueue, CallRequest};
use pirn_tui::{Audience, Draft, EventSender, Order, Outside, UiEvent};
use serde_json::json;

use super::guardian::Guardian;
use super::storage::Storage;
use crate::prompt::CatalogModels;
use crate::text_editor::TextEditor;

/// Files that can be completed.
const FILES_MAX: usize = 5_000;
/// A message that comes back from the user's editor.
const EDITED_BYTES_MAX: u64 = 16 << 20;

/// Carries orders out. Cheap to clone.
#[derive(Debug, Clone)]
pub(super) struct Orders {
    pub(super) agent: Agent,
    pub(super) models: Arc<CatalogModels>,
    /// Makes the calls of the user's own.
    pub(super) user: Client,
    pub(super) approvals: Option<ApprovalQueue>,
    pub(super) runtime: Runtime,
    pub(super) ui: EventSender,
    pub(super) cwd: PathBuf,
    pub(super) text_editor: TextEditor,
    /// Sets the terminal back when this process cannot; `None` where there is none.
    pub(super) guardian: Option<Arc<Mutex<Guardian>>>,
    /// Where drafts and what was said are kept; `None` where nothing is.
    pub(super) storage: Option<Arc<Storage>>,
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
                    self.ui.send(UiEvent::Draft(texts.join("\n")));
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
                        orders.ui.send(UiEvent::Failure(why));
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

    fn alternate_screen(&mut self, is_shown: bool) {
        if let Some(guardian) = &self.guardian {
            let mut guardian = guardian.lock().unwrap_or_else(PoisonError::into_inner);
            guardian.alternate_screen(is_shown);
        }
    }

    fn edit(&mut self, text: &str) -> Result<String, String> {
        let failed = |error: &dyn std::fmt::Display| format!("the text was not edited: {error}");
        let folder = tempfile::Builder::new()
            .prefix("pirn-")
            .tempdir()
            .map_err(|error| failed(&error))?;
        let path = folder.path().join("message.md");
        pirn_file::replace(&path, text.as_bytes(), Access::Private)
            .map_err(|error| failed(&error))?;
        let status = self
            .text_editor
            .open(&path)
            .map_err(|error| failed(&format!("{error}; VISUAL or EDITOR names another editor")))?;
        if !status.success() {
            return Err(failed(&format!("the editor ended with {status}")));
        }
        pirn_jsonc::read_bounded(&path, EDITED_BYTES_MAX).map_err(|error| failed(&error))
    }

    fn keep_draft(&mut self, draft: Draft) {
        if let Some(storage) = &self.storage {
            storage.keep_draft(draft);
        }
    }

    fn remember(&mut self, text: String) {
        if let Some(storage) = &self.storage {
            storage.said(text);
        }
    }
}

impl Orders {
    fn say(&self, text: String, while_busy: WhileBusy) {
        let message = UserMessage::text(text.clone(), now_ms());
        if let Err(error) = self.agent.prompt(message, while_busy) {
            self.ui.send(UiEvent::Failure(error.to_string()));
            self.ui.send(UiEvent::Draft(text));
        }
    }

    fn run_command(&self, command: String, audience: Audience) {
        let (agent, ui) = (self.agent.clone(), self.ui.clone());
        let audience = match audience {
            Audience::Model => CommandAudience::Model,
            Audience::User => CommandAudience::User,
        };
        tokio::spawn(async move {
            let remark = match agent.run_command(&command, audience).await {
                Ok(run) => {
                    ui.send(UiEvent::CommandOutput(run.output));
                    match run.exit_code {
                        _ if run.cancelled => Some("stopped".to_owned()),
                        Some(0) => None,
                        Some(code) => Some(format!("ended with {code}")),
                        None => Some("ended without a code".to_owned()),
                    }
                }
                Err(error) => Some(error.to_string()),
            };
            ui.send(UiEvent::CommandEnded(remark));
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
                self.ui.send(UiEvent::Failure(words));
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
        self.ui.send(UiEvent::Files(files));
    }
}
