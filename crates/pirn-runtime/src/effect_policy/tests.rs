use pirn_tool::{Containment, Decision, Effects, Origin, Policy as _, PolicyInput, ToolSpec};
use serde_json::json;

use super::{EffectPolicy, Otherwise};

fn decide(policy: &EffectPolicy, effects: Effects) -> String {
    decide_about(policy, &ToolSpec::new("tool", "A tool").effects(effects))
}

fn decide_about(policy: &EffectPolicy, spec: &ToolSpec) -> String {
    let arguments = json!({});
    match policy.decide(PolicyInput {
        tool: spec,
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
    let asking =
        |allowed, denied| EffectPolicy::new(allowed, Otherwise::Ask).deny(denied, "--deny");
    let alone = |allowed, denied| {
        let otherwise = Otherwise::Deny {
            because: "there is no terminal to ask on".to_owned(),
            allowed_by: Some("--yes".to_owned()),
        };
        EffectPolicy::new(allowed, otherwise).deny(denied, "--deny")
    };
    let read_only = EffectPolicy::new(
        none,
        Otherwise::Deny {
            because: "--read-only allows reading only".to_owned(),
            allowed_by: None,
        },
    );
    let cases = [
        (alone(none, none), none, "allow"),
        (alone(none, none), read, "allow"),
        (
            alone(none, none),
            read | write,
            "deny: effect: write; there is no terminal to ask on, --yes=write allows it",
        ),
        (
            alone(write, none),
            command,
            "deny: effect: process, network; there is no terminal to ask on, --yes=process allows it",
        ),
        (
            asking(none, none),
            write,
            "ask: effect: write; not allowed by the user",
        ),
        (asking(process, none), command, "allow"),
        (asking(process, none), write, "allow"),
        (asking(write, none), write, "allow"),
        (
            asking(write, none),
            write | Effects::NETWORK,
            "ask: effect: network; not allowed by the user",
        ),
        (
            asking(process, write),
            command,
            "deny: effect: write; --deny rules it out",
        ),
        (
            asking(none, read),
            read,
            "deny: effect: read; --deny rules it out",
        ),
        (read_only.clone(), read, "allow"),
        (
            read_only,
            read | write,
            "deny: effect: write; --read-only allows reading only",
        ),
    ];
    for (policy, effects, expected) in cases {
        assert_eq!(decide(&policy, effects), expected, "{policy:?} {effects:?}");
    }
}

#[test]
fn processes_that_nothing_holds_are_allowed_only_with_everything() {
    let command = Effects::READ | Effects::WRITE | Effects::PROCESS | Effects::NETWORK;
    let everything = command | Effects::ORCHESTRATION;
    let tool = |effects| {
        ToolSpec::new("mcp__x__tool", "A tool")
            .effects(effects)
            .containment(Containment::Free)
    };
    let ask = "ask: effect: process; not allowed by the user";
    for (allowed, effects, expected) in [
        (Effects::PROCESS, command, ask),
        (command, command, ask),
        (everything, command, "allow"),
        (Effects::NETWORK, Effects::READ | Effects::NETWORK, "allow"),
        (Effects::NONE, Effects::READ, "allow"),
    ] {
        let policy = EffectPolicy::new(allowed, Otherwise::Ask);
        assert_eq!(
            decide_about(&policy, &tool(effects)),
            expected,
            "{allowed:?}"
        );
    }
    let alone = Otherwise::Deny {
        because: "there is no terminal to ask on".to_owned(),
        allowed_by: Some("--yes".to_owned()),
    };
    let denied = decide_about(&EffectPolicy::new(Effects::PROCESS, alone), &tool(command));
    assert!(
        denied.contains("--yes without effects allows it"),
        "{denied}"
    );
    let read_only = EffectPolicy::new(
        Effects::NONE,
        Otherwise::deny("--read-only allows reading only"),
    );
    assert!(
        decide_about(&read_only, &tool(command))
            .starts_with("deny: effect: write, process, network;")
    );
}
