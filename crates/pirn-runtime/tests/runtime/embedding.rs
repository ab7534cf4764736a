//! `docs/embedding.md` shows the code of `examples/embed.rs`, which is compiled and run here.

const EXAMPLE: &str = include_str!("../../examples/embed.rs");
const GUIDE: &str = include_str!("../../../../docs/embedding.md");
/// A whole program fits on a screen.
const LINES_MAX: usize = 30;

#[test]
fn the_guide_shows_the_example() {
    let code = EXAMPLE.split("// [runtime]\n").nth(1).unwrap();
    assert!(
        GUIDE.contains(&format!("```rust\n{code}```\n")),
        "docs/embedding.md lacks:\n```rust\n{code}```"
    );
    let lines = code.lines().count();
    assert!(lines <= LINES_MAX, "{lines} lines");
}

/// The example itself, as a module of this binary.
#[path = "../../examples/embed.rs"]
mod example;

#[test]
fn the_example_runs() {
    example::main().unwrap();
}
