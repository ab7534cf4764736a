//! Rules, questions and who answers them.

use std::sync::{Arc, Mutex};

use pirn_tool::{
    Answer, ApprovalQueue, CallRequest, Decision, Effects, FailureKind, Origin, Policy,
    PolicyInput, Rule, RulePolicy, ToolSpec, Verdict, matches_pattern,
};
use serde_json::json;
use tokio_util::sync::CancellationToken;

use crate::support::{builder, call, echo_of, nested, relay};

fn decide(policy: &RulePolicy, tool: &ToolSpec, origin: Origin) -> Decision {
    policy.decide(PolicyInput {
        tool,
        arguments: &json!({}),
        origin,
    })
}

#[test]
fn the_strictest_matching_rule_holds() {
    let writer = ToolSpec::new("edit", "").effects(Effects::READ | Effects::WRITE);
    let cases: [(&str, Vec<Rule>, Verdict, Decision); 6] = [
        ("default", vec![], Verdict::Allow, Decision::Allow),
        (
            "default",
            vec![],
            Verdict::Deny,
            Decision::Deny {
                reason: "default of the policy".into(),
            },
        ),
        (
            "no match",
            vec![
                Rule::for_effects(Verdict::Deny, Effects::NETWORK),
                Rule::for_name(Verdict::Deny, "read*"),
            ],
            Verdict::Allow,
            Decision::Allow,
        ),
        (
            "effect",
            vec![Rule::for_effects(
                Verdict::Ask,
                Effects::WRITE | Effects::PROCESS,
            )],
            Verdict::Allow,
            Decision::Ask {
                reason: "effect: write".into(),
            },
        ),
        (
            "order does not matter",
            vec![
                Rule::for_name(Verdict::Deny, "e*t"),
                Rule::for_effects(Verdict::Allow, Effects::NONE),
            ],
            Verdict::Allow,
            Decision::Deny {
                reason: "rule for tools named `e*t`".into(),
            },
        ),
        (
            "every tool",
            vec![Rule::for_effects(Verdict::Ask, Effects::NONE)],
            Verdict::Allow,
            Decision::Ask {
                reason: "rule for every tool".into(),
            },
        ),
    ];
    for (case, rules, default, expected) in cases {
        assert_eq!(
            decide(&RulePolicy { rules, default }, &writer, Origin::Model),
            expected,
            "{case}"
        );
    }
}

/// Rules, the effects of a tool, and what becomes of its call.
type EffectCase = (&'static [(Verdict, Effects)], Effects, Verdict);

#[test]
fn effects_are_allowed_as_a_whole_and_denied_one_by_one() {
    use Verdict::{Allow, Ask, Deny};

    const READ: Effects = Effects::READ;
    const WRITE: Effects = Effects::WRITE;
    const BOTH: Effects = READ.union(WRITE);
    let cases: [EffectCase; 10] = [
        (&[(Allow, READ)], READ, Allow),
        (&[(Allow, READ)], BOTH, Deny),
        (&[(Allow, READ)], Effects::NONE, Allow),
        (&[(Allow, READ), (Allow, WRITE)], BOTH, Allow),
        (&[(Allow, BOTH)], WRITE, Allow),
        (&[(Allow, Effects::NONE)], BOTH, Allow),
        (&[(Ask, WRITE)], BOTH, Ask),
        (&[(Allow, BOTH), (Ask, WRITE)], BOTH, Ask),
        (&[(Allow, BOTH), (Deny, WRITE)], BOTH, Deny),
        (&[(Deny, WRITE)], READ, Deny),
    ];
    for (rules, effects, expected) in cases {
        let policy = RulePolicy {
            rules: rules
                .iter()
                .map(|(verdict, effects)| Rule::for_effects(*verdict, *effects))
                .collect(),
            default: Deny,
        };
        let tool = ToolSpec::new("tool", "").effects(effects);
        let verdict = match decide(&policy, &tool, Origin::Model) {
            Decision::Allow => Allow,
            Decision::Ask { .. } => Ask,
            Decision::Deny { .. } => Deny,
        };
        assert_eq!(verdict, expected, "{rules:?} {effects:?}");
    }
}

#[test]
fn a_rule_may_name_the_origin() {
    let rule = Rule {
        origin: Some(Origin::Nested),
        ..Rule::for_effects(Verdict::Deny, Effects::NONE)
    };
    let policy = RulePolicy {
        rules: vec![rule],
        ..RulePolicy::allow_all()
    };
    let tool = ToolSpec::new("tool", "");
    assert_eq!(decide(&policy, &tool, Origin::Model), Decision::Allow);
    assert!(matches!(
        decide(&policy, &tool, Origin::Nested),
        Decision::Deny { .. }
    ));
}

#[test]
fn patterns_match_whole_names() {
    let cases = [
        ("", "", true),
        ("", "a", false),
        ("a", "a", true),
        ("a", "ab", false),
        ("*", "", true),
        ("*", "anything", true),
        ("a*", "ab", true),
        ("a*a", "a", false),
        ("a*a", "aa", true),
        ("*b*", "abc", true),
        ("a*b*c", "a__b__c", true),
        ("a*b*c", "acb", false),
        ("*ab", "aab", true),
        ("**", "x", true),
        ("mcp__*__read", "mcp__docs__read", true),
    ];
    for (pattern, name, expected) in cases {
        assert_eq!(matches_pattern(pattern, name), expected, "{pattern} {name}");
    }
}

/// A queue that answers every question the same way, and what was asked.
fn person(answer: &Answer) -> (ApprovalQueue, Arc<Mutex<Vec<String>>>) {
    let asked = Arc::new(Mutex::new(Vec::new()));
    let (questions, answer) = (Arc::clone(&asked), answer.clone());
    let queue = ApprovalQueue::builder().answered_by(move |request| {
        questions.lock().unwrap().push(format!(
            "{} {} {} {}",
            request.call_id.as_deref().unwrap(),
            request.subject.name(),
            request.arguments,
            request.reason
        ));
        answer.clone()
    });
    (queue, asked)
}

fn asking() -> Arc<RulePolicy> {
    let rules = vec![Rule::for_effects(Verdict::Ask, Effects::WRITE)];
    Arc::new(RulePolicy {
        rules,
        ..RulePolicy::allow_all()
    })
}

fn writer() -> pirn_tool::Tool {
    let spec = ToolSpec::new("edit", "").effects(Effects::WRITE);
    echo_of(spec.input_schema(json!({"type": "object"})))
}

#[tokio::test]
async fn what_a_tool_does_not_declare_is_refused_before_anybody_is_asked() {
    let (queue, asked) = person(&Answer::allow_once());
    let schema = json!({"type": "object", "properties": {"path": {"type": "string"}}});
    let spec = ToolSpec::new("edit", "").effects(Effects::WRITE);
    let pipeline = builder([echo_of(spec.input_schema(schema))])
        .policy(asking())
        .approvals(queue)
        .build();
    let outcome = call(&pipeline, "edit", json!({"path": "a", "paht": "b"})).await;
    assert_eq!(
        outcome.result.joined_text(),
        "Tool edit was not called: there is no argument `paht`; did you mean `path`?"
    );
    assert_eq!(*asked.lock().unwrap(), [""; 0]);
    call(&pipeline, "edit", json!({"path": "a"})).await;
    assert_eq!(asked.lock().unwrap().len(), 1);
}

#[tokio::test]
async fn a_person_is_asked_about_calls_at_every_depth() {
    for answer in [Answer::allow_once(), Answer::deny()] {
        let (queue, asked) = person(&answer);
        let pipeline = builder([relay("relay"), writer()])
            .policy(asking())
            .approvals(queue)
            .build();
        let direct = call(&pipeline, "edit", json!({"x": 1})).await;
        let inner = call(&pipeline, "relay", nested("edit", &json!({}))).await;
        assert_eq!(
            *asked.lock().unwrap(),
            [
                r#"1 edit {"x":1} effect: write"#,
                "1/1 edit {} effect: write"
            ]
        );
        if answer == Answer::allow_once() {
            assert_eq!(direct.failure, None);
            assert_eq!(inner.result.joined_text(), "1/1 {}");
        } else {
            assert_eq!(direct.failure, Some(FailureKind::Denied));
            assert_eq!(
                inner.result.joined_text(),
                "1/1 Tool edit was denied (effect: write)"
            );
        }
    }
}

#[tokio::test]
async fn with_nobody_to_ask_the_call_is_denied() {
    let pipeline = builder([writer()]).policy(asking()).build();
    let outcome = call(&pipeline, "edit", json!({})).await;
    assert_eq!(outcome.failure, Some(FailureKind::Denied));
    let expected =
        "Tool edit was denied (effect: write; it needs approval and there is nobody to ask)";
    assert_eq!(outcome.result.joined_text(), expected);
}

/// Panics instead of deciding or answering.
struct Broken;

impl Policy for Broken {
    fn decide(&self, _: PolicyInput<'_>) -> Decision {
        panic!("bug")
    }
}

#[tokio::test]
async fn a_policy_or_queue_that_panics_denies() {
    let policy = builder([writer()]).policy(Arc::new(Broken)).build();
    let receiver = builder([writer()])
        .policy(asking())
        .approvals(ApprovalQueue::builder().answered_by(|_| panic!("bug")))
        .build();
    for (pipeline, who) in [(policy, "policy"), (receiver, "receiver of the question")] {
        let outcome = call(&pipeline, "edit", json!({})).await;
        assert_eq!(outcome.failure, Some(FailureKind::Denied));
        let expected =
            format!("Tool edit was denied (the {who} panicked, which is a bug in it: bug)");
        assert_eq!(outcome.result.joined_text(), expected);
    }
}

#[tokio::test]
async fn a_call_cancelled_while_a_person_is_asked_does_not_run() {
    let cancel = CancellationToken::new();
    let stop = cancel.clone();
    let pipeline = builder([writer()])
        .policy(asking())
        .approvals(ApprovalQueue::builder().answered_by(move |_| {
            stop.cancel();
            Answer::allow_once()
        }))
        .build();
    let outcome = pipeline
        .call(CallRequest::new("1", "edit", json!({})).cancel(cancel))
        .await;
    assert_eq!(outcome.failure, Some(FailureKind::Cancelled));
}

#[test]
fn effects_are_a_set_with_names() {
    let both = Effects::READ | Effects::NETWORK;
    assert_eq!(both.names().collect::<Vec<_>>(), ["read", "network"]);
    assert!(
        both.contains(Effects::READ)
            && both.contains(Effects::NONE)
            && !both.contains(Effects::WRITE)
    );
    assert!(both.intersects(Effects::NETWORK | Effects::WRITE) && !both.intersects(Effects::NONE));
    for (effect, name) in Effects::ALL {
        assert_eq!(Effects::from_name(name), Some(effect));
    }
    assert_eq!(Effects::from_name("magic"), None);
    assert_eq!(format!("{both:?}"), r#"{"read", "network"}"#);
}
