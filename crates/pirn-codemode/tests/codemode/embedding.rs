//! `docs/embedding.md` shows the code of `examples/run_script.rs`, part by part; the example is compiled and run here.

use std::fmt::Write as _;

const EXAMPLE: &str = include_str!("../../examples/run_script.rs");
const GUIDE: &str = include_str!("../../../../docs/embedding.md");

/// The parts of the example between `// [name]` lines, without the indentation they share.
fn parts() -> Vec<(String, String)> {
    let mut parts = Vec::new();
    let mut open: Option<(String, Vec<&str>)> = None;
    for line in EXAMPLE.lines() {
        let marker = line
            .trim()
            .strip_prefix("// [")
            .and_then(|rest| rest.strip_suffix(']'));
        match (marker, open.take()) {
            (Some(name), None) => open = Some((name.to_owned(), Vec::new())),
            (Some(name), Some((opened, lines))) => {
                assert_eq!(name, opened, "a part ends with the marker it began with");
                parts.push((opened, unindented(&lines)));
            }
            (None, Some((name, mut lines))) => {
                lines.push(line);
                open = Some((name, lines));
            }
            (None, None) => {}
        }
    }
    assert!(open.is_none(), "a part without an end");
    parts
}

fn unindented(lines: &[&str]) -> String {
    let indentation = lines
        .iter()
        .filter(|line| !line.trim().is_empty())
        .map(|line| line.len() - line.trim_start().len())
        .min()
        .unwrap_or_default();
    lines.iter().fold(String::new(), |mut text, line| {
        writeln!(text, "{}", line.get(indentation..).unwrap_or_default()).unwrap();
        text
    })
}

#[test]
fn the_guide_shows_the_example() {
    let parts = parts();
    assert!(!parts.is_empty());
    for (name, code) in parts {
        assert!(
            GUIDE.contains(&format!("```rust\n{code}```\n")),
            "docs/embedding.md lacks [{name}]:\n```rust\n{code}```"
        );
    }
}

/// The example itself, as a module of this binary.
#[path = "../../examples/run_script.rs"]
mod example;

#[test]
fn the_example_runs() {
    example::main().unwrap();
}
