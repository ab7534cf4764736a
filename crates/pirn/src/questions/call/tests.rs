use pirn_tool::{
    Answer, ApprovalRequest, Choice, Covers, Effects, Offer, Scope, Subject, ToolSpec, ToolSubject,
};
use serde_json::{Value, json};

use super::{ARGUMENT_HEAD_CHARS, ARGUMENT_TAIL_CHARS, prompt, read, text};

fn question(spec: &ToolSpec, arguments: Value) -> (ToolSubject, ApprovalRequest) {
    let subject = ToolSubject::of(spec);
    let request = ApprovalRequest::new(Subject::Tool(subject.clone()), spec.effects, arguments);
    (subject, request.offer(Offer::for_tool(spec)))
}

#[test]
fn a_question_shows_what_is_there() {
    let spec = ToolSpec::new("bash", "Runs").effects(Effects::PROCESS);
    let command = "echo \u{202e}safe\u{1b}[8m\nrm -r x";
    let (tool, asked) = question(&spec, json!({"command": command}));
    let arguments = r#"{"command":"echo \u{202e}safe\u001b[8m\nrm -r x"}"#;
    assert_eq!(
        text(&tool, &asked),
        format!("bash (effects: process)\n  {arguments}\n")
    );
    assert_eq!(
        prompt(&tool, &asked),
        "Allow? [y]es, [n]o, [a]ll calls of bash: "
    );
}

#[test]
fn a_long_question_shows_both_ends() {
    let spec = ToolSpec::new("write", "Writes").effects(Effects::WRITE);
    let arguments = json!({"content": "x".repeat(10_000), "path": "the-end"});
    let (tool, asked) = question(&spec, arguments);
    let text = text(&tool, &asked);
    assert!(
        text.contains("characters not shown") && text.trim_end().ends_with("\"the-end\"}"),
        "{text}"
    );
    assert!(text.chars().count() < ARGUMENT_HEAD_CHARS + ARGUMENT_TAIL_CHARS + 100);
}

#[test]
fn answers_are_words_and_what_follows_a_no_is_told() {
    let spec = ToolSpec::new("write", "Writes").effects(Effects::WRITE);
    let (_, asked) = question(&spec, json!({}));
    let all = Answer::allow(Choice::new(Scope::Run, Covers::Tool));
    for (typed, expected) in [
        ("y", Some(Answer::allow_once())),
        ("YES", Some(Answer::allow_once())),
        ("", Some(Answer::deny())),
        ("n", Some(Answer::deny())),
        (
            "no use the other folder",
            Some(Answer::deny_with("use the other folder")),
        ),
        ("a", Some(all.clone())),
        ("all", Some(all)),
        // It was not offered.
        ("w", None),
        ("y or no", None),
        ("maybe", None),
    ] {
        assert_eq!(read(typed, &asked).ok(), expected, "{typed}");
    }
}
