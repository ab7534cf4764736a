//! How many lines a change adds and removes.

use similar::{Algorithm, DiffOp, capture_diff_slices};

/// Lines that differ in one place and are compared one by one; more count as replaced, since finding the shortest difference takes
/// time that grows with the square of it.
const COMPARED_LINES_MAX: usize = 2_000;

/// Lines that a change adds and removes.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct LineCount {
    pub(crate) added: usize,
    pub(crate) removed: usize,
}

impl LineCount {
    /// Of the change from one content to another. A last line without its end is a line.
    pub(crate) fn of(before: &[u8], after: &[u8]) -> Self {
        let (before, after) = (lines(before), lines(after));
        let same = |pair: &(&&[u8], &&[u8])| pair.0 == pair.1;
        let start = before.iter().zip(&after).take_while(same).count();
        let (before, after) = (rest(&before, start), rest(&after, start));
        let end = before
            .iter()
            .rev()
            .zip(after.iter().rev())
            .take_while(same)
            .count();
        let before = before.get(..before.len() - end).unwrap_or_default();
        let after = after.get(..after.len() - end).unwrap_or_default();
        let replaced = Self {
            added: after.len(),
            removed: before.len(),
        };
        if before.len().max(after.len()) > COMPARED_LINES_MAX {
            return replaced;
        }
        capture_diff_slices(Algorithm::Myers, before, after)
            .into_iter()
            .fold(Self::default(), |sum, op| match op {
                DiffOp::Equal { .. } => sum,
                DiffOp::Delete { .. } | DiffOp::Insert { .. } | DiffOp::Replace { .. } => Self {
                    added: sum.added + op.new_range().len(),
                    removed: sum.removed + op.old_range().len(),
                },
            })
    }
}

fn lines(content: &[u8]) -> Vec<&[u8]> {
    content.split_inclusive(|byte| *byte == b'\n').collect()
}

fn rest<'a, 'b>(lines: &'b [&'a [u8]], start: usize) -> &'b [&'a [u8]] {
    lines.get(start..).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::LineCount;

    #[test]
    fn lines_are_counted_where_they_change() {
        let many = "x\n".repeat(5_000);
        for (before, after, added, removed) in [
            ("", "", 0, 0),
            ("", "a\nb", 2, 0),
            ("a\nb\n", "", 0, 2),
            ("a\nb\nc\n", "a\nB\nc\n", 1, 1),
            ("a\nb\nc\n", "b\nc\nd\n", 1, 1),
            ("a", "a\n", 1, 1),
            ("same\n", "same\n", 0, 0),
            (&many, "y\n", 1, 5_000),
        ] {
            let count = LineCount::of(before.as_bytes(), after.as_bytes());
            assert_eq!((count.added, count.removed), (added, removed), "{after:?}");
        }
    }
}
