//! Rows at the end of the terminal's own history: finished ones go into it once, those that change stay below.
//!
//! Where the rows stand on the screen is never asked: all motion is relative. Whatever stood there before, the shell's lines too,
//! is moved up by line feeds at the bottom, which is the one way that every terminal keeps in its history.

mod cells;

use std::fmt::Write as _;

use crate::row::{Row, TextStyle};
use crate::theme::{ColorDepth, Theme};
use cells::{Cell, cells};

/// The colours that rows are drawn in.
#[derive(Debug, Clone)]
pub struct Palette {
    /// Which colour each role has.
    pub theme: Theme,
    /// How many colours the terminal shows.
    pub depth: ColorDepth,
}

/// What is to be seen from now on.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Frame {
    /// Rows that are finished and go into the history.
    pub finished: Vec<Row>,
    /// The rows below them.
    pub live: Vec<Row>,
    /// Row and column of the cursor among the live rows.
    pub cursor: (usize, usize),
}

/// Draws frames by writing only what changes.
#[derive(Debug)]
pub struct InlinePainter {
    palette: Palette,
    columns: usize,
    rows: usize,
    /// The live rows as they are on the screen.
    live: Vec<Row>,
    /// The cursor among them.
    at: (usize, usize),
    /// The look that the terminal writes in.
    style: TextStyle,
    link: Option<String>,
    out: String,
}

impl InlinePainter {
    /// A painter that begins at the start of the row where the cursor is.
    pub fn new(palette: Palette, columns: usize, rows: usize) -> Self {
        Self {
            palette,
            columns: columns.max(2),
            rows: rows.max(2),
            live: Vec::new(),
            at: (0, 0),
            style: TextStyle::PLAIN,
            link: None,
            out: String::new(),
        }
    }

    /// The size that rows are made for.
    pub fn size(&self) -> (usize, usize) {
        (self.columns, self.rows)
    }

    /// The bytes that turn what is on the screen into this frame.
    pub fn draw(&mut self, frame: &Frame) -> String {
        let finished = self.keep_in_place(&frame.finished);
        // Rows that are live no more make room for those that are finished, so that no empty ones are left at the bottom.
        let spare = self.live.len().saturating_sub(frame.live.len().max(1));
        let above = finished.len().saturating_sub(spare);
        let (above, instead) = finished.split_at(above);
        // The rows that are inserted at once must have room above the bottom.
        let batch = self.rows.saturating_sub(self.live.len()).max(1);
        for rows in above.chunks(batch) {
            self.insert(0, rows.len());
            self.write_rows(rows);
            self.forget_first(rows.len());
        }
        self.update(&[instead, &frame.live].concat());
        self.forget_first(instead.len());
        self.move_to(frame.cursor);
        self.set_style(TextStyle::PLAIN);
        std::mem::take(&mut self.out)
    }

    /// The terminal has another size now, and has wrapped again what was too wide. The next frame is drawn anew.
    pub fn resize(&mut self, columns: usize, rows: usize) {
        let columns = columns.max(2);
        let rows_of = |row: &Row| row.width().div_ceil(columns).max(1);
        let above: usize = self.live.iter().take(self.at.0).map(rows_of).sum();
        let within = self.at.1.saturating_sub(1) / columns;
        self.columns = columns;
        self.rows = rows.max(2);
        up(&mut self.out, above + within);
        self.out.push_str("\r\u{1b}[J");
        self.live.clear();
        self.at = (0, 0);
    }

    /// Draws in these colours from the next frame on. What is finished keeps its own.
    pub fn set_palette(&mut self, palette: Palette) {
        self.palette = palette;
        self.erase_live();
    }

    /// Takes the live rows away, and leaves the cursor where they began.
    pub fn erase(&mut self) -> String {
        self.erase_live();
        std::mem::take(&mut self.out)
    }

    fn erase_live(&mut self) {
        self.move_to((0, 0));
        self.set_style(TextStyle::PLAIN);
        self.out.push_str("\r\u{1b}[J");
        self.live.clear();
    }

    /// Finished rows that are on the screen already, as the first live ones, need nothing written.
    fn keep_in_place<'a>(&mut self, finished: &'a [Row]) -> &'a [Row] {
        let same = finished
            .iter()
            .zip(&self.live)
            .take_while(|(finished, live)| finished == live)
            .count();
        // The last row stays, so that there is always one to move from.
        let same = same.min(self.live.len().saturating_sub(1));
        self.forget_first(same);
        finished.get(same..).unwrap_or_default()
    }

    /// The first rows belong to the history now.
    fn forget_first(&mut self, count: usize) {
        if self.at.0 < count {
            self.move_to((count, 0));
        }
        self.live.drain(..count);
        self.at.0 -= count;
    }

    /// Makes room for so many rows in front of a live one. The cursor is in the first of them.
    fn insert(&mut self, index: usize, count: usize) {
        if self.live.is_empty() {
            // Nothing stands below: writing makes room by itself.
            self.live = vec![Row::default(); count];
            for _ in 1..count {
                self.out.push('\n');
            }
            self.at.0 = count - 1;
            self.move_to((0, 0));
            return;
        }
        let bottom = self.live.len() - 1;
        self.move_to((bottom, self.at.1));
        for _ in 0..count {
            self.out.push('\n');
        }
        self.at.0 += count;
        if index <= bottom {
            let rows = self.at.0 - index;
            up(&mut self.out, rows);
            self.at = (index, 0);
            self.out.push('\r');
            // Writing to a string cannot fail.
            let _infallible = write!(self.out, "\u{1b}[{count}L");
        }
        self.live
            .splice(index..index, std::iter::repeat_n(Row::default(), count));
        self.move_to((index, 0));
    }

    /// Writes rows over empty ones, from the cursor on. Where a line goes on, the terminal wraps it.
    fn write_rows(&mut self, rows: &[Row]) {
        let mut goes_on = false;
        for (index, row) in rows.iter().enumerate() {
            if index > 0 {
                if goes_on {
                    self.at = (self.at.0 + 1, 0);
                } else {
                    self.move_to((self.at.0 + 1, 0));
                }
            }
            let cells = cells(row);
            self.write_cells(&cells);
            goes_on = row.continues
                && self.at.1 == self.columns
                && !cells.iter().any(|cell| cell.is_disputed);
            if let Some(place) = self.live.get_mut(self.at.0) {
                *place = row.clone();
            }
        }
        // Below the last of them the next live row begins.
        if self.at.0 + 1 < self.live.len() {
            self.move_to((self.at.0 + 1, 0));
        } else {
            self.live.push(Row::default());
            self.out.push_str("\r\n");
            self.at = (self.at.0 + 1, 0);
        }
    }

    /// Turns the live rows into these.
    fn update(&mut self, rows: &[Row]) {
        let empty = [Row::default()];
        let rows = if rows.is_empty() { &empty[..] } else { rows };
        if self.live.is_empty() {
            self.live.push(Row::default());
        }
        let head = self
            .live
            .iter()
            .zip(rows)
            .take_while(|(old, new)| old == new)
            .count();
        let tail = self
            .live
            .iter()
            .rev()
            .zip(rows.iter().rev())
            .take_while(|(old, new)| old == new)
            .count()
            .min(self.live.len().min(rows.len()) - head);
        let (old, new) = (self.live.len(), rows.len());
        if new > old {
            // Behind the rows that stay as they are or are written over.
            self.insert(old - tail, new - old);
        } else if new < old {
            let count = old - new;
            let index = old - tail - count;
            self.move_to((index, 0));
            if tail == 0 {
                self.out.push_str("\u{1b}[J");
            } else {
                let _infallible = write!(self.out, "\u{1b}[{count}M");
            }
            self.live.drain(index..index + count);
        }
        for (index, row) in rows.iter().enumerate() {
            if self.live.get(index) != Some(row) {
                self.write_over(index, row);
            }
        }
        // A last row that was taken away leaves the cursor below the others.
        self.at.0 = self.at.0.min(self.live.len());
    }

    /// Writes what is different in one row.
    fn write_over(&mut self, index: usize, row: &Row) {
        let Some(before) = self.live.get(index).cloned() else {
            return;
        };
        let (old, new) = (cells(&before), cells(row));
        let same = old
            .iter()
            .zip(&new)
            .take_while(|(old, new)| old == new)
            .count();
        let columns = |cells: &[Cell<'_>]| cells.iter().map(|cell| cell.columns).sum::<usize>();
        let (kept, changed) = new.split_at(same);
        let start = columns(kept);
        let mut changed = changed;
        let is_narrower = columns(&new) < columns(&old);
        // What stands to the right of the change may stay, where nothing moves.
        if columns(&new) == columns(&old) {
            let old_rest = old.get(same..).unwrap_or_default();
            let tail = old_rest
                .iter()
                .rev()
                .zip(changed.iter().rev())
                .take_while(|(old, new)| old == new)
                .count();
            changed = changed.get(..changed.len() - tail).unwrap_or_default();
        }
        self.move_to((index, start));
        self.write_cells(changed);
        if is_narrower {
            self.set_style(TextStyle::PLAIN);
            self.out.push_str("\u{1b}[K");
        }
        if let Some(place) = self.live.get_mut(index) {
            *place = row.clone();
        }
    }

    fn write_cells(&mut self, cells: &[Cell<'_>]) {
        for cell in cells {
            self.set_link(cell.link);
            self.set_style(cell.style);
            self.out.push_str(cell.text);
            self.at.1 += cell.columns;
            if cell.is_disputed {
                self.put_in_column(self.at.1);
            }
        }
        self.set_link(None);
    }

    fn set_style(&mut self, style: TextStyle) {
        if self.style != style {
            self.style = style;
            self.out
                .push_str(&self.palette.theme.sequence(style, self.palette.depth));
        }
    }

    fn set_link(&mut self, link: Option<&str>) {
        if self.link.as_deref() != link {
            self.link = link.map(str::to_owned);
            let _infallible = write!(self.out, "\u{1b}]8;;{}\u{1b}\\", link.unwrap_or_default());
        }
    }

    fn move_to(&mut self, (row, column): (usize, usize)) {
        let (from, at) = self.at;
        if row > from {
            if column == 0 && row == from + 1 {
                self.out.push_str("\r\n");
                self.at = (row, 0);
                return;
            }
            let _infallible = write!(self.out, "\u{1b}[{}B", row - from);
        } else {
            up(&mut self.out, from - row);
        }
        if column == 0 {
            if at != 0 {
                self.out.push('\r');
            }
        } else if column != at || at >= self.columns {
            self.put_in_column(column);
        }
        self.at = (row, column);
    }

    fn put_in_column(&mut self, column: usize) {
        let column = column.min(self.columns - 1);
        let _infallible = write!(self.out, "\u{1b}[{}G", column + 1);
    }
}

fn up(out: &mut String, rows: usize) {
    if rows > 0 {
        // Writing to a string cannot fail.
        let _infallible = write!(out, "\u{1b}[{rows}A");
    }
}

#[cfg(test)]
mod tests;
