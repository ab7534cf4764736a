//! Lines only: nothing that was written is ever changed, and no sequence is sent.

use crate::row::Row;

/// Puts rows out as lines, with the line that is written below them.
///
/// ```
/// use pirn_terminal::{PlainPainter, Row, TextStyle};
///
/// let mut painter = PlainPainter::default();
/// assert_eq!(painter.draw(&[], &[], "> h"), "> h");
/// assert_eq!(painter.draw(&[], &[], "> hi"), "i");
/// let said = Row::new("said", TextStyle::PLAIN);
/// assert_eq!(painter.draw(&[said], &[], "> "), "\r\nsaid\r\n> ");
/// ```
#[derive(Debug, Default)]
pub struct PlainPainter {
    /// The line at the bottom as it was written.
    line: String,
    /// The rows that were told last.
    told: Vec<String>,
}

impl PlainPainter {
    /// The bytes that tell what is new: rows that are finished, rows that are told again where they are different from the last
    /// time, and the line that is written.
    pub fn draw(&mut self, finished: &[Row], told: &[Row], line: &str) -> String {
        let told: Vec<String> = told.iter().map(Row::text).collect();
        let mut rows: Vec<String> = finished.iter().map(Row::text).collect();
        if told != self.told {
            // Only what was not told: a question that is joined by another is not read again from its start.
            let new = told.iter().filter(|row| !self.told.contains(row));
            rows.extend(new.cloned());
            self.told = told;
        }
        let mut out = String::new();
        if !rows.is_empty() {
            if !self.line.is_empty() {
                out.push_str("\r\n");
            }
            for row in &rows {
                out.push_str(row.trim_end());
                out.push_str("\r\n");
            }
            self.line.clear();
        }
        out.push_str(&self.line_bytes(line));
        line.clone_into(&mut self.line);
        out
    }

    /// The bytes after which the next thing begins on a line of its own.
    pub fn leave(&mut self) -> &'static str {
        self.told.clear();
        if std::mem::take(&mut self.line).is_empty() {
            ""
        } else {
            "\r\n"
        }
    }

    fn line_bytes(&self, line: &str) -> String {
        if let Some(more) = line.strip_prefix(self.line.as_str()) {
            return more.to_owned();
        }
        // Every terminal can take back a character of one column.
        if let Some(gone) = self.line.strip_prefix(line)
            && gone.chars().count() == 1
            && gone.is_ascii()
        {
            return "\u{8} \u{8}".to_owned();
        }
        format!("\r\n{line}")
    }
}

#[cfg(test)]
mod tests;
