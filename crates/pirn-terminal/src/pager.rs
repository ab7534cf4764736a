//! A source on the terminal: all of it where it fits, else page by page.

use std::io;

use crate::tty::{Key, Tty};

/// Stands before every line of the source, so that none of them looks like ours.
const MARGIN: &str = "  | ";
/// Lines around the source: what is asked about above it, and the question below.
const OTHER_ROWS: usize = 8;
/// Rows where the terminal does not say how many it has.
const ROWS_DEFAULT: usize = 24;
/// Columns where the terminal does not say how many it has.
const COLUMNS_DEFAULT: usize = 80;
/// The least columns of text; a narrower terminal wraps by itself.
const COLUMNS_MIN: usize = 20;
/// Columns between the stops of tabs.
const TAB_COLUMNS: usize = 8;

/// How much of the source was on the screen.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Seen {
    /// All of it.
    Everything,
    /// So many lines.
    Part {
        /// Lines that were shown.
        lines: usize,
        /// Lines that there are.
        of: usize,
    },
    /// The user pressed Ctrl-C.
    Interrupted,
}

/// Shows `source`, whose characters are all shown as themselves.
pub fn show_pages(tty: &mut Tty, source: &str) -> io::Result<Seen> {
    let (columns, rows) = tty.size().unwrap_or((COLUMNS_DEFAULT, ROWS_DEFAULT));
    let lines = rows_of(source, columns);
    if lines.len() + OTHER_ROWS <= rows {
        tty.show(&text(&lines))?;
        return Ok(Seen::Everything);
    }
    Pager {
        page_rows: rows.saturating_sub(2).max(1),
        rows: lines,
        seen_rows: 0,
    }
    .run(tty)
}

struct Pager {
    rows: Vec<Row>,
    page_rows: usize,
    /// Rows from the first one on that were on the screen.
    seen_rows: usize,
}

/// What the terminal shows in one row.
#[derive(Debug, PartialEq, Eq)]
struct Row {
    text: String,
    /// The line that it belongs to, from 1.
    line: usize,
}

impl Pager {
    fn run(mut self, tty: &mut Tty) -> io::Result<Seen> {
        let mut from = 0;
        loop {
            let to = (from + self.page_rows).min(self.rows.len());
            tty.show(&text(self.rows.get(from..to).unwrap_or_default()))?;
            self.seen_rows = self.seen_rows.max(to);
            let last_page = to == self.rows.len();
            if last_page && from == 0 {
                return Ok(self.seen());
            }
            match command(tty, &self.status(from, to))? {
                Command::Next if last_page => return Ok(self.seen()),
                Command::Next => from = to,
                Command::Back => from = from.saturating_sub(self.page_rows),
                Command::Leave => return Ok(self.seen()),
                Command::Interrupt => return Ok(Seen::Interrupted),
            }
        }
    }

    fn status(&self, from: usize, to: usize) -> String {
        let line = |row: usize| self.rows.get(row).map_or(0, |row| row.line);
        let next = if to == self.rows.len() {
            "space: to the question"
        } else {
            "space: next page"
        };
        format!(
            "-- lines {} to {} of {} -- {next}, b: back, q: to the question",
            line(from),
            line(to - 1),
            self.lines()
        )
    }

    fn lines(&self) -> usize {
        self.rows.last().map_or(0, |row| row.line)
    }

    fn seen(&self) -> Seen {
        if self.seen_rows == self.rows.len() {
            return Seen::Everything;
        }
        // The line of the next row was not seen to its end.
        let next = self.rows.get(self.seen_rows).map_or(0, |row| row.line);
        Seen::Part {
            lines: next.saturating_sub(1),
            of: self.lines(),
        }
    }
}

enum Command {
    Next,
    Back,
    Leave,
    Interrupt,
}

/// Shows the status line until a key means something, and takes it away again.
fn command(tty: &mut Tty, status: &str) -> io::Result<Command> {
    let command = tty.with_keys(|keys| {
        keys.show(&format!("\u{1b}[7m{status}\u{1b}[0m"))?;
        loop {
            match keys.read()? {
                Key::Byte(b' ' | b'\r' | b'\n' | b'f') => return Ok(Command::Next),
                Key::Byte(b'b') => return Ok(Command::Back),
                Key::Byte(b'q') | Key::End => return Ok(Command::Leave),
                Key::Interrupt => return Ok(Command::Interrupt),
                Key::Byte(_) => {}
            }
        }
    });
    tty.show("\r\u{1b}[K")?;
    command
}

fn text(rows: &[Row]) -> String {
    rows.iter()
        .flat_map(|row| [MARGIN, row.text.as_str(), "\n"])
        .collect()
}

/// The source as rows of the terminal. Characters beyond ASCII count as two columns, which is the most they take.
fn rows_of(source: &str, columns: usize) -> Vec<Row> {
    let columns_max = columns.saturating_sub(MARGIN.len() + 1).max(COLUMNS_MIN);
    let mut rows = Vec::new();
    for (index, line) in source.split('\n').enumerate() {
        let mut row = String::new();
        let mut used = 0;
        for character in line.chars() {
            let width = match character {
                '\t' => TAB_COLUMNS - used % TAB_COLUMNS,
                _ if character.is_ascii() => 1,
                _ => 2,
            };
            if used + width > columns_max {
                rows.push(Row {
                    text: std::mem::take(&mut row),
                    line: index + 1,
                });
                used = 0;
            }
            match character {
                '\t' => row.extend(std::iter::repeat_n(' ', width)),
                _ => row.push(character),
            }
            used += width;
        }
        rows.push(Row {
            text: row,
            line: index + 1,
        });
    }
    // A line feed ends the last line and starts no new one.
    if source.ends_with('\n') && rows.len() > 1 {
        rows.pop();
    }
    rows
}

#[cfg(test)]
mod tests;
