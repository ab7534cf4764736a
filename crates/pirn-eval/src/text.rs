//! Cutting text without breaking characters.

/// The longest beginning of `text` that is at most `bytes_max` long and ends between characters.
pub(crate) fn cut(text: &str, bytes_max: usize) -> &str {
    text.get(..text.floor_char_boundary(bytes_max))
        .unwrap_or(text)
}

/// Cuts `text` to `bytes_max` bytes, with a mark where something is missing.
pub(crate) fn cut_marked(text: String, bytes_max: usize) -> String {
    const MARK: &str = "…";
    if text.len() <= bytes_max {
        return text;
    }
    let mut shorter = cut(&text, bytes_max.saturating_sub(MARK.len())).to_owned();
    shorter.push_str(cut(MARK, bytes_max));
    shorter
}

/// The last bytes of what was pushed.
#[derive(Debug, Default)]
pub(crate) struct Tail {
    bytes: Vec<u8>,
}

impl Tail {
    /// Appends bytes and drops the oldest ones above the limit.
    pub(crate) fn push(&mut self, more: &[u8]) {
        self.bytes.extend_from_slice(more);
        let surplus = self
            .bytes
            .len()
            .saturating_sub(crate::limits::STDERR_TAIL_BYTES);
        self.bytes.drain(..surplus);
    }

    /// What is kept, as text.
    pub(crate) fn text(&self) -> String {
        String::from_utf8_lossy(&self.bytes).trim().to_owned()
    }
}

#[cfg(test)]
mod tests;
