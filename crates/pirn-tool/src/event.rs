//! What happens to calls, for front ends and logs.

use std::sync::Arc;
use std::time::Duration;

use serde_json::Value;

use crate::content::ToolResult;
use crate::context::{Origin, Update};
use crate::receipt::CallStatus;

/// One step in a call's life.
#[derive(Debug, Clone)]
pub enum CallEvent {
    /// The call was accepted for processing.
    Started {
        /// The call's id.
        call_id: String,
        /// The id of the call that made it.
        parent_call_id: Option<String>,
        /// The tool's name.
        tool_name: String,
        /// The arguments as given.
        arguments: Value,
        /// Who calls.
        origin: Origin,
    },
    /// The call reported progress.
    Updated {
        /// The call's id.
        call_id: String,
        /// The report.
        update: Update,
    },
    /// The call is over.
    Ended {
        /// The call's id.
        call_id: String,
        /// The id of the call that made it.
        parent_call_id: Option<String>,
        /// The tool's name.
        tool_name: String,
        /// What became of it.
        status: CallStatus,
        /// Its result, after the hooks.
        result: Arc<ToolResult>,
        /// How long it took.
        duration: Duration,
    },
}

/// Receives events in order. Must not block.
pub type EventSink = Arc<dyn Fn(CallEvent) + Send + Sync>;
