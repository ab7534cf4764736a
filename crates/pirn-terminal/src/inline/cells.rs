//! A row as the characters that a terminal shows.

use crate::row::{Row, TextStyle};
use crate::width::clusters;

/// One character with its look.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Cell<'a> {
    pub(super) text: &'a str,
    pub(super) columns: usize,
    pub(super) is_disputed: bool,
    pub(super) style: TextStyle,
    pub(super) link: Option<&'a str>,
}

pub(super) fn cells(row: &Row) -> Vec<Cell<'_>> {
    row.spans
        .iter()
        .flat_map(|span| {
            clusters(span.text()).map(|cluster| Cell {
                text: cluster.text,
                columns: cluster.columns,
                is_disputed: cluster.is_disputed,
                style: span.style,
                link: span.address(),
            })
        })
        .collect()
}
