//! Calls inside calls: ids, depth, and the queue of sequential tools.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use futures_util::future::join_all;
use pirn_tool::{
    CallContext, CallRequest, CallStatus, Concurrency, FailureKind, Tool, ToolResult, ToolSpec,
};
use serde_json::{Value, json};
use tokio::sync::Notify;
use tokio_util::sync::CancellationToken;

use crate::support::{Events, builder, call, echo, nested, pipeline, relay};

#[tokio::test]
async fn ids_show_the_way_and_events_the_parent() {
    let events = Events::default();
    let pipeline = builder([relay("relay"), echo("echo")])
        .events(events.sink())
        .build();
    let inner = nested("echo", &json!({}));
    let calls = json!({"calls": [{"name": "relay", "arguments": inner}, {"name": "echo", "arguments": {}}]});
    call(&pipeline, "relay", calls).await;
    let expected = [
        "start 1 relay in ",
        "start 1/1 relay in 1",
        "start 1/1/1 echo in 1/1",
        "end 1/1/1 Ok",
        "end 1/1 Ok",
        "start 1/2 echo in 1",
        "end 1/2 Ok",
        "end 1 Ok",
    ];
    assert_eq!(events.lines(), expected);
}

#[tokio::test]
async fn a_caller_may_number_its_calls() {
    let events = Events::default();
    let spec = ToolSpec::new("numbers", "");
    let numbers = Tool::from_fn(spec, |_, context: CallContext| async move {
        let pipeline = context.pipeline().unwrap().clone();
        for number in [7, 3] {
            let cancel = CancellationToken::new();
            pipeline
                .call_nested_numbered(&context, number, "echo", json!({}), cancel)
                .await;
        }
        context.call_tool("echo", json!({})).await.result
    });
    let pipeline = builder([numbers, echo("echo")])
        .events(events.sink())
        .build();
    call(&pipeline, "numbers", json!({})).await;
    let starts: Vec<String> = events
        .lines()
        .into_iter()
        .filter(|line| line.contains("echo"))
        .collect();
    assert_eq!(
        starts,
        [
            "start 1/7 echo in 1",
            "start 1/3 echo in 1",
            "start 1/8 echo in 1"
        ]
    );
}

/// Calls itself `arguments.depth` times, then answers `bottom`; passes an error of the inner call on.
fn digger(concurrency: Concurrency) -> Tool {
    let spec = ToolSpec::new("digger", "").concurrency(concurrency);
    Tool::from_fn(spec, |arguments: Value, context: CallContext| async move {
        let depth = arguments["depth"].as_u64().unwrap();
        if depth == 0 {
            return ToolResult::text("bottom");
        }
        context
            .call_tool("digger", json!({"depth": depth - 1}))
            .await
            .result
    })
}

#[tokio::test(start_paused = true)]
async fn sequential_calls_nest_without_waiting_for_themselves() {
    for concurrency in [Concurrency::Parallel, Concurrency::Sequential] {
        let pipeline = pipeline([digger(concurrency)]);
        for (depth, text) in [
            (32, "bottom"),
            (
                33,
                "Calls are nested more than 32 deep; this one was not made",
            ),
        ] {
            let mut request = CallRequest::new("1", "digger", json!({ "depth": depth }));
            request.timeout = Some(Duration::from_mins(1));
            assert_eq!(
                pipeline.call(request).await.result.joined_text(),
                text,
                "{concurrency:?} {depth}"
            );
        }
    }
}

/// A sequential tool that counts how many of its kind run at once, lets others run meanwhile, and makes the calls it is given
/// side by side.
fn counted(name: &str, running: &Arc<AtomicUsize>, most: &Arc<AtomicUsize>) -> Tool {
    let (running, most) = (Arc::clone(running), Arc::clone(most));
    let spec = ToolSpec::new(name, "").concurrency(Concurrency::Sequential);
    Tool::from_fn(spec, move |arguments, context: CallContext| {
        let (running, most) = (Arc::clone(&running), Arc::clone(&most));
        async move {
            most.fetch_max(running.fetch_add(1, Ordering::SeqCst) + 1, Ordering::SeqCst);
            tokio::task::yield_now().await;
            running.fetch_sub(1, Ordering::SeqCst);
            let calls = arguments["calls"].as_array().cloned().unwrap_or_default();
            let made = calls
                .iter()
                .map(|name| context.call_tool(name.as_str().unwrap(), json!({})));
            let failed = join_all(made)
                .await
                .iter()
                .filter(|outcome| outcome.failure.is_some())
                .count();
            ToolResult::text(failed.to_string())
        }
    })
}

#[tokio::test(start_paused = true)]
async fn sequential_tools_never_overlap_and_never_lock_each_other_out() {
    let (running, most) = (Arc::default(), Arc::default());
    let pipeline = pipeline([counted("a", &running, &most), counted("b", &running, &most)]);
    // Each holds its turn while it wants the other, several times at once.
    let both = [
        ("a", json!({"calls": ["b", "b", "b"]})),
        ("b", json!({"calls": ["a", "a", "a"]})),
    ];
    let made = both
        .into_iter()
        .cycle()
        .take(8)
        .enumerate()
        .map(|(number, (name, arguments))| {
            let mut request = CallRequest::new(number.to_string(), name, arguments);
            request.timeout = Some(Duration::from_mins(1));
            pipeline.call(request)
        });
    for outcome in join_all(made).await {
        assert_eq!(outcome.result.joined_text(), "0");
        assert_eq!(outcome.nested_calls.unwrap().calls.len(), 3);
    }
    assert_eq!(most.load(Ordering::SeqCst), 1);
}

#[tokio::test(start_paused = true)]
async fn waiting_for_a_turn_ends_with_the_deadline_or_the_token() {
    let started = Arc::new(Notify::new());
    let signal = Arc::clone(&started);
    let spec = ToolSpec::new("tool", "").concurrency(Concurrency::Sequential);
    let holder = Tool::from_fn(spec, move |_, context: CallContext| {
        signal.notify_one();
        async move {
            context.cancel.cancelled().await;
            ToolResult::error("stopped")
        }
    });
    let pipeline = pipeline([holder]);
    let (first_cancel, second_cancel) = (CancellationToken::new(), CancellationToken::new());
    let first =
        pipeline.call(CallRequest::new("1", "tool", json!({})).cancel(first_cancel.clone()));
    let waiting = async {
        started.notified().await;
        let mut request = CallRequest::new("2", "tool", json!({}));
        request.timeout = Some(Duration::from_secs(1));
        let late = pipeline.call(request).await;
        assert_eq!(
            (late.failure, late.status),
            (Some(FailureKind::Timeout), CallStatus::Cancelled)
        );
        assert!(
            late.result
                .joined_text()
                .ends_with("while it waited for its turn; it was not started")
        );
        second_cancel.cancel();
        let request = CallRequest::new("3", "tool", json!({})).cancel(second_cancel);
        assert_eq!(
            pipeline.call(request).await.failure,
            Some(FailureKind::Cancelled)
        );
        first_cancel.cancel();
    };
    let (first, ()) = tokio::join!(first, waiting);
    assert_eq!(first.result.joined_text(), "stopped");
}
