//! The conversation behind the interface: what happens in it is told, and what the interface wants done is carried out.

mod commands;
mod translate;

use std::fmt;
use std::path::PathBuf;
use std::sync::{Arc, Mutex, PoisonError};

use pirn_agent::{Agent, AgentEvent, AgentEvents, CommandAudience, Models, WhileBusy};
use pirn_file::Access;
use pirn_model::UserMessage;
use pirn_runtime::{Client, Runtime};
use pirn_session::now_ms;
use pirn_tool::{Answer, AnswerError, ApprovalQueue, CallRequest};
use serde_json::json;

use crate::event::{Audience, Draft, OpenQuestions, Order, UiEvent};
use crate::guardian::Guardian;
use crate::run::{EventSender, Outside};
use crate::storage::Storage;
use crate::text_editor::TextEditor;

/// Files that can be completed.
const FILES_MAX: usize = 5_000;
/// A message that comes back from the user's editor.
const EDITED_BYTES_MAX: u64 = 16 << 20;

/// What a conversation is made of.
#[derive(Clone)]
pub struct ConversationParts {
    /// Talks to the model.
    pub agent: Agent,
    /// The models that the user can choose.
    pub models: Arc<dyn Models>,
    /// Makes the calls of the user's own.
    pub user: Client,
    /// Where questions wait; `None` where nothing is asked.
    pub approvals: Option<ApprovalQueue>,
    /// Whose servers are told of.
    pub runtime: Runtime,
    /// The folder that it is about.
    pub cwd: PathBuf,
    /// Opens messages and files of the user's.
    pub text_editor: TextEditor,
    /// Sets the terminal back when this process cannot; `None` where there is none.
    pub guardian: Option<Arc<Mutex<Guardian>>>,
    /// Where drafts and what was said are kept; `None` where nothing is.
    pub storage: Option<Arc<Storage>>,
    /// The folder of all sessions; `None` where none are kept.
    pub sessions: Option<PathBuf>,
}

impl fmt::Debug for ConversationParts {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter
            .debug_struct("ConversationParts")
            .field("agent", &self.agent)
            .field("cwd", &self.cwd)
            .finish_non_exhaustive()
    }
}

/// A conversation that the interface shows: it carries orders out, and tells what happens. Cheap to clone.
#[derive(Debug, Clone)]
pub struct Conversation {
    parts: ConversationParts,
    ui: EventSender,
}

impl Conversation {
    /// Tells `ui` from now on what happens, until the agent is closed. Must be called inside a runtime.
    pub fn start(parts: ConversationParts, events: AgentEvents, ui: EventSender) -> Self {
        let conversation = Self { parts, ui };
        conversation.tell_figures();
        tokio::spawn(conversation.clone().tell(events));
        if let Some(approvals) = &conversation.parts.approvals {
            tokio::spawn(tell_questions(approvals.clone(), conversation.ui.clone()));
        }
        conversation
    }

    async fn tell(self, mut events: AgentEvents) {
        while let Some(event) = events.next().await {
            let changes_figures = matches!(
                event,
                AgentEvent::MessageEnd { .. }
                    | AgentEvent::AgentSettled { .. }
                    | AgentEvent::SessionInfoChanged { .. }
                    | AgentEvent::ThinkingLevelChanged { .. }
                    | AgentEvent::CompactionEnd { .. }
            );
            for item in translate::events(event) {
                self.ui.send(item);
            }
            if changes_figures {
                self.tell_figures();
            }
        }
    }
}

/// Shows the interface what is asked. While it does, questions have somebody to answer them.
async fn tell_questions(approvals: ApprovalQueue, ui: EventSender) {
    let mut front_end = approvals.front_end();
    loop {
        let open = front_end.next().await;
        ui.send(UiEvent::Questions(OpenQuestions {
            revision: open.revision,
            questions: open.questions.clone(),
        }));
    }
}

impl Outside for Conversation {
    fn order(&mut self, order: Order) {
        match order {
            Order::Say(text) => self.say(text, WhileBusy::Steer),
            Order::FollowUp(text) => self.say(text, WhileBusy::FollowUp),
            Order::Stop => {
                self.parts.agent.abort();
                self.parts.agent.abort_command();
            }
            Order::TakeBackQueue => {
                let (steering, follow_up) = self.parts.agent.clear_queue();
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
        if let Some(guardian) = &self.parts.guardian {
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
        let status =
            self.parts.text_editor.open(&path).map_err(|error| {
                failed(&format!("{error}; VISUAL or EDITOR names another editor"))
            })?;
        if !status.success() {
            return Err(failed(&format!("the editor ended with {status}")));
        }
        pirn_jsonc::read_bounded(&path, EDITED_BYTES_MAX).map_err(|error| failed(&error))
    }

    fn keep_draft(&mut self, draft: Draft) {
        if let Some(storage) = &self.parts.storage {
            storage.keep_draft(draft);
        }
    }

    fn remember(&mut self, text: String) {
        if let Some(storage) = &self.parts.storage {
            storage.said(text);
        }
    }
}

impl Conversation {
    fn say(&self, text: String, while_busy: WhileBusy) {
        let message = UserMessage::text(text.clone(), now_ms());
        if let Err(error) = self.parts.agent.prompt(message, while_busy) {
            self.ui.send(UiEvent::Failure(error.to_string()));
            self.ui.send(UiEvent::Draft(text));
        }
    }

    fn run_command(&self, command: String, audience: Audience) {
        let (agent, ui) = (self.parts.agent.clone(), self.ui.clone());
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
        let Some(approvals) = &self.parts.approvals else {
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
        let text = self.parts.user.call(request).await.result.joined_text();
        let files = text
            .lines()
            .take_while(|line| !line.is_empty())
            .map(str::to_owned)
            .collect();
        self.ui.send(UiEvent::Files(files));
    }
}
