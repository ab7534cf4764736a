//! What an edit changed, for people.

use std::fmt::Write as _;
use std::time::Duration;

use serde_json::{Value, json};
use similar::{ChangeTag, TextDiff};

/// Unchanged lines shown around changes.
const CONTEXT_LINES: usize = 4;

/// After this time the difference may be coarser than it could be.
const DIFF_TIME_MAX: Duration = Duration::from_millis(500);

/// `{diff, patch, firstChangedLine}`: the changed lines with their numbers, a unified diff, and the first line of the new text
/// that differs, from 1.
pub(super) fn details(before: &str, after: &str, path: &str) -> Value {
    let diff = TextDiff::configure()
        .timeout(DIFF_TIME_MAX)
        .diff_lines(before, after);
    let width = diff.old_len().max(diff.new_len()).to_string().len();
    let mut numbered = String::new();
    let mut first_changed_line = None;
    let mut shown_to = 0;
    for group in diff.grouped_ops(CONTEXT_LINES) {
        if group
            .first()
            .is_some_and(|op| op.old_range().start > shown_to)
        {
            let _infallible = writeln!(numbered, " {:width$} ...", "");
        }
        for op in &group {
            for change in diff.iter_changes(op) {
                let (sign, index) = match change.tag() {
                    ChangeTag::Equal => (' ', change.old_index()),
                    ChangeTag::Delete => ('-', change.old_index()),
                    ChangeTag::Insert => ('+', change.new_index()),
                };
                if change.tag() != ChangeTag::Equal && first_changed_line.is_none() {
                    first_changed_line = Some(op.new_range().start + 1);
                }
                let number = index.map_or(0, |index| index + 1);
                let line = change.value().trim_end_matches(['\r', '\n']);
                let _infallible = writeln!(numbered, "{sign}{number:>width$} {line}");
            }
        }
        shown_to = group.last().map_or(shown_to, |op| op.old_range().end);
    }
    if shown_to < diff.old_len() {
        let _infallible = writeln!(numbered, " {:width$} ...", "");
    }
    let patch = diff
        .unified_diff()
        .context_radius(CONTEXT_LINES)
        .header(path, path)
        .to_string();
    json!({
        "diff": numbered.trim_end_matches('\n'),
        "patch": patch,
        "firstChangedLine": first_changed_line
    })
}
