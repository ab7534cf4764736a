//! The text of an editor in rows.

use std::ops::Range;

use super::Editor;
use crate::width::{clusters, width};

/// The rows of an editor's text, and where its cursor is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct EditorLayout {
    /// What each row shows.
    pub rows: Vec<String>,
    /// Row and column of the cursor.
    pub cursor: (usize, usize),
    /// For each row the places of its columns: first column and place in the text.
    places: Vec<Vec<(usize, usize)>>,
}

impl EditorLayout {
    /// The place in the text at a column of a row, or at the row's end.
    pub(super) fn place(&self, row: usize, column: usize) -> usize {
        let places = self.places.get(row).map_or(&[][..], Vec::as_slice);
        let at = places.iter().rev().find(|(start, _)| *start <= column);
        at.or(places.first()).map_or(0, |(_, place)| *place)
    }
}

/// One cluster as it is shown.
struct Shown {
    text: String,
    columns: usize,
    place: Range<usize>,
    is_blank: bool,
    /// A row may end behind it.
    may_break: bool,
}

impl Editor {
    /// The text in rows of the columns that were set. Lines break between words; a word longer than a row anywhere.
    pub fn layout(&self) -> EditorLayout {
        let mut layout = EditorLayout {
            rows: Vec::new(),
            cursor: (0, 0),
            places: Vec::new(),
        };
        let mut paste = 0;
        let mut place = 0;
        for line in self.text.split('\n') {
            let mut shown = Vec::new();
            for cluster in clusters(line) {
                let start = place;
                place += cluster.text.len();
                let mark = cluster
                    .text
                    .chars()
                    .next()
                    .and_then(|first| self.paste_of(first));
                let text = match mark {
                    Some(content) => {
                        paste += 1;
                        mark_text(paste, content)
                    }
                    None => crate::foreign::shown(cluster.text),
                };
                let is_blank = cluster.text == " ";
                let columns = width(&text);
                shown.push(Shown {
                    may_break: is_blank || columns > 1,
                    is_blank,
                    columns,
                    text,
                    place: start..place,
                });
            }
            self.line_rows(&shown, place, &mut layout);
            // The line feed.
            place += 1;
        }
        layout
    }

    fn line_rows(&self, line: &[Shown], line_end: usize, layout: &mut EditorLayout) {
        let mut rest = line;
        loop {
            let taken = row_length(rest, self.columns);
            let (row, after) = rest.split_at(taken.min(rest.len()));
            let is_last = after.is_empty();
            let mut text = String::new();
            let mut places = Vec::new();
            let mut column = 0;
            for shown in row {
                places.push((column, shown.place.start));
                if self.cursor == shown.place.start {
                    layout.cursor = (layout.rows.len(), column);
                }
                text.push_str(&shown.text);
                column += shown.columns;
            }
            if is_last {
                places.push((column, line_end));
                if self.cursor == line_end {
                    layout.cursor = (layout.rows.len(), column);
                }
            }
            layout.rows.push(text);
            layout.places.push(places);
            if is_last {
                return;
            }
            rest = after;
        }
    }
}

/// How many of these make a row. One column stays free for the cursor behind the last.
fn row_length(line: &[Shown], columns: usize) -> usize {
    let room = columns - 1;
    let mut taken = 0;
    let mut last_break = None;
    for (index, shown) in line.iter().enumerate() {
        // Blanks at the end of a row may hang over it.
        if taken + shown.columns > room && !(shown.is_blank && taken <= room) {
            return last_break.unwrap_or(index).max(1);
        }
        taken += shown.columns;
        if shown.may_break {
            last_break = Some(index + 1);
        }
    }
    line.len()
}

fn mark_text(number: usize, paste: &str) -> String {
    let lines = paste.lines().count();
    if lines > 1 {
        format!("[paste #{number} +{lines} lines]")
    } else {
        format!("[paste #{number} {} chars]", paste.chars().count())
    }
}
