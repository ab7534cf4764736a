//! The end of what a running call has put out.

/// Bytes kept: a few screens, since each update of a call carries all of it.
const KEPT_BYTES_MAX: usize = 4_096;

/// The end of what a running call has put out, for its updates.
#[derive(Debug, Clone, Default)]
pub struct OutputTail {
    text: String,
}

impl OutputTail {
    /// Adds output; what is more than some four thousand bytes before the end is forgotten.
    pub fn push(&mut self, text: &str) {
        self.text.push_str(text);
        let surplus = self.text.len().saturating_sub(KEPT_BYTES_MAX);
        self.text.drain(..self.text.ceil_char_boundary(surplus));
    }

    /// The end of all that was added, of whole characters.
    pub fn text(&self) -> &str {
        &self.text
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_end_is_kept_in_whole_characters() {
        let mut tail = OutputTail::default();
        tail.push("gone");
        tail.push(&"é".repeat(KEPT_BYTES_MAX / 2));
        assert_eq!(tail.text(), "é".repeat(KEPT_BYTES_MAX / 2));
        tail.push("x");
        assert_eq!(tail.text().len(), KEPT_BYTES_MAX - 1);
        assert!(tail.text().starts_with('é') && tail.text().ends_with('x'));
    }
}
