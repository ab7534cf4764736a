//! The clipboard, by way of the terminal.

use base64::Engine as _;

/// Bytes that terminals take; longer texts are dropped by some without a word.
const BYTES_MAX: usize = 100_000;

/// The sequence that puts a text on the clipboard, of machines far away too; `None` where the text is too long for terminals.
pub fn clipboard_sequence(text: &str) -> Option<String> {
    let encoded = base64::engine::general_purpose::STANDARD.encode(text);
    (encoded.len() <= BYTES_MAX).then(|| format!("\u{1b}]52;c;{encoded}\u{7}"))
}
