//! Lines broken into rows.

use super::{Row, Span, TextStyle};
use crate::width::clusters;

/// Where a line may break.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Wrap {
    /// Between words; a word longer than a row anywhere. For prose.
    Words,
    /// Anywhere, so that a terminal copies the line as one. For code and output.
    Anywhere,
}

/// A cluster of a line, with the piece it belongs to.
#[derive(Clone, Copy)]
struct Item<'a> {
    text: &'a str,
    columns: usize,
    span: usize,
}

/// Breaks a line into rows of so many columns. `first` stands before the first row, `rest` before the others.
pub fn wrap(line: &[Span], columns: usize, kind: Wrap, first: &[Span], rest: &[Span]) -> Vec<Row> {
    let items: Vec<Item<'_>> = line
        .iter()
        .enumerate()
        .flat_map(|(span, piece)| {
            clusters(piece.text()).map(move |cluster| Item {
                text: cluster.text,
                columns: cluster.columns,
                span,
            })
        })
        .collect();
    let mut rows = Vec::new();
    let mut left = items.as_slice();
    loop {
        let prefix = if rows.is_empty() { first } else { rest };
        let prefix_columns: usize = prefix
            .iter()
            .map(|span| crate::width::width(span.text()))
            .sum();
        let room = columns.saturating_sub(prefix_columns).max(1);
        let taken = match kind {
            Wrap::Words => words_that_fit(left, room),
            Wrap::Anywhere => clusters_that_fit(left, room),
        };
        let (row, after) = left.split_at(taken.min(left.len()));
        let row = match kind {
            Wrap::Words if !after.is_empty() => without_blanks(row),
            Wrap::Words | Wrap::Anywhere => row,
        };
        let mut spans = prefix.to_vec();
        push_items(&mut spans, row, line);
        rows.push(Row {
            spans,
            continues: kind == Wrap::Anywhere && !after.is_empty() && rest.is_empty(),
        });
        if after.is_empty() {
            return rows;
        }
        left = after;
    }
}

fn push_items(spans: &mut Vec<Span>, items: &[Item<'_>], line: &[Span]) {
    for group in items.chunk_by(|one, other| one.span == other.span) {
        let text: String = group.iter().map(|item| item.text).collect();
        if let Some(span) = group.first().and_then(|item| line.get(item.span)) {
            spans.push(span.part(&text));
        }
    }
}

fn clusters_that_fit(items: &[Item<'_>], room: usize) -> usize {
    let mut taken = 0;
    let fitting = items.iter().take_while(|item| {
        taken += item.columns;
        taken <= room
    });
    fitting.count().max(1)
}

fn words_that_fit(items: &[Item<'_>], room: usize) -> usize {
    let mut taken = 0;
    let mut last_break = None;
    for (index, item) in items.iter().enumerate() {
        let is_blank = item.text == " ";
        if taken + item.columns > room && !is_blank {
            return last_break.unwrap_or(index).max(1);
        }
        taken += item.columns;
        // Between ideographs a line may break anywhere.
        if is_blank || item.columns > 1 {
            last_break = Some(index + 1);
        }
    }
    items.len()
}

fn without_blanks<'a, 'b>(mut items: &'a [Item<'b>]) -> &'a [Item<'b>] {
    while let [before @ .., last] = items
        && last.text == " "
    {
        items = before;
    }
    items
}

impl Row {
    /// A text with line ends of its own, in rows; tabs reach to the next stop.
    pub fn of_text(text: &str, style: TextStyle, columns: usize, kind: Wrap) -> Vec<Self> {
        text.lines()
            .flat_map(|line| {
                wrap(
                    &[Span::new(with_blanks(line), style)],
                    columns,
                    kind,
                    &[],
                    &[],
                )
            })
            .collect()
    }
}

/// Columns between the stops of tabs.
const TAB_COLUMNS: usize = 4;

fn with_blanks(line: &str) -> String {
    if !line.contains('\t') {
        return line.trim_end_matches('\r').to_owned();
    }
    let mut shown = String::new();
    let mut column = 0;
    for cluster in clusters(line.trim_end_matches('\r')) {
        if cluster.text == "\t" {
            let blanks = TAB_COLUMNS - column % TAB_COLUMNS;
            shown.extend(std::iter::repeat_n(' ', blanks));
            column += blanks;
        } else {
            shown.push_str(cluster.text);
            column += cluster.columns;
        }
    }
    shown
}
