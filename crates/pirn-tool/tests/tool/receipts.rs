//! Receipts: what they record, that they are bounded, and that ids and events are right for any tree of calls.

use std::collections::BTreeSet;

use futures_util::future::join_all;
use pirn_tool::{
    CallContext, CallStatus, EventKind, NestedCalls, RECEIPT_ARGUMENTS_BYTES_MAX,
    RECEIPT_CALLS_MAX, RECEIPT_ERROR_CHARS_MAX, RECEIPT_START_CHARS_MAX, RECEIPT_TOTAL_BYTES_MAX,
    Receipt, Tool, ToolResult, ToolSpec,
};
use proptest::prelude::*;
use serde_json::{Value, json};

use crate::support::{Events, builder, call, echo, pipeline, relay};

async fn receipts_of(calls: Vec<Value>) -> Option<NestedCalls> {
    let failing = Tool::from_fn(
        ToolSpec::new("fail", ""),
        |arguments: Value, _| async move {
            ToolResult::error(arguments["text"].as_str().unwrap_or_default())
        },
    );
    let pipeline = pipeline([relay("relay"), echo("echo"), failing]);
    call(&pipeline, "relay", json!({ "calls": calls }))
        .await
        .nested_calls
}

fn echoed(text: &str) -> Value {
    json!({"name": "echo", "arguments": {"text": text}})
}

#[tokio::test]
async fn a_call_without_nested_calls_has_no_receipts() {
    assert_eq!(receipts_of(vec![]).await, None);
}

#[tokio::test]
async fn receipts_record_name_arguments_and_status_but_no_result() {
    let fail = json!({"name": "fail", "arguments": {"text": "broken"}});
    let missing = json!({"name": "missing", "arguments": null});
    let inner = json!({"name": "relay", "arguments": {"calls": [fail, missing]}});
    let receipts = receipts_of(vec![echoed("x"), inner.clone()]).await.unwrap();
    assert!(receipts.complete);
    let mut recorded = serde_json::to_value(&receipts.calls).unwrap();
    for receipt in recorded.as_array_mut().unwrap() {
        assert!(
            receipt
                .as_object_mut()
                .unwrap()
                .shift_remove("durationMs")
                .is_some_and(|value| value.is_u64())
        );
    }
    let expected = json!([
        {"id": "1/1", "name": "echo", "arguments": {"text": "x"}, "status": "ok"},
        {"id": "1/2", "name": "relay", "arguments": inner["arguments"], "status": "ok"},
        {"id": "1/2/1", "name": "fail", "arguments": {"text": "broken"}, "status": "error", "error": "broken"},
        {"id": "1/2/2", "name": "missing", "arguments": null, "status": "error", "error": "Tool missing not found"},
    ]);
    assert_eq!(recorded, expected);
}

#[tokio::test]
async fn large_arguments_are_left_out_with_their_size() {
    let fits = "x".repeat(RECEIPT_ARGUMENTS_BYTES_MAX - r#"{"text":""}"#.len());
    let receipts = receipts_of(vec![echoed(&fits), echoed(&format!("{fits}x"))])
        .await
        .unwrap();
    assert!(receipts.calls[0].arguments.is_some() && receipts.calls[0].arguments_bytes.is_none());
    assert_eq!(receipts.calls[1].arguments, None);
    assert_eq!(
        receipts.calls[1].arguments_bytes,
        Some(RECEIPT_ARGUMENTS_BYTES_MAX + 1)
    );
    assert!(!receipts.complete);
}

#[tokio::test]
async fn all_arguments_together_are_bounded() {
    let text = "x".repeat(7_000);
    let receipts = receipts_of(vec![echoed(&text); 6]).await.unwrap();
    let kept = receipts
        .calls
        .iter()
        .filter(|call| call.arguments.is_some())
        .count();
    assert_eq!(kept, RECEIPT_TOTAL_BYTES_MAX / 7_011);
    assert!(!receipts.complete);
}

#[tokio::test]
async fn calls_beyond_the_bound_are_dropped() {
    let at_bound = receipts_of(vec![echoed(""); RECEIPT_CALLS_MAX])
        .await
        .unwrap();
    assert!(at_bound.complete);
    let over = receipts_of(vec![echoed(""); RECEIPT_CALLS_MAX + 1])
        .await
        .unwrap();
    assert_eq!(
        (over.calls.len(), over.complete),
        (RECEIPT_CALLS_MAX, false)
    );
}

#[tokio::test]
async fn names_and_error_texts_are_cut() {
    let fail = json!({"name": "fail", "arguments": {"text": "é".repeat(600)}});
    let unknown = json!({"name": "n".repeat(10_000), "arguments": {}});
    let receipts = receipts_of(vec![fail, unknown]).await.unwrap();
    let error = receipts.calls[0].error.as_ref().unwrap();
    assert_eq!(error.chars().count(), RECEIPT_ERROR_CHARS_MAX);
    assert_eq!(receipts.calls[1].name.len(), 128);
}

#[tokio::test]
async fn a_call_still_running_at_the_end_is_unfinished() {
    let leaving = Tool::from_fn(
        ToolSpec::new("leaving", ""),
        |_, context: CallContext| async move {
            let mut inner = Box::pin(async move { context.call_tool("endless", json!({})).await });
            let pending = futures_util::poll!(&mut inner).is_pending();
            // Kept alive beyond the call, as a script that goes on would.
            tokio::spawn(inner);
            ToolResult::text(pending.to_string())
        },
    );
    let pipeline = pipeline([
        leaving,
        crate::support::endless("endless", std::sync::Arc::default()),
    ]);
    let outcome = call(&pipeline, "leaving", json!({})).await;
    assert_eq!(outcome.result.joined_text(), "true");
    let receipts = outcome.nested_calls.unwrap();
    assert_eq!(
        (receipts.calls[0].status, receipts.complete),
        (CallStatus::Unfinished, false)
    );
}

/// A tree of calls: what each does, and the calls it makes, side by side or one after the other.
#[derive(Debug, Clone)]
struct Plan {
    action: Action,
    side_by_side: bool,
    padding: usize,
    children: Vec<Plan>,
}

#[derive(Debug, Clone, Copy)]
enum Action {
    Succeed,
    Fail,
    Panic,
    Unknown,
    Invalid,
}

impl Plan {
    fn arguments(&self) -> Value {
        let children: Vec<_> = self
            .children
            .iter()
            .map(|child| json!([child.tool_name(), child.arguments()]))
            .collect();
        let mut arguments = json!({
            "action": format!("{:?}", self.action),
            "sideBySide": self.side_by_side,
            "padding": "x".repeat(self.padding),
            "children": children,
        });
        if matches!(self.action, Action::Invalid) {
            arguments["children"] = json!(1.5);
        }
        arguments
    }

    fn tool_name(&self) -> &'static str {
        if matches!(self.action, Action::Unknown) {
            "nowhere"
        } else {
            "node"
        }
    }

    /// The calls that will be made, this one included.
    fn size(&self) -> usize {
        match self.action {
            Action::Unknown | Action::Invalid => 1,
            Action::Succeed | Action::Fail | Action::Panic => {
                1 + self.children.iter().map(Self::size).sum::<usize>()
            }
        }
    }
}

fn plans() -> impl Strategy<Value = Plan> {
    let action = prop_oneof![
        4 => Just(Action::Succeed),
        1 => Just(Action::Fail),
        1 => Just(Action::Panic),
        1 => Just(Action::Unknown),
        1 => Just(Action::Invalid),
    ];
    let padding = prop_oneof![8 => 0..200_usize, 1 => 0..10_000_usize];
    let leaf = (action.clone(), padding.clone()).prop_map(|(action, padding)| Plan {
        action,
        side_by_side: false,
        padding,
        children: Vec::new(),
    });
    leaf.prop_recursive(5, 400, 40, move |inner| {
        (
            action.clone(),
            any::<bool>(),
            padding.clone(),
            proptest::collection::vec(inner, 0..40),
        )
            .prop_map(|(action, side_by_side, padding, children)| Plan {
                action,
                side_by_side,
                padding,
                children,
            })
    })
}

/// Does what a [`Plan`] says.
fn node() -> Tool {
    let schema = json!({"type": "object", "properties": {"children": {"type": "array", "items": {"type": "array"}}}});
    Tool::from_fn(
        ToolSpec::new("node", "").input_schema(schema),
        |arguments: Value, context: CallContext| async move {
            let children = arguments["children"]
                .as_array()
                .cloned()
                .unwrap_or_default();
            let made = children
                .iter()
                .map(|child| context.call_tool(child[0].as_str().unwrap(), child[1].clone()));
            if arguments["sideBySide"] == true {
                join_all(made).await;
            } else {
                for call in made {
                    call.await;
                }
            }
            match arguments["action"].as_str() {
                Some("Fail") => ToolResult::error("failed"),
                Some("Panic") => panic!("planned"),
                _ => ToolResult::text("done"),
            }
        },
    )
}

fn check_tree(plan: &Plan) {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_time()
        .build()
        .unwrap();
    let events = Events::default();
    let pipeline = builder([node()]).events(events.sink()).build();
    let outcome = runtime.block_on(call(&pipeline, plan.tool_name(), plan.arguments()));

    let mut open = BTreeSet::new();
    let mut started = BTreeSet::new();
    for event in events.all() {
        let call = event.call.unwrap();
        let call_id = call.call_id.clone();
        match event.kind {
            EventKind::Started => {
                match &call.parent_call_id {
                    None => assert_eq!(call_id, "1"),
                    Some(parent) => {
                        assert!(
                            open.contains(parent),
                            "{call_id} starts inside a running call"
                        );
                        let number = call_id.strip_prefix(&format!("{parent}/")).unwrap();
                        assert!(number.parse::<u64>().unwrap() >= 1);
                    }
                }
                assert!(started.insert(call_id.clone()), "{call_id} is used once");
                open.insert(call_id);
            }
            EventKind::Ended { receipt, .. } => {
                assert!(
                    open.remove(&call_id),
                    "{call_id} ends once, after its start"
                );
                assert_eq!(
                    (&receipt.id, &receipt.name),
                    (&call.call_id, &call.tool_name)
                );
            }
            other => panic!("{other:?}"),
        }
    }
    assert!(open.is_empty(), "every call ends");
    assert_eq!(started.len(), plan.size());

    let Some(receipts) = outcome.nested_calls else {
        assert_eq!(plan.size(), 1);
        return;
    };
    assert_eq!(
        receipts.calls.len(),
        (plan.size() - 1).min(RECEIPT_CALLS_MAX)
    );
    let mut total = 0;
    for receipt in &receipts.calls {
        assert!(started.contains(&receipt.id));
        assert_ne!(receipt.status, CallStatus::Unfinished);
        assert_eq!(receipt.status != CallStatus::Ok, receipt.error.is_some());
        assert!(receipt.arguments.is_some() != receipt.arguments_bytes.is_some());
        let size = receipt
            .arguments
            .as_ref()
            .map_or(0, |arguments| arguments.to_string().len());
        assert!(size <= RECEIPT_ARGUMENTS_BYTES_MAX);
        total += size;
    }
    assert!(total <= RECEIPT_TOTAL_BYTES_MAX);
    let left_out = plan.size() - 1 > RECEIPT_CALLS_MAX
        || receipts
            .calls
            .iter()
            .any(|receipt| receipt.arguments.is_none());
    assert_eq!(receipts.complete, !left_out);
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 48, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn any_tree_of_calls_is_recorded_right(plan in plans()) {
        check_tree(&plan);
    }
}

#[test]
fn of_arguments_that_are_not_kept_the_start_is() {
    // One, two, three and four bytes a character.
    for letter in ["x", "é", "€", "🦀"] {
        let long = json!({"text": letter.repeat(1_000)});
        let text = long.to_string();
        for receipt in [
            Receipt::with_start("exec/3", "echo", &text),
            Receipt::with_start_of("exec/3", "echo", &long),
        ] {
            let shown = receipt.arguments_text();
            assert_eq!(shown.chars().count(), RECEIPT_START_CHARS_MAX);
            assert_eq!(
                shown.trim_end_matches("...").chars().last(),
                letter.chars().last()
            );
            assert_eq!(receipt.arguments_bytes, Some(text.len()));
            assert_eq!(receipt.number(), Some(3));
        }
    }
    let whole = Receipt::started("exec", "echo", &json!({"n": 1}));
    assert_eq!(
        (whole.arguments_text().as_str(), whole.number()),
        (r#"{"n":1}"#, None)
    );
}
