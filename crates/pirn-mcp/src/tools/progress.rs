//! Progress of a call, as people read it.

use std::sync::Arc;

use pirn_tool::{CallContext, Update};

use super::text::one_line;
use crate::connection::ProgressSink;

#[cfg(test)]
mod tests;

/// The server's message, or the numbers where it sent none: `Progress 3/10`.
pub(crate) fn progress_text(progress: f64, total: Option<f64>, message: Option<&str>) -> String {
    let message = message.map(one_line).unwrap_or_default();
    if !message.is_empty() {
        return message;
    }
    match total.filter(|total| total.is_finite() && *total > 0.0) {
        Some(total) => format!("Progress {progress}/{total}"),
        None => format!("Progress {progress}"),
    }
}

/// Passes progress on as updates of a call; `None` when nobody listens.
pub(crate) fn progress_sink(context: &CallContext) -> Option<ProgressSink> {
    if !context.wants_updates() {
        return None;
    }
    let context = context.clone();
    Some(Arc::new(move |text| {
        context.update(Update {
            text,
            details: None,
        });
    }))
}
