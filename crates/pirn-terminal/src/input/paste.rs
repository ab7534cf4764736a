//! What was pasted, as text.

/// What stands after a paste.
pub(super) const PASTE_END: &[u8] = b"\x1b[201~";

/// The text of a paste: line ends become line feeds, control characters go, and those that some terminals send as key sequences
/// inside a paste are read as what they were.
pub(super) fn pasted_text(bytes: &[u8]) -> String {
    let text = String::from_utf8_lossy(bytes);
    let mut clean = String::with_capacity(text.len());
    let mut rest = text.as_ref();
    while let Some(character) = rest.chars().next() {
        let mut taken = character.len_utf8();
        match character {
            '\r' => {
                clean.push('\n');
                if rest.as_bytes().get(1) == Some(&b'\n') {
                    taken += 1;
                }
            }
            '\n' | '\t' => clean.push(character),
            '\u{1b}' => {
                if let Some((control, bytes)) = encoded_control(rest) {
                    taken = bytes;
                    clean.extend(control);
                }
            }
            _ if character.is_control() => {}
            _ => clean.push(character),
        }
        rest = rest.get(taken..).unwrap_or_default();
    }
    clean
}

/// `ESC [ CODE ; 5 u` is a letter with ctrl: the line feed and the tab of what was copied. The others go.
fn encoded_control(text: &str) -> Option<(Option<char>, usize)> {
    let sequence = text.strip_prefix("\u{1b}[")?;
    let (parameters, _) = sequence.split_once('u')?;
    let (code, held) = parameters.split_once(';')?;
    if held != "5" || code.len() > 3 {
        return None;
    }
    let control = match code.parse::<u32>().ok()? {
        106 | 109 => Some('\n'),
        105 => Some('\t'),
        _ => None,
    };
    Some((control, parameters.len() + 3))
}
