//! What is kept of an output of a program: text, bounded, with a marker where something is missing.

/// Kept back at the end until it is known whether more follows, so that the marker has room below the limit.
const MARKER_BYTES: usize = 64;

/// A stream of bytes on its way to bounded text. Bytes beyond the limit are counted and forgotten.
#[derive(Debug)]
pub(crate) struct Capture {
    limit_bytes: usize,
    /// Bytes that were given out, without the marker.
    given_bytes: usize,
    /// Below the limit, but where the marker would stand.
    held: String,
    /// The beginning of a character whose other bytes have not come.
    partial: Vec<u8>,
    total_bytes: u64,
    is_over: bool,
}

impl Capture {
    pub(crate) fn new(limit_bytes: usize) -> Self {
        Self {
            limit_bytes,
            given_bytes: 0,
            held: String::new(),
            partial: Vec::new(),
            total_bytes: 0,
            is_over: false,
        }
    }

    /// Whether something is missing.
    pub(crate) fn is_cut(&self) -> bool {
        self.is_over
    }

    /// Takes bytes and appends to `out` what can be shown now.
    pub(crate) fn push(&mut self, bytes: &[u8], out: &mut String) {
        self.total_bytes += bytes.len() as u64;
        if self.is_over {
            return;
        }
        let joined;
        let mut rest = if self.partial.is_empty() {
            bytes
        } else {
            let mut start = std::mem::take(&mut self.partial);
            start.extend_from_slice(bytes);
            joined = start;
            joined.as_slice()
        };
        while !rest.is_empty() && !self.is_over {
            match std::str::from_utf8(rest) {
                Ok(text) => {
                    self.take(text, out);
                    return;
                }
                Err(error) => {
                    let (valid, others) = rest.split_at(error.valid_up_to());
                    self.take(std::str::from_utf8(valid).unwrap_or_default(), out);
                    let Some(bad) = error.error_len() else {
                        self.partial = others.to_vec();
                        return;
                    };
                    self.take("\u{fffd}", out);
                    rest = others.get(bad..).unwrap_or_default();
                }
            }
        }
    }

    /// Appends what was held back, or the marker. Nothing can be pushed afterwards.
    pub(crate) fn finish(&mut self, out: &mut String) {
        if !self.partial.is_empty() {
            self.partial.clear();
            self.take("\u{fffd}", out);
        }
        if self.is_over {
            // Replacement characters are longer than what they replace, so this is what was printed, not what was kept.
            let missing = self.total_bytes.saturating_sub(self.given_bytes as u64);
            out.push_str("\n[cut here: ");
            out.push_str(&missing.to_string());
            out.push_str(" more bytes]\n");
        } else {
            out.push_str(&std::mem::take(&mut self.held));
        }
    }

    fn take(&mut self, text: &str, out: &mut String) {
        let live = self.limit_bytes.saturating_sub(MARKER_BYTES);
        let room = if self.held.is_empty() {
            live.saturating_sub(self.given_bytes)
        } else {
            0
        };
        let (now, later) = text
            .split_at_checked(text.floor_char_boundary(room))
            .unwrap_or((text, ""));
        out.push_str(now);
        self.given_bytes += now.len();
        if self.given_bytes + self.held.len() + later.len() > self.limit_bytes {
            self.is_over = true;
            self.held = String::new();
        } else {
            self.held.push_str(later);
        }
    }
}

#[cfg(test)]
mod tests;
