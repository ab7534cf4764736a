//! Rows of cells, as wide as the terminal.

use crate::foreign::{cut, on_one_line};

/// The gap between two cells, and what lines below a row are set in by.
const GAP: &str = "  ";
/// The least columns that the last cell of a row is worth showing in; where it has less, cells stand below each other.
const LAST_COLUMNS_MIN: usize = 24;

/// A table without borders. Where its columns do not fit beside each other, the first cell of a row stands alone and the others
/// below it, each with the heading of its column.
#[derive(Debug)]
pub struct Table {
    columns: usize,
    overflow: Overflow,
    heading: Vec<String>,
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
            heading: Vec::new(),
            rows: Vec::new(),
        }
    }

    /// The same table, whose last cells go on in the next line instead of being cut.
    #[must_use]
    pub fn wrapping(mut self) -> Self {
        self.overflow = Overflow::Wrap;
        self
    }

    /// Names the columns; shown above them, or before each cell of rows that do not fit.
    pub fn heading<'a>(&mut self, cells: impl IntoIterator<Item = &'a str>) {
        self.heading = cells.into_iter().map(on_one_line).collect();
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
        if fits && !self.heading.is_empty() {
            self.push_row(&mut text, &self.heading, &widths);
        }
        for row in &self.rows {
            match row {
                Row::Below(line) => self.push_below(&mut text, line),
                Row::Cells(cells) if fits => self.push_row(&mut text, cells, &widths),
                Row::Cells(cells) => self.push_stacked(&mut text, cells),
            }
        }
        text
    }

    /// The first cell, and below it the others: as many in a line as fit.
    fn push_stacked(&self, text: &mut String, cells: &[String]) {
        let mut cells = cells
            .iter()
            .enumerate()
            .filter(|(_, cell)| !cell.is_empty());
        if let Some((_, first)) = cells.next() {
            for piece in wrapped(first, self.columns) {
                text.push_str(&piece);
                text.push('\n');
            }
        }
        let mut line = String::new();
        for (column, cell) in cells {
            let cell = match self.heading.get(column) {
                Some(heading) => format!("{heading} {cell}"),
                None => cell.clone(),
            };
            let width = line.chars().count() + GAP.len() + cell.chars().count();
            if !line.is_empty() && width + GAP.len() > self.columns {
                self.push_below(text, &std::mem::take(&mut line));
            }
            if !line.is_empty() {
                line.push_str(GAP);
            }
            line.push_str(&cell);
        }
        if !line.is_empty() {
            self.push_below(text, &line);
        }
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
        let rows = self.rows.iter().filter_map(|row| match row {
            Row::Cells(cells) => Some(cells),
            Row::Below(_) => None,
        });
        for cells in std::iter::once(&self.heading).chain(rows) {
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
