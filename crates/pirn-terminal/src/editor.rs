//! A text that is being written: cursor, undo, kill ring, pastes that stand as one mark.

mod layout;
mod motion;

pub use layout::EditorLayout;

use crate::width::clusters;

/// A paste with more lines than this is shown as a mark.
const PASTE_LINES_MAX: usize = 10;
/// A paste with more characters than this is shown as a mark.
const PASTE_CHARACTERS_MAX: usize = 1_000;
/// What stands for the first paste in the text; the next ones follow. No text from outside holds such characters.
const FIRST_MARK: u32 = 0x10_0000;
/// Pastes that one text may hold as marks: those that fit into the range of their characters.
const MARKS_MAX: usize = 60_000;
/// Steps that can be undone, and pieces that can be brought back.
const HISTORY_MAX: usize = 200;

/// What can be done to a text with a key.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[expect(missing_docs, reason = "the names say it")]
pub enum EditorAction {
    CursorUp,
    CursorDown,
    CursorLeft,
    CursorRight,
    CursorWordLeft,
    CursorWordRight,
    CursorLineStart,
    CursorLineEnd,
    DeleteCharBackward,
    DeleteCharForward,
    DeleteWordBackward,
    DeleteWordForward,
    DeleteToLineStart,
    DeleteToLineEnd,
    Yank,
    YankPop,
    Undo,
    NewLine,
}

/// What the last change was, for those that join: words that are typed, and pieces that are cut one after the other.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum LastChange {
    None,
    Typed,
    Cut,
    /// So many bytes were brought back.
    Yanked(usize),
}

/// A text with a cursor. Characters are those that people see: nothing stops inside one.
#[derive(Debug, Clone)]
pub struct Editor {
    /// With one character for each paste that is shown as a mark.
    text: String,
    /// A place in the text, in bytes, between two clusters.
    cursor: usize,
    pastes: Vec<String>,
    undo: Vec<(String, usize)>,
    killed: Vec<String>,
    last: LastChange,
    columns: usize,
    /// The column that moving up and down keeps.
    sticky_column: Option<usize>,
}

impl Default for Editor {
    fn default() -> Self {
        Self {
            text: String::new(),
            cursor: 0,
            pastes: Vec::new(),
            undo: Vec::new(),
            killed: Vec::new(),
            last: LastChange::None,
            columns: 80,
            sticky_column: None,
        }
    }
}

impl Editor {
    /// Says how many columns a row has; rows are what up and down go by.
    pub fn set_columns(&mut self, columns: usize) {
        self.columns = columns.max(2);
    }

    /// Whether nothing is written.
    pub fn is_empty(&self) -> bool {
        self.text.is_empty()
    }

    /// The text as it is meant, with all pastes in their places.
    pub fn text(&self) -> String {
        self.expand(&self.text)
    }

    /// The text in front of the cursor, with marks as single characters.
    pub fn before_cursor(&self) -> &str {
        self.text.get(..self.cursor).unwrap_or_default()
    }

    fn after_cursor(&self) -> &str {
        self.text.get(self.cursor..).unwrap_or_default()
    }

    /// Replaces everything, with the cursor at the end. Can be undone.
    pub fn set_text(&mut self, text: &str) {
        self.remember();
        self.text = clean(text);
        self.cursor = self.text.len();
        self.moved();
    }

    /// Takes the text out, for sending. What was before is forgotten but for what was cut.
    pub fn take(&mut self) -> String {
        let text = self.text();
        self.text.clear();
        self.cursor = 0;
        self.pastes.clear();
        self.undo.clear();
        self.moved();
        text
    }

    /// Replaces `bytes` bytes in front of the cursor, such as a word that was completed.
    pub fn replace_before_cursor(&mut self, bytes: usize, text: &str) {
        self.remember();
        let from = self.cursor.saturating_sub(bytes);
        if self.text.is_char_boundary(from) {
            self.remove(from, self.cursor);
        }
        self.insert_here(&clean(text));
        self.moved();
    }

    /// Adds what was typed at the cursor. A blank begins a new step of undo.
    pub fn insert(&mut self, text: &str) {
        let joins = self.last == LastChange::Typed && !text.starts_with(char::is_whitespace);
        if !joins {
            self.remember();
        }
        self.insert_here(&clean(text));
        self.moved();
        self.last = LastChange::Typed;
    }

    /// Adds what came from the clipboard as one step of undo. What is long is shown as a mark.
    pub fn paste(&mut self, text: &str) {
        self.remember();
        let is_long = text.lines().nth(PASTE_LINES_MAX).is_some()
            || text.chars().nth(PASTE_CHARACTERS_MAX).is_some();
        let mark = u32::try_from(self.pastes.len())
            .ok()
            .and_then(|number| char::from_u32(FIRST_MARK + number));
        match mark {
            Some(mark) if is_long && self.pastes.len() < MARKS_MAX => {
                self.pastes.push(text.to_owned());
                self.insert_here(mark.encode_utf8(&mut [0; 4]));
            }
            Some(_) | None => self.insert_here(&clean(text)),
        }
        self.moved();
    }

    /// Carries out what a key means.
    pub fn apply(&mut self, action: EditorAction) {
        match action {
            EditorAction::CursorUp => self.move_row(Vertical::Up),
            EditorAction::CursorDown => self.move_row(Vertical::Down),
            EditorAction::CursorLeft => self.jump(self.left()),
            EditorAction::CursorRight => self.jump(self.right()),
            EditorAction::CursorWordLeft => self.jump(self.word_left()),
            EditorAction::CursorWordRight => self.jump(self.word_right()),
            EditorAction::CursorLineStart => self.jump(self.line_start()),
            EditorAction::CursorLineEnd => self.jump(self.line_end()),
            EditorAction::DeleteCharBackward => self.delete(self.left()),
            EditorAction::DeleteCharForward => self.delete(self.right()),
            EditorAction::DeleteWordBackward => self.cut(self.word_left()),
            EditorAction::DeleteWordForward => self.cut(self.word_right()),
            EditorAction::DeleteToLineStart => {
                let start = self.line_start();
                // At the start already, the line joins the one above.
                self.cut(if start == self.cursor {
                    self.left()
                } else {
                    start
                });
            }
            EditorAction::DeleteToLineEnd => {
                let end = self.line_end();
                self.cut(if end == self.cursor {
                    self.right()
                } else {
                    end
                });
            }
            EditorAction::Yank => self.yank(),
            EditorAction::YankPop => self.yank_pop(),
            EditorAction::Undo => self.undo(),
            EditorAction::NewLine => {
                self.remember();
                self.insert_here("\n");
                self.moved();
            }
        }
    }

    /// Whether the cursor is in the first row.
    pub fn is_in_first_row(&self) -> bool {
        self.layout().cursor.0 == 0
    }

    /// Whether the cursor is in the last row.
    pub fn is_in_last_row(&self) -> bool {
        let layout = self.layout();
        layout.cursor.0 + 1 == layout.rows.len()
    }

    fn jump(&mut self, to: usize) {
        self.cursor = to;
        self.moved();
    }

    fn moved(&mut self) {
        self.sticky_column = None;
        self.last = LastChange::None;
    }

    fn delete(&mut self, to: usize) {
        if to != self.cursor {
            self.remember();
            self.remove(to.min(self.cursor), to.max(self.cursor));
            self.moved();
        }
    }

    fn cut(&mut self, to: usize) {
        let (from, end) = (to.min(self.cursor), to.max(self.cursor));
        if from == end {
            return;
        }
        self.remember();
        let is_backward = to < self.cursor;
        let piece = self.text.get(from..end).unwrap_or_default().to_owned();
        match (self.last, self.killed.last_mut()) {
            (LastChange::Cut, Some(last)) if is_backward => last.insert_str(0, &piece),
            (LastChange::Cut, Some(last)) => last.push_str(&piece),
            (_, _) => push_bounded(&mut self.killed, piece),
        }
        self.remove(from, end);
        self.moved();
        self.last = LastChange::Cut;
    }

    fn yank(&mut self) {
        if let Some(piece) = self.killed.last().cloned() {
            self.remember();
            self.insert_here(&piece);
            self.moved();
            self.last = LastChange::Yanked(piece.len());
        }
    }

    /// Replaces what was just brought back by what was cut before it.
    fn yank_pop(&mut self) {
        if let LastChange::Yanked(bytes) = self.last
            && let Some(piece) = self.killed.pop()
        {
            self.killed.insert(0, piece);
            self.remove(self.cursor - bytes, self.cursor);
            let piece = self.killed.last().cloned().unwrap_or_default();
            self.insert_here(&piece);
            self.last = LastChange::Yanked(piece.len());
        }
    }

    fn undo(&mut self) {
        if let Some((text, cursor)) = self.undo.pop() {
            self.text = text;
            self.cursor = cursor;
            self.moved();
        }
    }

    fn remember(&mut self) {
        push_bounded(&mut self.undo, (self.text.clone(), self.cursor));
    }

    fn insert_here(&mut self, text: &str) {
        self.text.insert_str(self.cursor, text);
        self.cursor += text.len();
        self.mend_cursor();
    }

    fn remove(&mut self, from: usize, to: usize) {
        self.text.replace_range(from..to, "");
        self.cursor = from;
        self.mend_cursor();
    }

    /// Marks and letters that came together may be one cluster now: the cursor goes behind it.
    fn mend_cursor(&mut self) {
        let mut end = 0;
        for cluster in clusters(&self.text) {
            if end >= self.cursor {
                break;
            }
            end += cluster.text.len();
        }
        self.cursor = end;
    }

    fn expand(&self, text: &str) -> String {
        let mut whole = String::with_capacity(text.len());
        for character in text.chars() {
            match self.paste_of(character) {
                Some(paste) => whole.push_str(paste),
                None => whole.push(character),
            }
        }
        whole
    }

    fn paste_of(&self, character: char) -> Option<&str> {
        let number = u32::from(character).checked_sub(FIRST_MARK)?;
        self.pastes
            .get(usize::try_from(number).ok()?)
            .map(String::as_str)
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Vertical {
    Up,
    Down,
}

fn push_bounded<T>(list: &mut Vec<T>, item: T) {
    if list.len() == HISTORY_MAX {
        list.remove(0);
    }
    list.push(item);
}

/// Text that may stand in the editor: no control characters but line feeds, tabs as blanks, none of the characters of marks.
fn clean(text: &str) -> String {
    let mut clean = String::with_capacity(text.len());
    for character in text.chars() {
        match character {
            '\t' => clean.push_str("    "),
            '\n' => clean.push('\n'),
            _ if character.is_control() => {}
            _ if u32::from(character) >= FIRST_MARK => clean.push('\u{fffd}'),
            _ => clean.push(character),
        }
    }
    clean
}

#[cfg(test)]
mod tests;
