//! Calls that are stopped: before they begin, midway, by a deadline, by being dropped.

use std::sync::Arc;
use std::time::Duration;

use futures_util::future::BoxFuture;
use pirn_tool::{
    CallContext, CallRequest, CallStatus, FailureKind, Tool, ToolResult, ToolSpec, Update,
};
use serde_json::json;
use tokio::sync::Notify;
use tokio_util::sync::CancellationToken;

use crate::support::{Events, builder, call, echo, endless, nested, pipeline, relay};

#[tokio::test]
async fn a_call_cancelled_before_it_begins_never_runs() {
    let pipeline = pipeline([echo("echo")]);
    let cancel = CancellationToken::new();
    cancel.cancel();
    let outcome = pipeline
        .call(CallRequest::new("1", "echo", json!({})).cancel(cancel))
        .await;
    assert_eq!(outcome.failure, Some(FailureKind::Cancelled));
    assert_eq!(outcome.status, CallStatus::Cancelled);
    assert_eq!(outcome.result.joined_text(), "Operation aborted");
}

/// Calls `tool` and cancels it once it runs.
async fn cancelled_midway(tool: Tool, started: &Notify) -> pirn_tool::CallOutcome {
    let pipeline = builder([tool]).cancel_grace(Duration::from_mins(1)).build();
    let cancel = CancellationToken::new();
    let request = CallRequest::new("1", "tool", json!({})).cancel(cancel.clone());
    let (outcome, ()) = tokio::join!(pipeline.call(request), async {
        started.notified().await;
        cancel.cancel();
    });
    outcome
}

#[tokio::test(start_paused = true)]
async fn what_a_cancelled_call_makes_of_it_decides_its_status() {
    type Reaction = fn(CallContext) -> BoxFuture<'static, ToolResult>;
    let cases: [(&str, Reaction, CallStatus, Option<FailureKind>, &str); 4] = [
        (
            "confirms",
            |context| {
                Box::pin(async move {
                    context.cancel.cancelled().await;
                    ToolResult::error("stopped in time")
                })
            },
            CallStatus::Cancelled,
            Some(FailureKind::Cancelled),
            "stopped in time",
        ),
        (
            "finishes all the same",
            |context| {
                Box::pin(async move {
                    context.cancel.cancelled().await;
                    ToolResult::text("done")
                })
            },
            CallStatus::Ok,
            None,
            "done",
        ),
        (
            "ignores it",
            |_| Box::pin(std::future::pending()),
            CallStatus::Unknown,
            Some(FailureKind::Cancelled),
            "Operation aborted; the tool did not confirm, so it may have taken effect",
        ),
        (
            "panics",
            |context| {
                Box::pin(async move {
                    context.cancel.cancelled().await;
                    panic!("in the middle")
                })
            },
            CallStatus::Unknown,
            Some(FailureKind::Cancelled),
            "Operation aborted; the tool panicked while it stopped, which is a bug in it: in the middle",
        ),
    ];
    for (case, reaction, status, failure, text) in cases {
        let started = Arc::new(Notify::new());
        let signal = Arc::clone(&started);
        let tool = Tool::from_fn(ToolSpec::new("tool", ""), move |_, context: CallContext| {
            signal.notify_one();
            reaction(context)
        });
        let outcome = cancelled_midway(tool, &started).await;
        assert_eq!(
            (outcome.status, outcome.failure),
            (status, failure),
            "{case}"
        );
        assert_eq!(outcome.result.joined_text(), text, "{case}");
    }
}

#[tokio::test(start_paused = true)]
async fn a_deadline_stops_its_own_call_only() {
    let pipeline = pipeline([endless("tool", Arc::default())]);
    let cancel = CancellationToken::new();
    let mut request = CallRequest::new("1", "tool", json!({})).cancel(cancel.clone());
    request.timeout = Some(Duration::from_millis(1_500));
    let lifetime = request.lifetime.clone();
    let outcome = pipeline.call(request).await;
    assert_eq!(
        (outcome.failure, outcome.status),
        (Some(FailureKind::Timeout), CallStatus::Unknown)
    );
    assert!(
        outcome
            .result
            .joined_text()
            .starts_with("Operation timed out after 1.5s;")
    );
    assert!(!cancel.is_cancelled(), "the token is the caller's");
    assert!(!lifetime.is_cancelled());
}

#[tokio::test(start_paused = true)]
async fn a_deadline_also_counts_for_calls_inside() {
    let pipeline = pipeline([relay("relay"), endless("tool", Arc::default())]);
    let mut request = CallRequest::new("1", "relay", nested("tool", &json!({})));
    request.timeout = Some(Duration::from_secs(1));
    let outcome = pipeline.call(request).await;
    let calls = outcome.nested_calls.unwrap().calls;
    assert_eq!(calls[0].status, CallStatus::Unknown);
    assert!(
        calls[0]
            .error
            .as_ref()
            .unwrap()
            .starts_with("Operation aborted;")
    );
}

#[tokio::test]
async fn an_extra_token_stops_a_nested_call_and_so_does_the_callers() {
    let started = Arc::new(Notify::new());
    let signal = Arc::clone(&started);
    let racing = Tool::from_fn(
        ToolSpec::new("racing", ""),
        move |_, context: CallContext| {
            let signal = Arc::clone(&signal);
            async move {
                let extra = CancellationToken::new();
                let pipeline = context.pipeline().unwrap().clone();
                let call = pipeline.call_nested_with(&context, "waiting", json!({}), extra.clone());
                let (first, ()) = tokio::join!(call, async {
                    signal.notified().await;
                    extra.cancel();
                });
                let second = pipeline.call_nested_with(
                    &context,
                    "waiting",
                    json!({}),
                    CancellationToken::new(),
                );
                let (second, ()) = tokio::join!(second, async {
                    signal.notified().await;
                    context.cancel.cancel();
                });
                ToolResult::text(format!("{:?} {:?}", first.status, second.status))
            }
        },
    );
    let signal = Arc::clone(&started);
    let waiting = Tool::from_fn(
        ToolSpec::new("waiting", ""),
        move |_, context: CallContext| {
            signal.notify_one();
            async move {
                context.cancel.cancelled().await;
                ToolResult::error("stopped")
            }
        },
    );
    let outcome = call(&pipeline([racing, waiting]), "racing", json!({})).await;
    assert_eq!(outcome.result.joined_text(), "Cancelled Cancelled");
}

#[tokio::test]
async fn a_dropped_call_is_stopped_and_ends_once() {
    let events = Events::default();
    let started = Arc::new(Notify::new());
    let tokens = Arc::new(std::sync::Mutex::new(Vec::new()));
    let kept = Arc::clone(&tokens);
    let signal = Arc::clone(&started);
    let tool = Tool::from_fn(ToolSpec::new("tool", ""), move |_, context: CallContext| {
        kept.lock().unwrap().push(context);
        signal.notify_one();
        std::future::pending()
    });
    let pipeline = builder([relay("relay"), tool])
        .events(events.sink())
        .build();
    tokio::select! {
        _ = call(&pipeline, "relay", nested("tool", &json!({}))) => unreachable!("it never ends"),
        () = started.notified() => {}
    }
    let expected = [
        "start 1 relay in ",
        "start 1/1 tool in 1",
        "end 1/1 Unknown",
        "end 1 Unknown",
    ];
    assert_eq!(events.lines(), expected);
    let context = tokens.lock().unwrap().remove(0);
    assert!(context.cancel.is_cancelled());
    context.update(Update {
        text: "late".into(),
        details: None,
    });
    assert_eq!(
        events.lines(),
        expected,
        "updates after the end are dropped"
    );
}
