//! How much text a model gets, and how sizes are written.

/// The most lines of one result: what a model reads with profit before it should ask for a range.
pub const LINES_MAX: usize = 2_000;

/// The most bytes of one result, about 13,000 tokens.
pub const BYTES_MAX: usize = 51_200;

/// Writes a size as `12B`, `1.5KB` or `2.0MB`.
pub(crate) fn format_size(bytes: u64) -> String {
    #[expect(clippy::cast_precision_loss, reason = "one decimal is shown")]
    let float = bytes as f64;
    match bytes {
        0..1_024 => format!("{bytes}B"),
        1_024..1_048_576 => format!("{:.1}KB", float / 1_024.0),
        1_048_576.. => format!("{:.1}MB", float / 1_048_576.0),
    }
}

/// Which limit cut a text.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum CutBy {
    Lines,
    Bytes,
}

/// The end of a text, cut to the limits.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Tail<'a> {
    /// The kept part, whole lines unless `partial_line`.
    pub(crate) text: &'a [u8],
    /// How many lines were kept.
    pub(crate) lines: usize,
    /// What cut it; `None` when all of it was kept.
    pub(crate) cut_by: Option<CutBy>,
    /// Whether the last line alone is over the limit, so that only its end was kept.
    pub(crate) partial_line: bool,
}

/// Keeps the last lines of `text` that fit the limits. A final line feed ends the last line and starts no new one.
pub(crate) fn keep_tail(text: &[u8]) -> Tail<'_> {
    let body = text.strip_suffix(b"\n").unwrap_or(text);
    let total_lines = if text.is_empty() {
        0
    } else {
        memchr::memchr_iter(b'\n', body).count() + 1
    };
    if total_lines <= LINES_MAX && body.len() <= BYTES_MAX {
        return Tail {
            text,
            lines: total_lines,
            cut_by: None,
            partial_line: false,
        };
    }
    let mut start = body.len();
    let mut lines = 0;
    let mut cut_by = CutBy::Lines;
    while lines < LINES_MAX {
        // `start` is the end of the text, or the first byte of a kept line.
        let line_end = if lines == 0 {
            start
        } else {
            start.saturating_sub(1)
        };
        let before = body.get(..line_end).unwrap_or_default();
        let line_start = memchr::memrchr(b'\n', before).map_or(0, |at| at + 1);
        if body.len() - line_start > BYTES_MAX {
            cut_by = CutBy::Bytes;
            break;
        }
        start = line_start;
        lines += 1;
        if start == 0 {
            break;
        }
    }
    if lines > 0 {
        let kept = body.get(start..).unwrap_or_default();
        return Tail {
            text: kept,
            lines,
            cut_by: Some(cut_by),
            partial_line: false,
        };
    }
    // The last line alone is too long: its end, from a character's first byte on.
    let from = body.len() - BYTES_MAX;
    let skip = body
        .iter()
        .skip(from)
        .take_while(|byte| **byte & 0xC0 == 0x80)
        .take(3)
        .count();
    let kept = body.get(from + skip..).unwrap_or_default();
    Tail {
        text: kept,
        lines: 1,
        cut_by: Some(CutBy::Bytes),
        partial_line: true,
    }
}

/// Keeps the first lines that fit [`BYTES_MAX`]. Returns the text and whether lines were left out.
pub(crate) fn keep_head_lines(lines: &[String]) -> (String, bool) {
    let mut text = String::new();
    for (index, line) in lines.iter().enumerate() {
        let separator = usize::from(index > 0);
        if text.len() + separator + line.len() > BYTES_MAX {
            return (text, true);
        }
        if index > 0 {
            text.push('\n');
        }
        text.push_str(line);
    }
    (text, false)
}

#[cfg(test)]
mod tests;
