//! A range of lines out of a stream of any length, in memory that is bounded.

use crate::encoding::{Encoding, NotText};
use crate::limits::{BYTES_MAX, CutBy, LINES_MAX, format_size};

/// The lines a call asks for.
#[derive(Debug, Clone, Copy)]
pub(super) struct Range {
    /// The first line, from 0.
    first: u64,
    /// The most lines that are wanted.
    limit: Option<u64>,
}

impl Range {
    /// From a 1-based offset and a limit as given. An offset of 0 or less means the first line, a limit of 0 or less one line.
    pub(super) fn new(offset: Option<i64>, limit: Option<i64>) -> Self {
        Self {
            first: u64::try_from(offset.unwrap_or(1).max(1) - 1).unwrap_or(0),
            limit: limit.map(|limit| u64::try_from(limit.max(1)).unwrap_or(1)),
        }
    }

    /// The first line, from 0.
    pub(super) fn first(self) -> u64 {
        self.first
    }
}

/// How much of a range is kept.
#[derive(Debug, Clone, Copy)]
pub(super) struct Limits {
    pub(super) lines: u64,
    pub(super) bytes: usize,
}

impl Limits {
    /// What a model reads at once.
    pub(super) const MODEL: Self = Self {
        lines: LINES_MAX as u64,
        bytes: BYTES_MAX,
    };
}

/// Why there are no lines to give.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Error {
    Offset {
        offset: u64,
        lines: u64,
    },
    NotText(NotText),
    /// The range is over the limits.
    TooLong,
}

/// What has been seen of the stream.
pub(super) struct Scan {
    range: Range,
    limits: Limits,
    /// How many line feeds were seen.
    line_feeds: u64,
    /// Whether the stream so far is not empty and does not end in a line feed.
    open_line: bool,
    /// The wanted lines, with their line feeds.
    kept: Vec<u8>,
    /// Whole or open lines in `kept`.
    kept_lines: u64,
    /// What ended the keeping before the range did.
    cut_by: Option<CutBy>,
    /// Bytes of the range's first line, which may be longer than what is kept of it.
    first_line_bytes: u64,
    /// Lines of the whole stream, where somebody knows.
    known_total: Option<u64>,
}

impl Scan {
    pub(super) fn new(range: Range, limits: Limits) -> Self {
        Self {
            range,
            limits,
            line_feeds: 0,
            open_line: false,
            kept: Vec::new(),
            kept_lines: 0,
            cut_by: None,
            first_line_bytes: 0,
            known_total: None,
        }
    }

    /// Starts at the beginning of a line that is not after the first one wanted.
    pub(super) fn start_at(&mut self, line: u64) {
        self.line_feeds = line;
    }

    /// Line feeds seen, with those passed over.
    pub(super) fn line_feeds(&self) -> u64 {
        self.line_feeds
    }

    /// Whether the first line of the range was seen to its end.
    pub(super) fn is_past_first_line(&self) -> bool {
        self.line_feeds > self.range.first
    }

    /// Says how many lines there are, for a stream that is not seen to its end.
    pub(super) fn set_total(&mut self, total: u64) {
        self.known_total = Some(total);
    }

    /// The line after the last one wanted.
    fn range_end(&self) -> u64 {
        self.range
            .limit
            .map_or(u64::MAX, |limit| self.range.first.saturating_add(limit))
    }

    /// Whether nothing that follows can change the lines of the range.
    pub(super) fn is_past_range(&self) -> bool {
        self.cut_by.is_some() || self.line_feeds >= self.range_end()
    }

    /// Takes zero bytes that need not be looked at one by one.
    pub(super) fn feed_hole(&mut self, length: u64) {
        let is_wanted = (self.range.first..self.range_end()).contains(&self.line_feeds);
        let room = self.limits.bytes.saturating_sub(self.kept.len()) as u64;
        if is_wanted && self.cut_by.is_none() {
            // One byte more than there is room for ends the keeping.
            let fed = length.min(room + 1);
            self.feed(&vec![0; usize::try_from(fed).unwrap_or(0)]);
            if self.line_feeds == self.range.first {
                self.first_line_bytes += length - fed;
            }
        } else if length > 0 {
            if self.line_feeds == self.range.first {
                self.first_line_bytes += length;
            }
            self.open_line = true;
        }
    }

    pub(super) fn feed(&mut self, mut chunk: &[u8]) {
        while !chunk.is_empty() {
            let in_range = (self.range.first..self.range_end()).contains(&self.line_feeds);
            // Also while only the length of an overlong first line is wanted.
            if in_range && (self.cut_by.is_none() || self.line_feeds == self.range.first) {
                chunk = self.feed_line(chunk);
            } else if self.line_feeds < self.range.first {
                chunk = self.skip_lines(chunk);
            } else {
                self.line_feeds += memchr::memchr_iter(b'\n', chunk).count() as u64;
                self.open_line = chunk.last() != Some(&b'\n');
                return;
            }
        }
    }

    /// Passes over lines before the range. Returns the rest of the chunk.
    fn skip_lines<'a>(&mut self, chunk: &'a [u8]) -> &'a [u8] {
        let to_skip = usize::try_from(self.range.first - self.line_feeds).unwrap_or(usize::MAX);
        // Counting is much faster than stopping at each line feed.
        let count = memchr::memchr_iter(b'\n', chunk).count();
        let last = if count < to_skip {
            None
        } else {
            memchr::memchr_iter(b'\n', chunk).nth(to_skip - 1)
        };
        if let Some(at) = last {
            self.line_feeds = self.range.first;
            self.open_line = false;
            return chunk.get(at + 1..).unwrap_or_default();
        }
        self.line_feeds += count as u64;
        self.open_line = chunk.last() != Some(&b'\n');
        &[]
    }

    /// Takes one line of the range, or the part of it that is in the chunk. Returns the rest of the chunk.
    fn feed_line<'a>(&mut self, chunk: &'a [u8]) -> &'a [u8] {
        let line_feed = memchr::memchr(b'\n', chunk);
        let (line, rest) = chunk.split_at(line_feed.unwrap_or(chunk.len()));
        if self.line_feeds == self.range.first {
            self.first_line_bytes += line.len() as u64;
        }
        let starts_line = !self.open_line;
        if self.cut_by.is_none() {
            if starts_line && self.kept_lines == self.limits.lines {
                self.cut_by = Some(CutBy::Lines);
            } else if self.kept.len() + line.len() > self.limits.bytes {
                self.drop_open_line();
                self.cut_by = Some(CutBy::Bytes);
            } else {
                self.kept_lines += u64::from(starts_line);
                self.kept.extend_from_slice(line);
                if line_feed.is_some() {
                    self.kept.push(b'\n');
                }
            }
        }
        self.open_line = line_feed.is_none();
        self.line_feeds += u64::from(line_feed.is_some());
        rest.get(1..).unwrap_or_default()
    }

    /// Removes the line that turned out not to fit.
    fn drop_open_line(&mut self) {
        if self.open_line {
            let start = memchr::memrchr(b'\n', &self.kept).map_or(0, |at| at + 1);
            self.kept.truncate(start);
            self.kept_lines -= 1;
        }
    }

    /// The lines of the range as they are, without a word added.
    pub(super) fn into_exact(self) -> Result<String, Error> {
        self.check_offset()?;
        match self.cut_by {
            Some(_) => Err(Error::TooLong),
            None => Encoding::Utf8.decode(self.kept).map_err(Error::NotText),
        }
    }

    fn check_offset(&self) -> Result<(), Error> {
        let (first, lines) = (self.range.first, self.total());
        if first > 0 && first >= lines {
            return Err(Error::Offset {
                offset: first + 1,
                lines,
            });
        }
        Ok(())
    }

    /// The lines there are, or those seen so far.
    pub(super) fn total(&self) -> u64 {
        self.known_total
            .unwrap_or(self.line_feeds + u64::from(self.open_line))
    }

    /// The lines of the range with a notice of what is left. `shown` is the path as the caller wrote it.
    pub(super) fn into_shown(self, shown: &str) -> Result<String, Error> {
        self.check_offset()?;
        let total = self.total();
        let first = self.range.first;
        let next = first + self.kept_lines;
        if self.cut_by.is_some() && self.kept_lines == 0 {
            let size = format_size(self.first_line_bytes);
            let line = first + 1;
            return Ok(format!(
                "[Line {line} is {size}, exceeds 50.0KB limit. Use bash: sed -n '{line}p' {} | head -c {BYTES_MAX}]",
                quote(shown)
            ));
        }
        let notice = match self.cut_by {
            Some(cut_by) => {
                let limit = if cut_by == CutBy::Bytes {
                    " (50.0KB limit)"
                } else {
                    ""
                };
                let (from, to) = (first + 1, next);
                Some(format!(
                    "[Showing lines {from}-{to} of {total}{limit}. Use offset={} to continue.]",
                    to + 1
                ))
            }
            None if next < total => {
                let more = total - next;
                Some(format!(
                    "[{more} more lines in file. Use offset={} to continue.]",
                    next + 1
                ))
            }
            None => None,
        };
        let mut text = Encoding::Utf8.decode(self.kept).map_err(Error::NotText)?;
        if let Some(notice) = notice {
            if text.ends_with('\n') {
                text.pop();
            }
            text.push_str("\n\n");
            text.push_str(&notice);
        }
        Ok(text)
    }
}

/// Quotes a path for a shell where it needs that.
fn quote(path: &str) -> String {
    let is_plain = |c: char| c.is_alphanumeric() || "/._-+,@%:=".contains(c);
    if !path.is_empty() && path.chars().all(is_plain) {
        path.to_owned()
    } else {
        format!("'{}'", path.replace('\'', r"'\''"))
    }
}

#[cfg(test)]
mod tests;
