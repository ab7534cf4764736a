//! Receipts: a bounded record of the nested calls of one call, and what became of each.

use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::content::{ContentBlock, ToolResult};

/// Calls recorded per result; a script may make thousands, and a session keeps every receipt for good.
pub const RECEIPT_CALLS_MAX: usize = 256;
/// Bytes of JSON kept of one call's arguments.
pub const RECEIPT_ARGUMENTS_BYTES_MAX: usize = 8 * 1024;
/// Bytes of JSON kept of all arguments of one result.
pub const RECEIPT_TOTAL_BYTES_MAX: usize = 32 * 1024;
/// Characters kept of an error's text.
pub const RECEIPT_ERROR_CHARS_MAX: usize = 500;

/// Characters shown of a call's arguments, and kept where they are not kept whole.
pub const RECEIPT_START_CHARS_MAX: usize = 200;

/// Characters kept of a tool's name: real ones are shorter, but a script may ask for any.
const RECEIPT_NAME_CHARS_MAX: usize = 128;

/// What became of a call.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum CallStatus {
    /// The tool ran and reported no failure.
    Ok,
    /// It failed, or never ran.
    Error,
    /// It was stopped, and confirmed that it stopped.
    Cancelled,
    /// It was stopped and did not confirm, so it may have taken effect.
    Unknown,
    /// It still ran when the receipt was written.
    Unfinished,
}

/// The record of one call, whoever makes it. Results are never recorded.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Receipt {
    /// The call's id: `<parent>/<n>` for nested calls.
    pub id: String,
    /// The tool's name, as the caller gave it, cut where it is very long.
    pub name: String,
    /// The arguments, unless they were too large.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub arguments: Option<Value>,
    /// The size of arguments that were left out, in bytes of JSON.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub arguments_bytes: Option<usize>,
    /// The start of the JSON of arguments that are not kept whole; scripts make too many calls for more.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub arguments_start: Option<String>,
    /// What became of the call.
    pub status: CallStatus,
    /// Time from lookup to the last hook.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub duration_ms: Option<u64>,
    /// The start of the error's text.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub error: Option<String>,
}

impl Receipt {
    /// The receipt of a call that has started; arguments above [`RECEIPT_ARGUMENTS_BYTES_MAX`] are left out.
    pub fn started(id: &str, name: &str, arguments: &Value) -> Self {
        let size = json_size(arguments);
        if size <= RECEIPT_ARGUMENTS_BYTES_MAX {
            Self::new(id, name, Ok(arguments.clone()))
        } else {
            Self::new(id, name, Err(size))
        }
    }

    /// The receipt of a call that has started, of whose arguments the start is kept.
    pub fn with_start(id: &str, name: &str, arguments: &str) -> Self {
        Self {
            arguments_start: Some(excerpt(arguments, RECEIPT_START_CHARS_MAX)),
            ..Self::new(id, name, Err(arguments.len()))
        }
    }

    /// Like [`Receipt::with_start`], for arguments that are no text.
    pub fn with_start_of(id: &str, name: &str, arguments: &Value) -> Self {
        Self {
            arguments_start: Some(json_start(arguments)),
            ..Self::new(id, name, Err(json_size(arguments)))
        }
    }

    /// The arguments as JSON on one line, cut to [`RECEIPT_START_CHARS_MAX`]; empty where nothing is known of them.
    pub fn arguments_text(&self) -> String {
        match (&self.arguments, &self.arguments_start) {
            (Some(arguments), _) => json_start(arguments),
            (None, Some(start)) => start.clone(),
            (None, None) => String::new(),
        }
    }

    /// Which of its caller's calls it is, from 1; `None` for an id without a number.
    pub fn number(&self) -> Option<u64> {
        call_number(&self.id)
    }

    /// Whether it was open when its caller ended or stopped it.
    pub fn was_stopped(&self) -> bool {
        matches!(self.status, CallStatus::Cancelled | CallStatus::Unknown)
    }

    /// A receipt with its arguments, or with their size where they are left out.
    fn new(id: &str, name: &str, arguments: Result<Value, usize>) -> Self {
        let (arguments, arguments_bytes) = match arguments {
            Ok(arguments) => (Some(arguments), None),
            Err(size) => (None, Some(size)),
        };
        Self {
            id: id.to_owned(),
            name: name.chars().take(RECEIPT_NAME_CHARS_MAX).collect(),
            arguments,
            arguments_bytes,
            arguments_start: None,
            status: CallStatus::Unfinished,
            duration_ms: None,
            error: None,
        }
    }

    /// Closes the receipt; of the error's text as much is kept as [`RECEIPT_ERROR_CHARS_MAX`] says.
    pub fn end(&mut self, status: CallStatus, duration: Duration, error: Option<&str>) {
        self.status = status;
        self.duration_ms = Some(u64::try_from(duration.as_millis()).unwrap_or(u64::MAX));
        self.error = error.map(|text| text.chars().take(RECEIPT_ERROR_CHARS_MAX).collect());
    }

    /// Closes the receipt of a call of which nobody knows what became of it, nor when it ended.
    pub fn end_unknown(&mut self, error: &str) {
        self.end(CallStatus::Unknown, Duration::ZERO, Some(error));
        self.duration_ms = None;
    }

    /// Opens it again, for a call that goes on after it was stopped.
    pub fn reopen(&mut self) {
        self.status = CallStatus::Unfinished;
        self.duration_ms = None;
        self.error = None;
    }
}

/// What a record keeps of a failed call's result: the beginning of its text or, where it failed with data alone, of its data.
/// `None` for a call that did not fail.
pub(crate) fn error_text(result: &ToolResult) -> Option<String> {
    if !result.is_error {
        return None;
    }
    let mut text = String::new();
    for part in result.content.iter().filter_map(ContentBlock::as_text) {
        if !text.is_empty() {
            text.push('\n');
        }
        text.extend(part.chars().take(RECEIPT_ERROR_CHARS_MAX));
    }
    if text.is_empty()
        && let Some(data) = &result.structured
    {
        text = data.to_string();
    }
    let text: String = text.chars().take(RECEIPT_ERROR_CHARS_MAX).collect();
    (!text.is_empty()).then_some(text)
}

/// All receipts of one call.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct NestedCalls {
    /// In the order the calls started, over all depths.
    pub calls: Vec<Receipt>,
    /// Whether every call and all arguments are there and every call has ended.
    pub complete: bool,
}

/// Collects receipts while calls run. Clones share their content.
#[derive(Debug, Clone, Default)]
pub(crate) struct ReceiptLog {
    state: Arc<Mutex<LogState>>,
}

#[derive(Debug, Default)]
struct LogState {
    calls: Vec<Receipt>,
    arguments_bytes: usize,
    left_out: bool,
}

/// The place of one call in a [`ReceiptLog`]; `None` when the log was full.
#[derive(Debug, Clone, Copy)]
pub(crate) struct ReceiptSlot(Option<usize>);

impl ReceiptLog {
    pub(crate) fn start(&self, id: &str, name: &str, arguments: &Value) -> ReceiptSlot {
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        if state.calls.len() >= RECEIPT_CALLS_MAX {
            state.left_out = true;
            return ReceiptSlot(None);
        }
        let size = json_size(arguments);
        let fits = size <= RECEIPT_ARGUMENTS_BYTES_MAX
            && state.arguments_bytes + size <= RECEIPT_TOTAL_BYTES_MAX;
        if fits {
            state.arguments_bytes += size;
        } else {
            state.left_out = true;
        }
        let arguments = if fits {
            Ok(arguments.clone())
        } else {
            Err(size)
        };
        state.calls.push(Receipt::new(id, name, arguments));
        ReceiptSlot(Some(state.calls.len() - 1))
    }

    pub(crate) fn finish(
        &self,
        slot: ReceiptSlot,
        status: CallStatus,
        duration: Duration,
        error: Option<&str>,
    ) {
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(receipt) = slot.0.and_then(|index| state.calls.get_mut(index)) {
            receipt.end(status, duration, error);
        }
    }

    /// The receipts so far, or `None` when no call was made.
    pub(crate) fn snapshot(&self) -> Option<NestedCalls> {
        let state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        if state.calls.is_empty() {
            return None;
        }
        let all_ended = state
            .calls
            .iter()
            .all(|call| call.status != CallStatus::Unfinished);
        Some(NestedCalls {
            calls: state.calls.clone(),
            complete: all_ended && !state.left_out,
        })
    }
}

/// The number in `<parent>/<number>`.
pub fn call_number(call_id: &str) -> Option<u64> {
    call_id.rsplit('/').next()?.parse().ok()
}

/// The text, or its start with three dots where it is longer than `chars_max`.
pub fn excerpt(text: &str, chars_max: usize) -> String {
    if text.chars().nth(chars_max).is_none() {
        return text.to_owned();
    }
    let mut start: String = text.chars().take(chars_max.saturating_sub(3)).collect();
    start.push_str("...");
    start
}

/// The start of a value as compact JSON, without building the whole text.
pub fn json_start(value: &Value) -> String {
    /// What is written, until there is more than is shown.
    struct Start(Vec<u8>);
    impl std::io::Write for Start {
        fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
            if self.0.len() > START_BYTES_MAX {
                return Err(std::io::Error::other("enough"));
            }
            let room = START_BYTES_MAX + 1 - self.0.len().min(START_BYTES_MAX);
            self.0.extend(bytes.iter().take(room));
            Ok(bytes.len())
        }
        fn flush(&mut self) -> std::io::Result<()> {
            Ok(())
        }
    }
    let mut start = Start(Vec::new());
    // It ends early once there is enough.
    drop(serde_json::to_writer(&mut start, value));
    let text = String::from_utf8_lossy(&start.0);
    excerpt(&text, RECEIPT_START_CHARS_MAX)
}

/// The bytes of JSON that hold at least [`RECEIPT_START_CHARS_MAX`] characters and one more.
const START_BYTES_MAX: usize = 4 * (RECEIPT_START_CHARS_MAX + 1);

/// The length of a value as compact JSON, without building the text.
pub(crate) fn json_size(value: &Value) -> usize {
    struct Counter(usize);
    impl std::io::Write for Counter {
        fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
            self.0 += bytes.len();
            Ok(bytes.len())
        }
        fn flush(&mut self) -> std::io::Result<()> {
            Ok(())
        }
    }
    let mut counter = Counter(0);
    // A `Value` always serialises; an error could only come from the writer, which has none.
    drop(serde_json::to_writer(&mut counter, value));
    counter.0
}
