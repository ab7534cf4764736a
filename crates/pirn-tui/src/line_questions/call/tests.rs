use pirn_terminal::Reading;
use pirn_tool::{
    Answer, ApprovalRequest, Choice, Covers, Effects, Offer, Scope, Subject, ToolSpec, ToolSubject,
};
use serde_json::{Value, json};

use super::{prompt, read, shown};

fn question(spec: &ToolSpec, arguments: Value) -> (ToolSubject, ApprovalRequest) {
    let subject = ToolSubject::of(spec);
    let request = ApprovalRequest::new(Subject::Tool(subject.clone()), spec.effects, arguments);
    (subject, request.offer(Offer::for_tool(spec)))
}

#[test]
fn commands_are_shown_as_code_line_by_line() {
    let spec = ToolSpec::new("bash", "Runs").effects(Effects::PROCESS);
    let command = "echo \u{202e}safe\u{1b}[8m\nrm -r x";
    let (tool, asked) = question(
        &spec,
        json!({"command": command, "cwd": "/a\u{34f}b", "env": {"A": "1"}, "timeout": 5}),
    );
    assert_eq!(
        shown("The script", &tool, &asked).preview(80),
        "The script wants to call bash (effects: process)\n  \
         | command:\n  | echo ⟦U+202E⟧safe⟦U+001B⟧[8m\n  | rm -r x\n  \
         | cwd: \"/a\\u{34f}b\"\n  | env: {\"A\":\"1\"}\n  | timeout: 5\n"
    );
    assert_eq!(
        prompt(&tool, &asked),
        "Allow? [y]es, [n]o, [a]ll calls of bash in this run: "
    );
}

#[test]
fn everything_of_a_long_question_is_there() {
    let spec = ToolSpec::new("write", "Writes").effects(Effects::WRITE);
    let arguments = json!({"content": format!("{}\nmiddle{}", "x".repeat(5_000), "y".repeat(5_000)), "path": "the-end"});
    let (tool, asked) = question(&spec, arguments);
    for columns in [40, 80, 120] {
        let text = shown("The script", &tool, &asked).preview(columns);
        assert!(
            text.contains("\n  | middle") && text.ends_with("  | path: \"the-end\"\n"),
            "{text}"
        );
        assert!(
            text.lines().all(|row| row.chars().count() < columns),
            "{text}"
        );
    }
}

#[test]
fn answers_are_words_and_what_follows_a_no_is_told() {
    let spec = ToolSpec::new("write", "Writes").effects(Effects::WRITE);
    let (_, asked) = question(&spec, json!({}));
    let all = Reading::Consent(Answer::allow(Choice::new(Scope::Run, Covers::Tool)));
    let (once, no) = (
        Reading::Consent(Answer::allow_once()),
        Reading::Refusal(Answer::deny()),
    );
    for (typed, expected) in [
        ("y", Some(once.clone())),
        ("YES", Some(once)),
        ("", Some(no.clone())),
        ("n", Some(no)),
        (
            "no use the other folder",
            Some(Reading::Refusal(Answer::deny_with("use the other folder"))),
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
