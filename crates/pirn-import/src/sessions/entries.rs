//! Entries that are made of what another program kept.

use pirn_model::{
    Api, AssistantMessage, Block, Message, RequestUsage, StopReason, ToolResultMessage,
};
use pirn_session::{Entry, EntryBody, iso_time, moment_ms};
use serde_json::{Map, Value};

/// Entries on one branch, in the order in which they are added.
#[derive(Debug, Default)]
pub(super) struct Entries {
    entries: Vec<Entry>,
    /// The last time that was named.
    now_ms: u64,
}

impl Entries {
    /// Goes on at the time of a line, where it names one.
    pub(super) fn at(&mut self, line: &Value) {
        let named = line.get("timestamp").and_then(Value::as_str);
        if let Some(ms) = named.and_then(moment_ms) {
            self.now_ms = ms;
        }
    }

    /// The time of what is added now, in milliseconds since 1970.
    pub(super) fn now_ms(&self) -> u64 {
        self.now_ms
    }

    /// The id of what is added next.
    pub(super) fn next_id(&self) -> String {
        format!("{:08x}", self.entries.len() + 1)
    }

    pub(super) fn push(&mut self, body: EntryBody) {
        let entry = Entry {
            id: self.next_id(),
            parent_id: self.entries.last().map(|entry| entry.id.clone()),
            timestamp: iso_time(self.now_ms),
            body,
        };
        self.entries.push(entry);
    }

    pub(super) fn message(&mut self, message: Message) {
        self.push(EntryBody::Message { message });
    }

    pub(super) fn finish(self) -> Vec<Entry> {
        self.entries
    }
}

/// A reply that is put together from several lines.
#[derive(Debug)]
pub(super) struct Reply {
    pub(super) api: Api,
    pub(super) provider: &'static str,
    pub(super) model: String,
    pub(super) content: Vec<Block>,
    pub(super) usage: RequestUsage,
    pub(super) timestamp: u64,
}

impl Reply {
    pub(super) fn into_message(self) -> Message {
        let has_calls = self
            .content
            .iter()
            .any(|block| matches!(block, Block::ToolCall(_)));
        Message::Assistant(Box::new(AssistantMessage {
            content: self.content,
            api: self.api.as_str().to_owned(),
            provider: self.provider.to_owned(),
            model: self.model,
            response_model: None,
            response_id: None,
            thinking_level: None,
            usage: self.usage,
            stop_reason: if has_calls {
                StopReason::ToolUse
            } else {
                StopReason::Stop
            },
            raw_stop_reason: None,
            error_message: None,
            duration_ms: None,
            timestamp: self.timestamp,
            other: Map::new(),
        }))
    }
}

/// What a call gave.
pub(super) fn result(
    id: &str,
    name: &str,
    content: Vec<Block>,
    is_error: bool,
    timestamp: u64,
) -> Message {
    Message::ToolResult(Box::new(ToolResultMessage {
        tool_call_id: id.to_owned(),
        tool_name: name.to_owned(),
        content,
        details: None,
        usage: None,
        nested_calls: None,
        duration_ms: None,
        is_error,
        timestamp,
        other: Map::new(),
    }))
}

/// A word of an object; empty where there is none.
pub(super) fn word<'a>(value: &'a Value, key: &str) -> &'a str {
    value.get(key).and_then(Value::as_str).unwrap_or_default()
}

/// The items of a list; none where there is no list.
pub(super) fn items<'a>(value: &'a Value, key: &str) -> &'a [Value] {
    let list = value.get(key).and_then(Value::as_array);
    list.map_or(&[], Vec::as_slice)
}

/// A picture of a data URL.
pub(super) fn picture(url: &str) -> Option<Block> {
    let (kind, data) = url.strip_prefix("data:")?.split_once(";base64,")?;
    Some(Block::Image {
        data: data.to_owned(),
        mime_type: kind.to_owned(),
    })
}
