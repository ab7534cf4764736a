//! Text of strangers on a terminal: nothing in it may move the cursor, hide, or change the order of what is read.

use std::fmt::{self, Write as _};

/// Text of a stranger: a model, a script, a server, a project. It gets to a terminal only through [`Display`](fmt::Display), which
/// shows everything that is not seen as what it is by its number, line ends too.
#[derive(Clone, Copy)]
pub struct Foreign<'a>(&'a str);

impl<'a> Foreign<'a> {
    /// Marks a text as one of a stranger.
    pub fn new(text: &'a str) -> Self {
        Self(text)
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

/// Text of which only line ends and tabs may do something; everything else that is not seen as what it is is escaped.
pub(crate) fn on_its_lines(text: &str) -> String {
    let mut shown = String::with_capacity(text.len());
    for character in text.chars() {
        match character {
            '\n' | '\t' => shown.push(character),
            _ if character.is_control() || is_deceptive(character) => {
                push_escaped(&mut shown, character);
            }
            _ => shown.push(character),
        }
    }
    shown
}

/// Text on one line as people expect to see it: as [`on_one_line`], but pictures keep the marks that join and choose them.
pub(crate) fn shown(text: &str) -> String {
    let mut shown = String::with_capacity(text.len());
    let mut before = None;
    let mut characters = text.chars().peekable();
    while let Some(character) = characters.next() {
        let joins = match character {
            '\u{fe0e}' | '\u{fe0f}' => {
                before.is_some_and(|before| is_picture(before) || before.is_ascii_digit())
            }
            '\u{200d}' => {
                before.is_some_and(|before| is_picture(before) || before == '\u{fe0f}')
                    && characters.peek().copied().is_some_and(is_picture)
            }
            _ => false,
        };
        if !joins && (character.is_control() || is_deceptive(character)) {
            push_escaped(&mut shown, character);
        } else {
            shown.push(character);
        }
        before = Some(character);
    }
    shown
}

/// Emoji and symbols, the characters that selectors and joiners belong to.
fn is_picture(character: char) -> bool {
    matches!(character, '\u{a9}' | '\u{ae}' | '\u{203c}'..='\u{3299}' | '\u{1f000}'..='\u{1faff}')
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

/// Stands before the number of a character in code that is not shown as itself.
const OPENING: char = '⟦';

/// Code as a person reads it before it runs: what is seen is what runs. Line feeds and tabs stay. What is not seen as what it is,
/// blanks that are no plain space, and the opening bracket of this notation are shown as `⟦U+202E⟧`, so that two sources never look
/// the same.
///
/// ```
/// assert_eq!(pirn_terminal::visible_code("a\u{202e}b\r\n"), "a⟦U+202E⟧b⟦U+000D⟧\n");
/// ```
pub fn visible_code(source: &str) -> String {
    let mut shown = String::with_capacity(source.len());
    for character in source.chars() {
        let is_shown_as_itself = match character {
            '\n' | '\t' | ' ' => true,
            OPENING => false,
            _ => !character.is_control() && !character.is_whitespace() && !is_deceptive(character),
        };
        if is_shown_as_itself {
            shown.push(character);
        } else {
            // Writing to a string cannot fail.
            let _infallible = write!(shown, "{OPENING}U+{:04X}⟧", u32::from(character));
        }
    }
    shown
}

/// The one table of characters that are not seen as what they are: marks of writing direction (Unicode annex 9), characters
/// without width, separators, fillers, variation selectors, tags, the object replacement character, and private and unassigned
/// characters that fonts show as nothing.
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
            | '\u{e000}'..='\u{f8ff}'
            | '\u{fe00}'..='\u{fe0f}'
            | '\u{feff}'
            | '\u{ffa0}'
            | '\u{fff0}'..='\u{fffc}'
            | '\u{13440}'
            | '\u{1bca0}'..='\u{1bca3}'
            | '\u{1d159}'
            | '\u{1d173}'..='\u{1d17a}'
            | '\u{e0000}'..='\u{e0fff}'
            | '\u{f0000}'..='\u{10ffff}'
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

#[cfg(test)]
mod tests;
