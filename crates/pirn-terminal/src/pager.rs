//! A long text on the terminal: all of it where it fits, else page by page.

use std::io;

use crate::foreign::cut;
use crate::text::{Emphasis, Style, Text};
use crate::tty::{Key, Tty};

/// Stands before every line of the source, so that none of them looks like ours.
const MARGIN: &str = "  | ";
/// Stands before a row that goes on with the line above, so that none looks like a line of its own. As wide as the other.
const MARGIN_WITHIN_LINE: &str = "  : ";
/// Rows that a page leaves free, so that who asks is still on the screen when the question is: the header, and below the page a
/// remark, the question, and what is typed, which may need two rows each.
const OTHER_ROWS: usize = 7;
/// The least columns of text; a narrower terminal wraps by itself.
const COLUMNS_MIN: usize = 20;
/// Columns between the stops of tabs.
const TAB_COLUMNS: usize = 8;

/// How much of the source was on the screen.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Seen {
    Everything,
    Part {
        /// Lines that were shown.
        lines: usize,
        /// Lines that there are.
        of: usize,
    },
    /// The user pressed Ctrl-C.
    Interrupted,
}

/// What is shown, and on what terminal.
#[derive(Debug)]
pub(crate) struct Page {
    /// The row above each page, no longer than a row.
    pub(crate) header: String,
    /// What is shown behind the margin; its characters are all shown as themselves.
    pub(crate) body: String,
    pub(crate) columns: usize,
    pub(crate) rows: usize,
}

impl Page {
    /// All of it at once.
    pub(crate) fn whole(&self) -> Text {
        self.of(&rows_of(&self.body, self.columns))
    }

    fn of(&self, rows: &[Row]) -> Text {
        let rows = rows.iter().map(|row| {
            let margin = match row.place {
                RowPlace::LineStart => MARGIN,
                RowPlace::WithinLine => MARGIN_WITHIN_LINE,
            };
            let text = format!("{margin}{}", row.text);
            Text::line(text.trim_end())
        });
        let mut text = Text::line(&self.header);
        text.extend(rows);
        text
    }
}

/// Shows a text: all of it where it fits, else page by page.
pub(crate) fn show(tty: &mut Tty, page: &Page) -> io::Result<Seen> {
    let lines = rows_of(&page.body, page.columns);
    if lines.len() + OTHER_ROWS <= page.rows {
        tty.show(&page.of(&lines))?;
        return Ok(Seen::Everything);
    }
    Pager {
        page_rows: page.rows.saturating_sub(OTHER_ROWS).max(1),
        rows: lines,
        seen_rows: 0,
        page,
    }
    .run(tty)
}

struct Pager<'a> {
    page: &'a Page,
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
    place: RowPlace,
}

/// Where in its line a row begins.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum RowPlace {
    LineStart,
    WithinLine,
}

impl Pager<'_> {
    fn run(mut self, tty: &mut Tty) -> io::Result<Seen> {
        let mut from = 0;
        loop {
            let to = (from + self.page_rows).min(self.rows.len());
            let rows = self.rows.get(from..to).unwrap_or_default();
            tty.show(&self.page.of(rows))?;
            self.seen_rows = self.seen_rows.max(to);
            let last_page = to == self.rows.len();
            if last_page && from == 0 {
                return Ok(self.seen());
            }
            let status = cut(&self.status(from, to), self.page.columns.saturating_sub(1));
            match command(tty, &status)? {
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
        keys.show(&Text::emphasised(Emphasis::Status, Style::Coloured, status))?;
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
    tty.show(&Text::empty_row())?;
    command
}

/// The source as rows of the terminal. Characters beyond ASCII count as two columns, which is the most they take.
fn rows_of(source: &str, columns: usize) -> Vec<Row> {
    let columns_max = columns.saturating_sub(MARGIN.len() + 1).max(COLUMNS_MIN);
    let mut rows = Vec::new();
    for (index, line) in source.split('\n').enumerate() {
        let mut row = String::new();
        let mut used = 0;
        let mut place = RowPlace::LineStart;
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
                    place,
                });
                place = RowPlace::WithinLine;
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
            place,
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
