//! The stream of events: every one names its run and its call.

use std::sync::{Arc, Mutex};

use pirn_tool::{
    Answer, ApprovalQueue, CallRequest, Effects, EventBus, EventKind, Rule, RulePolicy, Run,
    RuntimeEvent, ToolResult, ToolSpec, Verdict,
};
use serde_json::json;

use crate::support::{builder, echo_of, nested, relay};

#[tokio::test]
async fn every_event_names_run_call_parent_tool_and_arguments() {
    let lines = Arc::new(Mutex::new(Vec::new()));
    let seen = Arc::clone(&lines);
    let bus = EventBus::new();
    let subscription = bus.subscribe(Arc::new(move |event: RuntimeEvent| {
        let call = event.call.unwrap();
        let what = match event.kind {
            EventKind::Started => "started".to_owned(),
            EventKind::Asked(request) => format!("asked about {}", request.subject.name()),
            EventKind::Answered { answer, .. } => format!("answered {answer:?}"),
            EventKind::Ended { receipt, .. } => format!("ended {:?}", receipt.status),
            other => panic!("{other:?}"),
        };
        seen.lock().unwrap().push(format!(
            "{} {} in {} {} {}: {what}",
            event.run_id,
            call.call_id,
            call.parent_call_id.as_deref().unwrap_or("-"),
            call.tool_name,
            call.arguments,
        ));
    }));
    let queue = ApprovalQueue::builder()
        .events(bus.clone())
        .answered_by(|_| Answer::deny());
    let policy = RulePolicy {
        rules: vec![Rule::for_effects(Verdict::Ask, Effects::WRITE)],
        ..RulePolicy::allow_all()
    };
    let edit = ToolSpec::new("edit", "").effects(Effects::WRITE);
    let edit = echo_of(edit.input_schema(json!({"type": "object"})));
    let pipeline = builder([relay("relay"), edit])
        .policy(Arc::new(policy))
        .approvals(queue)
        .events(bus.sink())
        .build();
    let arguments = nested("edit", &json!({"x": 1}));
    let request = CallRequest::new("1", "relay", arguments.clone()).run(Arc::new(Run::new("run")));
    pipeline.call(request).await;
    drop(subscription);
    let outer = format!("run 1 in - relay {arguments}");
    let inner = r#"run 1/1 in 1 edit {"x":1}"#;
    let expected = [
        format!("{outer}: started"),
        format!("{inner}: started"),
        format!("{inner}: asked about edit"),
        format!("{inner}: answered Deny {{ words: None }}"),
        format!("{inner}: ended Error"),
        format!("{outer}: ended Ok"),
    ];
    assert_eq!(*lines.lock().unwrap(), expected);
}

#[tokio::test]
async fn a_call_that_failed_with_data_has_its_error_in_the_record() {
    let failing = pirn_tool::Tool::from_fn(ToolSpec::new("fail", ""), |_, _| async {
        ToolResult {
            content: Vec::new(),
            structured: Some(json!({"code": 7})),
            is_error: true,
            ..ToolResult::default()
        }
    });
    let pipeline = builder([relay("relay"), failing]).build();
    let outcome = crate::support::call(&pipeline, "relay", nested("fail", &json!({}))).await;
    let calls = outcome.nested_calls.unwrap().calls;
    assert_eq!(calls[0].error.as_deref(), Some(r#"{"code":7}"#));
}
