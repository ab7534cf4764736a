//! Rows on the terminal's second screen, which has no history and leaves the first as it is.

use std::fmt::Write as _;

use crate::inline::Palette;
use crate::row::{Row, TextStyle};
use crate::width::clusters;

/// Switches to the second screen.
const ENTER: &str = "\u{1b}[?1049h\u{1b}[?7l";
/// Switches back to the first, as it was.
pub const ALTERNATE_OFF: &str = "\u{1b}[?7h\u{1b}[?1049l";

/// Draws whole screens by writing only rows that are different.
#[derive(Debug)]
pub struct AlternatePainter {
    palette: Palette,
    rows: Vec<Row>,
    has_begun: bool,
}

impl AlternatePainter {
    /// A painter that has not switched yet.
    pub fn new(palette: Palette) -> Self {
        Self {
            palette,
            rows: Vec::new(),
            has_begun: false,
        }
    }

    /// The bytes that show these rows, from the first row of the screen on.
    pub fn draw(&mut self, rows: &[Row]) -> String {
        let mut out = String::new();
        if !std::mem::replace(&mut self.has_begun, true) {
            out.push_str(ENTER);
        }
        let count = rows.len().max(self.rows.len());
        for index in 0..count {
            let row = rows.get(index).cloned().unwrap_or_default();
            if self.rows.get(index) != Some(&row) {
                // Writing to a string cannot fail.
                let _infallible = write!(out, "\u{1b}[{};1H\u{1b}[m", index + 1);
                self.write_row(&row, &mut out);
                out.push_str("\u{1b}[m\u{1b}[K");
            }
        }
        self.rows = rows.to_vec();
        out
    }

    /// The bytes that show these rows, with the cursor in this row and column.
    pub fn draw_with_cursor(&mut self, rows: &[Row], (row, column): (usize, usize)) -> String {
        let mut out = self.draw(rows);
        // Writing to a string cannot fail.
        let _infallible = write!(out, "\u{1b}[{};{}H", row + 1, column + 1);
        out
    }

    /// Draws in these colours, from the next rows on.
    pub fn set_palette(&mut self, palette: Palette) {
        self.palette = palette;
        self.rows.clear();
    }

    /// The terminal has another size, or something else was drawn: the next rows are drawn anew.
    pub fn forget(&mut self) {
        self.rows.clear();
    }

    /// Whether the second screen is shown.
    pub fn is_shown(&self) -> bool {
        self.has_begun
    }

    /// The bytes that switch back.
    pub fn leave(&mut self) -> &'static str {
        self.rows.clear();
        if std::mem::replace(&mut self.has_begun, false) {
            ALTERNATE_OFF
        } else {
            ""
        }
    }

    fn write_row(&self, row: &Row, out: &mut String) {
        let mut column = 0;
        let mut style = TextStyle::PLAIN;
        for span in &row.spans {
            if span.style != style {
                style = span.style;
                out.push_str(&self.palette.theme.sequence(style, self.palette.depth));
            }
            for cluster in clusters(span.text()) {
                out.push_str(cluster.text);
                column += cluster.columns;
                if cluster.is_disputed {
                    let _infallible = write!(out, "\u{1b}[{}G", column + 1);
                }
            }
        }
    }
}
