//! A text in a spelling that is easier to compare, with the way back to the text itself.

use std::ops::Range;

use unicode_normalization::UnicodeNormalization as _;
use unicode_normalization::char::canonical_combining_class;

/// How much of the spelling is evened out.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Spelling {
    /// Line ends become line feeds.
    LineEnds,
    /// Also quotes, dashes and blanks become the plain ones, compatibility forms are composed, and blanks at the ends of lines
    /// are left out.
    Plain,
}

/// A text in another spelling.
#[derive(Debug, Default)]
pub(super) struct View {
    pub(super) text: String,
    /// Where the spelling differs, in order.
    changes: Vec<Change>,
    /// Bytes of the text itself that are dealt with.
    original_end: usize,
}

/// A part that is spelled in another way.
#[derive(Debug)]
struct Change {
    view: Range<usize>,
    original: Range<usize>,
}

impl View {
    pub(super) fn of(text: &str, spelling: Spelling) -> Self {
        let mut view = Self {
            text: String::with_capacity(text.len()),
            ..Self::default()
        };
        for Line { content, end } in lines(text) {
            match spelling {
                Spelling::LineEnds => view.keep(content),
                Spelling::Plain => {
                    let trimmed = content.trim_end();
                    view.even_out(trimmed);
                    view.change(content.len() - trimmed.len(), "");
                }
            }
            match end {
                "" => {}
                "\n" => view.keep(end),
                _ => view.change(end.len(), "\n"),
            }
        }
        view
    }

    fn keep(&mut self, text: &str) {
        self.text.push_str(text);
        self.original_end += text.len();
    }

    /// Spells the next bytes of the text in another way.
    fn change(&mut self, original_bytes: usize, spelled: &str) {
        if original_bytes == 0 {
            return;
        }
        let start = self.text.len();
        self.text.push_str(spelled);
        self.changes.push(Change {
            view: start..self.text.len(),
            original: self.original_end..self.original_end + original_bytes,
        });
        self.original_end += original_bytes;
    }

    fn even_out(&mut self, text: &str) {
        if text.is_ascii() {
            self.keep(text);
            return;
        }
        let mut rest = text;
        while let Some(first) = rest.chars().next() {
            let marks: usize = rest
                .chars()
                .skip(1)
                .take_while(|character| canonical_combining_class(*character) != 0)
                .map(char::len_utf8)
                .sum();
            let (cluster, after) = rest.split_at(first.len_utf8() + marks);
            let spelled: String = cluster.nfkc().map(plain).collect();
            if spelled == cluster {
                self.keep(cluster);
            } else {
                self.change(cluster.len(), &spelled);
            }
            rest = after;
        }
    }

    /// The part of the text itself that a part of the view stands for; `None` where the part begins or ends within something
    /// that is spelled in another way. What the view leaves out at the edges does not belong to the part.
    pub(super) fn original(&self, part: Range<usize>) -> Option<Range<usize>> {
        let start_before = self
            .changes
            .partition_point(|change| change.view.end <= part.start);
        let mut end_before = self
            .changes
            .partition_point(|change| change.view.end <= part.end);
        while end_before > start_before
            && self
                .changes
                .get(end_before - 1)
                .is_some_and(|change| change.view.is_empty() && change.view.start == part.end)
        {
            end_before -= 1;
        }
        Some(self.place(part.start, start_before)?..self.place(part.end, end_before)?)
    }

    /// The place of a position in the text itself, `before` changes being before it.
    fn place(&self, position: usize, before: usize) -> Option<usize> {
        let is_within = self
            .changes
            .get(before)
            .is_some_and(|change| change.view.start < position && position < change.view.end);
        if is_within {
            return None;
        }
        let last = before.checked_sub(1).and_then(|at| self.changes.get(at));
        Some(last.map_or(position, |change| {
            change.original.end + (position - change.view.end)
        }))
    }
}

/// A line and what ends it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Line<'a> {
    pub(super) content: &'a str,
    /// `\n`, `\r\n`, `\r`, or nothing at the end of the text. Several carriage returns before a line feed are one end.
    pub(super) end: &'a str,
}

/// The lines of a text. What follows the last line end is a line where it is not empty.
pub(super) fn lines(text: &str) -> impl Iterator<Item = Line<'_>> {
    let mut rest = text;
    std::iter::from_fn(move || {
        if rest.is_empty() {
            return None;
        }
        let (content, tail) =
            rest.split_at(memchr::memchr2(b'\n', b'\r', rest.as_bytes()).unwrap_or(rest.len()));
        let (end, after) = tail.split_at(end_length(tail.as_bytes()));
        rest = after;
        Some(Line { content, end })
    })
}

/// The length of the line end that a text begins with.
fn end_length(tail: &[u8]) -> usize {
    let returns = tail.iter().take_while(|byte| **byte == b'\r').count();
    match tail.get(returns) {
        Some(b'\n') => returns + 1,
        Some(_) | None => returns.min(1),
    }
}

/// The plain character for typographic ones.
fn plain(character: char) -> char {
    match character {
        '\u{2018}'..='\u{201B}' => '\'',
        '\u{201C}'..='\u{201F}' => '"',
        '\u{2010}'..='\u{2015}' | '\u{2212}' => '-',
        '\u{00A0}' | '\u{2000}'..='\u{200A}' | '\u{202F}' | '\u{205F}' | '\u{3000}' => ' ',
        other => other,
    }
}
