//! What a failed script tells the model: the error, a hint, and what its calls did.

use std::collections::BTreeMap;

use pirn_tool::{CallStatus, Receipt};

use super::status_name;
use crate::result::{ScriptError, ScriptErrorKind};

/// Calls listed one by one; more are counted by tool and status, so that the list never crowds out the error.
const CALLS_LISTED_MAX: usize = 64;

pub(super) fn error_text(error: &ScriptError, calls: &[Receipt]) -> String {
    let stack = error.stack.clone().unwrap_or_else(|| match &error.name {
        Some(name) => format!("{name}: {}", error.message),
        None => format!("Error: {}", error.message),
    });
    let what = match error.kind {
        ScriptErrorKind::Script => stack,
        ScriptErrorKind::Timeout => format!("Script timed out: {stack}"),
        ScriptErrorKind::Cpu => format!("Script stopped: {stack}"),
        ScriptErrorKind::Memory => format!("Script ran out of memory: {stack}"),
        ScriptErrorKind::Aborted => format!("Script aborted: {stack}"),
        ScriptErrorKind::Sandbox => format!("The script engine failed: {stack}"),
    };
    let hint = error
        .hint
        .as_ref()
        .map(|hint| format!("\n\n{hint}"))
        .unwrap_or_default();
    format!(
        "Script error:\n{}{hint}\n\n{}",
        what.trim_end(),
        calls_text(calls)
    )
}

pub(super) fn calls_text(calls: &[Receipt]) -> String {
    if calls.is_empty() {
        return "No tool calls were made.".to_owned();
    }
    let rows: Vec<String> = if calls.len() <= CALLS_LISTED_MAX {
        calls
            .iter()
            .map(|call| format!("{} ({})", call.name, status_name(call.status)))
            .collect()
    } else {
        counted(calls)
    };
    format!(
        "Tool calls made before the failure (they are not undone): {}",
        rows.join(", ")
    )
}

/// Name, status and count of calls, in the order of their first appearance.
fn counted(calls: &[Receipt]) -> Vec<String> {
    let mut places: BTreeMap<(&str, &'static str), usize> = BTreeMap::new();
    let mut counts: Vec<(&str, CallStatus, usize)> = Vec::new();
    for call in calls {
        let place = *places
            .entry((&call.name, status_name(call.status)))
            .or_insert_with(|| {
                counts.push((&call.name, call.status, 0));
                counts.len() - 1
            });
        if let Some((_, _, count)) = counts.get_mut(place) {
            *count += 1;
        }
    }
    counts
        .iter()
        .map(|(name, status, count)| format!("{name} ({}) ×{count}", status_name(*status)))
        .collect()
}
