//! The interface as a state: inputs and events go in, rows and orders come out. It knows no clock, terminal or thread.

mod input;
mod view;

use std::time::Duration;

use pirn_terminal::{Editor, Focus, Role, Row};
use pirn_tool::Answer;

use crate::call::Detail;
use crate::completion::Completion;
use crate::event::{Activity, Draft, Figures, OpenQuestions, Order, Presentation, UiEvent};
use crate::keys::Keymap;
use crate::picker::Picker;
use crate::question::Panel;
use crate::scroll::Scroll;
use crate::transcript::Transcript;
use crate::viewer::Viewer;

/// Whether the terminal obeys sequences.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Cursor {
    /// Its cursor moves: everything can be shown.
    #[default]
    Moves,
    /// It takes lines only.
    Stays,
}

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
    /// Whether the terminal obeys sequences.
    pub cursor: Cursor,
    /// How the conversation is shown at first.
    pub presentation: Presentation,
    /// What was written and not sent when an earlier interface ended.
    pub draft: String,
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
    /// Keep this among the messages that were said before.
    Remember(String),
    /// Call the user, who looks elsewhere.
    Notify(&'static str),
    /// Open this text in the user's editor, and put what comes back into ours.
    Edit(String),
}

/// What a terminal shows that only takes lines.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct PlainFrame {
    /// Rows that are finished.
    pub finished: Vec<Row>,
    /// Rows that are told again whenever they are different.
    pub told: Vec<Row>,
    /// The line that is written, with its prompt.
    pub line: String,
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
    presentation: Presentation,
    /// Where one reads on a screen that the conversation has for itself.
    scroll: Scroll,
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
    /// The terminal's window has the keyboard.
    focus: Focus,
    header_is_drawn: bool,
    orders: Vec<Order>,
    requests: Vec<Request>,
}

/// How long a second Ctrl+C counts as one that leaves.
const LEAVE_WAIT: Duration = Duration::from_secs(1);
/// Messages of the history that are kept.
const HISTORY_MAX: usize = 1_000;

impl App {
    /// An interface that has shown nothing yet.
    pub fn new(mut options: AppOptions) -> Self {
        let mut editor = Editor::default();
        editor.set_text(&std::mem::take(&mut options.draft));
        Self {
            transcript: Transcript::default(),
            editor,
            panel: Panel::default(),
            picker: None,
            completion: None,
            viewer: None,
            presentation: match options.cursor {
                Cursor::Moves => options.presentation,
                Cursor::Stays => Presentation::Plain,
            },
            scroll: Scroll::at_end(Detail::Short),
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
            focus: Focus::Gained,
            header_is_drawn: false,
            orders: Vec::new(),
            requests: Vec::new(),
            options,
        }
    }

    /// How the conversation is shown now.
    pub fn presentation(&self) -> Presentation {
        self.presentation
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
    pub fn draft(&self) -> Draft {
        Draft {
            text: self.editor.text(),
            queue: self
                .steering
                .iter()
                .chain(&self.follow_up)
                .cloned()
                .collect(),
        }
    }

    /// Puts a text in place of what is written.
    pub fn set_draft(&mut self, text: &str) {
        self.editor.set_text(text);
        self.completion = None;
    }

    /// Takes in what happened.
    pub fn event(&mut self, event: UiEvent, now: Duration) {
        match event {
            UiEvent::UserSaid(text) => self.transcript.user(text),
            UiEvent::ReplyStarted => self.transcript.begin_reply(),
            UiEvent::ReplyText(delta) => self.transcript.reply_text(&delta),
            UiEvent::ReplyThinking(delta) => self.transcript.reply_thinking(&delta),
            UiEvent::ReplyEnded(error) => {
                self.transcript.end_reply();
                if let Some(error) = error {
                    self.transcript.note(error, Role::Error);
                }
            }
            UiEvent::CallStarted {
                id,
                parent,
                name,
                arguments,
            } => self
                .transcript
                .begin_call(id, parent.as_deref(), name, arguments),
            UiEvent::CallUpdated { id, text } => {
                if let Some(call) = self.transcript.call(&id) {
                    call.update(text);
                }
            }
            UiEvent::CallEnded { id, outcome } => self.transcript.end_call(&id, outcome),
            UiEvent::RunStarted => self.begin_work(now, None),
            UiEvent::RunSettled => {
                if self.work.take().is_some() {
                    self.notify("Pirn is done");
                }
                self.transcript.settle();
            }
            UiEvent::Retry {
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
            UiEvent::Compacting(Activity::Begins) => {
                self.begin_work(now, Some("Making the conversation shorter".to_owned()));
            }
            UiEvent::Compacting(Activity::Ends) => self.work = None,
            UiEvent::Note(text) => self.transcript.note(text, Role::Muted),
            UiEvent::Failure(text) => self.transcript.note(text, Role::Error),
            UiEvent::Queue {
                steering,
                follow_up,
            } => {
                self.steering = steering;
                self.follow_up = follow_up;
            }
            UiEvent::Figures(figures) => self.figures = figures,
            UiEvent::Questions(open) => self.questions(open),
            UiEvent::CommandOutput(text) => self.transcript.command_output(&text),
            UiEvent::CommandEnded(remark) => {
                self.command_runs = false;
                self.transcript.end_command(remark);
            }
            UiEvent::Files(files) => {
                self.files = Some(files);
                self.complete();
            }
            UiEvent::Choose(choices) if choices.items.is_empty() => {
                self.transcript.note(
                    format!("{}: there is nothing to choose", choices.title),
                    Role::Muted,
                );
            }
            UiEvent::Choose(choices) => self.picker = Some(Picker::new(choices)),
            UiEvent::Draft(text) => {
                let draft = self.editor.text();
                if draft.is_empty() {
                    self.editor.set_text(&text);
                } else {
                    self.editor.set_text(&format!("{text}\n{draft}"));
                }
            }
            UiEvent::Cleared => {
                self.transcript.settle();
                self.work = None;
                self.steering.clear();
                self.follow_up.clear();
            }
            UiEvent::Leave => self.requests.push(Request::Leave),
        }
    }

    fn questions(&mut self, open: OpenQuestions) {
        let asking = open.questions.iter();
        let ids: Vec<String> = asking.filter_map(|open| open.call_id.clone()).collect();
        self.transcript.set_waiting(&ids);
        if !ids_of(&open).eq(ids_of(self.panel.open())) && !open.questions.is_empty() {
            self.notify("Pirn asks something");
        }
        self.panel.set(open);
    }

    fn begin_work(&mut self, now: Duration, words: Option<String>) {
        let since = self.work.as_ref().map_or(now, |work| work.since);
        self.work = Some(Work { since, words });
    }

    /// Calls the user where the window has no keyboard.
    fn notify(&mut self, words: &'static str) {
        if self.focus == Focus::Lost {
            self.requests.push(Request::Notify(words));
        }
    }

    fn remember(&mut self, text: &str) {
        let history = &mut self.options.history;
        if !text.trim().is_empty() && history.last().is_none_or(|last| last != text) {
            if history.len() == HISTORY_MAX {
                history.remove(0);
            }
            history.push(text.to_owned());
            self.requests.push(Request::Remember(text.to_owned()));
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

fn ids_of(open: &OpenQuestions) -> impl Iterator<Item = &str> {
    open.questions.iter().map(|question| question.id.as_str())
}

#[cfg(test)]
mod tests;
