//! Changes to a text that keep its lines.

use std::ops::Range;

use crate::javascript::is_line_terminator;

/// Changes of one text, in any order. Of overlapping ones the first to start wins.
#[derive(Debug, Default)]
pub(super) struct Edits {
    edits: Vec<Edit>,
}

#[derive(Debug)]
struct Edit {
    range: Range<usize>,
    change: Change,
}

#[derive(Debug)]
enum Change {
    /// Every character becomes a space.
    Blank,
    /// The first character becomes this one, the others spaces. The first character must be no line end.
    BlankFirst(char),
    /// The last character becomes this one, the others spaces. The last character must be no line end.
    BlankLast(char),
    /// The text takes the place of the range, followed by the line ends of the range.
    Text(String),
}

impl Edits {
    pub(super) fn blank(&mut self, range: Range<usize>) {
        self.push(range, Change::Blank);
    }

    pub(super) fn blank_first(&mut self, range: Range<usize>, first: char) {
        self.push(range, Change::BlankFirst(first));
    }

    pub(super) fn blank_last(&mut self, range: Range<usize>, last: char) {
        self.push(range, Change::BlankLast(last));
    }

    pub(super) fn replace(&mut self, range: Range<usize>, text: String) {
        self.push(range, Change::Text(text));
    }

    pub(super) fn insert(&mut self, at: usize, text: String) {
        self.push(at..at, Change::Text(text));
    }

    fn push(&mut self, range: Range<usize>, change: Change) {
        self.edits.push(Edit { range, change });
    }

    /// The part `kept` of the changed text; `None` when nothing changes.
    pub(super) fn apply(mut self, text: &str, kept: Range<usize>) -> Option<String> {
        if self.edits.is_empty() {
            return None;
        }
        // An insertion comes before what is done to the text behind it.
        self.edits
            .sort_by_key(|edit| (edit.range.start, edit.range.end));
        let mut result = String::with_capacity(kept.len() + 64);
        let mut done = kept.start;
        for edit in self.edits {
            if edit.range.start < done || edit.range.end > kept.end {
                continue;
            }
            result.push_str(text.get(done..edit.range.start).unwrap_or_default());
            done = edit.range.end;
            edit.change
                .write(text.get(edit.range).unwrap_or_default(), &mut result);
        }
        result.push_str(text.get(done..kept.end).unwrap_or_default());
        Some(result)
    }
}

impl Change {
    fn write(self, replaced: &str, result: &mut String) {
        match self {
            Self::Blank => push_blanks(replaced, result),
            Self::BlankFirst(first) => {
                let mut rest = replaced.chars();
                rest.next();
                result.push(first);
                push_blanks(rest.as_str(), result);
            }
            Self::BlankLast(last) => {
                let mut rest = replaced.chars();
                rest.next_back();
                push_blanks(rest.as_str(), result);
                result.push(last);
            }
            Self::Text(text) => {
                result.push_str(&text);
                result.extend(
                    replaced
                        .chars()
                        .filter(|character| is_line_terminator(*character)),
                );
            }
        }
    }
}

/// One space per UTF-16 unit, so that columns stay; line ends stay line ends.
fn push_blanks(text: &str, result: &mut String) {
    for character in text.chars() {
        if is_line_terminator(character) {
            result.push(character);
        } else {
            result.extend(std::iter::repeat_n(' ', character.len_utf16()));
        }
    }
}
