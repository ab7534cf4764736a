//! Where each edit applies, or why it does not.

use std::ops::Range;

use super::Edit;
use super::normalize::normalize;
use super::original::Replacement;

/// Why edits cannot be made. Indices are those of the edits.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Failure {
    Empty(usize),
    NotFound { index: usize, text: String },
    NotUnique { index: usize, count: usize },
    Overlap(usize, usize),
    NoChange,
}

impl Failure {
    /// The text that was not found.
    pub(super) fn missing_text(&self) -> Option<&str> {
        match self {
            Self::NotFound { text, .. } => Some(text),
            Self::Empty(_) | Self::NotUnique { .. } | Self::Overlap(..) | Self::NoChange => None,
        }
    }

    /// Explains the failure. With several edits the one that failed is named.
    pub(super) fn describe(&self, path: &str, edits: usize, nearest: Option<String>) -> String {
        let many = edits > 1;
        match self {
            Self::Empty(index) if many => {
                format!("edits[{index}].oldText must not be empty in {path}.")
            }
            Self::Empty(_) => format!("oldText must not be empty in {path}."),
            Self::NotFound { index, .. } => {
                let what = if many {
                    format!("edits[{index}]")
                } else {
                    "the exact text".to_owned()
                };
                let nearest = nearest
                    .map(|nearest| format!("\n\n{nearest}"))
                    .unwrap_or_default();
                format!(
                    "Could not find {what} in {path}. oldText has to equal the file's text, with every space and line \
                     break.{nearest}"
                )
            }
            Self::NotUnique { index, count } => {
                let what = if many {
                    format!("edits[{index}]")
                } else {
                    "the text".to_owned()
                };
                format!(
                    "Found {count} occurrences of {what} in {path}. Add lines around it until it is unique."
                )
            }
            Self::Overlap(first, second) => {
                format!(
                    "edits[{first}] and edits[{second}] overlap in {path}. Join them into one edit."
                )
            }
            Self::NoChange => {
                format!("No changes made to {path}. The new text equals the old one.")
            }
        }
    }
}

/// Where one edit applies, in the text that was searched.
#[derive(Debug)]
struct Match<'a> {
    index: usize,
    range: Range<usize>,
    new_text: &'a str,
}

/// Finds the place of every edit in `text` and turns them into replacements, in order. If one edit has no exact match, all are
/// matched in normalised space. Uniqueness counts in normalised space always, since a text that differs only in spelling is as
/// likely to be meant.
pub(super) fn plan(text: &str, edits: &[Edit]) -> Result<Vec<Replacement>, Failure> {
    let edits: Vec<Edit> = edits
        .iter()
        .map(|edit| Edit {
            old_text: edit.old_text.replace("\r\n", "\n"),
            new_text: edit.new_text.replace("\r\n", "\n"),
        })
        .collect();
    if let Some(index) = edits.iter().position(|edit| edit.old_text.is_empty()) {
        return Err(Failure::Empty(index));
    }
    let normalized = normalize(text);
    let is_exact = edits.iter().all(|edit| text.contains(&edit.old_text));
    let mut matches = Vec::with_capacity(edits.len());
    for (index, edit) in edits.iter().enumerate() {
        let normalized_old = normalize(&edit.old_text);
        let (count, range) = if is_exact {
            let alike = occurrences(&normalized, &normalized_old).count();
            let (exact, range) = count_and_first(text, &edit.old_text);
            (exact.max(alike), range)
        } else {
            count_and_first(&normalized, &normalized_old)
        };
        let Some(range) = range else {
            return Err(Failure::NotFound {
                index,
                text: edit.old_text.clone(),
            });
        };
        if count > 1 {
            return Err(Failure::NotUnique { index, count });
        }
        matches.push(Match {
            index,
            range,
            new_text: &edit.new_text,
        });
    }
    matches.sort_by_key(|found| (found.range.start, found.range.end));
    for pair in matches.windows(2) {
        if let [first, second] = pair
            && second.range.start < first.range.end
        {
            return Err(Failure::Overlap(
                first.index.min(second.index),
                first.index.max(second.index),
            ));
        }
    }
    Ok(if is_exact {
        matches
            .into_iter()
            .map(|found| Replacement {
                range: found.range,
                text: found.new_text.to_owned(),
            })
            .collect()
    } else {
        rewrite_lines(text, &normalized, &matches)
    })
}

fn occurrences<'a>(text: &'a str, wanted: &'a str) -> impl Iterator<Item = usize> + 'a {
    // White space alone normalises to nothing, which would be found everywhere.
    let is_searchable = !wanted.is_empty();
    text.match_indices(wanted)
        .map(|(at, _)| at)
        .take_while(move |_| is_searchable)
}

fn count_and_first(text: &str, wanted: &str) -> (usize, Option<Range<usize>>) {
    let mut found = occurrences(text, wanted);
    let first = found.next().map(|at| at..at + wanted.len());
    (usize::from(first.is_some()) + found.count(), first)
}

/// Turns matches in normalised text into replacements of whole lines of the original: only lines that a match touches change
/// their spelling.
fn rewrite_lines(text: &str, normalized: &str, matches: &[Match<'_>]) -> Vec<Replacement> {
    let original_lines = Lines::of(text);
    let lines = Lines::of(normalized);
    let mut replacements: Vec<Replacement> = Vec::new();
    let mut group: Vec<&Match<'_>> = Vec::new();
    let mut flush = |group: &mut Vec<&Match<'_>>| {
        if let (Some(first), Some(last)) = (group.first(), group.last()) {
            let first_line = lines.line_at(first.range.start);
            let last_line = lines.line_at(last.range.end.saturating_sub(1).max(last.range.start));
            // The line feed after the last line is only replaced when it was matched.
            let with_line_feed = last.range.end > lines.end(last_line);
            let mut new_text = String::new();
            let mut position = lines.start(first_line);
            for found in group.iter() {
                new_text.push_str(
                    normalized
                        .get(position..found.range.start)
                        .unwrap_or_default(),
                );
                new_text.push_str(found.new_text);
                position = found.range.end;
            }
            if !with_line_feed {
                new_text.push_str(
                    normalized
                        .get(position..lines.end(last_line))
                        .unwrap_or_default(),
                );
            }
            let end = original_lines.end(last_line) + usize::from(with_line_feed);
            replacements.push(Replacement {
                range: original_lines.start(first_line)..end,
                text: new_text,
            });
        }
        group.clear();
    };
    for found in matches {
        let shares_line = group.last().is_some_and(|last| {
            lines.line_at(last.range.end.saturating_sub(1).max(last.range.start))
                == lines.line_at(found.range.start)
        });
        if !shares_line {
            flush(&mut group);
        }
        group.push(found);
    }
    flush(&mut group);
    replacements
}

/// Where the lines of a text are.
struct Lines {
    starts: Vec<usize>,
    length: usize,
}

impl Lines {
    fn of(text: &str) -> Self {
        let starts = std::iter::once(0)
            .chain(memchr::memchr_iter(b'\n', text.as_bytes()).map(|at| at + 1))
            .collect();
        Self {
            starts,
            length: text.len(),
        }
    }

    /// The line that holds a byte; a line feed belongs to the line it ends.
    fn line_at(&self, position: usize) -> usize {
        self.starts
            .partition_point(|start| *start <= position)
            .saturating_sub(1)
    }

    fn start(&self, line: usize) -> usize {
        self.starts.get(line).copied().unwrap_or(self.length)
    }

    /// The end of a line, before its line feed.
    fn end(&self, line: usize) -> usize {
        self.starts
            .get(line + 1)
            .map_or(self.length, |next| next - 1)
    }
}
