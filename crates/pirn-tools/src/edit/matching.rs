//! Where each edit applies, or why it does not.

use std::ops::Range;

use memchr::memmem;

use super::Edit;
use super::failure::Failure;
use super::line_end;
use super::view::{Spelling, View};

/// Occurrences that are counted; nobody needs to know more exactly how far a text is from being unique.
const OCCURRENCES_MAX: usize = 1_000;

const BYTE_ORDER_MARK: char = '\u{FEFF}';

/// A part of the text and what takes its place.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Replacement {
    pub(super) range: Range<usize>,
    pub(super) text: String,
}

/// How a text was found.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Likeness {
    /// As it is, line ends aside.
    Exact,
    /// In another spelling of quotes, dashes and blanks.
    Near,
}

/// How far a text may be from what is looked for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Tolerance {
    ExactOnly,
    NearToo,
}

/// What the edits of a call do.
#[derive(Debug)]
pub(super) struct Plan {
    /// In order, without overlaps.
    pub(super) replacements: Vec<Replacement>,
    /// The edits whose text was found in another spelling, with its place.
    pub(super) near: Vec<(usize, Range<usize>)>,
}

/// Where one edit applies.
#[derive(Debug)]
struct Match {
    index: usize,
    likeness: Likeness,
    replacement: Replacement,
}

/// Finds the place of every edit in `text`, each for itself: an exact place is never given up because another edit has none.
pub(super) fn plan(text: &str, edits: &[Edit], tolerance: Tolerance) -> Result<Plan, Failure> {
    if let Some(index) = edits.iter().position(|edit| edit.old_text.is_empty()) {
        return Err(Failure::Empty(index));
    }
    let mut search = Search {
        body: text.strip_prefix(BYTE_ORDER_MARK).unwrap_or(text),
        is_marked: text.starts_with(BYTE_ORDER_MARK),
        line_ends: None,
        plain: None,
        tolerance,
    };
    let mark_bytes = text.len() - search.body.len();
    let mut matches = Vec::with_capacity(edits.len());
    for (index, edit) in edits.iter().enumerate() {
        let mut found = search.find(index, edit)?;
        let range = &mut found.replacement.range;
        *range = range.start + mark_bytes..range.end + mark_bytes;
        matches.push(found);
    }
    matches.sort_by_key(|found| (found.replacement.range.start, found.replacement.range.end));
    for pair in matches.windows(2) {
        if let [first, second] = pair
            && second.replacement.range.start < first.replacement.range.end
        {
            return Err(Failure::Overlap(
                first.index.min(second.index),
                first.index.max(second.index),
            ));
        }
    }
    Ok(Plan {
        near: matches
            .iter()
            .filter(|found| found.likeness == Likeness::Near)
            .map(|found| (found.index, found.replacement.range.clone()))
            .collect(),
        replacements: matches.into_iter().map(|found| found.replacement).collect(),
    })
}

/// Makes replacements in the text they were planned for.
pub(super) fn apply(text: &str, replacements: &[Replacement]) -> String {
    let mut applied = String::with_capacity(text.len());
    let mut position = 0;
    for Replacement { range, text: new } in replacements {
        applied.push_str(text.get(position..range.start).unwrap_or_default());
        applied.push_str(new);
        position = range.end;
    }
    applied.push_str(text.get(position..).unwrap_or_default());
    applied
}

/// A text that is searched, with the spellings of it that were needed so far.
struct Search<'a> {
    /// Without a byte order mark.
    body: &'a str,
    /// Whether a byte order mark stands before the body.
    is_marked: bool,
    line_ends: Option<View>,
    plain: Option<View>,
    tolerance: Tolerance,
}

impl Search<'_> {
    fn find(&mut self, index: usize, edit: &Edit) -> Result<Match, Failure> {
        // Programs that read a file whole have its mark in the first line. Where the file has none, it tells nothing.
        let old = edit
            .old_text
            .strip_prefix(BYTE_ORDER_MARK)
            .filter(|rest| !rest.is_empty())
            .unwrap_or(&edit.old_text);
        let (likeness, found) = self.locate(old);
        let range = match found {
            Found::Once(range) if !range.is_empty() => range,
            Found::Once(_) | Found::Nowhere => {
                return Err(Failure::NotFound {
                    index,
                    text: old.to_owned(),
                });
            }
            Found::Often(_)
                if self.is_marked
                    && edit.old_text.starts_with(BYTE_ORDER_MARK)
                    && self.body.starts_with(old) =>
            {
                0..old.len()
            }
            Found::Often(count) => return Err(Failure::NotUnique { index, count }),
        };
        let place = line_end::Place::of(self.body, range, old);
        if place.range.is_empty() {
            return Err(Failure::NotFound {
                index,
                text: old.to_owned(),
            });
        }
        let is_start = place.range.start == 0;
        let new = match edit.new_text.strip_prefix(BYTE_ORDER_MARK) {
            Some(rest) if is_start || edit.old_text.starts_with(BYTE_ORDER_MARK) => rest,
            Some(_) | None => &edit.new_text,
        };
        Ok(Match {
            index,
            likeness,
            replacement: Replacement {
                text: place.render(self.body, new),
                range: place.range,
            },
        })
    }

    fn locate(&mut self, old: &str) -> (Likeness, Found) {
        let exact = occurrences(self.body, old, Some);
        if exact != Found::Nowhere {
            return (Likeness::Exact, exact);
        }
        if old.contains(['\n', '\r']) {
            let view = self
                .line_ends
                .get_or_insert_with(|| View::of(self.body, Spelling::LineEnds));
            let wanted = View::of(old, Spelling::LineEnds).text;
            let alike = occurrences(&view.text, &wanted, |range| view.original(range));
            if alike != Found::Nowhere {
                return (Likeness::Exact, alike);
            }
        }
        if self.tolerance == Tolerance::ExactOnly {
            return (Likeness::Exact, Found::Nowhere);
        }
        let view = self
            .plain
            .get_or_insert_with(|| View::of(self.body, Spelling::Plain));
        let wanted = View::of(old, Spelling::Plain).text;
        // Blanks at its end stand for those that the view leaves out at the ends of lines, and for no others.
        let ends_line = old.ends_with([' ', '\t']);
        let near = occurrences(&view.text, &wanted, |range| {
            let is_end = view
                .text
                .get(range.end..)
                .is_some_and(|rest| rest.is_empty() || rest.starts_with('\n'));
            (is_end || !ends_line)
                .then(|| view.original(range))
                .flatten()
        });
        (Likeness::Near, near)
    }
}

#[derive(Debug, PartialEq, Eq)]
enum Found {
    Nowhere,
    Once(Range<usize>),
    /// So often, or more often where it is [`OCCURRENCES_MAX`].
    Often(usize),
}

/// Counts the places of `wanted` that `accept` turns into places of the text itself, those that overlap included.
fn occurrences(
    text: &str,
    wanted: &str,
    accept: impl Fn(Range<usize>) -> Option<Range<usize>>,
) -> Found {
    let Some(first) = wanted.chars().next() else {
        return Found::Nowhere;
    };
    let finder = memmem::Finder::new(wanted);
    let mut found = Found::Nowhere;
    let mut position = 0;
    while let Some(at) = text
        .as_bytes()
        .get(position..)
        .and_then(|rest| finder.find(rest))
    {
        let start = position + at;
        position = start + first.len_utf8();
        let Some(range) = accept(start..start + wanted.len()) else {
            continue;
        };
        found = match found {
            Found::Nowhere => Found::Once(range),
            Found::Once(_) => Found::Often(2),
            Found::Often(OCCURRENCES_MAX) => return found,
            Found::Often(count) => Found::Often(count + 1),
        };
    }
    found
}
