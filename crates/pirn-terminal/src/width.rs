//! How many columns text takes on a terminal: the one place that answers it.

use unicode_segmentation::UnicodeSegmentation as _;
use unicode_width::UnicodeWidthStr as _;

/// A character as people see one, with its columns.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Cluster<'a> {
    /// The code points that it is made of.
    pub text: &'a str,
    /// The columns that it takes.
    pub columns: usize,
    /// Whether terminals disagree about its columns: after it the cursor may be elsewhere.
    pub is_disputed: bool,
}

/// The characters of a text as people see them.
pub fn clusters(text: &str) -> impl Iterator<Item = Cluster<'_>> {
    text.graphemes(true).map(Cluster::of)
}

/// The columns of a text.
pub fn width(text: &str) -> usize {
    if text.is_ascii() {
        return text.len();
    }
    clusters(text).map(|cluster| cluster.columns).sum()
}

impl<'a> Cluster<'a> {
    fn of(text: &'a str) -> Self {
        if text.len() == 1 {
            return Self {
                text,
                columns: 1,
                is_disputed: false,
            };
        }
        Self {
            text,
            columns: text.width(),
            is_disputed: is_disputed(text),
        }
    }
}

/// What terminals count differently: sequences joined into one picture, selectors of presentation, skin tones, and pictures of
/// which some terminals take every one for narrow. Marks on a letter are counted alike.
fn is_disputed(text: &str) -> bool {
    let mut characters = text.chars();
    let is_picture = characters
        .next()
        .is_some_and(|first| matches!(first, '\u{2190}'..='\u{2bff}' | '\u{1f000}'..='\u{1faff}'));
    let others = characters.any(|character| !is_common_mark(character));
    others || is_picture && text.width() != 1
}

/// Marks that every terminal puts onto the letter before them.
fn is_common_mark(character: char) -> bool {
    matches!(character, '\u{300}'..='\u{36f}' | '\u{20d0}'..='\u{20e2}')
}

/// The part of a text that fits into `columns`, and how many of them it takes.
pub fn prefix(text: &str, columns: usize) -> (&str, usize) {
    let mut end = 0;
    let mut taken = 0;
    for cluster in clusters(text) {
        if taken + cluster.columns > columns {
            break;
        }
        taken += cluster.columns;
        end += cluster.text.len();
    }
    (text.get(..end).unwrap_or_default(), taken)
}

#[cfg(test)]
mod tests;
