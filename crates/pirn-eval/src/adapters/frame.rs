//! What fits into one message to a program.

use std::io;

use serde::Serialize;

/// Bytes of JSON that a value given to a program may take: a message holds 2,000,000, and its own members take some.
pub(crate) const VALUE_JSON_BYTES_MAX: usize = 1_990_000;

/// The length of a value as compact JSON, without building the text.
pub(crate) fn json_bytes(value: &impl Serialize) -> usize {
    struct Counter(usize);
    impl io::Write for Counter {
        fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
            self.0 += bytes.len();
            Ok(bytes.len())
        }
        fn flush(&mut self) -> io::Result<()> {
            Ok(())
        }
    }
    let mut counter = Counter(0);
    // Values always serialise; an error could only come from the writer, which has none.
    let _infallible = serde_json::to_writer(&mut counter, value);
    counter.0
}

/// Cuts a text so that it takes at most `json_bytes_max` bytes inside the quotes of a JSON string. Whether something was cut.
pub(super) fn cut_to_json_bytes(text: &mut String, json_bytes_max: usize) -> bool {
    let mut used = 0;
    let end = text.char_indices().find_map(|(at, character)| {
        used += escaped_bytes(character);
        (used > json_bytes_max).then_some(at)
    });
    if let Some(end) = end {
        text.truncate(end);
    }
    end.is_some()
}

/// Bytes a character takes inside a JSON string.
fn escaped_bytes(character: char) -> usize {
    match character {
        '"' | '\\' | '\n' | '\r' | '\t' | '\u{8}' | '\u{c}' => 2,
        '\0'..='\u{1f}' => 6,
        _ => character.len_utf8(),
    }
}
