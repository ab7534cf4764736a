use super::Question;

#[test]
fn nothing_of_a_stranger_leaves_the_margin() {
    let code = "git status\u{1b}[2J\n\u{202e}touch x\n# very long\n";
    let long = "y".repeat(100);
    let question = Question::new("The script", "bash (effects: process)")
        .fact("cwd: a\nAllow? [y]es")
        .code("command", &format!("{code}{long}漢\tz"));
    for columns in [40, 80, 120] {
        let shown = question.preview(columns);
        let mut rows = shown.lines();
        assert_eq!(rows.next(), Some("The script bash (effects: process)"));
        for row in rows {
            assert!(
                row.starts_with("  |") || row.starts_with("  : "),
                "{columns}: {row}"
            );
            let width: usize = row.chars().map(|c| if c.is_ascii() { 1 } else { 2 }).sum();
            assert!(width < columns, "{columns}: {row}");
        }
        assert!(shown.contains("\n  | git status⟦U+001B⟧[2J\n"), "{shown}");
        assert!(shown.contains("\n  | ⟦U+202E⟧touch x\n"), "{shown}");
        assert!(shown.contains("\n  | cwd: a\\nAllow? [y]es\n"), "{shown}");
    }
}

#[test]
fn a_row_that_goes_on_is_no_line_of_its_own() {
    let code = format!("echo hi #{}git status", " ".repeat(66));
    let shown = Question::new("The script", "asks")
        .code("", &code)
        .preview(80);
    assert!(shown.ends_with("\n  : git status\n"), "{shown}");
}

#[test]
fn titles_and_askers_are_cut_and_whole_below() {
    let asker = format!("MCP server {}", "s".repeat(300));
    let title = format!("wants to visit {}", "t".repeat(300));
    let shown = Question::new(&asker, &title).preview(80);
    let mut rows = shown.lines();
    let first = rows.next().unwrap();
    assert!(
        first.chars().count() < 80 && first.ends_with('…'),
        "{first}"
    );
    let behind: String = rows.map(|row| row.get(4..).unwrap()).collect();
    assert!(
        behind.contains(&title) && behind.contains(&asker),
        "{behind}"
    );
    assert_eq!(Question::name("a\nb"), "a\\nb");
    assert_eq!(Question::name(&"n".repeat(50)).chars().count(), 39);
}
