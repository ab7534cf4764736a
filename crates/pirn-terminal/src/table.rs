//! Rows of cells, cut to the width of the terminal.

use crate::visible::{cut, on_one_line};

/// The gap between two cells.
const GAP: &str = "  ";

/// A table without borders.
#[derive(Debug)]
pub struct Table {
    columns: usize,
    rows: Vec<Row>,
}

#[derive(Debug)]
enum Row {
    Cells(Vec<String>),
    /// A line about the row above.
    Below(String),
}

impl Table {
    /// An empty table whose rows are cut to so many columns.
    pub fn new(columns: usize) -> Self {
        Self {
            columns,
            rows: Vec::new(),
        }
    }

    /// Adds a row.
    pub fn row<'a>(&mut self, cells: impl IntoIterator<Item = &'a str>) {
        let cells = cells.into_iter().map(on_one_line).collect();
        self.rows.push(Row::Cells(cells));
    }

    /// Adds a line about the last row; it is not cut.
    pub fn below(&mut self, line: &str) {
        self.rows.push(Row::Below(on_one_line(line)));
    }

    /// The text. Every cell but the last of a row is as wide as its column.
    pub fn render(&self) -> String {
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
