use pirn_tool::{Decision, Effects, Origin, Policy as _, PolicyInput, ToolSpec};
use serde_json::json;

use super::{ARGUMENT_HEAD_CHARS, ARGUMENT_TAIL_CHARS, Asking, Consent, question};

fn decide(consent: Consent, effects: Effects) -> String {
    let spec = ToolSpec::new("tool", "A tool").effects(effects);
    let arguments = json!({});
    match consent.decide(PolicyInput {
        tool: &spec,
        arguments: &arguments,
        origin: Origin::Nested,
    }) {
        Decision::Allow => "allow".to_owned(),
        Decision::Ask { reason } => format!("ask: {reason}"),
        Decision::Deny { reason } => format!("deny: {reason}"),
    }
}

#[test]
fn effects_decide() {
    let (none, read, write, process) = (
        Effects::NONE,
        Effects::READ,
        Effects::WRITE,
        Effects::PROCESS,
    );
    let command = read | write | process | Effects::NETWORK;
    let with = |allowed, denied, asking| Consent::new(allowed, denied, asking);
    let cases = [
        (with(none, none, Asking::Impossible), none, "allow"),
        (with(none, none, Asking::Impossible), read, "allow"),
        (
            with(none, none, Asking::Impossible),
            read | write,
            "deny: effect: write; there is no terminal to ask on, --yes=write allows it",
        ),
        (
            with(write, none, Asking::Impossible),
            command,
            "deny: effect: process, network; there is no terminal to ask on, --yes=process allows it",
        ),
        (
            with(none, none, Asking::Possible),
            write,
            "ask: effect: write; not allowed by the user",
        ),
        (with(process, none, Asking::Possible), command, "allow"),
        (with(process, none, Asking::Possible), write, "allow"),
        (with(write, none, Asking::Possible), write, "allow"),
        (
            with(process, write, Asking::Possible),
            command,
            "deny: effect: write; --deny rules it out",
        ),
        (
            with(none, read, Asking::Possible),
            read,
            "deny: effect: read; --deny rules it out",
        ),
        (Consent::read_only(none), read, "allow"),
        (
            Consent::read_only(none),
            read | write,
            "deny: effect: write; --read-only allows reading only",
        ),
    ];
    for (consent, effects, expected) in cases {
        assert_eq!(
            decide(consent, effects),
            expected,
            "{consent:?} {effects:?}"
        );
    }
}

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
