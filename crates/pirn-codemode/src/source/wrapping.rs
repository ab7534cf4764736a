//! Takes a program out of what models put around it by mistake: a Markdown code fence, or JSON.

use std::borrow::Cow;

use serde_json::Value;

use crate::javascript::trim;

/// JSON around a fence, or a fence around JSON; nobody has seen more.
const LAYERS_MAX: usize = 2;
const FENCE: &str = "```";

/// A text without its wrapping.
#[derive(Debug)]
pub(super) struct Unwrapped<'a> {
    pub(super) text: Cow<'a, str>,
    /// Lines cut off above the text.
    pub(super) lines_before: usize,
    pub(super) notes: Vec<String>,
}

/// Removes the wrapping, if there is one.
pub(super) fn unwrap(input: &str) -> Unwrapped<'_> {
    let mut unwrapped = Unwrapped {
        text: Cow::Borrowed(input),
        lines_before: 0,
        notes: Vec::new(),
    };
    for _ in 0..LAYERS_MAX {
        if let Some(code) = json_code(&unwrapped.text) {
            unwrapped.text = Cow::Owned(code);
            unwrapped.lines_before = 0;
            unwrapped.notes.push(
                "The script came as JSON; the string in its member \"code\" was run. Send only the code.".to_owned(),
            );
        } else if let Some((code, lines_before)) = fenced_code(&unwrapped.text) {
            unwrapped.text = Cow::Owned(code.to_owned());
            unwrapped.lines_before += lines_before;
            unwrapped.notes.push(
                "The script came in a Markdown code fence, which was removed. Send only the code."
                    .to_owned(),
            );
        } else {
            break;
        }
    }
    unwrapped
}

/// The member `code` of a text that is one JSON object.
fn json_code(text: &str) -> Option<String> {
    let text = trim(text);
    if !(text.starts_with('{') && text.ends_with('}')) {
        return None;
    }
    match serde_json::from_str(text).ok()? {
        Value::Object(mut members) => match members.remove("code")? {
            Value::String(code) => Some(code),
            Value::Null
            | Value::Bool(_)
            | Value::Number(_)
            | Value::Array(_)
            | Value::Object(_) => None,
        },
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) | Value::Array(_) => {
            None
        }
    }
}

/// The inside of a text that is one Markdown code fence, and the number of lines above it. A program of any language.
///
/// ```
/// assert_eq!(pirn_codemode::fenced_code("```py\nx = 1\n```\n"), Some(("x = 1", 1)));
/// assert_eq!(pirn_codemode::fenced_code("x = '```'"), None);
/// ```
pub fn fenced_code(text: &str) -> Option<(&str, usize)> {
    let trimmed = trim(text);
    let inside = trimmed.strip_prefix(FENCE)?.strip_suffix(FENCE)?;
    let (info, code) = inside.split_once('\n')?;
    let is_info_word = |word: &str| {
        word.chars()
            .all(|character| character.is_alphanumeric() || "+-_".contains(character))
    };
    if !is_info_word(trim(info)) {
        return None;
    }
    // The closing fence stands on a line of its own, and there is no other fence.
    let (code, last_line) = code.rsplit_once('\n').unwrap_or(("", code));
    if !trim(last_line).is_empty() || code.lines().any(|line| trim(line).starts_with(FENCE)) {
        return None;
    }
    let blank_lines = text.len()
        - text
            .trim_start_matches(crate::javascript::is_white_space)
            .len();
    let lines_above = text
        .bytes()
        .take(blank_lines)
        .filter(|byte| *byte == b'\n')
        .count();
    Some((code, lines_above + 1))
}
