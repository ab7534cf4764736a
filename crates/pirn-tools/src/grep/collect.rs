//! The hits of one file.

use std::io;

use grep_matcher::Matcher as _;
use grep_regex::RegexMatcher;
use grep_searcher::{Searcher, Sink, SinkContext, SinkMatch};

use crate::limits::BYTES_MAX;
use crate::reader::{Reader, SCRIPT_RESULT_BYTES_MAX, Window};

/// Characters shown of a line; longer ones are minified code or data, of which a model needs no more.
const LINE_CHARS_MAX: usize = 500;

/// Of these so many before the match, where it is far from the beginning of its line.
const CHARS_BEFORE_FOCUS: usize = 100;

/// Stands for the beginning of a line.
const BEGINNING_CUT: &str = "[truncated] ...";

/// How much is found.
#[derive(Debug, Clone, Copy)]
pub(super) struct Bounds {
    pub(super) reader: Reader,
    /// Lines before and after each match.
    pub(super) context: usize,
    /// Which of the matches are given.
    pub(super) window: Window,
}

impl Bounds {
    /// The most bytes of lines.
    pub(super) fn bytes(self) -> usize {
        match self.reader {
            Reader::Eyes => BYTES_MAX,
            Reader::Program => SCRIPT_RESULT_BYTES_MAX,
        }
    }
}

/// Whether a line matched or stands beside one that did.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum HitKind {
    Match,
    Context,
}

/// One line to show.
#[derive(Debug)]
pub(super) struct Hit {
    pub(super) kind: HitKind,
    pub(super) line_number: u64,
    /// Without its line end, cut to [`LINE_CHARS_MAX`].
    pub(super) text: String,
    pub(super) is_cut: bool,
}

/// The hits of one file, in order. Enough of them for every way the merged result can be cut, not more.
#[derive(Debug, Default)]
pub(super) struct FileHits {
    /// Relative to the searched folder.
    pub(super) path: String,
    pub(super) hits: Vec<Hit>,
    /// Whether a line was too long to hold, so that the file was not searched to its end.
    pub(super) gave_up: bool,
}

impl FileHits {
    /// Roughly what the hits take in memory.
    pub(super) fn bytes(&self) -> usize {
        self.hits
            .iter()
            .map(|hit| hit.text.len() + size_of::<Hit>())
            .sum()
    }
}

/// Takes the hits of one file from the searcher.
pub(super) struct Collector<'a> {
    matcher: &'a RegexMatcher,
    pub(super) hits: Vec<Hit>,
    bounds: Bounds,
    matches: usize,
    /// The line of the last match within the limit.
    limit_line: u64,
    bytes: usize,
}

impl<'a> Collector<'a> {
    pub(super) fn new(matcher: &'a RegexMatcher, bounds: Bounds) -> Self {
        Self {
            matcher,
            hits: Vec::new(),
            bounds,
            matches: 0,
            limit_line: 0,
            bytes: 0,
        }
    }

    fn push(&mut self, kind: HitKind, line_number: u64, bytes: &[u8]) {
        let (text, is_cut) = match kind {
            _ if self.bounds.reader == Reader::Program => (
                String::from_utf8_lossy(without_end(bytes)).into_owned(),
                false,
            ),
            HitKind::Match if bytes.len() > LINE_CHARS_MAX => {
                let found = self.matcher.find(bytes).ok().flatten();
                shown_line(bytes, found.map_or(0, |found| found.start()))
            }
            HitKind::Match | HitKind::Context => shown_line(bytes, 0),
        };
        self.bytes += text.len();
        self.hits.push(Hit {
            kind,
            line_number,
            text,
            is_cut,
        });
    }
}

impl Sink for Collector<'_> {
    type Error = io::Error;

    fn matched(&mut self, _searcher: &Searcher, found: &SinkMatch<'_>) -> io::Result<bool> {
        let line_number = found.line_number().unwrap_or(0);
        self.push(HitKind::Match, line_number, found.bytes());
        self.matches += 1;
        if self.matches <= self.bounds.window.end() {
            self.limit_line = line_number;
        }
        // A match after the limit may still be shown as context of the last one; the first that is not ends the search.
        let is_past = self.matches > self.bounds.window.end()
            && line_number > self.limit_line + self.bounds.context as u64;
        Ok(!is_past && self.bytes <= self.bounds.bytes())
    }

    fn context(&mut self, _searcher: &Searcher, beside: &SinkContext<'_>) -> io::Result<bool> {
        self.push(
            HitKind::Context,
            beside.line_number().unwrap_or(0),
            beside.bytes(),
        );
        Ok(self.bytes <= self.bounds.bytes())
    }
}

/// A line as it is shown, around the byte at `focus` where it is too long, and whether it was cut.
fn shown_line(bytes: &[u8], focus: usize) -> (String, bool) {
    /// A character takes at most four bytes, so the rest of a gigantic line need not be decoded.
    const BYTES_ENOUGH: usize = (LINE_CHARS_MAX + 1) * 4;
    let bytes = without_end(bytes);
    let start = if focus <= LINE_CHARS_MAX - CHARS_BEFORE_FOCUS {
        0
    } else {
        let start = focus - CHARS_BEFORE_FOCUS;
        // Not within a character.
        let rest = bytes.get(start..).unwrap_or_default();
        start
            + rest
                .iter()
                .take(3)
                .take_while(|byte| **byte & 0xC0 == 0x80)
                .count()
    };
    let rest = bytes.get(start..).unwrap_or_default();
    let enough = rest.get(..BYTES_ENOUGH).unwrap_or(rest);
    let mut text = String::from_utf8_lossy(enough).into_owned();
    if start > 0 {
        text.insert_str(0, BEGINNING_CUT);
    }
    let chars_max = LINE_CHARS_MAX + if start > 0 { BEGINNING_CUT.len() } else { 0 };
    let Some((at, _)) = text.char_indices().nth(chars_max) else {
        return (text, start > 0);
    };
    text.truncate(at);
    text.push_str("... [truncated]");
    (text, true)
}

fn without_end(line: &[u8]) -> &[u8] {
    let line = line.strip_suffix(b"\n").unwrap_or(line);
    line.strip_suffix(b"\r").unwrap_or(line)
}
