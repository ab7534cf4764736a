//! What a call gave, as the conversation keeps it.

use std::time::Duration;

use pirn_model::{Block, Cost, RequestUsage, ToolCall, ToolResultMessage};
use pirn_tool::{CallOutcome, CallStatus, ContentBlock, NestedCalls, Usage};
use serde_json::{Value, json};

/// What a call gave, as the conversation keeps it.
pub fn result_message(
    call: &ToolCall,
    outcome: &CallOutcome,
    duration: Duration,
    timestamp: u64,
) -> ToolResultMessage {
    ToolResultMessage {
        tool_call_id: call.id.clone(),
        tool_name: call.name.clone(),
        content: outcome.result.content.iter().map(block).collect(),
        details: outcome.result.details.clone(),
        usage: outcome.result.usage.as_ref().map(usage),
        nested_calls: outcome.nested_calls.as_ref().map(nested_calls),
        duration_ms: Some(milliseconds(duration)),
        is_error: outcome.result.is_error,
        timestamp,
        other: serde_json::Map::new(),
    }
}

fn milliseconds(duration: Duration) -> u64 {
    u64::try_from(duration.as_millis()).unwrap_or(u64::MAX)
}

fn block(block: &ContentBlock) -> Block {
    match block {
        ContentBlock::Text { text } => Block::text(text.as_str()),
        ContentBlock::Image { data, mime_type } => Block::Image {
            data: data.clone(),
            mime_type: mime_type.clone(),
        },
        // No wire has a place for it.
        ContentBlock::Audio { mime_type, .. } => Block::text(format!(
            "(a recording in {mime_type}, which this conversation cannot carry)"
        )),
    }
}

fn usage(usage: &Usage) -> RequestUsage {
    RequestUsage {
        input: usage.input_tokens,
        output: usage.output_tokens,
        total_tokens: usage.input_tokens.saturating_add(usage.output_tokens),
        cost: Cost {
            total: usage.cost,
            ..Cost::default()
        },
        ..RequestUsage::default()
    }
}

/// Receipts as sessions keep them: three statuses that every reader knows, and ours beside where it says more.
fn nested_calls(nested: &NestedCalls) -> Value {
    let calls: Vec<Value> = nested
        .calls
        .iter()
        .map(|receipt| {
            let mut row = serde_json::to_value(receipt).unwrap_or_default();
            let (status, ours) = match receipt.status {
                CallStatus::Ok => ("ok", None),
                CallStatus::Error => ("error", None),
                CallStatus::Unfinished => ("unfinished", None),
                CallStatus::Cancelled => ("error", Some("cancelled")),
                CallStatus::Unknown => ("unfinished", Some("unknown")),
            };
            row["status"] = json!(status);
            if let Some(ours) = ours {
                row["pirnStatus"] = json!(ours);
            }
            row
        })
        .collect();
    json!({"calls": calls, "complete": nested.complete})
}
