use super::*;

fn shown(source: &str, columns: usize) -> Vec<(String, usize)> {
    rows_of(source, columns)
        .into_iter()
        .map(|row| (row.text, row.line))
        .collect()
}

fn row(text: &str, line: usize) -> (String, usize) {
    (text.to_owned(), line)
}

#[test]
fn lines_are_wrapped_at_the_terminals_width() {
    assert_eq!(
        shown("a\n\nb\n", 80),
        [row("a", 1), row("", 2), row("b", 3)]
    );
    assert_eq!(shown("", 80), [row("", 1)]);
    assert_eq!(shown("\n", 80), [row("", 1)]);
    let columns = COLUMNS_MIN + MARGIN.len() + 1;
    assert_eq!(
        shown(&"x".repeat(45), columns),
        [
            row(&"x".repeat(20), 1),
            row(&"x".repeat(20), 1),
            row("xxxxx", 1)
        ]
    );
    assert_eq!(
        shown("漢".repeat(11).as_str(), columns),
        [row(&"漢".repeat(10), 1), row("漢", 1)]
    );
    assert_eq!(
        shown("\tif\n a\tb", 80),
        [row("        if", 1), row(" a      b", 2)]
    );
    // As wide as it is said, however narrow the terminal.
    assert_eq!(shown(&"x".repeat(21), 1).len(), 2);
}

#[test]
fn what_was_not_shown_is_counted_in_lines() {
    let page = Page {
        header: String::new(),
        body: String::new(),
        columns: 25,
        rows: 9,
    };
    let pager = |seen_rows| Pager {
        page: &page,
        rows: rows_of(&format!("{}\nlast", "x".repeat(60)), 25),
        page_rows: 2,
        seen_rows,
    };
    assert_eq!(pager(0).rows.len(), 4);
    assert_eq!(pager(2).seen(), Seen::Part { lines: 0, of: 2 });
    assert_eq!(pager(3).seen(), Seen::Part { lines: 1, of: 2 });
    assert_eq!(pager(4).seen(), Seen::Everything);
}
