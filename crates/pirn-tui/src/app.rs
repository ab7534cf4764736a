//! The interface as a state: inputs and news go in, rows and orders come out. It knows no clock, terminal or thread.

mod input;
mod view;

use std::time::Duration;

use pirn_terminal::{Editor, Role};
use pirn_tool::Answer;

use crate::completion::Completion;
use crate::keys::Keymap;
use crate::news::{Activity, Figures, News, Order};
use crate::picker::Picker;
use crate::question::Panel;
use crate::transcript::Transcript;
use crate::viewer::Viewer;

/// How the interface begins.
#[derive(Debug, Clone, Default)]
pub struct AppOptions {
    /// The version of Pirn.
    pub version: String,
    /// The folder that is worked in, as people write it.
    pub folder: String,
    /// Which key does what.
    pub keymap: Keymap,
    /// Messages that were sent before, the oldest first.
    pub history: Vec<String>,
}

/// Something that only the owner of the terminal can do.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Request {
    /// End the interface and give the terminal back.
    Leave,
    /// Give the terminal back to the shell until it is wanted again.
    Suspend,
    /// Put this text on the clipboard.
    Copy(String),
}

/// What goes on in the conversation.
#[derive(Debug, Clone)]
struct Work {
    since: Duration,
    /// Said instead of "Working".
    words: Option<String>,
}

/// The state of the interface.
#[derive(Debug)]
pub struct App {
    options: AppOptions,
    transcript: Transcript,
    editor: Editor,
    panel: Panel,
    picker: Option<Picker>,
    completion: Option<Completion>,
    viewer: Option<Viewer>,
    /// The word whose completion was closed.
    closed_completion: Option<String>,
    figures: Figures,
    steering: Vec<String>,
    follow_up: Vec<String>,
    work: Option<Work>,
    command_runs: bool,
    files: Option<Vec<String>>,
    /// Which message of the history is in the editor, counted from the end.
    history_at: usize,
    /// What was written before the history was looked at.
    kept_draft: String,
    cleared_at: Option<Duration>,
    header_is_drawn: bool,
    orders: Vec<Order>,
    requests: Vec<Request>,
}

/// How long a second Ctrl+C counts as one that leaves.
const LEAVE_WAIT: Duration = Duration::from_secs(1);
/// Messages of the history that are kept.
const HISTORY_MAX: usize = 100;

impl App {
    /// An interface that has shown nothing yet.
    pub fn new(options: AppOptions) -> Self {
        Self {
            options,
            transcript: Transcript::default(),
            editor: Editor::default(),
            panel: Panel::default(),
            picker: None,
            completion: None,
            viewer: None,
            closed_completion: None,
            figures: Figures::default(),
            steering: Vec::new(),
            follow_up: Vec::new(),
            work: None,
            command_runs: false,
            files: None,
            history_at: 0,
            kept_draft: String::new(),
            cleared_at: None,
            header_is_drawn: false,
            orders: Vec::new(),
            requests: Vec::new(),
        }
    }

    /// What is to be done because of what came.
    pub fn take_orders(&mut self) -> Vec<Order> {
        std::mem::take(&mut self.orders)
    }

    /// What the owner of the terminal is to do.
    pub fn take_requests(&mut self) -> Vec<Request> {
        std::mem::take(&mut self.requests)
    }

    /// What is written and not sent.
    pub fn draft(&self) -> String {
        self.editor.text()
    }

    /// Takes in what happened.
    pub fn news(&mut self, news: News, now: Duration) {
        match news {
            News::UserSaid(text) => self.transcript.user(text),
            News::ReplyStarted => self.transcript.begin_reply(),
            News::ReplyText(delta) => self.transcript.reply_text(&delta),
            News::ReplyThinking(delta) => self.transcript.reply_thinking(&delta),
            News::ReplyEnded(error) => {
                self.transcript.end_reply();
                if let Some(error) = error {
                    self.transcript.note(error, Role::Error);
                }
            }
            News::CallStarted {
                id,
                parent,
                name,
                arguments,
            } => self
                .transcript
                .begin_call(id, parent.as_deref(), name, arguments),
            News::CallUpdated { id, text } => {
                if let Some(call) = self.transcript.call(&id) {
                    call.update(text);
                }
            }
            News::CallEnded {
                id,
                text,
                is_error,
                duration,
            } => self.transcript.end_call(&id, text, is_error, duration),
            News::RunStarted => self.begin_work(now, None),
            News::RunSettled => {
                self.work = None;
                self.transcript.settle();
            }
            News::Retry {
                attempt: (attempt, of),
                delay,
                error,
            } => {
                let seconds = delay.as_secs();
                self.transcript.note(
                    format!("try {attempt} of {of} in {seconds} s: {error}"),
                    Role::Warning,
                );
                self.begin_work(now, Some(format!("Waiting for try {attempt} of {of}")));
            }
            News::Compacting(Activity::Begins) => {
                self.begin_work(now, Some("Making the conversation shorter".to_owned()));
            }
            News::Compacting(Activity::Ends) => self.work = None,
            News::Note(text) => self.transcript.note(text, Role::Muted),
            News::Failure(text) => self.transcript.note(text, Role::Error),
            News::Queue {
                steering,
                follow_up,
            } => {
                self.steering = steering;
                self.follow_up = follow_up;
            }
            News::Figures(figures) => self.figures = figures,
            News::Questions(open) => self.panel.set(open),
            News::CommandOutput(text) => self.transcript.command_output(&text),
            News::CommandEnded(remark) => {
                self.command_runs = false;
                self.transcript.end_command(remark);
            }
            News::Files(files) => {
                self.files = Some(files);
                self.complete();
            }
            News::Choose(choices) if choices.items.is_empty() => {
                self.transcript.note(
                    format!("{}: there is nothing to choose", choices.title),
                    Role::Muted,
                );
            }
            News::Choose(choices) => self.picker = Some(Picker::new(choices)),
            News::Draft(text) => {
                let draft = self.editor.text();
                if draft.is_empty() {
                    self.editor.set_text(&text);
                } else {
                    self.editor.set_text(&format!("{text}\n{draft}"));
                }
            }
            News::Cleared => {
                self.transcript.settle();
                self.work = None;
                self.steering.clear();
                self.follow_up.clear();
            }
            News::Leave => self.requests.push(Request::Leave),
        }
    }

    fn begin_work(&mut self, now: Duration, words: Option<String>) {
        let since = self.work.as_ref().map_or(now, |work| work.since);
        self.work = Some(Work { since, words });
    }

    fn remember(&mut self, text: &str) {
        let history = &mut self.options.history;
        if !text.trim().is_empty() && history.last().is_none_or(|last| last != text) {
            if history.len() == HISTORY_MAX {
                history.remove(0);
            }
            history.push(text.to_owned());
        }
        self.history_at = 0;
    }

    fn deny_with_words(&mut self) {
        let words = self.editor.take();
        let words = words.trim();
        let answer = if words.is_empty() {
            Answer::deny()
        } else {
            Answer::deny_with(words)
        };
        self.orders.push(self.panel.order(answer));
        self.panel.has_focus = false;
    }
}

#[cfg(test)]
mod tests;
