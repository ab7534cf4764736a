//! A file's text with its line ends and byte order mark set aside, and put back afterwards.

use std::ops::Range;

const BYTE_ORDER_MARK: char = '\u{FEFF}';

/// The end of one line.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum LineEnd {
    Lf,
    CrLf,
}

impl LineEnd {
    fn as_str(self) -> &'static str {
        match self {
            Self::Lf => "\n",
            Self::CrLf => "\r\n",
        }
    }
}

/// A text to be edited.
#[derive(Debug)]
pub(super) struct Original {
    has_byte_order_mark: bool,
    /// Without byte order mark, lines ended by line feeds alone.
    pub(super) text: String,
    /// The real end of each line that has one.
    line_ends: Vec<LineEnd>,
}

/// A part of [`Original::text`] and what takes its place, with line feeds.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Replacement {
    pub(super) range: Range<usize>,
    pub(super) text: String,
}

impl Original {
    pub(super) fn parse(content: &str) -> Self {
        let body = content.strip_prefix(BYTE_ORDER_MARK);
        let has_byte_order_mark = body.is_some();
        let body = body.unwrap_or(content);
        let mut text = String::with_capacity(body.len());
        let mut line_ends = Vec::new();
        for line in body.split_inclusive('\n') {
            if let Some(line) = line.strip_suffix("\r\n") {
                line_ends.push(LineEnd::CrLf);
                text.push_str(line);
                text.push('\n');
            } else {
                if line.ends_with('\n') {
                    line_ends.push(LineEnd::Lf);
                }
                text.push_str(line);
            }
        }
        Self {
            has_byte_order_mark,
            text,
            line_ends,
        }
    }

    /// The whole content with `replacements` made, which are in order and do not overlap. Lines outside keep their ends; new
    /// lines take the end of the line in which their replacement starts.
    pub(super) fn render(&self, replacements: &[Replacement]) -> String {
        let mut rendered = String::with_capacity(self.text.len() + self.line_ends.len());
        if self.has_byte_order_mark {
            rendered.push(BYTE_ORDER_MARK);
        }
        let mut line_ends = self.line_ends.iter().copied();
        let mut position = 0;
        for Replacement { range, text } in replacements {
            self.render_untouched(position..range.start, &mut line_ends, &mut rendered);
            let default = self.line_ends.last().copied().unwrap_or(LineEnd::Lf);
            let line_end = line_ends.clone().next().unwrap_or(default);
            for line in text.split_inclusive('\n') {
                match line.strip_suffix('\n') {
                    Some(line) => {
                        rendered.push_str(line);
                        rendered.push_str(line_end.as_str());
                    }
                    None => rendered.push_str(line),
                }
            }
            let replaced = self.text.get(range.clone()).unwrap_or_default();
            for _line_feed in replaced.matches('\n') {
                line_ends.next();
            }
            position = range.end;
        }
        self.render_untouched(position..self.text.len(), &mut line_ends, &mut rendered);
        rendered
    }

    fn render_untouched(
        &self,
        range: Range<usize>,
        line_ends: &mut impl Iterator<Item = LineEnd>,
        rendered: &mut String,
    ) {
        for line in self
            .text
            .get(range)
            .unwrap_or_default()
            .split_inclusive('\n')
        {
            match line.strip_suffix('\n') {
                Some(line) => {
                    rendered.push_str(line);
                    rendered.push_str(line_ends.next().unwrap_or(LineEnd::Lf).as_str());
                }
                None => rendered.push_str(line),
            }
        }
    }
}
