//! The road of one call: look up, preparation, panics, updates, usage.

use std::sync::Arc;

use futures_util::future::BoxFuture;
use pirn_tool::{
    CallContext, CallRequest, CallStatus, Exposure, FailureKind, Origin, Pipeline, Tool,
    ToolHandler, ToolResult, ToolSpec, Update,
};
use serde_json::{Value, json};

use crate::support::{Events, builder, call, echo, exposed, nested, pipeline, relay};

#[tokio::test]
async fn each_origin_reaches_the_tools_exposed_to_it() {
    use Exposure::{Codemode, Deferred, Direct, Hidden, ModelOnly};
    let cases = [
        (Direct, [true, true, true, true]),
        (ModelOnly, [true, false, true, true]),
        (Codemode, [false, true, true, true]),
        (Deferred, [false, true, true, true]),
        (Hidden, [false, false, false, false]),
    ];
    for (exposure, reached) in cases {
        let pipeline = pipeline([exposed("target", exposure), relay("relay")]);
        for (origin, expected) in [Origin::Model, Origin::User, Origin::Extension]
            .into_iter()
            .zip([reached[0], reached[2], reached[3]])
        {
            let outcome = pipeline
                .call(CallRequest::new("1", "target", json!({})).origin(origin))
                .await;
            assert_eq!(
                outcome.failure.is_none(),
                expected,
                "{exposure:?} {origin:?}"
            );
        }
        let outcome = call(&pipeline, "relay", nested("target", &json!({}))).await;
        let expected = if reached[1] {
            "1/1 {}"
        } else {
            "1/1 Tool target not found"
        };
        assert_eq!(
            outcome.result.joined_text(),
            expected,
            "{exposure:?} nested"
        );
    }
}

/// An argument that a server's tool does not list may still mean something to it: it is passed on, and told where the result is
/// read.
#[tokio::test]
async fn arguments_that_a_servers_tool_does_not_declare_are_told_with_the_result() {
    let spec = ToolSpec::new("search", "Searches")
        .input_schema(json!({"type": "object", "properties": {"query": {"type": "string"}}}))
        .namespace(Arc::new(pirn_tool::Namespace {
            name: "mcp__tracker".to_owned(),
            aliases: Vec::new(),
            description: None,
            instructions: None,
        }));
    let tool = Tool::from_fn(spec, |arguments, context: CallContext| async move {
        let is_nested = context.origin == Origin::Nested;
        ToolResult::text(format!("{arguments} {is_nested}"))
    });
    let pipeline = pipeline([tool]);
    let told = "an argument was passed on that the tool does not declare: there is no argument `qeury`; did you mean `query`?";
    for origin in [Origin::Model, Origin::User, Origin::Nested] {
        let request = CallRequest::new("1", "search", json!({"qeury": "x"})).origin(origin);
        let result = pipeline.call(request).await.result;
        let is_nested = origin == Origin::Nested;
        let answer = format!("{{\"qeury\":\"x\"}} {is_nested}");
        if is_nested {
            assert_eq!(
                (result.joined_text(), result.notes),
                (answer, vec![told.to_owned()])
            );
        } else {
            assert_eq!(result.joined_text(), format!("{answer}\n[Note: {told}]"));
            assert!(result.notes.is_empty());
        }
        let known = CallRequest::new("2", "search", json!({"query": "x"})).origin(origin);
        let result = pipeline.call(known).await.result;
        assert!(result.notes.is_empty() && !result.joined_text().contains("Note"));
    }
}

#[tokio::test]
async fn a_deactivated_tool_is_out_of_reach_and_an_activated_one_in() {
    let pipeline = pipeline([
        echo("direct"),
        exposed("deferred", Exposure::Deferred),
        relay("relay"),
    ]);
    pipeline.registry().set_active(&["relay", "deferred"]);
    assert_eq!(
        call(&pipeline, "direct", json!({})).await.failure,
        Some(FailureKind::NotFound)
    );
    assert_eq!(call(&pipeline, "deferred", json!({})).await.failure, None);
    let outcome = call(&pipeline, "relay", nested("direct", &json!({}))).await;
    assert_eq!(outcome.result.joined_text(), "1/1 Tool direct not found");
}

#[tokio::test]
async fn an_endless_name_is_cut_in_the_error() {
    let outcome = call(&pipeline([]), &"n".repeat(100_000), json!({})).await;
    assert!(outcome.result.joined_text().len() < 200);
}

#[tokio::test]
async fn a_detached_context_calls_nothing() {
    let outcome = CallContext::detached("1")
        .call_tool("echo", json!({}))
        .await;
    assert_eq!(outcome.failure, Some(FailureKind::NotFound));
    assert_eq!(CallContext::detached("1").nested_calls(), None);
}

#[tokio::test]
async fn arguments_nested_too_deep_end_the_call_before_anything_recurses() {
    let events = Events::default();
    let pipeline = builder([echo("echo"), relay("relay")])
        .events(events.sink())
        .build();
    let mut deep = json!(1);
    for _ in 0..100_000 {
        deep = Value::Array(vec![deep]);
    }
    let outcome = call(&pipeline, "echo", deep).await;
    assert_eq!(outcome.failure, Some(FailureKind::InvalidArguments));
    assert_eq!(
        outcome.result.joined_text(),
        "The arguments of echo are nested deeper than 128 levels"
    );
    assert_eq!(events.lines(), ["start 1 echo in ", "end 1 Error"]);

    let mut deepest = json!(1);
    for _ in 0..128 {
        deepest = json!({ "a": deepest });
    }
    assert_eq!(call(&pipeline, "echo", deepest).await.failure, None);
}

/// Reads a list from its old shape, or panics on request.
struct Preparing;

impl ToolHandler for Preparing {
    fn call(&self, arguments: Value, _: CallContext) -> BoxFuture<'static, ToolResult> {
        Box::pin(async move { ToolResult::text(arguments.to_string()) })
    }

    fn prepare_arguments(&self, mut arguments: Value) -> Value {
        assert!(arguments.get("panic").is_none(), "cannot prepare");
        if let Some(text) = arguments["list"].as_str() {
            arguments["list"] = text.split(',').collect();
        }
        arguments
    }
}

#[tokio::test]
async fn arguments_are_prepared_before_they_are_validated() {
    let schema = json!({"properties": {"list": {"type": "array", "minItems": 2}}});
    let pipeline = pipeline([Tool::new(
        ToolSpec::new("tool", "").input_schema(schema),
        Preparing,
    )]);
    let outcome = call(&pipeline, "tool", json!({"list": "a,b"})).await;
    assert_eq!(outcome.result.joined_text(), r#"{"list":["a","b"]}"#);
    let outcome = call(&pipeline, "tool", json!({"panic": true})).await;
    assert_eq!(outcome.failure, Some(FailureKind::InvalidArguments));
    assert!(outcome.result.joined_text().contains("cannot prepare"));
}

#[tokio::test]
async fn a_panic_becomes_a_result() {
    let synchronous = Tool::from_fn(
        ToolSpec::new("sync", ""),
        |_, _| -> std::future::Ready<ToolResult> { panic!("at once") },
    );
    let later = Tool::from_fn(ToolSpec::new("later", ""), |_, _| async {
        tokio::task::yield_now().await;
        panic!("after {} steps", 1)
    });
    let pipeline = pipeline([synchronous, later]);
    for (name, message) in [("sync", "at once"), ("later", "after 1 steps")] {
        let outcome = call(&pipeline, name, json!({})).await;
        assert_eq!(outcome.failure, Some(FailureKind::Panicked));
        assert_eq!(
            outcome.status,
            CallStatus::Unknown,
            "nobody knows what it did before"
        );
        let expected = format!("Tool {name} panicked, which is a bug in it: {message}");
        assert_eq!(outcome.result.joined_text(), expected);
    }
}

#[tokio::test]
async fn receivers_that_panic_do_not_disturb_the_call() {
    let talkative = Tool::from_fn(
        ToolSpec::new("tool", ""),
        |_, context: CallContext| async move {
            context.update(Update {
                text: "half".into(),
                details: None,
            });
            ToolResult::text("done")
        },
    );
    let pipeline = builder([talkative])
        .events(Arc::new(|_| panic!("events")))
        .build();
    let mut request = CallRequest::new("1", "tool", json!({}));
    request.updates = Some(Arc::new(|_| panic!("updates")));
    assert_eq!(pipeline.call(request).await.result.joined_text(), "done");
}

#[tokio::test]
async fn updates_reach_listeners_until_the_end() {
    let events = Events::default();
    let kept = Arc::new(std::sync::Mutex::new(None));
    let keep = Arc::clone(&kept);
    let tool = Tool::from_fn(ToolSpec::new("tool", ""), move |_, context: CallContext| {
        assert!(context.wants_updates());
        context.update(Update {
            text: "half".into(),
            details: None,
        });
        *keep.lock().unwrap() = Some(context);
        async { ToolResult::text("done") }
    });
    let direct = Arc::new(std::sync::Mutex::new(Vec::new()));
    let received = Arc::clone(&direct);
    let pipeline = builder([tool]).events(events.sink()).build();
    let mut request = CallRequest::new("1", "tool", json!({}));
    request.updates = Some(Arc::new(move |update| {
        received.lock().unwrap().push(update.text);
    }));
    pipeline.call(request).await;
    kept.lock().unwrap().take().unwrap().update(Update {
        text: "late".into(),
        details: None,
    });
    assert_eq!(
        events.lines(),
        ["start 1 tool in ", "update 1 half", "end 1 Ok"]
    );
    assert_eq!(*direct.lock().unwrap(), ["half"]);
}

#[tokio::test]
async fn a_tool_learns_when_nobody_listens() {
    let tool = Tool::from_fn(
        ToolSpec::new("tool", ""),
        |_, context: CallContext| async move { ToolResult::text(context.wants_updates().to_string()) },
    );
    assert_eq!(
        call(&pipeline([tool]), "tool", json!({}))
            .await
            .result
            .joined_text(),
        "false"
    );
}

#[tokio::test]
async fn usage_of_every_depth_is_added_up_once() {
    let spending = |name: &str, inner: Option<&'static str>| {
        Tool::from_fn(
            ToolSpec::new(name, ""),
            move |_, context: CallContext| async move {
                if let Some(inner) = inner {
                    context.call_tool(inner, json!({})).await;
                }
                let usage = pirn_tool::Usage {
                    input_tokens: 1,
                    output_tokens: u64::MAX / 2,
                    cost: 0.25,
                };
                ToolResult {
                    usage: Some(usage),
                    ..ToolResult::text("")
                }
            },
        )
    };
    let pipeline = pipeline([
        spending("outer", Some("middle")),
        spending("middle", Some("inner")),
        spending("inner", None),
    ]);
    let usage = call(&pipeline, "outer", json!({}))
        .await
        .result
        .usage
        .unwrap();
    assert_eq!((usage.input_tokens, usage.output_tokens), (3, u64::MAX));
    assert!((usage.cost - 0.75).abs() < f64::EPSILON);
}

#[test]
fn every_failure_has_a_name_of_its_own() {
    use FailureKind::{
        Blocked, Cancelled, Denied, Failed, InvalidArguments, NotFound, Panicked, Timeout,
    };
    let kinds = [
        NotFound,
        InvalidArguments,
        Blocked,
        Denied,
        Failed,
        Cancelled,
        Timeout,
        Panicked,
    ];
    let names: std::collections::BTreeSet<_> = kinds.iter().map(|kind| kind.as_str()).collect();
    assert_eq!(names.len(), kinds.len());
    assert_eq!(
        kinds.map(FailureKind::ran),
        [false, false, false, false, true, true, true, true]
    );
    let pipeline: Pipeline = pipeline([]);
    assert!(format!("{pipeline:?}").contains("Pipeline"));
}
