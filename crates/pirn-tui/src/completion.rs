//! What the word at the cursor could become: commands and files.

use pirn_terminal::Row;

use crate::commands::COMMANDS;
use crate::fuzzy::best;
use crate::picker::list_row;

/// Rows that are shown at once.
const ROWS_MAX: usize = 5;

/// What could stand in place of the word at the cursor.
#[derive(Debug)]
pub(crate) struct Completion {
    /// What is inserted, and what is shown for it.
    items: Vec<(String, String)>,
    selected: usize,
    /// Bytes before the cursor that are replaced.
    pub(crate) bytes: usize,
    pub(crate) kind: Kind,
}

/// What the word before the cursor is completed to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Kind {
    Command,
    File,
}

/// The word at the cursor that could be completed.
pub(crate) fn word(before_cursor: &str) -> Option<(Kind, &str)> {
    if let Some(name) = before_cursor.strip_prefix('/')
        && !name.contains(char::is_whitespace)
    {
        return Some((Kind::Command, name));
    }
    let start = before_cursor
        .rfind(|character: char| character.is_whitespace() || "([{\"'".contains(character));
    let token = match start {
        Some(start) => before_cursor
            .get(start..)?
            .trim_start_matches(|character: char| character != '@'),
        None => before_cursor,
    };
    token.strip_prefix('@').map(|name| (Kind::File, name))
}

impl Completion {
    pub(crate) fn new(kind: Kind, word: &str, files: &[String]) -> Option<Self> {
        let items: Vec<(String, String)> = match kind {
            Kind::Command => best(COMMANDS, word, |row| row.name)
                .into_iter()
                .map(|row| {
                    (
                        format!("/{}", row.name),
                        format!("/{} {}  {}", row.name, row.arguments, row.help),
                    )
                })
                .collect(),
            Kind::File => best(files, word, String::as_str)
                .into_iter()
                .take(50)
                .map(|file| (format!("@{file} "), file.clone()))
                .collect(),
        };
        (!items.is_empty()).then_some(Self {
            items,
            selected: 0,
            bytes: word.len() + 1,
            kind,
        })
    }

    pub(crate) fn move_by(&mut self, rows: isize) {
        let last = self.items.len().saturating_sub(1);
        self.selected = self.selected.saturating_add_signed(rows).min(last);
    }

    pub(crate) fn chosen(&self) -> Option<&str> {
        self.items.get(self.selected).map(|(text, _)| text.as_str())
    }

    pub(crate) fn rows(&self, columns: usize) -> Vec<Row> {
        let top = (self.selected + 1).saturating_sub(ROWS_MAX);
        let shown = self.items.iter().enumerate().skip(top).take(ROWS_MAX);
        shown
            .map(|(index, (_, label))| list_row(label, index == self.selected).cut(columns))
            .collect()
    }
}
