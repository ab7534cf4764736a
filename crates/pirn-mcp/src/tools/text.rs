//! Small pieces of text.

/// The longest start of at most `bytes` bytes that splits no character.
pub(super) fn start_within(text: &str, bytes: usize) -> &str {
    text.get(..text.floor_char_boundary(bytes)).unwrap_or(text)
}

/// The longest end of at most `bytes` bytes that splits no character.
pub(super) fn end_within(text: &str, bytes: usize) -> &str {
    let start = text.ceil_char_boundary(text.len().saturating_sub(bytes));
    text.get(start..).unwrap_or_default()
}

/// The text, or its start and `…`, in at most `bytes` bytes.
pub(super) fn cut_end(text: &str, bytes: usize) -> String {
    if text.len() <= bytes {
        return text.to_owned();
    }
    format!(
        "{}…",
        start_within(text, bytes.saturating_sub('…'.len_utf8()))
    )
}

/// A name of a stranger in double quotes, with everything escaped that would break a line.
pub(super) fn quoted(text: &str) -> String {
    format!("{text:?}")
}

/// A text of a stranger on one line.
pub(super) fn one_line(text: &str) -> String {
    text.split(|character: char| character.is_whitespace() || character.is_control())
        .filter(|word| !word.is_empty())
        .collect::<Vec<_>>()
        .join(" ")
}

/// A size for people: `12 B`, `1.5 KiB`, `2.0 MiB`.
#[expect(clippy::cast_precision_loss, reason = "one decimal is shown")]
pub(super) fn size(bytes: u64) -> String {
    match bytes {
        0..1_024 => format!("{bytes} B"),
        1_024..1_048_576 => format!("{:.1} KiB", bytes as f64 / 1_024.0),
        _ => format!("{:.1} MiB", bytes as f64 / 1_048_576.0),
    }
}
