//! The whole conversation on a screen of its own: nothing left out, with search.

use pirn_terminal::{Attribute, KeyCode, KeyPress, Role, Row, TextStyle};

use crate::call::Detail;
use crate::scroll::{Direction, Scroll, has};
use crate::transcript::Transcript;

/// The viewer while it is open.
#[derive(Debug)]
pub(crate) struct Viewer {
    scroll: Scroll,
    /// What is looked for, in small letters.
    query: String,
    is_typing: bool,
    /// Blocks that have it.
    found: Option<usize>,
}

/// What a key comes to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum ViewerKey {
    Stays,
    Closed,
}

impl Viewer {
    pub(crate) fn at_end() -> Self {
        Self {
            scroll: Scroll::at_end(Detail::Whole),
            query: String::new(),
            is_typing: false,
            found: None,
        }
    }

    /// The viewer with an open search.
    pub(crate) fn with_search() -> Self {
        Self {
            is_typing: true,
            ..Self::at_end()
        }
    }

    pub(crate) fn key(&mut self, key: KeyPress, transcript: &Transcript) -> ViewerKey {
        if self.is_typing {
            self.type_query(key, transcript);
            return ViewerKey::Stays;
        }
        let page = self.scroll.page();
        match key.code {
            KeyCode::Escape | KeyCode::Char('q' | 't' | 'c') => return ViewerKey::Closed,
            KeyCode::Up | KeyCode::Char('k') => self.scroll.rows_back(1),
            KeyCode::Down | KeyCode::Char('j') => self.scroll.rows_on(1),
            KeyCode::PageUp | KeyCode::Char('b') => self.scroll.rows_back(page),
            KeyCode::PageDown | KeyCode::Char(' ') => self.scroll.rows_on(page),
            KeyCode::Home | KeyCode::Char('g') => self.scroll.go_to_start(),
            KeyCode::End | KeyCode::Char('G') => self.scroll.go_to_end(),
            KeyCode::Char('[') => self.scroll.choose(Direction::Back),
            KeyCode::Char(']') => self.scroll.choose(Direction::Forward),
            KeyCode::Enter => self.scroll.toggle(transcript),
            KeyCode::Char('/' | 'f') => {
                self.is_typing = true;
                self.query.clear();
                self.found = None;
            }
            KeyCode::Char('n') => self.find(transcript, Direction::Forward),
            KeyCode::Char('N') => self.find(transcript, Direction::Back),
            _ => {}
        }
        ViewerKey::Stays
    }

    fn type_query(&mut self, key: KeyPress, transcript: &Transcript) {
        match (key.code, key.typed()) {
            (KeyCode::Enter, _) => {
                self.is_typing = false;
                self.query = self.query.to_lowercase();
                self.find(transcript, Direction::Forward);
            }
            (KeyCode::Escape, _) => {
                self.is_typing = false;
                self.query.clear();
            }
            (KeyCode::Backspace, _) => drop(self.query.pop()),
            (_, Some(typed)) => self.query.push(typed),
            (_, None) => {}
        }
    }

    fn find(&mut self, transcript: &Transcript, direction: Direction) {
        if !self.query.is_empty() {
            self.found = Some(self.scroll.find(transcript, &self.query, direction));
        }
    }

    /// The screen: a part of the conversation, and a row that says where one is.
    pub(crate) fn rows(
        &mut self,
        transcript: &Transcript,
        columns: usize,
        rows: usize,
    ) -> Vec<Row> {
        let room = rows.saturating_sub(1).max(1);
        let (mut shown, place) = self.scroll.rows(transcript, columns, room);
        if !self.query.is_empty() && !self.is_typing {
            for row in shown.iter_mut().filter(|row| has(row, &self.query)) {
                for span in &mut row.spans {
                    span.style = span.style.with(Attribute::Underline);
                }
            }
        }
        let words = match (self.is_typing, self.found) {
            (true, _) => format!("/{}", self.query),
            (false, Some(0)) => format!("nothing has “{}”", self.query),
            (false, found) => {
                let found = found
                    .map(|count| format!("{count} blocks have “{}”  ", self.query))
                    .unwrap_or_default();
                format!(
                    "{found}row {} of {}, {} below  / search  n next  [ ] block  enter fold  q back",
                    (place.top + 1).min(place.total),
                    place.total,
                    place.below
                )
            }
        };
        shown.push(Row::new(words, TextStyle::role(Role::Muted)).cut(columns));
        shown
    }
}
