//! New text takes the line ends of the place where it goes.

use std::ops::Range;

use super::view::lines;

/// Where a text goes.
#[derive(Debug)]
pub(super) struct Place {
    /// Never begins or ends within a line end.
    pub(super) range: Range<usize>,
    /// Whether the text that was looked for ends in the carriage return of a line end that stays: programs that split lines at
    /// line feeds have it there.
    keeps_last_end: bool,
}

impl Place {
    /// From the place where `old` was found in `text`.
    pub(super) fn of(text: &str, found: Range<usize>, old: &str) -> Self {
        let mut range = found;
        let bytes = text.as_bytes();
        let at = |index: usize| bytes.get(index).copied();
        // A line end that the place begins within belongs to it.
        while at(range.start) == Some(b'\n')
            && range.start > 0
            && at(range.start - 1) == Some(b'\r')
        {
            range.start -= 1;
        }
        let matched = text.get(range.clone()).unwrap_or_default();
        // One that it ends within does not, neither does one that was meant by a carriage return alone.
        let has_return_only = old.ends_with('\r');
        let is_within_end = matched.ends_with('\r') && at(range.end) == Some(b'\n');
        let keeps_last_end = is_within_end || has_return_only && matched.ends_with('\n');
        if keeps_last_end {
            range.end = range.start + matched.trim_end_matches('\n').trim_end_matches('\r').len();
        }
        Self {
            range,
            keeps_last_end,
        }
    }

    /// The new text with the line ends of what it replaces, line by line. Lines that are new take the end of the line in which
    /// the place begins.
    pub(super) fn render(&self, text: &str, new: &str) -> String {
        let new = if self.keeps_last_end {
            new.trim_end_matches('\r')
        } else {
            new
        };
        let replaced = text.get(self.range.clone()).unwrap_or_default();
        let old_lines: Vec<_> = lines(replaced)
            .filter(|line| !line.end.is_empty())
            .collect();
        let new_lines: Vec<_> = lines(new).collect();
        let new_ends = new_lines.iter().filter(|line| !line.end.is_empty()).count();
        let shared = old_lines.len().min(new_ends);
        let (same_first, same_last) = if old_lines.len() == new_ends {
            (shared, 0)
        } else {
            let same = |(old, new): &(&super::view::Line<'_>, &super::view::Line<'_>)| {
                old.content == new.content
            };
            let first = old_lines
                .iter()
                .zip(&new_lines)
                .take(shared)
                .take_while(same)
                .count();
            let last = old_lines
                .iter()
                .rev()
                .zip(new_lines.iter().take(new_ends).rev())
                .take(shared - first)
                .take_while(same)
                .count();
            (first, last)
        };
        let usual = self.usual_end(text);
        let mut rendered = String::with_capacity(new.len());
        for (index, line) in new_lines.iter().enumerate() {
            rendered.push_str(line.content);
            if line.end.is_empty() {
                continue;
            }
            let from_last = new_ends - index;
            let kept = if index < same_first {
                old_lines.get(index)
            } else if from_last <= same_last {
                old_lines.get(old_lines.len() - from_last)
            } else {
                None
            };
            let new_end = usual.unwrap_or(match line.end {
                "\n" | "\r" => line.end,
                _ => "\r\n",
            });
            rendered.push_str(kept.map_or(new_end, |line| line.end));
        }
        self.part_from_neighbours(text, &mut rendered);
        rendered
    }

    /// A carriage return and a line feed that end two lines must not become the end of one.
    fn part_from_neighbours(&self, text: &str, rendered: &mut String) {
        let before = text.get(..self.range.start).unwrap_or_default();
        let after = text.get(self.range.end..).unwrap_or_default();
        let next = lines(after).next().map_or("", |line| line.end);
        let begins_with_end = after.starts_with(['\r', '\n']);
        if rendered.ends_with('\r') && begins_with_end && next.ends_with('\n') {
            rendered.pop();
            rendered.push_str(next);
        }
        if before.ends_with('\r') && rendered.starts_with('\n') {
            rendered.replace_range(..1, "\r");
        }
    }

    /// The end of the line in which the place begins, or of the last one before it; `None` in a text without line ends.
    fn usual_end<'a>(&self, text: &'a str) -> Option<&'a str> {
        let bytes = text.as_bytes();
        let (before, after) = bytes.split_at_checked(self.range.start)?;
        let line_feed = memchr::memchr(b'\n', after)
            .map(|at| self.range.start + at)
            .or_else(|| memchr::memrchr(b'\n', before));
        match line_feed {
            Some(at) if at > 0 && bytes.get(at - 1) == Some(&b'\r') => Some("\r\n"),
            Some(_) => Some("\n"),
            // Where there are line feeds, a carriage return alone ends no line.
            None => text.contains('\r').then_some("\r"),
        }
    }
}
