//! Hooks: order, changes, blocking, failures, and that they see every call.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use futures_util::future::BoxFuture;
use pirn_tool::{
    BeforeVerdict, CallRequest, ContentBlock, Effects, FailureKind, Hook, HookCall, ResultChange,
    Rule, RulePolicy, Tool, ToolResult, ToolSpec, Usage, Verdict,
};
use serde_json::{Value, json};
use tokio_util::sync::CancellationToken;

use crate::support::{builder, call, echo, nested, relay};

type Before = Box<dyn Fn(&mut Value) -> Result<BeforeVerdict, String> + Send + Sync>;
type After = Box<dyn Fn(&ToolResult) -> Result<ResultChange, String> + Send + Sync>;

/// A hook made of closures, which writes down the calls it sees.
struct Scripted {
    name: &'static str,
    before: Before,
    after: After,
    seen: Arc<Mutex<Vec<String>>>,
}

impl Scripted {
    fn new(name: &'static str, seen: &Arc<Mutex<Vec<String>>>) -> Self {
        Self {
            name,
            before: Box::new(|_| Ok(BeforeVerdict::Continue)),
            after: Box::new(|_| Ok(ResultChange::default())),
            seen: Arc::clone(seen),
        }
    }

    fn note(&self, moment: &str, call: HookCall<'_>) {
        let parent = call.parent_call_id.unwrap_or("-");
        let line = format!(
            "{moment} {} {} {} {parent} {:?}",
            self.name, call.call_id, call.tool_name, call.origin
        );
        self.seen.lock().unwrap().push(line);
    }
}

impl Hook for Scripted {
    fn before<'a>(
        &'a self,
        call: HookCall<'a>,
        arguments: &'a mut Value,
    ) -> BoxFuture<'a, Result<BeforeVerdict, String>> {
        self.note("before", call);
        Box::pin(async move { (self.before)(arguments) })
    }

    fn after<'a>(
        &'a self,
        call: HookCall<'a>,
        result: &'a ToolResult,
    ) -> BoxFuture<'a, Result<ResultChange, String>> {
        self.note("after", call);
        Box::pin(async move { (self.after)(result) })
    }
}

fn seen_nothing() -> Arc<Mutex<Vec<String>>> {
    Arc::default()
}

#[tokio::test]
async fn hooks_run_in_order_around_every_call() {
    let seen = seen_nothing();
    let pipeline = builder([relay("relay"), echo("echo")])
        .hook(Arc::new(Scripted::new("x", &seen)))
        .hook(Arc::new(Scripted::new("y", &seen)))
        .build();
    call(&pipeline, "relay", nested("echo", &json!({}))).await;
    let expected = [
        "before x 1 relay - Model",
        "before y 1 relay - Model",
        "before x 1/1 echo 1 Nested",
        "before y 1/1 echo 1 Nested",
        "after x 1/1 echo 1 Nested",
        "after y 1/1 echo 1 Nested",
        "after x 1 relay - Model",
        "after y 1 relay - Model",
    ];
    assert_eq!(*seen.lock().unwrap(), expected);
}

#[tokio::test]
async fn after_hooks_see_calls_that_never_ran() {
    let seen = seen_nothing();
    let strict = ToolSpec::new("strict", "").input_schema(json!({"required": ["x"]}));
    let refused = ToolSpec::new("refused", "").effects(Effects::WRITE);
    let policy = RulePolicy {
        rules: vec![Rule::for_effects(Verdict::Deny, Effects::WRITE)],
        ..RulePolicy::allow_all()
    };
    let pipeline = builder([strict, refused].map(crate::support::echo_of))
        .policy(Arc::new(policy))
        .hook(Arc::new(Scripted::new("x", &seen)))
        .build();
    let cancelled = CancellationToken::new();
    cancelled.cancel();
    call(&pipeline, "unknown", json!({})).await;
    call(&pipeline, "strict", json!({})).await;
    call(&pipeline, "refused", json!({})).await;
    pipeline
        .call(CallRequest::new("1", "strict", json!({"x": 1})).cancel(cancelled))
        .await;
    let expected = [
        "after x 1 unknown - Model",
        "after x 1 strict - Model",
        "before x 1 refused - Model",
        "after x 1 refused - Model",
        "after x 1 strict - Model",
    ];
    assert_eq!(*seen.lock().unwrap(), expected);
}

#[tokio::test]
async fn a_before_hook_changes_arguments_that_are_not_validated_again() {
    let spec =
        ToolSpec::new("tool", "").input_schema(json!({"properties": {"n": {"type": "number"}}}));
    let mut hook = Scripted::new("x", &seen_nothing());
    hook.before = Box::new(|arguments| {
        arguments["n"] = json!("changed");
        Ok(BeforeVerdict::Continue)
    });
    let pipeline = builder([crate::support::echo_of(spec)])
        .hook(Arc::new(hook))
        .build();
    assert_eq!(
        call(&pipeline, "tool", json!({"n": 1}))
            .await
            .result
            .joined_text(),
        r#"{"n":"changed"}"#
    );
}

#[tokio::test]
async fn a_before_hook_blocks() {
    let cases: [(Before, &str); 5] = [
        (
            Box::new(|_| {
                Ok(BeforeVerdict::Block {
                    reason: "no".into(),
                })
            }),
            "no",
        ),
        (
            Box::new(|_| {
                Ok(BeforeVerdict::Block {
                    reason: String::new(),
                })
            }),
            "Tool execution was blocked",
        ),
        (Box::new(|_| Err("broken".into())), "broken"),
        (
            Box::new(|_| Err(String::new())),
            "Tool execution was blocked",
        ),
        (
            Box::new(|_| panic!("bug")),
            "Tool execution was blocked: a hook panicked, which is a bug in it: bug",
        ),
    ];
    for (before, text) in cases {
        let seen = seen_nothing();
        let mut first = Scripted::new("x", &seen);
        first.before = before;
        let pipeline = builder([echo("echo")])
            .hook(Arc::new(first))
            .hook(Arc::new(Scripted::new("y", &seen)))
            .build();
        let outcome = call(&pipeline, "echo", json!({})).await;
        assert_eq!(outcome.failure, Some(FailureKind::Blocked));
        assert_eq!(outcome.result.joined_text(), text);
        let moments: Vec<_> = seen
            .lock()
            .unwrap()
            .iter()
            .map(|line| line.split(" 1 ").next().unwrap().to_owned())
            .collect();
        assert_eq!(moments, ["before x", "after x", "after y"], "{text}");
    }
}

#[tokio::test]
async fn an_after_hook_replaces_what_it_names() {
    let changed = |change: ResultChange| async move {
        let tool = Tool::from_fn(ToolSpec::new("tool", ""), |_, _| async {
            ToolResult::text("secret")
                .with_structured(json!("secret"))
                .with_details(json!("kept"))
        });
        let mut hook = Scripted::new("x", &seen_nothing());
        hook.after = Box::new(move |_| Ok(change.clone()));
        let pipeline = builder([tool]).hook(Arc::new(hook)).build();
        call(&pipeline, "tool", json!({})).await
    };
    let content = || Some(vec![ContentBlock::text("public")]);

    let outcome = changed(ResultChange {
        content: content(),
        ..ResultChange::default()
    })
    .await;
    assert_eq!(
        outcome.result,
        ToolResult::text("public").with_details(json!("kept"))
    );

    let structured = Some(Some(json!("new")));
    let outcome = changed(ResultChange {
        content: content(),
        structured,
        ..ResultChange::default()
    })
    .await;
    assert_eq!(outcome.result.structured, Some(json!("new")));

    let outcome = changed(ResultChange {
        structured: Some(None),
        ..ResultChange::default()
    })
    .await;
    assert_eq!(
        outcome.result,
        ToolResult::text("secret").with_details(json!("kept"))
    );

    let change = ResultChange {
        is_error: Some(true),
        details: Some(json!(1)),
        ..ResultChange::default()
    };
    let outcome = changed(change).await;
    assert_eq!(outcome.failure, Some(FailureKind::Failed));
    assert_eq!(outcome.result.details, Some(json!(1)));
}

#[tokio::test]
async fn after_hooks_see_the_changes_of_those_before_them() {
    let mut append = Scripted::new("x", &seen_nothing());
    append.after = Box::new(|_| {
        Ok(ResultChange {
            content: Some(vec![ContentBlock::text("one")]),
            is_error: Some(false),
            ..ResultChange::default()
        })
    });
    let mut count = Scripted::new("y", &seen_nothing());
    count.after = Box::new(|result| {
        let text = format!("{} two", result.joined_text());
        Ok(ResultChange {
            content: Some(vec![ContentBlock::text(text)]),
            ..ResultChange::default()
        })
    });
    let pipeline = builder([])
        .hook(Arc::new(append))
        .hook(Arc::new(count))
        .build();
    let outcome = call(&pipeline, "unknown", json!({})).await;
    assert_eq!(outcome.result.joined_text(), "one two");
    assert_eq!(
        outcome.failure, None,
        "a hook may turn a failure into a success"
    );
}

/// Never answers after a call.
struct Stuck;

impl Hook for Stuck {
    fn after<'a>(
        &'a self,
        _: HookCall<'a>,
        _: &'a ToolResult,
    ) -> BoxFuture<'a, Result<ResultChange, String>> {
        Box::pin(std::future::pending())
    }
}

#[tokio::test(start_paused = true)]
async fn a_failing_after_hook_hides_the_result_but_not_what_it_cost() {
    let spending = || {
        let usage = Usage {
            input_tokens: 7,
            ..Usage::default()
        };
        Tool::from_fn(ToolSpec::new("tool", ""), move |_, _| async move {
            ToolResult {
                usage: Some(usage),
                ..ToolResult::text("secret")
            }
        })
    };
    let with = |after: After| -> Arc<dyn Hook> {
        let mut hook = Scripted::new("x", &seen_nothing());
        hook.after = after;
        Arc::new(hook)
    };
    let cases: [(Arc<dyn Hook>, &str); 3] = [
        (with(Box::new(|_| Err("broken".into()))), "broken"),
        (
            with(Box::new(|_| panic!("bug"))),
            "A hook panicked, which is a bug in it: bug",
        ),
        (Arc::new(Stuck), "A hook did not finish within 60 seconds"),
    ];
    for (hook, text) in cases {
        let pipeline = builder([spending()]).hook(hook).build();
        let outcome = call(&pipeline, "tool", json!({})).await;
        assert_eq!(
            (outcome.failure, outcome.result.joined_text().as_str()),
            (Some(FailureKind::Failed), text)
        );
        assert_eq!(outcome.result.usage.unwrap().input_tokens, 7);
    }
}

/// Never answers before a call, and cancels it.
struct Hanging(CancellationToken);

impl Hook for Hanging {
    fn before<'a>(
        &'a self,
        _: HookCall<'a>,
        _: &'a mut Value,
    ) -> BoxFuture<'a, Result<BeforeVerdict, String>> {
        self.0.cancel();
        Box::pin(std::future::pending())
    }
}

#[tokio::test(start_paused = true)]
async fn cancelling_ends_a_before_hook_that_hangs() {
    let cancel = CancellationToken::new();
    let pipeline = builder([echo("echo")])
        .hook(Arc::new(Hanging(cancel.clone())))
        .build();
    let call = pipeline.call(CallRequest::new("1", "echo", json!({})).cancel(cancel));
    let outcome = tokio::time::timeout(Duration::from_secs(1), call)
        .await
        .unwrap();
    assert_eq!(outcome.failure, Some(FailureKind::Cancelled));
}
