use super::Table;

fn table(columns: usize) -> String {
    let mut table = Table::new(columns);
    table.row([
        "docs",
        "connected",
        "12 tools",
        "npx -y docs-server --stdio --verbose",
    ]);
    table.below("warning: tool number 3 of the list has no name and was left out");
    table.row(["a\u{1b}[2J", "disabled", "", "https://example.com/mcp"]);
    table.render()
}

#[test]
fn cells_stand_beside_each_other_where_they_fit() {
    assert_eq!(
        table(80),
        "docs        connected  12 tools  npx -y docs-server --stdio --verbose\n\
         \u{20} warning: tool number 3 of the list has no name and was left out\n\
         a\\u{1b}[2J  disabled             https://example.com/mcp\n"
    );
    assert_eq!(
        table(60),
        "docs        connected  12 tools  npx -y docs-server --stdi…\n\
         \u{20} warning: tool number 3 of the list has no name and was\n\
         \u{20} left out\n\
         a\\u{1b}[2J  disabled             https://example.com/mcp\n"
    );
}

#[test]
fn cells_stand_below_each_other_where_they_do_not() {
    assert_eq!(
        table(40),
        "docs\n\
         \u{20} connected  12 tools\n\
         \u{20} npx -y docs-server --stdio --verbose\n\
         \u{20} warning: tool number 3 of the list has\n\
         \u{20} no name and was left out\n\
         a\\u{1b}[2J\n\
         \u{20} disabled  https://example.com/mcp\n"
    );
}

#[test]
fn long_words_are_broken_and_last_cells_can_go_on() {
    let mut table = Table::new(40).wrapping();
    table.row(["ok", "disk", "a few words that do not fit in one line"]);
    table.below("https://example.com/a/very/long/path/to/it");
    assert_eq!(
        table.render(),
        "ok  disk  a few words that do not fit in\n          one line\n\
         \u{20} https://example.com/a/very/long/path/t\n  o/it\n"
    );
}

#[test]
fn headings_stand_over_columns_or_before_cells() {
    let table = |columns: usize| {
        let mut table = Table::new(columns);
        table.heading(["MODEL", "KIND", "IN/OUT PER 1M", "KEY"]);
        table.row([
            "vendor/a-model-with-a-long-name",
            "chat",
            "$3/$15",
            "missing",
        ]);
        table.render()
    };
    assert_eq!(
        table(80),
        "MODEL                            KIND  IN/OUT PER 1M  KEY\n\
         vendor/a-model-with-a-long-name  chat  $3/$15         missing\n"
    );
    assert_eq!(
        table(40),
        "vendor/a-model-with-a-long-name\n\
         \u{20} KIND chat  IN/OUT PER 1M $3/$15\n\
         \u{20} KEY missing\n"
    );
}
