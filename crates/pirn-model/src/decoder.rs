//! Bytes in, events out: one reply, whatever the wire.

use serde_json::Value;

use crate::draft::{Draft, ReplyEvent};
use crate::failure::{Failure, FailureKind, error_in, error_text};
use crate::message::{AssistantMessage, StopReason};
use crate::model::{Model, ThinkingLevel};
use crate::sse::{Event, SseDecoder};
use crate::usage::{Prices, RequestUsage};
use crate::wire::{Wire, decoder};

/// What a piece of a stream was.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Progress {
    /// The model said something.
    Data,
    /// Nothing but comments or a part of an event: the connection is alive, the model may not be.
    KeepAlive,
}

/// How a stream ended.
#[derive(Debug, Clone, PartialEq)]
pub enum StreamEnd {
    /// The server closed it.
    Closed,
    /// It broke, or was stopped.
    Failed(Failure),
}

/// A reply from its begin to its end.
#[derive(Debug, Clone, PartialEq)]
pub struct Reply {
    /// The message for the session. With a failure it holds what had come by then.
    pub message: AssistantMessage,
    /// What failed, where the reply ended by it.
    pub failure: Option<Failure>,
}

/// Reads one reply. However the bytes are cut, the events and the reply are the same.
pub struct ReplyDecoder {
    sse: SseDecoder,
    reading: Reading,
    message: AssistantMessage,
    prices: Prices,
}

struct Reading {
    wire: Box<dyn Wire>,
    draft: Draft,
    had_data: bool,
}

impl std::fmt::Debug for ReplyDecoder {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter
            .debug_struct("ReplyDecoder")
            .field("draft", &self.reading.draft)
            .finish_non_exhaustive()
    }
}

/// The last event of chat completions.
const DONE: &[u8] = b"[DONE]";
/// How much of something unreadable is shown.
const SHOWN_CHARACTERS_MAX: usize = 200;

impl ReplyDecoder {
    /// A decoder of the model's wire. `timestamp` is when the request was made, in milliseconds since 1970.
    pub fn new(model: &Model, thinking: ThinkingLevel, timestamp: u64) -> Self {
        Self {
            sse: SseDecoder::default(),
            reading: Reading {
                wire: decoder(model),
                draft: Draft::default(),
                had_data: false,
            },
            message: AssistantMessage {
                content: Vec::new(),
                api: model.api.as_str().to_owned(),
                provider: model.provider.clone(),
                model: model.id.clone(),
                response_model: None,
                response_id: None,
                thinking_level: Some(thinking.as_str().to_owned()),
                usage: RequestUsage::default(),
                stop_reason: StopReason::Pending,
                raw_stop_reason: None,
                error_message: None,
                duration_ms: None,
                timestamp,
                other: serde_json::Map::new(),
            },
            prices: model.cost.clone(),
        }
    }

    /// Reads further bytes, wherever they were split.
    pub fn push(&mut self, bytes: &[u8]) -> Progress {
        let reading = &mut self.reading;
        reading.had_data = false;
        if self
            .sse
            .push(bytes, &mut |event| reading.event(&event))
            .is_err()
        {
            let failure = Failure::new(
                FailureKind::Stream,
                "the server sent an event of more than 64 MiB",
            );
            reading.draft.fail(failure);
        }
        if reading.had_data {
            Progress::Data
        } else {
            Progress::KeepAlive
        }
    }

    /// What happened since the last time.
    pub fn take_events(&mut self) -> Vec<ReplyEvent> {
        std::mem::take(&mut self.reading.draft.events)
    }

    /// Whether the reply is complete, or has failed: nothing that comes now counts.
    pub fn is_complete(&self) -> bool {
        let draft = &self.reading.draft;
        draft.ending.failure.is_some() || self.reading.wire.is_complete(draft)
    }

    /// Whether the model has said anything yet.
    pub fn has_begun(&self) -> bool {
        !self.reading.draft.is_empty()
    }

    /// What was used so far, as far as the vendor said.
    pub fn usage(&self) -> RequestUsage {
        let mut usage = self.reading.draft.usage;
        usage.complete();
        usage
    }

    /// The reply, with the last events.
    pub fn finish(mut self, end: StreamEnd) -> (Vec<ReplyEvent>, Reply) {
        let reading = &mut self.reading;
        self.sse.finish(&mut |event| reading.event(&event));
        if let Some(text) = self.sse.foreign_text() {
            reading.foreign(&text);
        }
        if let StreamEnd::Failed(failure) = end
            && !reading.wire.is_complete(&reading.draft)
        {
            reading.draft.fail(failure);
        }
        let (stop, failure) = reading.draft.conclude();
        let events = std::mem::take(&mut reading.draft.events);
        let mut message = self.message;
        self.reading.draft.write_to(&mut message);
        message.stop_reason = match &failure {
            Some(failure) if failure.kind == FailureKind::Aborted => StopReason::Aborted,
            Some(_) | None => stop,
        };
        message.error_message = failure.as_ref().map(|failure| failure.message.clone());
        message.usage.cost = self.prices.cost(&message.usage);
        (events, Reply { message, failure })
    }
}

impl Reading {
    fn event(&mut self, event: &Event<'_>) {
        if self.draft.ending.failure.is_some() {
            return;
        }
        let data = event.data.trim_ascii();
        if data.is_empty() {
            return;
        }
        self.had_data = true;
        if data == DONE {
            self.draft.ending.is_complete = true;
            return;
        }
        if self.wire.piece(data, &mut self.draft) {
            return;
        }
        match serde_json::from_slice::<Value>(data) {
            Ok(value) => {
                if let Some(text) = stream_error(&value) {
                    self.draft.fail(Failure::from_vendor(text));
                } else {
                    self.wire.event(event.name, value, &mut self.draft);
                }
            }
            Err(error) => {
                let text: String = String::from_utf8_lossy(data)
                    .chars()
                    .take(SHOWN_CHARACTERS_MAX)
                    .collect();
                let message =
                    format!("the server sent an event that is not JSON ({error}): {text}");
                self.draft.fail(Failure::new(FailureKind::Stream, message));
            }
        }
    }

    /// Something else than an event stream came, with a status of success.
    fn foreign(&mut self, text: &str) {
        if let Ok(value) = serde_json::from_str::<Value>(text) {
            if let Some(error) = stream_error(&value) {
                self.draft.fail(Failure::from_vendor(error));
                return;
            }
            if self.wire.whole(value, &mut self.draft) {
                self.draft.ending.is_complete = true;
                return;
            }
        }
        let shown = error_text(text);
        self.draft.fail(Failure::new(
            FailureKind::Stream,
            format!("the server did not answer with an event stream: {shown}"),
        ));
    }
}

/// The error that an event carries in place of something said; some hosts put it into a list.
fn stream_error(value: &Value) -> Option<String> {
    let first = value
        .as_array()
        .map_or(Some(value), |items| items.first())?;
    let error = first.get("error").filter(|error| !error.is_null())?;
    Some(error_in(value).unwrap_or_else(|| error.to_string()))
}
