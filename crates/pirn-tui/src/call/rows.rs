//! Rows of programs, arguments and changes.

use pirn_terminal::{Role, Row, Span, TextStyle, Wrap, wrap};
use serde_json::Value;

use super::{Detail, SOURCE_ROWS};
use crate::script::{LineState, Lines};

/// Which end of many rows is shown.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum End {
    First,
    Last,
}

/// So many of the rows, and how many there are besides.
pub(super) fn limited(mut rows: Vec<Row>, rows_max: usize, detail: Detail, end: End) -> Vec<Row> {
    // One row more takes no more room than saying so.
    if detail == Detail::Whole || rows.len() <= rows_max + 1 {
        return rows;
    }
    let more = rows.len() - rows_max;
    let words = |place| {
        Row::new(
            format!("… {more} {place} rows, ctrl+t shows all"),
            TextStyle::role(Role::Dim),
        )
    };
    match end {
        End::First => {
            rows.truncate(rows_max);
            rows.push(words("more"));
        }
        End::Last => {
            rows.drain(..more);
            rows.insert(0, words("earlier"));
        }
    }
    rows
}

/// The exact arguments, one row or more for each.
pub(super) fn arguments_rows(arguments: &Value, columns: usize) -> Vec<Row> {
    let Some(members) = arguments.as_object() else {
        return Vec::new();
    };
    let mut rows = Vec::new();
    for (name, value) in members {
        let text = match value.as_str() {
            Some(text) => text.to_owned(),
            None => value.to_string(),
        };
        let label = [Span::new(format!("{name}: "), TextStyle::role(Role::Muted))];
        let rest = [Span::new("  ", TextStyle::PLAIN)];
        for (index, line) in text.lines().enumerate() {
            let first = if index == 0 { &label[..] } else { &rest[..] };
            let spans = [Span::new(line.replace('\t', "    "), TextStyle::PLAIN)];
            rows.extend(wrap(&spans, columns, Wrap::Anywhere, first, &rest));
        }
    }
    rows
}

/// A program with its marked lines; of a long one the lines around the first that is marked, or its first ones.
pub(super) fn source_rows(source: &str, lines: &Lines, columns: usize, detail: Detail) -> Vec<Row> {
    let count = source.lines().count();
    if detail == Detail::Whole || count <= SOURCE_ROWS + 1 {
        let rows = code_rows(source, lines, columns);
        return limited(rows, 2 * SOURCE_ROWS, detail, End::First);
    }
    let marked = lines.keys().next().copied().unwrap_or_default();
    let first = marked
        .saturating_sub(SOURCE_ROWS / 2)
        .min(count - SOURCE_ROWS);
    let numbers = first + 1..=first + SOURCE_ROWS;
    let mut rows = Vec::new();
    let style = TextStyle::role(Role::Dim);
    if first > 0 {
        rows.push(Row::new(format!("… {first} earlier lines"), style).cut(columns));
    }
    for (index, line) in source.lines().enumerate() {
        if numbers.contains(&(index + 1)) {
            rows.extend(line_rows(line, index + 1, count, lines, columns));
        }
    }
    let after = count - first - SOURCE_ROWS;
    if after > 0 {
        let words = format!("… {after} more lines, ctrl+t shows all");
        rows.push(Row::new(words, style).cut(columns));
    }
    rows
}

/// A program with the numbers of its lines and marks at those that run or wait.
pub(crate) fn code_rows(source: &str, lines: &Lines, columns: usize) -> Vec<Row> {
    let count = source.lines().count();
    let rows = source
        .lines()
        .enumerate()
        .flat_map(|(index, line)| line_rows(line, index + 1, count, lines, columns));
    rows.collect()
}

/// One line of a program that has so many.
fn line_rows(line: &str, number: usize, count: usize, lines: &Lines, columns: usize) -> Vec<Row> {
    let digits = count.to_string().len();
    let (mark, role) = match lines.get(&number) {
        Some(LineState::Runs) => ('▶', Role::Accent),
        Some(LineState::Waits) => ('?', Role::Warning),
        None => (' ', Role::Dim),
    };
    let first = [Span::new(
        format!("{number:>digits$}{mark}"),
        TextStyle::role(role),
    )];
    let rest = [Span::new(" ".repeat(digits + 1), TextStyle::PLAIN)];
    let code = Row::of_text(
        line,
        TextStyle::role(Role::MdCodeBlock),
        usize::MAX,
        Wrap::Anywhere,
    );
    let spans = code
        .into_iter()
        .next()
        .map(|row| row.spans)
        .unwrap_or_default();
    wrap(&spans, columns, Wrap::Anywhere, &first, &rest)
}

/// The lines that go and those that come.
pub(crate) fn diff_rows(edits: &[(String, String)], columns: usize) -> Vec<Row> {
    let mut rows = Vec::new();
    let mut side = |text: &str, mark: &str, role| {
        for line in text.lines() {
            let rest = [Span::new("  ", TextStyle::PLAIN)];
            let spans = [Span::new(line.replace('\t', "    "), TextStyle::role(role))];
            let first = [Span::new(mark, TextStyle::role(role))];
            rows.extend(wrap(&spans, columns, Wrap::Anywhere, &first, &rest));
        }
    };
    for (old, new) in edits {
        let same_start = old
            .lines()
            .zip(new.lines())
            .take_while(|(old, new)| old == new)
            .count();
        let rest = |text: &str| text.lines().skip(same_start).collect::<Vec<_>>().join("\n");
        let (old_rest, new_rest) = (rest(old), rest(new));
        let context: Vec<&str> = old.lines().take(same_start).collect();
        side(&context.join("\n"), "  ", Role::ToolDiffContext);
        side(&old_rest, "- ", Role::ToolDiffRemoved);
        side(&new_rest, "+ ", Role::ToolDiffAdded);
    }
    rows
}

/// A size, for people.
pub(crate) fn bytes(count: usize) -> String {
    match count {
        0..1024 => format!("{count} B"),
        1024..1_048_576 => format!("{} KB", count / 1024),
        _ => format!("{} MB", count / 1_048_576),
    }
}
