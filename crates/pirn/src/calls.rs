//! The calls of a script or a program: on the screen while they run, and in words where it failed.

use std::fmt::Write as _;

use pirn_terminal::{cut, on_one_line};
use pirn_tool::{CallStatus, Effects, EventBus, EventKind, EventSubscription, Receipt, Registry};

use crate::exec::ScreenWire;

/// Calls that are listed; the result as JSON has all.
const LISTED_MAX: usize = 20;
/// Columns of one row.
const ROW_COLUMNS: usize = 120;

/// Shows the calls made inside the call `parent` until the subscription is dropped. What they call in turn is not shown.
pub(crate) fn show(events: &EventBus, wire: ScreenWire, parent: &'static str) -> EventSubscription {
    events.subscribe(std::sync::Arc::new(move |event| {
        let Some(call) = event.call else { return };
        if call.parent_call_id.as_deref() != Some(parent) {
            return;
        }
        match event.kind {
            EventKind::Started => wire.call_started(call),
            EventKind::Ended { receipt, .. } => wire.call_ended(&receipt),
            EventKind::Updated(_)
            | EventKind::Output(_)
            | EventKind::Asked(_)
            | EventKind::Answered { .. }
            | EventKind::Server { .. }
            | EventKind::Note(_) => {}
        }
    }))
}

/// The calls that may have changed something, one a line; those that only read are counted. `None` without calls.
pub(crate) fn summary(calls: &[Receipt], registry: &Registry) -> Option<String> {
    if calls.is_empty() {
        return None;
    }
    let can_change = |call: &&Receipt| {
        registry
            .get(&call.name)
            .is_some_and(|tool| !Effects::READ.contains(tool.spec().effects))
    };
    let changing: Vec<&Receipt> = calls.iter().filter(can_change).collect();
    let reading = calls.len() - changing.len();
    let mut text = "Calls before the failure; nothing is undone:".to_owned();
    for call in changing.iter().take(LISTED_MAX) {
        push_line(&mut text, &cut(&row(call), ROW_COLUMNS));
    }
    if changing.len() > LISTED_MAX {
        push_line(
            &mut text,
            &format!(
                "and {} more that can change things; --json lists all",
                changing.len() - LISTED_MAX
            ),
        );
    }
    match reading {
        0 => {}
        1 => push_line(&mut text, "1 call that only reads"),
        _ => push_line(&mut text, &format!("{reading} calls that only read")),
    }
    Some(text)
}

fn row(call: &Receipt) -> String {
    let what = match call.status {
        CallStatus::Ok => "took effect",
        CallStatus::Error => "failed",
        CallStatus::Cancelled => "cancelled",
        CallStatus::Unknown | CallStatus::Unfinished => "unknown",
    };
    format!(
        "{what:<11}  {} {}",
        on_one_line(&call.name),
        on_one_line(&call.arguments_text())
    )
}

fn push_line(text: &mut String, line: &str) {
    // Writing to a string cannot fail.
    let _infallible = write!(text, "\n  {line}");
}
