//! Cuts text into search terms.

use std::sync::LazyLock;

use icu_segmenter::WordSegmenter;
use icu_segmenter::options::WordBreakInvariantOptions;
use regex::Regex;
use unicode_normalization::UnicodeNormalization as _;

/// Words too common to tell tools apart.
const STOP_WORDS: [&str; 21] = [
    "a", "an", "and", "are", "as", "at", "be", "by", "for", "from", "in", "is", "it", "of", "on",
    "or", "that", "the", "this", "to", "with",
];

/// Letters, marks and digits, but no fractions, superscripts or circled characters.
#[expect(
    clippy::expect_used,
    reason = "a constant pattern, compiled by every test"
)]
static WORD: LazyLock<Regex> = LazyLock::new(|| {
    Regex::new(r"[\p{L}\p{M}\p{Nd}\p{Nl}]+").expect("the pattern of words is valid")
});

/// Cuts `text` into lower-case terms: at everything but letters, marks and digits, at changes of case inside a word
/// (`getHTTPResponse` is `get`, `http`, `response`), and at the words of languages that are written without blanks. Common
/// English words are left out, English plurals lose their ending.
///
/// ```
/// assert_eq!(pirn_tool::tokenize("list the openIssues"), ["list", "open", "issue"]);
/// ```
pub fn tokenize(text: &str) -> Vec<String> {
    let mut terms = Vec::new();
    let composed: String = if text.is_ascii() {
        text.to_owned()
    } else {
        text.nfc().collect()
    };
    let lowered = at_case_changes(&composed).to_lowercase();
    for word in WORD.find_iter(&lowered) {
        let word = word.as_str();
        if word.is_ascii() {
            push_ascii(&mut terms, word);
        } else {
            push_segments(&mut terms, word);
        }
    }
    terms
}

fn push_ascii(terms: &mut Vec<String>, word: &str) {
    if !STOP_WORDS.contains(&word) {
        terms.push(stem(word));
    }
}

/// Puts a blank where an ASCII word changes from lower to upper case, and before the last letter of an acronym that a
/// lower-case letter follows.
fn at_case_changes(text: &str) -> String {
    let mut spaced = String::with_capacity(text.len() + text.len() / 8);
    let mut previous = '\0';
    let mut characters = text.chars().peekable();
    while let Some(character) = characters.next() {
        if character.is_ascii_uppercase() {
            let after_lower = previous.is_ascii_lowercase() || previous.is_ascii_digit();
            let starts_word = characters.peek().is_some_and(char::is_ascii_lowercase);
            if after_lower || (previous.is_ascii_uppercase() && starts_word) {
                spaced.push(' ');
            }
        }
        spaced.push(character);
        previous = character;
    }
    spaced
}

/// Adds the words of text that is not plain ASCII.
fn push_segments(terms: &mut Vec<String>, text: &str) {
    let segmenter = WordSegmenter::new_dictionary(WordBreakInvariantOptions::default());
    let mut start = 0;
    // The first boundary is the start of the text.
    for end in segmenter.segment_str(text).skip(1) {
        let segment = text.get(start..end).unwrap_or_default();
        start = end;
        if segment.is_ascii() {
            push_ascii(terms, segment);
        } else if segment.chars().any(char::is_alphanumeric) {
            terms.push(segment.to_owned());
        }
    }
}

/// Takes the plural ending off an ASCII word.
fn stem(word: &str) -> String {
    const ES_ENDINGS: [&str; 5] = ["ches", "shes", "sses", "xes", "zes"];
    let length = word.len();
    if let Some(front) = word.strip_suffix("ies").filter(|_| length > 4) {
        return format!("{front}y");
    }
    let end = if length > 4 && ES_ENDINGS.iter().any(|ending| word.ends_with(ending)) {
        "es"
    } else if length > 3 && word.ends_with('s') && !word.ends_with("ss") {
        "s"
    } else {
        ""
    };
    word.strip_suffix(end).unwrap_or(word).to_owned()
}
