//! Spellings that models confuse, made equal.

use unicode_normalization::{UnicodeNormalization as _, is_nfkc};

/// Normalises a text line by line, so that lines keep their numbers: compatibility forms are composed, white space at the ends
/// of lines is dropped, and quotes, dashes and spaces become the plain ones.
pub(super) fn normalize(text: &str) -> String {
    let mut normalized = String::with_capacity(text.len());
    for (index, line) in text.split('\n').enumerate() {
        if index > 0 {
            normalized.push('\n');
        }
        normalize_line(line, &mut normalized);
    }
    normalized
}

fn normalize_line(line: &str, normalized: &mut String) {
    if line.is_ascii() {
        normalized.push_str(line.trim_end());
        return;
    }
    let start = normalized.len();
    if is_nfkc(line) {
        normalized.extend(line.chars().map(plain));
    } else {
        normalized.extend(line.nfkc().map(plain));
    }
    let kept = normalized.get(start..).unwrap_or_default().trim_end().len();
    normalized.truncate(start + kept);
}

/// The plain character for typographic ones.
fn plain(character: char) -> char {
    match character {
        '\u{2018}'..='\u{201B}' => '\'',
        '\u{201C}'..='\u{201F}' => '"',
        '\u{2010}'..='\u{2015}' | '\u{2212}' => '-',
        '\u{00A0}' | '\u{2000}'..='\u{200A}' | '\u{202F}' | '\u{205F}' | '\u{3000}' => ' ',
        other => other,
    }
}
