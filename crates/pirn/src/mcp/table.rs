//! Rows of cells, cut to the width of the terminal.

use crate::surroundings::{Stream, Surroundings};
use crate::tty;
use crate::visible::{cut, on_one_line};

/// Columns of a row where the output is on no terminal.
const COLUMNS_DEFAULT: usize = 160;
/// The gap between two cells.
const GAP: &str = "  ";

/// A table without borders.
pub(super) struct Table {
    columns: usize,
    rows: Vec<Row>,
}

enum Row {
    Cells(Vec<String>),
    /// A line about the row above.
    Below(String),
}

impl Table {
    /// An empty table for standard output.
    pub(super) fn new(surroundings: &Surroundings) -> Self {
        Self {
            columns: match surroundings.stdout {
                Stream::Terminal => tty::columns().unwrap_or(COLUMNS_DEFAULT),
                Stream::Other => COLUMNS_DEFAULT,
            },
            rows: Vec::new(),
        }
    }

    /// Adds a row.
    pub(super) fn row<'a>(&mut self, cells: impl IntoIterator<Item = &'a str>) {
        let cells = cells.into_iter().map(on_one_line).collect();
        self.rows.push(Row::Cells(cells));
    }

    /// Adds a line about the last row; it is not cut.
    pub(super) fn below(&mut self, line: &str) {
        self.rows.push(Row::Below(on_one_line(line)));
    }

    /// The text. Every cell but the last of a row is as wide as its column.
    pub(super) fn render(&self) -> String {
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
        let mut text = String::new();
        for row in &self.rows {
            match row {
                Row::Below(line) => {
                    text.push_str(GAP);
                    text.push_str(line);
                }
                Row::Cells(cells) => {
                    let cells: Vec<String> = cells
                        .iter()
                        .zip(&widths)
                        .map(|(cell, width)| format!("{cell:<width$}"))
                        .collect();
                    text.push_str(&cut(cells.join(GAP).trim_end(), self.columns));
                }
            }
            text.push('\n');
        }
        text
    }
}
