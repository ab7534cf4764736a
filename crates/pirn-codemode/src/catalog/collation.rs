//! The order of names for readers: letters by alphabet whatever their case and accents, marks before digits before letters.

use unicode_normalization::UnicodeNormalization as _;
use unicode_normalization::char::is_combining_mark;

/// ASCII marks in the order of the Unicode collation's root table.
const MARKS: &str = "_-,;:!?.'\"()[]{}@*/\\&#%`^+<=>|~$";

/// Compares like the root collation of Unicode for the names that occur, without its tables. Names that are not the same never
/// compare as equal.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct SortKey {
    /// Base characters without case and accents.
    primary: Vec<(u8, u32)>,
    /// Weights of accents, which count where letters are equal.
    secondary: Vec<u32>,
    /// Upper case after lower case.
    tertiary: Vec<bool>,
    name: String,
}

impl SortKey {
    pub(super) fn new(name: &str) -> Self {
        let mut key = Self {
            primary: Vec::new(),
            secondary: Vec::new(),
            tertiary: Vec::new(),
            name: name.to_owned(),
        };
        for character in name.nfd() {
            if is_combining_mark(character) {
                key.secondary.push(u32::from(character));
                continue;
            }
            key.secondary.push(0);
            key.tertiary.push(character.is_uppercase());
            for folded in character.to_lowercase() {
                key.primary.push(weight(folded));
            }
        }
        key
    }
}

fn weight(character: char) -> (u8, u32) {
    let code = u32::from(character);
    if character.is_whitespace() {
        return (0, code);
    }
    if let Some(place) = MARKS.find(character) {
        return (1, u32::try_from(place).unwrap_or(u32::MAX));
    }
    (if character.is_alphabetic() { 3 } else { 2 }, code)
}
