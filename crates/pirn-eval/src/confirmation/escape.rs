//! A source as a person reads it before it runs: nothing hides, and nothing is shown as something else.

use std::fmt::Write as _;

/// Stands before the number of a character that is not shown as itself.
const OPENING: char = '⟦';

/// Shows a source so that what is seen is what runs. Line feeds and tabs stay. Control characters, characters that are invisible
/// or change the order of the text, and blanks that are no plain space are shown as `⟦U+202E⟧`. The opening bracket itself is
/// shown in the same way, so that two sources never look the same.
///
/// ```
/// assert_eq!(pirn_eval::escape_source("a\u{202e}b\r\n"), "a⟦U+202E⟧b⟦U+000D⟧\n");
/// ```
pub fn escape_source(source: &str) -> String {
    let mut shown = String::with_capacity(source.len());
    for character in source.chars() {
        if is_shown_as_itself(character) {
            shown.push(character);
        } else {
            // Writing to a string cannot fail.
            let _infallible = write!(shown, "{OPENING}U+{:04X}⟧", u32::from(character));
        }
    }
    shown
}

fn is_shown_as_itself(character: char) -> bool {
    match character {
        '\n' | '\t' | ' ' => true,
        OPENING => false,
        _ => !character.is_control() && !character.is_whitespace() && !is_deceptive(character),
    }
}

/// Marks of writing direction (Unicode annex 9), characters without width, fillers, variation selectors, private and unassigned
/// characters that fonts show as nothing, and tags.
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
            | '\u{1d173}'..='\u{1d17a}'
            | '\u{e0000}'..='\u{e0fff}'
            | '\u{f0000}'..='\u{10ffff}'
    )
}
