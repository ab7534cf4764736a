//! Places in the text that the cursor goes to.

use super::{Editor, Vertical};
use crate::width::clusters;

/// What a cluster is for moving by words.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Kind {
    Blank,
    Word,
    Punctuation,
}

fn kind(cluster: &str) -> Kind {
    match cluster.chars().next() {
        Some(first) if first.is_whitespace() => Kind::Blank,
        Some(first) if first.is_alphanumeric() || first == '_' => Kind::Word,
        _ => Kind::Punctuation,
    }
}

impl Editor {
    pub(super) fn left(&self) -> usize {
        let last = clusters(self.before_cursor()).last();
        self.cursor - last.map_or(0, |cluster| cluster.text.len())
    }

    pub(super) fn right(&self) -> usize {
        let next = clusters(self.after_cursor()).next();
        self.cursor + next.map_or(0, |cluster| cluster.text.len())
    }

    pub(super) fn line_start(&self) -> usize {
        self.before_cursor().rfind('\n').map_or(0, |at| at + 1)
    }

    pub(super) fn line_end(&self) -> usize {
        let rest = self.after_cursor();
        self.cursor + rest.find('\n').unwrap_or(rest.len())
    }

    pub(super) fn word_left(&self) -> usize {
        let before: Vec<&str> = clusters(self.before_cursor())
            .map(|cluster| cluster.text)
            .collect();
        self.cursor - word_bytes(before.into_iter().rev())
    }

    pub(super) fn word_right(&self) -> usize {
        self.cursor + word_bytes(clusters(self.after_cursor()).map(|cluster| cluster.text))
    }

    pub(super) fn move_row(&mut self, direction: Vertical) {
        let layout = self.layout();
        let (row, column) = layout.cursor;
        let wanted = self.sticky_column.unwrap_or(column);
        let target = match direction {
            Vertical::Up => row.checked_sub(1),
            Vertical::Down => Some(row + 1).filter(|row| *row < layout.rows.len()),
        };
        let place = match (target, direction) {
            (Some(row), _) => layout.place(row, wanted),
            (None, Vertical::Up) => 0,
            (None, Vertical::Down) => self.text.len(),
        };
        self.jump(place);
        self.sticky_column = target.map(|_| wanted);
    }
}

/// The bytes of blanks and then of one word.
fn word_bytes<'a>(clusters: impl Iterator<Item = &'a str>) -> usize {
    let mut bytes = 0;
    let mut word = Kind::Blank;
    for cluster in clusters {
        let kind = kind(cluster);
        if word == Kind::Blank {
            word = kind;
        } else if kind != word {
            break;
        }
        bytes += cluster.len();
    }
    bytes
}
