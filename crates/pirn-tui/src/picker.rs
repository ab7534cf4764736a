//! A list to choose from, narrowed by typing.

use pirn_terminal::{KeyCode, KeyPress, Role, Row, Span, TextStyle};

use crate::event::{Choices, Purpose};
use crate::fuzzy::best;

/// Rows of the list that are shown at once.
const ROWS_MAX: usize = 10;

/// A list that is open, over which keys move.
#[derive(Debug)]
pub(crate) struct Picker {
    choices: Choices,
    query: String,
    selected: usize,
}

/// What a key in the list comes to.
#[derive(Debug, PartialEq)]
pub(crate) enum PickerKey {
    Stays,
    Closed,
    Chosen(Purpose, String),
}

impl Picker {
    pub(crate) fn new(choices: Choices) -> Self {
        Self {
            choices,
            query: String::new(),
            selected: 0,
        }
    }

    fn fitting(&self) -> Vec<&(String, String)> {
        best(&self.choices.items, &self.query, |(_, label)| label)
    }

    pub(crate) fn key(&mut self, key: KeyPress) -> PickerKey {
        let count = self.fitting().len();
        match key.code {
            KeyCode::Escape => return PickerKey::Closed,
            KeyCode::Char('c') if key.typed().is_none() => return PickerKey::Closed,
            KeyCode::Up => self.selected = self.selected.saturating_sub(1),
            KeyCode::Down => self.selected = (self.selected + 1).min(count.saturating_sub(1)),
            KeyCode::PageUp => self.selected = self.selected.saturating_sub(ROWS_MAX),
            KeyCode::PageDown => {
                self.selected = (self.selected + ROWS_MAX).min(count.saturating_sub(1));
            }
            KeyCode::Enter => {
                return match self.fitting().get(self.selected) {
                    Some((value, _)) => PickerKey::Chosen(self.choices.purpose, value.clone()),
                    None => PickerKey::Stays,
                };
            }
            KeyCode::Backspace => {
                self.query.pop();
                self.selected = 0;
            }
            _ => {
                if let Some(typed) = key.typed() {
                    self.query.push(typed);
                    self.selected = 0;
                }
            }
        }
        PickerKey::Stays
    }

    pub(crate) fn rows(&self, columns: usize) -> Vec<Row> {
        let fitting = self.fitting();
        let title = format!("{}: {}", self.choices.title, self.query);
        let mut rows = vec![Row::new(title, TextStyle::role(Role::Accent)).cut(columns)];
        let top = (self.selected + 1).saturating_sub(ROWS_MAX);
        for (index, (_, label)) in fitting.iter().enumerate().skip(top).take(ROWS_MAX) {
            rows.push(list_row(label, index == self.selected).cut(columns));
        }
        if fitting.is_empty() {
            rows.push(Row::new("  nothing fits", TextStyle::role(Role::Muted)));
        } else if fitting.len() > ROWS_MAX {
            let words = format!("  {} of {}", self.selected + 1, fitting.len());
            rows.push(Row::new(words, TextStyle::role(Role::Dim)));
        }
        rows
    }
}

/// A row of a list; the one that is chosen has a mark besides its colour.
pub(crate) fn list_row(label: &str, is_selected: bool) -> Row {
    let (mark, style) = if is_selected {
        ("→ ", TextStyle::role(Role::Accent))
    } else {
        ("  ", TextStyle::PLAIN)
    };
    Row::from(vec![Span::new(mark, style), Span::new(label, style)])
}
