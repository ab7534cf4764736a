//! The whole conversation on a screen of its own: nothing left out, with search.

use pirn_terminal::{Attribute, KeyCode, KeyPress, Role, Row, Span, TextStyle};

/// The viewer while it is open.
#[derive(Debug, Default)]
pub(crate) struct Viewer {
    top: usize,
    /// Whether it stays at the end while more comes.
    follows: bool,
    /// What is looked for.
    query: String,
    is_typing: bool,
    /// Rows at the last drawing, and those that had room.
    drawn: (usize, usize),
    /// Where to go at the next drawing, as only there the rows are known.
    jump: Option<Jump>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Jump {
    Next,
    Previous,
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
            follows: true,
            ..Self::default()
        }
    }

    pub(crate) fn key(&mut self, key: KeyPress) -> ViewerKey {
        if self.is_typing {
            match (key.code, key.typed()) {
                (KeyCode::Enter, _) => {
                    self.is_typing = false;
                    self.jump = Some(Jump::Next);
                }
                (KeyCode::Escape, _) => {
                    self.is_typing = false;
                    self.query.clear();
                }
                (KeyCode::Backspace, _) => drop(self.query.pop()),
                (_, Some(typed)) => self.query.push(typed),
                (_, None) => {}
            }
            return ViewerKey::Stays;
        }
        let (count, room) = self.drawn;
        let last = count.saturating_sub(room);
        let to = match key.code {
            KeyCode::Escape | KeyCode::Char('q' | 't' | 'c') => return ViewerKey::Closed,
            KeyCode::Up | KeyCode::Char('k') => self.top.saturating_sub(1),
            KeyCode::Down | KeyCode::Char('j') => self.top + 1,
            KeyCode::PageUp | KeyCode::Char('b') => self.top.saturating_sub(room),
            KeyCode::PageDown | KeyCode::Char(' ') => self.top + room,
            KeyCode::Home | KeyCode::Char('g') => 0,
            KeyCode::End | KeyCode::Char('G') => last,
            KeyCode::Char('/') => {
                self.is_typing = true;
                self.query.clear();
                self.top
            }
            KeyCode::Char('n') => {
                self.jump = Some(Jump::Next);
                self.top
            }
            KeyCode::Char('N') => {
                self.jump = Some(Jump::Previous);
                self.top
            }
            _ => self.top,
        };
        self.top = to.min(last);
        self.follows = self.top == last;
        ViewerKey::Stays
    }

    /// The screen: a part of `all`, and a row that says where one is.
    pub(crate) fn rows(&mut self, all: Vec<Row>, columns: usize, rows: usize) -> Vec<Row> {
        let room = rows.saturating_sub(1).max(1);
        let count = all.len();
        let last = count.saturating_sub(room);
        self.drawn = (count, room);
        if self.follows {
            self.top = last;
        }
        let query = self.query.to_lowercase();
        let mut found = None;
        if let Some(jump) = self.jump.take()
            && !query.is_empty()
        {
            let fits = |row: &Row| row.text().to_lowercase().contains(&query);
            let matches: Vec<usize> = all
                .iter()
                .enumerate()
                .filter(|(_, row)| fits(row))
                .map(|(index, _)| index)
                .collect();
            let next = match jump {
                Jump::Next => matches
                    .iter()
                    .find(|index| **index > self.top)
                    .or(matches.first()),
                Jump::Previous => matches
                    .iter()
                    .rev()
                    .find(|index| **index < self.top)
                    .or(matches.last()),
            };
            if let Some(next) = next {
                self.top = (*next).min(last);
                self.follows = false;
            }
            found = Some(matches.len());
        }
        self.top = self.top.min(last);
        let mut shown: Vec<Row> = all.into_iter().skip(self.top).take(room).collect();
        if !query.is_empty() {
            for row in &mut shown {
                if row.text().to_lowercase().contains(&query) {
                    for span in &mut row.spans {
                        span.style = span.style.with(Attribute::Reverse);
                    }
                }
            }
        }
        shown.resize(room, Row::default());
        let below = last - self.top;
        let words = match (self.is_typing, found) {
            (true, _) => format!("/{}", self.query),
            (false, Some(0)) => format!("nothing has “{}”", self.query),
            (false, _) => format!(
                "rows {} to {} of {count}, {below} below  / search  n next  q back",
                self.top + 1,
                (self.top + room).min(count)
            ),
        };
        let style = TextStyle::role(Role::Muted);
        shown.push(Row::from(vec![Span::new(words, style)]).cut(columns.saturating_sub(1)));
        shown
    }
}
