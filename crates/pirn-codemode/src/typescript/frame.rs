//! Shows where in a text a mistake is.

use super::SyntaxError;
use crate::javascript::{lines, utf16_len};

/// Lines shown above the mistake, and below it.
const CONTEXT_LINES: usize = 1;
/// Characters shown of a line before and after the mistake; a minified line would hide it.
const CONTEXT_CHARS: usize = 80;

/// Makes the error for a mistake at a byte offset.
pub(super) fn error_at(source: &str, offset: usize, message: String) -> SyntaxError {
    let before = source.get(..offset).unwrap_or(source);
    let line = lines(before).count();
    let line_start = lines(before).last().unwrap_or_default();
    let column = utf16_len(line_start) + 1;
    let frame = render(source, line, line_start.chars().count());
    SyntaxError {
        message,
        line,
        column,
        frame,
    }
}

/// The lines around a byte offset, with a mark below it.
pub(super) fn at(source: &str, offset: usize) -> Option<String> {
    let before = source.get(..offset)?;
    let line_start = lines(before).last().unwrap_or_default();
    Some(render(
        source,
        lines(before).count(),
        line_start.chars().count(),
    ))
}

fn render(source: &str, line: usize, chars_before: usize) -> String {
    let first = line.saturating_sub(CONTEXT_LINES).max(1);
    let last = line + CONTEXT_LINES;
    let shown = lines(source)
        .enumerate()
        .map(|(index, text)| (index + 1, text));
    let shown: Vec<_> = shown
        .skip_while(|(number, _)| *number < first)
        .take_while(|(number, _)| *number <= last)
        .collect();
    let width = shown
        .last()
        .map_or(1, |(number, _)| number.to_string().len());
    let cut = chars_before.saturating_sub(CONTEXT_CHARS);
    let mut frame = Vec::new();
    for (number, text) in shown {
        let text: String = text
            .chars()
            .skip(cut)
            .take(2 * CONTEXT_CHARS)
            .map(visible)
            .collect();
        let marker = if number == line { '>' } else { ' ' };
        frame.push(
            format!("{marker} {number:width$} | {text}")
                .trim_end()
                .to_owned(),
        );
        if number == line {
            frame.push(format!(
                "  {:width$} | {}^",
                "",
                " ".repeat(chars_before - cut)
            ));
        }
    }
    frame.join("\n")
}

/// A tab has a width that nobody knows; the mark must stand below the mistake.
fn visible(character: char) -> char {
    if character == '\t' { ' ' } else { character }
}
