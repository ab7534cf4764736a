//! What the calls of a failed script did, so that nobody has to guess before trying again.

use std::fmt::Write as _;

use pirn_codemode::CallRecord;
use pirn_tool::{CallStatus, Effects, Registry};

use pirn_terminal::{cut, on_one_line};

/// Calls that are listed; the result as JSON has all.
const LISTED_MAX: usize = 20;
/// Columns of one row.
const ROW_COLUMNS: usize = 120;

/// The calls that may have changed something, one a line; those that only read are counted. `None` without calls.
pub(super) fn summary(calls: &[CallRecord], registry: &Registry) -> Option<String> {
    if calls.is_empty() {
        return None;
    }
    let can_change = |call: &&CallRecord| {
        registry
            .get(&call.name)
            .is_some_and(|tool| !Effects::READ.contains(tool.spec().effects))
    };
    let changing: Vec<&CallRecord> = calls.iter().filter(can_change).collect();
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

fn row(call: &CallRecord) -> String {
    let what = match call.status {
        CallStatus::Ok => "took effect",
        CallStatus::Error => "failed",
        CallStatus::Cancelled => "cancelled",
        CallStatus::Unknown | CallStatus::Unfinished => "unknown",
    };
    format!(
        "{what:<11}  {} {}",
        on_one_line(&call.name),
        on_one_line(&call.arguments)
    )
}

fn push_line(text: &mut String, line: &str) {
    // Writing to a string cannot fail.
    let _infallible = write!(text, "\n  {line}");
}
