//! Tables: in columns where they fit, else one line for each value.

use crate::row::{Attribute, Span, TextStyle};
use crate::theme::Role;
use crate::width::width;

/// Columns between two columns of a table.
const GAP: &str = "  ";

#[derive(Debug, Default)]
pub(super) struct Table {
    rows: Vec<Vec<Vec<Span>>>,
}

impl Table {
    pub(super) fn begin_row(&mut self) {
        self.rows.push(Vec::new());
    }

    pub(super) fn cell(&mut self, spans: Vec<Span>) {
        if let Some(row) = self.rows.last_mut() {
            row.push(spans);
        }
    }

    pub(super) fn rows(mut self, columns: usize) -> Vec<Vec<Span>> {
        if let Some(head) = self.rows.first_mut() {
            for span in head.iter_mut().flatten() {
                span.style = span.style.with(Attribute::Bold);
            }
        }
        let count = self.rows.iter().map(Vec::len).max().unwrap_or_default();
        let widths: Vec<usize> = (0..count)
            .map(|column| {
                let cells = self.rows.iter().filter_map(|row| row.get(column));
                cells.map(|cell| cell_width(cell)).max().unwrap_or_default()
            })
            .collect();
        let needed = widths.iter().sum::<usize>() + GAP.len() * count.saturating_sub(1);
        if needed <= columns {
            self.in_columns(&widths)
        } else {
            self.in_a_list()
        }
    }

    fn in_columns(self, widths: &[usize]) -> Vec<Vec<Span>> {
        let mut lines = Vec::new();
        for (index, row) in self.rows.into_iter().enumerate() {
            let mut line: Vec<Span> = Vec::new();
            for (column, cell) in row.into_iter().enumerate() {
                if column > 0 {
                    line.push(Span::new(GAP, TextStyle::PLAIN));
                }
                let missing = widths
                    .get(column)
                    .map_or(0, |width| width - cell_width(&cell));
                line.extend(cell);
                if column + 1 < widths.len() {
                    line.push(Span::new(" ".repeat(missing), TextStyle::PLAIN));
                }
            }
            lines.push(line);
            if index == 0 {
                let rule: Vec<String> = widths.iter().map(|width| "─".repeat(*width)).collect();
                lines.push(vec![Span::new(
                    rule.join(GAP),
                    TextStyle::role(Role::BorderMuted),
                )]);
            }
        }
        lines
    }

    fn in_a_list(self) -> Vec<Vec<Span>> {
        let mut rows = self.rows.into_iter();
        let head = rows.next().unwrap_or_default();
        let mut lines = Vec::new();
        for (index, row) in rows.enumerate() {
            if index > 0 {
                lines.push(vec![Span::new("───", TextStyle::role(Role::BorderMuted))]);
            }
            for (column, cell) in row.into_iter().enumerate() {
                let mut line = head.get(column).cloned().unwrap_or_default();
                line.push(Span::new(": ", TextStyle::PLAIN));
                line.extend(cell);
                lines.push(line);
            }
        }
        lines
    }
}

fn cell_width(cell: &[Span]) -> usize {
    cell.iter().map(|span| width(span.text())).sum()
}
