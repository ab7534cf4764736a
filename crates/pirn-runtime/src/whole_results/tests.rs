//! What is kept, what is too large, and what makes room.

use std::time::Duration;

use pirn_tool::{CallStatus, EventCall, Origin, Receipt};
use serde_json::json;

use super::*;

/// Tells that a call has ended whose result has a text of so many bytes.
fn end(events: &EventBus, call_id: &str, bytes: usize) {
    let mut receipt = Receipt::started(call_id, "big", &json!({}));
    receipt.end(CallStatus::Ok, Duration::ZERO, None);
    events.send(RuntimeEvent {
        run_id: Arc::from("run"),
        call: Some(Arc::new(EventCall {
            call_id: call_id.to_owned(),
            parent_call_id: None,
            tool_name: "big".to_owned(),
            arguments: json!({}),
            origin: Origin::Model,
        })),
        kind: EventKind::Ended {
            receipt: Arc::new(receipt),
            result: Arc::new(ToolResult::text("x".repeat(bytes))),
            duration: Duration::ZERO,
        },
    });
}

fn kept_bytes(results: &WholeResults, call_id: &str) -> Option<usize> {
    match results.get("run", call_id)? {
        WholeResult::Kept(result) => Some(result.size_bytes()),
        WholeResult::TooLarge { .. } | WholeResult::Gone { .. } => None,
    }
}

#[test]
fn a_result_is_kept_up_to_its_limit() {
    let events = EventBus::new();
    end(&events, "before", 1);
    let results = WholeResults::keep(&events);
    end(&events, "most", WHOLE_RESULT_BYTES_MAX);
    end(&events, "more", WHOLE_RESULT_BYTES_MAX + 1);
    assert_eq!(results.get("run", "before"), None);
    assert_eq!(kept_bytes(&results, "most"), Some(WHOLE_RESULT_BYTES_MAX));
    assert_eq!(
        results.get("run", "more"),
        Some(WholeResult::TooLarge {
            bytes: WHOLE_RESULT_BYTES_MAX + 1
        })
    );
    assert_eq!(results.get("other run", "most"), None);
}

#[test]
fn the_oldest_make_room_and_that_is_told() {
    let events = EventBus::new();
    let results = WholeResults::keep(&events);
    let fit = WHOLE_RESULTS_BYTES_MAX / WHOLE_RESULT_BYTES_MAX;
    for number in 0..=fit {
        end(&events, &number.to_string(), WHOLE_RESULT_BYTES_MAX);
    }
    let gone = WholeResult::Gone {
        bytes: WHOLE_RESULT_BYTES_MAX,
    };
    assert_eq!(results.get("run", "0"), Some(gone));
    assert!((1..=fit).all(|number| kept_bytes(&results, &number.to_string()).is_some()));
}

#[test]
fn a_call_that_ends_twice_counts_once() {
    let events = EventBus::new();
    let results = WholeResults::keep(&events);
    for _ in 0..200 {
        end(&events, "again", WHOLE_RESULT_BYTES_MAX);
    }
    end(&events, "other", 1);
    assert!(kept_bytes(&results, "again").is_some());
    assert_eq!(lock(&results.kept).bytes, WHOLE_RESULT_BYTES_MAX + 1);
}
