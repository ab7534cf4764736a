//! Text of strangers on a terminal: nothing in it may move the cursor, hide, or change the order of what is read.

use std::fmt::{self, Write as _};

/// Text of a stranger: a model, a script, a server, a project. It gets to a terminal only through [`Display`](fmt::Display), which
/// shows everything that is not seen as what it is by its number, line ends too.
#[derive(Clone, Copy)]
pub struct Foreign<'a>(&'a str);

impl<'a> Foreign<'a> {
    /// Takes the text.
    pub fn new(text: &'a str) -> Self {
        Self(text)
    }

    /// Its lines, each for a line of its own.
    pub fn lines(self) -> impl Iterator<Item = Self> {
        self.0.lines().map(Self)
    }
}

impl fmt::Display for Foreign<'_> {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.pad(&on_one_line(self.0))
    }
}

impl fmt::Debug for Foreign<'_> {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, formatter)
    }
}

/// Replaces control characters, so that a terminal obeys none. Line ends and tabs stay.
pub fn without_controls(text: &str) -> String {
    let mut shown = String::with_capacity(text.len());
    let mut characters = text.chars().peekable();
    while let Some(character) = characters.next() {
        let is_line_end = character == '\r' && characters.peek() == Some(&'\n');
        if character.is_control() && !matches!(character, '\n' | '\t') && !is_line_end {
            push_escaped(&mut shown, character);
        } else {
            shown.push(character);
        }
    }
    shown
}

/// Replaces everything that is not seen as what it is: control characters, line ends too, and characters that are invisible or
/// change the order of the text.
pub fn on_one_line(text: &str) -> String {
    let mut shown = String::with_capacity(text.len());
    for character in text.chars() {
        if character.is_control() || is_deceptive(character) {
            push_escaped(&mut shown, character);
        } else {
            shown.push(character);
        }
    }
    shown
}

fn push_escaped(shown: &mut String, character: char) {
    match character {
        '\n' => shown.push_str("\\n"),
        '\r' => shown.push_str("\\r"),
        '\t' => shown.push_str("\\t"),
        // Writing to a string cannot fail.
        _ => drop(write!(shown, "\\u{{{:x}}}", u32::from(character))),
    }
}

/// Marks of writing direction (Unicode annex 9), characters without width, separators, fillers, variation selectors and tags.
fn is_deceptive(character: char) -> bool {
    matches!(
        character,
        '\u{ad}'
            | '\u{34f}'
            | '\u{61c}'
            | '\u{115f}'..='\u{1160}'
            | '\u{17b4}'..='\u{17b5}'
            | '\u{180b}'..='\u{180f}'
            | '\u{200b}'..='\u{200f}'
            | '\u{2028}'..='\u{202e}'
            | '\u{2060}'..='\u{206f}'
            | '\u{2800}'
            | '\u{3164}'
            | '\u{fe00}'..='\u{fe0f}'
            | '\u{feff}'
            | '\u{ffa0}'
            | '\u{fff0}'..='\u{fffb}'
            | '\u{1d173}'..='\u{1d17a}'
            | '\u{e0000}'..='\u{e0fff}'
    )
}

/// Cuts text to `columns` of a terminal. Characters beyond ASCII count as two, which is the most they take.
pub fn cut(text: &str, columns: usize) -> String {
    let width = |character: char| if character.is_ascii() { 1 } else { 2 };
    if text.chars().map(width).sum::<usize>() <= columns {
        return text.to_owned();
    }
    let mut left = columns.saturating_sub(width('…'));
    let kept = text.chars().take_while(|character| {
        let fits = width(*character) <= left;
        left = left.saturating_sub(width(*character));
        fits
    });
    kept.chain(['…']).collect()
}

/// The start and the end of a long text, with what is missing between them counted.
pub fn ends(text: &str, head_chars: usize, tail_chars: usize) -> String {
    let count = text.chars().count();
    if count <= head_chars + tail_chars {
        return text.to_owned();
    }
    let head: String = text.chars().take(head_chars).collect();
    let tail: String = text.chars().skip(count - tail_chars).collect();
    format!(
        "{head} … {} characters not shown … {tail}",
        count - head_chars - tail_chars
    )
}

#[cfg(test)]
mod tests;
