//! Finds the tokens for which the syntax tree has no place of their own.

use crate::javascript::{is_line_terminator, is_white_space};

/// The offset of the next token at or after `from`: past white space and comments.
pub(super) fn next_token(text: &str, from: usize) -> usize {
    let mut at = from;
    loop {
        let rest = text.get(at..).unwrap_or_default();
        let trimmed = rest.trim_start_matches(|character| {
            is_white_space(character) || is_line_terminator(character)
        });
        at += rest.len() - trimmed.len();
        let comment_length = if trimmed.starts_with("//") {
            trimmed.find(is_line_terminator).unwrap_or(trimmed.len())
        } else if trimmed.starts_with("/*") {
            trimmed.find("*/").map_or(trimmed.len(), |end| end + 2)
        } else {
            return at;
        };
        at += comment_length;
    }
}

/// The offset of the next token, if that is `token`.
pub(super) fn expect(text: &str, from: usize, token: char) -> Option<usize> {
    let at = next_token(text, from);
    text.get(at..)?.starts_with(token).then_some(at)
}

/// The words from `from` up to `end`, with their offsets. Ends at the first token that is no word.
pub(super) fn words(text: &str, from: usize, end: usize) -> impl Iterator<Item = (usize, &str)> {
    let mut at = from;
    std::iter::from_fn(move || {
        let start = next_token(text, at);
        let rest = text.get(start..end)?;
        let length = rest
            .find(|character: char| !character.is_ascii_alphabetic())
            .unwrap_or(rest.len());
        at = start + length;
        (length > 0).then(|| (start, rest.get(..length).unwrap_or_default()))
    })
}

/// Whether the range has a line end.
pub(super) fn spans_lines(text: &str, from: usize, end: usize) -> bool {
    text.get(from..end)
        .unwrap_or_default()
        .contains(is_line_terminator)
}
