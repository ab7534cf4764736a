use pirn_tool::{Effects, Origin, PolicyInput, ToolSpec};
use serde_json::json;

use super::{ARGUMENT_HEAD_CHARS, ARGUMENT_TAIL_CHARS, question};

#[test]
fn a_question_shows_what_is_there() {
    let spec = ToolSpec::new("bash", "Runs").effects(Effects::PROCESS);
    let arguments = json!({"command": "echo \u{202e}safe\u{1b}[8m\nrm -r x"});
    let (text, prompt) = question(PolicyInput {
        tool: &spec,
        arguments: &arguments,
        origin: Origin::Nested,
    });
    let arguments = r#"{"command":"echo \u{202e}safe\u001b[8m\nrm -r x"}"#;
    assert_eq!(
        text,
        format!("\u{1b}[0mbash (effects: process)\n  {arguments}\n")
    );
    assert_eq!(prompt, "Allow? [y]es, [n]o, [a]ll calls of bash: ");
}

#[test]
fn a_long_question_shows_both_ends() {
    let spec = ToolSpec::new("write", "Writes").effects(Effects::WRITE);
    let arguments = json!({"content": "x".repeat(10_000), "path": "the-end"});
    let (text, _) = question(PolicyInput {
        tool: &spec,
        arguments: &arguments,
        origin: Origin::Nested,
    });
    assert!(
        text.contains("characters not shown") && text.trim_end().ends_with("\"the-end\"}"),
        "{text}"
    );
    assert!(text.chars().count() < ARGUMENT_HEAD_CHARS + ARGUMENT_TAIL_CHARS + 100);
}
