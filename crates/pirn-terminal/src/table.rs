//! Rows of cells, as wide as the terminal.

use crate::foreign::{cut, on_one_line};

/// The gap between two cells, and what lines below a row are set in by.
const GAP: &str = "  ";
/// The least columns that the last cell of a row is worth showing in; where it has less, cells stand below each other.
const LAST_COLUMNS_MIN: usize = 24;

/// A table without borders. Where its columns do not fit beside each other, the cells of a row stand below each other.
#[derive(Debug)]
pub struct Table {
    columns: usize,
    overflow: Overflow,
    rows: Vec<Row>,
}

/// What becomes of a last cell that does not fit.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Overflow {
    Cut,
    Wrap,
}

#[derive(Debug)]
enum Row {
    Cells(Vec<String>),
    /// A line about the row above.
    Below(String),
}

impl Table {
    /// An empty table for so many columns of text.
    pub fn new(columns: usize) -> Self {
        Self {
            columns,
            overflow: Overflow::Cut,
            rows: Vec::new(),
        }
    }

    /// The same table, whose last cells go on in the next line instead of being cut.
    #[must_use]
    pub fn wrapping(mut self) -> Self {
        self.overflow = Overflow::Wrap;
        self
    }

    /// Adds a row of cells below the others.
    pub fn row<'a>(&mut self, cells: impl IntoIterator<Item = &'a str>) {
        let cells = cells.into_iter().map(on_one_line).collect();
        self.rows.push(Row::Cells(cells));
    }

    /// Adds a line about the last row; it is wrapped, not cut.
    pub fn below(&mut self, line: &str) {
        self.rows.push(Row::Below(on_one_line(line)));
    }

    /// The text. Every cell but the last of a row is as wide as its column.
    pub fn render(&self) -> String {
        let widths = self.widths();
        let fixed: usize = widths
            .iter()
            .rev()
            .skip(1)
            .map(|width| width + GAP.len())
            .sum();
        let last = widths.last().copied().unwrap_or_default();
        let fits = fixed + last.min(LAST_COLUMNS_MIN) <= self.columns;
        let mut text = String::new();
        for row in &self.rows {
            match row {
                Row::Below(line) => self.push_below(&mut text, line),
                Row::Cells(cells) if fits => self.push_row(&mut text, cells, &widths),
                Row::Cells(cells) => {
                    let mut cells = cells.iter().filter(|cell| !cell.is_empty());
                    if let Some(first) = cells.next() {
                        for piece in wrapped(first, self.columns) {
                            text.push_str(&piece);
                            text.push('\n');
                        }
                    }
                    cells.for_each(|cell| self.push_below(&mut text, cell));
                }
            }
        }
        text
    }

    fn push_row(&self, text: &mut String, cells: &[String], widths: &[usize]) {
        let padded = |cells: &[String]| {
            let padded = cells.iter().zip(widths);
            let padded: Vec<String> = padded
                .map(|(cell, width)| format!("{cell:<width$}"))
                .collect();
            padded.join(GAP)
        };
        match (self.overflow, cells.split_last()) {
            (Overflow::Wrap, Some((last, before))) if !before.is_empty() => {
                let before = format!("{}{GAP}", padded(before));
                let indent = before.chars().count();
                let pieces = wrapped(last, self.columns.saturating_sub(indent));
                for (index, piece) in pieces.iter().enumerate() {
                    let start = if index == 0 { before.as_str() } else { "" };
                    text.push_str(format!("{start:<indent$}{piece}").trim_end());
                    text.push('\n');
                }
            }
            (Overflow::Cut | Overflow::Wrap, _) => {
                text.push_str(&cut(padded(cells).trim_end(), self.columns));
                text.push('\n');
            }
        }
    }

    fn widths(&self) -> Vec<usize> {
        let mut widths: Vec<usize> = Vec::new();
        for row in &self.rows {
            let Row::Cells(cells) = row else {
                continue;
            };
            widths.resize(widths.len().max(cells.len()), 0);
            for (width, cell) in widths.iter_mut().zip(cells) {
                *width = (*width).max(cell.chars().count());
            }
        }
        widths
    }

    fn push_below(&self, text: &mut String, line: &str) {
        for piece in wrapped(line, self.columns.saturating_sub(GAP.len())) {
            text.push_str(GAP);
            text.push_str(&piece);
            text.push('\n');
        }
    }
}

/// A line as pieces of at most so many columns, broken between words where there are any.
fn wrapped(line: &str, columns: usize) -> Vec<String> {
    let mut pieces = Vec::new();
    let mut piece = String::new();
    for word in line.split(' ') {
        let (used, width) = (piece.chars().count(), word.chars().count());
        if used > 0 && used + 1 + width > columns {
            pieces.push(std::mem::take(&mut piece));
        } else if used > 0 {
            piece.push(' ');
        }
        // A word that is longer than a line is broken where the line ends.
        for character in word.chars() {
            if columns > 0 && piece.chars().count() == columns {
                pieces.push(std::mem::take(&mut piece));
            }
            piece.push(character);
        }
    }
    pieces.push(piece);
    pieces
}

#[cfg(test)]
mod tests;
