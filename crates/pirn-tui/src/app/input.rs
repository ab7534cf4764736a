//! What keys and pastes do.

use std::time::Duration;

use pirn_terminal::{Input, KeyCode, KeyPress, Role};

use super::{App, Cursor, LEAVE_WAIT, Request};
use crate::commands;
use crate::completion::{Completion, Kind, word};
use crate::event::{Audience, Choices, Order, Presentation, Purpose};
use crate::keys::{ACTIONS, Action};
use crate::picker::{Picker, PickerKey};
use crate::question::PanelKey;
use crate::viewer::{Viewer, ViewerKey};

impl App {
    /// Takes in what the terminal sent at once.
    pub fn inputs(&mut self, inputs: &[Input], now: Duration) {
        for (index, input) in inputs.iter().enumerate() {
            match input {
                Input::Key(key) => {
                    // A terminal that does not mark pastes sends them as keys, all at once: an Enter among them is a line end.
                    let enter = KeyPress::plain(KeyCode::Enter);
                    let next_is_typed = matches!(
                        inputs.get(index + 1),
                        Some(Input::Key(next)) if next.typed().is_some()
                    );
                    if *key == enter && next_is_typed && self.picker.is_none() {
                        self.editor.insert("\n");
                    } else {
                        self.key(*key, now);
                    }
                }
                Input::Paste(text) => {
                    self.editor.paste(text);
                    self.edited();
                }
                Input::Focus(focus) => self.focus = *focus,
                Input::Reply(_) => {}
            }
        }
    }

    fn key(&mut self, key: KeyPress, now: Duration) {
        if let Some(viewer) = &mut self.viewer {
            if viewer.key(key, &self.transcript) == ViewerKey::Closed {
                self.viewer = None;
            }
            return;
        }
        if let Some(picker) = &mut self.picker {
            match picker.key(key) {
                PickerKey::Stays => {}
                PickerKey::Closed => self.picker = None,
                PickerKey::Chosen(purpose, value) => {
                    self.picker = None;
                    match purpose {
                        Purpose::Command(name) => self.command(name, &value),
                        Purpose::Draft => {
                            self.editor.set_text(&value);
                            self.edited();
                        }
                    }
                }
            }
            return;
        }
        let actions = self.options.keymap.actions(key).to_vec();
        if self.panel.has_focus && !actions.contains(&Action::Clear) {
            match self.panel.key(key, now) {
                PanelKey::Order(order) => self.orders.push(order),
                PanelKey::DenyWithWords => self.deny_with_words(),
                PanelKey::Ignored | PanelKey::Left => {}
            }
            return;
        }
        if let Some(text) = key.typed()
            && actions.is_empty()
        {
            self.editor.insert(text.encode_utf8(&mut [0; 4]));
            self.edited();
            return;
        }
        for action in actions {
            if self.act(action, now) {
                return;
            }
        }
    }

    /// Carries an action out, if it means something here.
    fn act(&mut self, action: Action, now: Duration) -> bool {
        let is_empty = self.editor.is_empty();
        match action {
            Action::Exit if !is_empty => return false,
            Action::Exit => self.requests.push(Request::Leave),
            Action::DeleteCharForward if is_empty => return false,
            Action::Clear => self.clear(now),
            Action::Interrupt => self.interrupt(),
            Action::Suspend => self.requests.push(Request::Suspend),
            Action::Submit => self.submit(),
            Action::FollowUp => self.send_later(),
            Action::Dequeue => self.orders.push(Order::TakeBackQueue),
            Action::Tab => self.tab(now),
            Action::ModelSelect => self.command("model", ""),
            Action::ThinkingCycle => self.command("thinking", ""),
            Action::CursorUp if self.completion.is_some() => self.move_completion(-1),
            Action::CursorDown if self.completion.is_some() => self.move_completion(1),
            Action::CursorUp if self.editor.is_in_first_row() && self.may_browse() => {
                self.browse(1);
            }
            Action::CursorDown if self.editor.is_in_last_row() && self.history_at > 0 => {
                self.browse(-1);
            }
            Action::Viewer | Action::Search if self.options.cursor == Cursor::Stays => {
                self.note_lines_only();
            }
            Action::Viewer => self.viewer = Some(Viewer::at_end()),
            Action::Search => self.viewer = Some(Viewer::with_search()),
            Action::HistorySearch => self.search_history(),
            Action::EditorExternal => self.requests.push(Request::Edit(self.editor.text())),
            Action::PageUp if self.scrolls() => self.scroll.rows_back(self.scroll.page()),
            Action::PageDown if self.scrolls() => self.scroll.rows_on(self.scroll.page()),
            Action::ScrollTop if self.scrolls() => self.scroll.go_to_start(),
            Action::ScrollBottom if self.scrolls() => self.scroll.go_to_end(),
            Action::PageUp | Action::PageDown | Action::ScrollTop | Action::ScrollBottom => {
                return false;
            }
            other => match other.editor() {
                Some(edit) => {
                    self.editor.apply(edit);
                    self.edited();
                }
                None => return false,
            },
        }
        true
    }

    /// Whether the conversation scrolls by keys of ours.
    fn scrolls(&self) -> bool {
        self.presentation == Presentation::FullScreen
    }

    fn note_lines_only(&mut self) {
        let words = "this terminal takes lines only; TERM says what it can do";
        self.transcript.note(words.to_owned(), Role::Warning);
    }

    fn present(&mut self, name: &str) {
        if self.options.cursor == Cursor::Stays {
            self.note_lines_only();
            return;
        }
        let known = Presentation::ALL.iter().find(|(known, _)| *known == name);
        if let Some((_, presentation)) = known {
            self.presentation = *presentation;
            return;
        }
        let items = Presentation::ALL.map(|(name, _)| (name.to_owned(), name.to_owned()));
        self.picker = Some(Picker::new(Choices {
            title: "Show the conversation".to_owned(),
            items: items.to_vec(),
            purpose: Purpose::Command("tui"),
        }));
    }

    fn edited(&mut self) {
        self.cleared_at = None;
        self.complete();
    }

    /// Text is cleared and kept; without text what goes on stops; else a second press leaves.
    fn clear(&mut self, now: Duration) {
        self.panel.has_focus = false;
        if !self.editor.is_empty() {
            let text = self.editor.take();
            self.remember(&text);
            self.completion = None;
        } else if self.work.is_some() || self.command_runs {
            self.orders.push(Order::Stop);
        } else if self.cleared_at.is_some_and(|at| now < at + LEAVE_WAIT) {
            self.requests.push(Request::Leave);
        } else {
            self.cleared_at = Some(now);
        }
    }

    fn interrupt(&mut self) {
        if self.completion.is_some() {
            self.closed_completion =
                word(self.editor.before_cursor()).map(|(_, word)| word.to_owned());
            self.completion = None;
        } else if self.work.is_some() || self.command_runs {
            self.orders.push(Order::Stop);
            if !(self.steering.is_empty() && self.follow_up.is_empty()) {
                self.orders.push(Order::TakeBackQueue);
            }
        }
    }

    fn tab(&mut self, now: Duration) {
        if let Some(completion) = self.completion.take() {
            if let Some(text) = completion.chosen() {
                self.editor.replace_before_cursor(completion.bytes, text);
            }
        } else if self.panel.is_open() {
            self.panel.focus(now);
        }
    }

    fn move_completion(&mut self, rows: isize) {
        if let Some(completion) = &mut self.completion {
            completion.move_by(rows);
        }
    }

    fn may_browse(&self) -> bool {
        self.editor.is_empty() || self.history_at > 0 || self.editor.before_cursor().is_empty()
    }

    fn browse(&mut self, steps: isize) {
        let count = self.options.history.len();
        let to = self.history_at.saturating_add_signed(steps).min(count);
        if to == self.history_at {
            return;
        }
        if self.history_at == 0 {
            self.kept_draft = self.editor.text();
        }
        self.history_at = to;
        let text = match to {
            0 => self.kept_draft.clone(),
            back => self
                .options
                .history
                .get(count - back)
                .cloned()
                .unwrap_or_default(),
        };
        self.editor.set_text(&text);
    }

    /// Offers everything that was said before, the newest first.
    fn search_history(&mut self) {
        let said = self.options.history.iter().rev();
        let items = said.map(|text| (text.clone(), text.replace('\n', " ⏎ ")));
        self.picker = Some(Picker::new(Choices {
            title: "Said before".to_owned(),
            items: items.collect(),
            purpose: Purpose::Draft,
        }));
    }

    fn submit(&mut self) {
        if self.editor.before_cursor().ends_with('\\') {
            self.editor.replace_before_cursor(1, "\n");
            return;
        }
        let chosen = self.completion.take();
        if let Some(completion) = chosen
            && let Some(text) = completion.chosen()
        {
            self.editor.replace_before_cursor(completion.bytes, text);
            if completion.kind == Kind::File {
                return;
            }
        }
        let text = self.editor.take();
        self.remember(&text);
        let text = text.trim();
        if text.is_empty() {
            return;
        }
        if let Some(command) = text.strip_prefix("!!") {
            self.run_command(command, Audience::User);
        } else if let Some(command) = text.strip_prefix('!') {
            self.run_command(command, Audience::Model);
        } else {
            match commands::parse(text) {
                Some(Ok((row, arguments))) => self.command(row.name, arguments),
                Some(Err(name)) => {
                    let words = format!("there is no command /{name}; /help shows all of them");
                    self.transcript.note(words, Role::Error);
                    self.editor.set_text(text);
                }
                None => self.orders.push(Order::Say(text.to_owned())),
            }
        }
    }

    fn send_later(&mut self) {
        let text = self.editor.take();
        self.remember(&text);
        let text = text.trim();
        if !text.is_empty() {
            self.orders.push(Order::FollowUp(text.to_owned()));
        }
    }

    fn run_command(&mut self, command: &str, audience: Audience) {
        let command = command.trim();
        if command.is_empty() {
            return;
        }
        if self.command_runs {
            self.transcript.note(
                "a command of yours still runs; escape stops it".to_owned(),
                Role::Error,
            );
            self.editor.set_text(command);
            return;
        }
        self.command_runs = true;
        self.transcript.begin_command(command.to_owned());
        self.orders.push(Order::RunCommand {
            command: command.to_owned(),
            audience,
        });
    }

    fn command(&mut self, name: &'static str, arguments: &str) {
        match name {
            "quit" => self.requests.push(Request::Leave),
            "help" => self.help(),
            "tui" => self.present(arguments),
            "copy" => match self.transcript.last_answer() {
                Some(answer) => {
                    self.requests.push(Request::Copy(answer.to_owned()));
                    let words = "the last answer was given to the terminal's clipboard";
                    self.transcript.note(words.to_owned(), Role::Muted);
                }
                None => self
                    .transcript
                    .note("there is no answer to copy".to_owned(), Role::Error),
            },
            _ => self.orders.push(Order::Command {
                name,
                arguments: arguments.to_owned(),
            }),
        }
    }

    fn help(&mut self) {
        let mut lines: Vec<String> = commands::COMMANDS
            .iter()
            .map(|row| {
                format!(
                    "{:<22} {}",
                    format!("/{} {}", row.name, row.arguments),
                    row.help
                )
            })
            .collect();
        lines.push(format!(
            "{:<22} Run a command; the model reads what it prints",
            "!COMMAND"
        ));
        lines.push(format!(
            "{:<22} Run a command for yourself only",
            "!!COMMAND"
        ));
        lines.push(format!("{:<22} Name a file", "@FILE"));
        for row in ACTIONS {
            if let Some(key) = self.options.keymap.key_of(row.action) {
                lines.push(format!("{:<22} {}", key.to_string(), row.help));
            }
        }
        self.transcript.note(lines.join("\n"), Role::Muted);
    }

    pub(super) fn complete(&mut self) {
        self.completion = None;
        let Some((kind, word)) = word(self.editor.before_cursor()) else {
            self.closed_completion = None;
            return;
        };
        if self.closed_completion.as_deref() == Some(word) {
            return;
        }
        if kind == Kind::File && self.files.is_none() {
            if !self.orders.contains(&Order::ListFiles) {
                self.orders.push(Order::ListFiles);
            }
            return;
        }
        let files = self.files.as_deref().unwrap_or_default();
        self.completion = Completion::new(kind, word, files);
    }
}
