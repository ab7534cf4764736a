//! Clocks stand still while everything they wait for asks a person.

use std::sync::Arc;
use std::time::Duration;

use pirn_tool::{
    Answer, ApprovalQueue, CallContext, CallRequest, Effects, FailureKind, Pipeline, Rule,
    RulePolicy, Tool, ToolResult, ToolSpec, Verdict,
};
use serde_json::{Value, json};
use tokio::time::{Instant, sleep};

use crate::support::builder;

/// How long the person thinks.
const QUESTION: Duration = Duration::from_secs(5);
/// What a call may wait.
const LIMIT: Duration = Duration::from_secs(2);

/// A tool that calls the tools in `arguments` at the same time and waits for all of them.
fn both() -> Tool {
    Tool::from_fn(
        ToolSpec::new("both", ""),
        |arguments: Value, context: CallContext| async move {
            let names: Vec<String> = serde_json::from_value(arguments["tools"].clone()).unwrap();
            let calls = names.iter().map(|name| context.call_tool(name, json!({})));
            let outcomes = futures_util::future::join_all(calls).await;
            let texts: Vec<_> = outcomes
                .iter()
                .map(|outcome| outcome.result.joined_text())
                .collect();
            ToolResult {
                is_error: outcomes.iter().any(|outcome| outcome.failure.is_some()),
                ..ToolResult::text(texts.join(" "))
            }
        },
    )
}

/// A tool that takes its time.
fn working(name: &str, effects: Effects, time: Duration) -> Tool {
    Tool::from_fn(
        ToolSpec::new(name, "").effects(effects),
        move |_, _| async move {
            sleep(time).await;
            ToolResult::text("done")
        },
    )
}

/// A tool that asks by itself, as one whose server wants something.
fn eliciting() -> Tool {
    Tool::from_fn(
        ToolSpec::new("eliciting", ""),
        |_, context: CallContext| async move {
            let _asking = context.clock().asking();
            sleep(QUESTION).await;
            ToolResult::text("done")
        },
    )
}

fn pipeline() -> (Pipeline, ApprovalQueue) {
    let queue = ApprovalQueue::new();
    let second = Duration::from_secs(1);
    let tools = [
        both(),
        eliciting(),
        working("asked", Effects::WRITE, second / 2),
        working("quick", Effects::NONE, second),
        working("slow", Effects::NONE, 20 * second),
    ];
    let policy = Arc::new(RulePolicy {
        rules: vec![Rule::for_effects(Verdict::Ask, Effects::WRITE)],
        ..RulePolicy::allow_all()
    });
    let pipeline = builder(tools)
        .policy(policy)
        .approvals(queue.clone())
        .build();
    (pipeline, queue)
}

/// Makes a call with [`LIMIT`] while a person answers every question after [`QUESTION`].
async fn outcome(name: &str, arguments: Value) -> (Option<FailureKind>, Duration) {
    let (pipeline, queue) = pipeline();
    let mut front_end = queue.front_end();
    let person = tokio::spawn(async move {
        loop {
            let open = front_end.next().await;
            sleep(QUESTION).await;
            for question in &open.questions {
                let answered =
                    front_end
                        .queue()
                        .answer(open.revision, &question.id, Answer::allow_once());
                drop(answered);
            }
        }
    });
    let started_at = Instant::now();
    let request = CallRequest {
        timeout: Some(LIMIT),
        ..CallRequest::new("1", name, arguments)
    };
    let outcome = pipeline.call(request).await;
    person.abort();
    (outcome.failure, started_at.elapsed())
}

#[tokio::test(start_paused = true)]
async fn a_deadline_stands_still_while_everything_below_asks() {
    let cases: [(&str, Value, Option<FailureKind>); 7] = [
        ("asked", json!({}), None),
        ("eliciting", json!({}), None),
        ("both", json!({"tools": ["asked"]}), None),
        ("both", json!({"tools": ["asked", "asked"]}), None),
        // The quick one ends within the limit; from then on everything asks.
        ("both", json!({"tools": ["asked", "quick"]}), None),
        ("both", json!({"tools": ["eliciting", "eliciting"]}), None),
        (
            "both",
            json!({"tools": ["asked", "slow"]}),
            Some(FailureKind::Timeout),
        ),
    ];
    for (name, arguments, expected) in cases {
        let shown = arguments.to_string();
        let (failure, took) = outcome(name, arguments).await;
        assert_eq!(failure, expected, "{name} {shown} after {took:?}");
    }
}

#[tokio::test(start_paused = true)]
async fn clocks_stand_still_through_every_level_and_run_beside() {
    let (pipeline, queue) = pipeline();
    let mut front_end = queue.front_end();
    let outer = CallContext::detached("outer");
    let beside = CallContext::detached("beside");
    let deadline = outer.clock().deadline(LIMIT);
    let other = beside.clock().deadline(LIMIT);
    let calling = pipeline.call_nested(&outer, "both", json!({"tools": ["asked"]}));
    let person = async {
        let open = front_end.next().await;
        assert!(outer.clock().is_still() && !beside.clock().is_still());
        sleep(QUESTION).await;
        assert!(other.is_over() && !deadline.is_over());
        queue
            .answer(open.revision, &open.questions[0].id, Answer::allow_once())
            .unwrap();
        outer.clock().running().await;
    };
    let (outcome, ()) = tokio::join!(calling, person);
    assert_eq!(outcome.failure, None);
    assert_eq!(deadline.left(), Duration::from_millis(1_500));
    assert!(outer.clock().stood_still() >= QUESTION);
}

#[tokio::test(start_paused = true)]
async fn a_clock_wakes_who_waits_for_it() {
    let clock = CallContext::detached("1").clock().clone();
    let deadline = clock.deadline(LIMIT);
    let started_at = Instant::now();
    let waiter = tokio::spawn({
        let deadline = deadline.clone();
        async move { deadline.over().await }
    });
    sleep(LIMIT / 2).await;
    let first = clock.asking();
    let second = clock.asking();
    clock.still().await;
    sleep(QUESTION).await;
    drop(first);
    assert!(clock.is_still() && !waiter.is_finished());
    let changed = tokio::spawn({
        let clock = clock.clone();
        async move { clock.changed().await }
    });
    tokio::task::yield_now().await;
    drop(second);
    changed.await.unwrap();
    waiter.await.unwrap();
    let expected = LIMIT + QUESTION;
    let took = started_at.elapsed();
    assert!(
        took >= expected && took < expected + Duration::from_millis(20),
        "{took:?}"
    );
    assert_eq!(deadline.limit(), LIMIT);
}
