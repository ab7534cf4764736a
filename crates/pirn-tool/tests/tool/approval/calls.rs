//! What calls and their callers learn of questions.

use std::sync::{Arc, Mutex};

use pirn_tool::{
    Answer, ApprovalQueue, Approved, ApprovedBy, CallContext, CallRequest, CallStage, Choice,
    Covers, Effects, FailureKind, NestedOptions, Rule, RulePolicy, Run, Scope, Tool, ToolResult,
    Verdict,
};
use serde_json::json;
use tokio::sync::watch;

use super::{PROJECT, spec};
use crate::support::{builder, call, echo, echo_of, nested, relay};

fn asking() -> Arc<RulePolicy> {
    Arc::new(RulePolicy {
        rules: vec![Rule::for_effects(Verdict::Ask, Effects::WRITE)],
        ..RulePolicy::allow_all()
    })
}

#[tokio::test]
async fn the_words_of_a_denial_reach_the_caller() {
    let queue =
        ApprovalQueue::builder().answered_by(|_| Answer::deny_with("write to out/ instead"));
    let pipeline = builder([relay("relay"), echo_of(spec("edit"))])
        .policy(asking())
        .approvals(queue)
        .build();
    let outcome = call(&pipeline, "relay", nested("edit", &json!({}))).await;
    assert_eq!(
        outcome.result.joined_text(),
        "1/1 Tool edit was denied (effect: write): write to out/ instead"
    );
    let direct = call(&pipeline, "edit", json!({})).await;
    assert_eq!(direct.failure, Some(FailureKind::Denied));
}

#[tokio::test]
async fn a_call_knows_how_it_was_approved_and_who_runs_it() {
    let seen = Arc::new(Mutex::new(Vec::new()));
    let notes = Arc::clone(&seen);
    let tool = Tool::from_fn(spec("edit"), move |_, context: CallContext| {
        notes.lock().unwrap().push(context.approved);
        async { ToolResult::text("") }
    });
    let asked = Arc::new(Mutex::new(Vec::new()));
    let questions = Arc::clone(&asked);
    let queue = ApprovalQueue::builder().answered_by(move |request| {
        questions.lock().unwrap().push(request.clone());
        Answer::allow(Choice::new(Scope::Session, Covers::Tool))
    });
    let pipeline = builder([tool, echo("free")])
        .policy(asking())
        .approvals(queue)
        .build();
    let run = Arc::new(Run::new("run").caller("somebody").project(PROJECT));
    for number in ["1", "2"] {
        let request = CallRequest::new(number, "edit", json!({"n": number})).run(Arc::clone(&run));
        pipeline.call(request).await;
    }
    let asked = asked.lock().unwrap();
    let question = &asked[0];
    assert_eq!(asked.len(), 1);
    assert_eq!(
        (
            &*question.run_id,
            &*question.caller,
            &*question.project,
            question.call_id.as_deref()
        ),
        ("run", "somebody", PROJECT, Some("1"))
    );
    let expected = [
        (
            "1",
            ApprovedBy::Person {
                question_id: question.id.clone(),
                choice: Choice::new(Scope::Session, Covers::Tool),
            },
        ),
        (
            "2",
            ApprovedBy::Grant {
                grant_id: question.id.clone(),
            },
        ),
    ]
    .map(|(number, by)| {
        Some(Approved {
            arguments_hash: pirn_tool::value_hash(&json!({"n": number})),
            by,
            target: None,
        })
    });
    assert_eq!(*seen.lock().unwrap(), expected);
}

#[tokio::test]
async fn a_caller_hears_how_far_its_call_has_come() {
    let queue = ApprovalQueue::new();
    let mut front_end = queue.front_end();
    let pipeline = builder([echo_of(spec("edit"))])
        .policy(asking())
        .approvals(queue.clone())
        .build();
    let (sender, mut stage) = watch::channel(CallStage::default());
    let options = NestedOptions {
        stage: Some(sender),
        ..NestedOptions::default()
    };
    let context = CallContext::detached("1").with_run(Arc::new(Run::new("run")));
    let calling = pipeline.call_nested_with_options(&context, "edit", json!({}), options);
    let answering = async {
        let open = front_end.next().await;
        let id = open.questions[0].id.clone();
        assert_eq!(
            *stage.borrow_and_update(),
            CallStage::Asking {
                question_id: id.clone()
            }
        );
        queue
            .answer(open.revision, &id, Answer::allow_once())
            .unwrap();
    };
    let (outcome, ()) = tokio::join!(calling, answering);
    assert_eq!(outcome.failure, None);
    assert_eq!(*stage.borrow(), CallStage::Begun);
}

#[tokio::test]
async fn a_call_without_a_run_is_one_and_leaves_nothing_behind() {
    let asked = Arc::new(Mutex::new(0));
    let count = Arc::clone(&asked);
    let queue = ApprovalQueue::builder().answered_by(move |_| {
        *count.lock().unwrap() += 1;
        Answer::deny()
    });
    let pipeline = builder([relay("relay"), echo_of(spec("edit"))])
        .policy(asking())
        .approvals(queue)
        .build();
    let twice =
        json!({"calls": [{"name": "edit", "arguments": {}}, {"name": "edit", "arguments": {}}]});
    for expected in [1, 2] {
        call(&pipeline, "relay", twice.clone()).await;
        assert_eq!(*asked.lock().unwrap(), expected);
    }
}
