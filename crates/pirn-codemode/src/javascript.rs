//! Text rules of JavaScript that differ from Rust's: lengths, white space, lines.

/// Length in UTF-16 units, the `length` of a JavaScript string.
pub(crate) fn utf16_len(text: &str) -> usize {
    text.chars().map(char::len_utf16).sum()
}

/// Whether `String.prototype.trim` drops the character.
pub(crate) fn is_white_space(character: char) -> bool {
    // U+0085 is white space to Unicode, but not to ECMAScript; U+FEFF is the other way round.
    character == '\u{FEFF}' || (character != '\u{85}' && character.is_whitespace())
}

/// Trims as `String.prototype.trim` does.
pub(crate) fn trim(text: &str) -> &str {
    text.trim_matches(is_white_space)
}

/// Splits at every ECMAScript line terminator, `\r\n` being one.
pub(crate) fn lines(text: &str) -> impl Iterator<Item = &str> {
    let mut rest = Some(text);
    std::iter::from_fn(move || {
        let current = rest?;
        let Some((at, terminator)) = current
            .char_indices()
            .find(|&(_, character)| is_line_terminator(character))
        else {
            rest = None;
            return Some(current);
        };
        let (line, after) = current.split_at(at);
        let length = if after.starts_with("\r\n") {
            2
        } else {
            terminator.len_utf8()
        };
        rest = after.get(length..);
        Some(line)
    })
}

/// Whether the character ends a line of source text.
pub(crate) fn is_line_terminator(character: char) -> bool {
    matches!(character, '\n' | '\r' | '\u{2028}' | '\u{2029}')
}
