//! The source of a program while it runs: which lines its calls come from, and what becomes of what they give.

use std::collections::BTreeMap;

/// How a line of a program stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum LineState {
    /// A call of it runs.
    Runs,
    /// A call of it waits for an answer.
    Waits,
}

/// The lines that are marked, counted from 1.
pub(crate) type Lines = BTreeMap<usize, LineState>;

/// A program that asks something.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Asker {
    pub(crate) source: String,
    /// The line of the call that waits, where it is known.
    pub(crate) line: Option<usize>,
    /// What its calls did that may have changed something, one line each.
    pub(crate) effects: Vec<String>,
}

/// Bytes that went to the model, and those that its program was given and did not hand on.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) struct Traffic {
    pub(crate) sent_bytes: usize,
    pub(crate) kept_bytes: usize,
}

/// Bytes of text that make about one token.
const BYTES_PER_TOKEN: usize = 4;

impl Traffic {
    /// Both counters in words.
    pub(crate) fn words(self) -> String {
        let part = |bytes: usize| {
            format!(
                "{} (about {} tokens)",
                crate::call::bytes(bytes),
                bytes.div_ceil(BYTES_PER_TOKEN)
            )
        };
        format!(
            "{} to the model, {} kept from it",
            part(self.sent_bytes),
            part(self.kept_bytes)
        )
    }
}

/// The line of a program that a call of this tool comes from, counted from 1; `None` where the program names the tool in no line or
/// in several, so that nothing is said that may be wrong.
pub(crate) fn line_of(source: &str, tool: &str) -> Option<usize> {
    let code = without_strings(source);
    let mut found = None;
    for (index, line) in code.lines().enumerate() {
        if names(line, tool) && found.replace(index + 1).is_some() {
            return None;
        }
    }
    found
}

/// Whether a line of code has the name as a whole word behind a dot, such as `tools.write`.
fn names(line: &str, tool: &str) -> bool {
    let is_part = |character: char| character.is_alphanumeric() || "_$".contains(character);
    line.match_indices(tool).any(|(start, _)| {
        let before = line.get(..start).unwrap_or_default();
        let after = line.get(start + tool.len()..).unwrap_or_default();
        before.ends_with('.') && !after.starts_with(is_part)
    })
}

/// The code with its comments and the text of its strings as blanks; line ends stay. What stands in the braces of a template is
/// code that may call a tool.
fn without_strings(source: &str) -> String {
    let mut out = String::with_capacity(source.len());
    let mut characters = source.chars().peekable();
    // The ends that are open, the innermost last: quotes, braces in templates, and braces in those.
    let mut open: Vec<char> = Vec::new();
    while let Some(character) = characters.next() {
        let quote = open.last().copied().filter(|end| "'\"`".contains(*end));
        match (quote, character, characters.peek()) {
            (Some(_), '\\', Some(_)) => {
                out.push(' ');
                let escaped = characters.next().filter(|escaped| *escaped == '\n');
                out.push(escaped.unwrap_or(' '));
            }
            (Some('`'), '$', Some('{')) => {
                characters.next();
                open.push('}');
                out.push_str("  ");
            }
            (Some(end), _, _) if end == character => {
                open.pop();
                out.push(' ');
            }
            (Some(end), '\n', _) if end != '`' => {
                // A string that is not closed ends with its line.
                open.pop();
                out.push('\n');
            }
            (Some(_), _, _) => out.push(if character == '\n' { '\n' } else { ' ' }),
            (None, '/', Some('/')) => while characters.next_if(|next| *next != '\n').is_some() {},
            (None, '/', Some('*')) => {
                let mut before = ' ';
                for next in characters.by_ref() {
                    if next == '\n' {
                        out.push('\n');
                    }
                    if before == '*' && next == '/' {
                        break;
                    }
                    before = next;
                }
            }
            (None, '\'' | '"' | '`', _) => {
                open.push(character);
                out.push(' ');
            }
            (None, '{', _) if !open.is_empty() => {
                open.push('}');
                out.push('{');
            }
            (None, '}', _) if open.last() == Some(&'}') => {
                open.pop();
                out.push('}');
            }
            (None, _, _) => out.push(character),
        }
    }
    out
}

#[cfg(test)]
mod tests;
