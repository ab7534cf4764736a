//! Answers on their way through the wire to rmcp, as events that rmcp cannot fail to understand.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use futures_util::StreamExt as _;
use futures_util::stream::{self, BoxStream};
use rmcp::model::{RequestId, ServerJsonRpcMessage};
use sse_stream::{Error as SseError, Sse};

use super::events::Decoded;
use super::source::{EVENT_BYTES_MAX, EventSource};
use crate::wire::Wire;

/// Events as rmcp's worker takes them.
pub(crate) type SseStream = BoxStream<'static, Result<Sse, SseError>>;

/// A server that asks to be asked again at once would get a request after the other.
const RETRY_MIN: Duration = Duration::from_millis(100);
/// Longer than any connection waits for anything.
const RETRY_MAX: Duration = Duration::from_hours(1);
/// More requests than this are not in flight; those beyond were given up and nobody said so.
const RESUMABLE_MAX: usize = 256;
/// A standing stream that ends within this time with nothing on it was not worth opening.
const FLAP_MAX: Duration = Duration::from_secs(1);
/// After so many of them in a row none is opened any more.
const FLAPS_MAX: u32 = 5;

/// What the streams of one connection know of each other.
#[derive(Debug, Default)]
pub(crate) struct Streams {
    /// Requests whose stream may be resumed, with the id of its last event; oldest first.
    resumable: Mutex<VecDeque<(RequestId, String)>>,
    /// Standing streams in a row that ended at once.
    flaps: Mutex<u32>,
}

impl Streams {
    /// The request whose stream ended with this event.
    pub(crate) fn request_after(&self, event_id: &str) -> Option<RequestId> {
        let resumable = self
            .resumable
            .lock()
            .unwrap_or_else(PoisonError::into_inner);
        resumable
            .iter()
            .find(|(_, last)| last == event_id)
            .map(|(request, _)| request.clone())
    }

    /// Whether standing streams of this server are worth opening.
    pub(crate) fn standing_is_useful(&self) -> bool {
        *self.flaps.lock().unwrap_or_else(PoisonError::into_inner) < FLAPS_MAX
    }

    /// Forgets a request: it is answered or given up.
    pub(crate) fn forget(&self, request: &RequestId) {
        self.resumable
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .retain(|(resumable, _)| resumable != request);
    }

    fn reached(&self, request: &RequestId, event_id: &str) {
        self.forget(request);
        let mut resumable = self
            .resumable
            .lock()
            .unwrap_or_else(PoisonError::into_inner);
        if resumable.len() == RESUMABLE_MAX {
            resumable.pop_front();
        }
        resumable.push_back((request.clone(), event_id.to_owned()));
    }

    fn standing_ended(&self, lived: Duration, was_used: bool) {
        let mut flaps = self.flaps.lock().unwrap_or_else(PoisonError::into_inner);
        *flaps = if was_used || lived > FLAP_MAX {
            0
        } else {
            *flaps + 1
        };
    }
}

/// The messages of one answer as events: that of `request` last, because rmcp closes a stream after it.
pub(crate) fn events_of(messages: Vec<ServerJsonRpcMessage>, request: &RequestId) -> SseStream {
    let events: Vec<_> = in_order(messages, Some(request))
        .iter()
        .filter_map(event_of)
        .map(Ok)
        .collect();
    stream::iter(events).boxed()
}

/// Whether a message is the answer of a request.
pub(crate) fn is_answer_of(message: &ServerJsonRpcMessage, request: &RequestId) -> bool {
    match message {
        ServerJsonRpcMessage::Response(response) => response.id == *request,
        ServerJsonRpcMessage::Error(error) => error.id.as_ref() == Some(request),
        ServerJsonRpcMessage::Request(_) | ServerJsonRpcMessage::Notification(_) => false,
    }
}

/// What a stream of events is for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum StreamOf {
    /// The answer of a request, perhaps resumed.
    Request(RequestId),
    /// Whatever the server has to say.
    Server,
}

/// The events of a source, each message of them passed through the wire.
pub(crate) fn through_wire(
    source: EventSource,
    wire: Wire,
    of: StreamOf,
    streams: Arc<Streams>,
) -> SseStream {
    let state = Answers {
        source,
        wire,
        request: match of {
            StreamOf::Request(request) => Some(request),
            StreamOf::Server => None,
        },
        streams,
        ready: VecDeque::new(),
        stage: Stage::Open,
        resumable: false,
        was_used: false,
        opened: Instant::now(),
    };
    stream::unfold(state, |mut state| async move {
        let event = state.next().await?;
        Some((Ok(event), state))
    })
    .boxed()
}

struct Answers {
    source: EventSource,
    wire: Wire,
    request: Option<RequestId>,
    streams: Arc<Streams>,
    ready: VecDeque<Sse>,
    stage: Stage,
    /// Whether an event had an id, so that rmcp resumes the stream by itself.
    resumable: bool,
    was_used: bool,
    opened: Instant,
}

/// How far a stream has come.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Stage {
    Open,
    /// The answer of its request has gone through.
    Answered,
    Ended,
}

impl Answers {
    async fn next(&mut self) -> Option<Sse> {
        loop {
            if let Some(event) = self.ready.pop_front() {
                return Some(event);
            }
            if self.stage == Stage::Ended {
                return None;
            }
            match self.source.next().await {
                Some(Decoded::Event(event)) => self.take_event(event),
                Some(Decoded::TooLarge { id }) => self.take_oversize(id),
                None => self.end(),
            }
        }
    }

    fn take_event(&mut self, event: Sse) {
        self.was_used = true;
        let is_message = matches!(event.event.as_deref(), None | Some("" | "message"));
        let data = event
            .data
            .filter(|data| is_message && !data.trim().is_empty());
        let messages = match data {
            Some(data) => {
                // What does not even look like a message, such as a "ping", is nobody's answer.
                let looks_like_json = data.trim_start().starts_with(['{', '[']);
                let request = self.request.as_ref().filter(|_| looks_like_json);
                self.wire.incoming(data.as_bytes(), request)
            }
            None => Vec::new(),
        };
        self.push(messages, event.id, event.retry);
    }

    fn take_oversize(&mut self, id: Option<String>) {
        self.was_used = true;
        let request = self.request.as_ref().filter(|request| self.is_due(request));
        let failure = request.map(|request| {
            let message = format!(
                "the server's answer is too long: more than {} MiB",
                EVENT_BYTES_MAX >> 20
            );
            self.wire.failure(request, &message)
        });
        self.push(failure.into_iter().collect(), id, None);
    }

    /// Queues messages as events: the id on the last, so that a resumed stream brings again what was not delivered.
    fn push(
        &mut self,
        messages: Vec<ServerJsonRpcMessage>,
        id: Option<String>,
        retry: Option<u64>,
    ) {
        let id = id.filter(|id| !id.is_empty());
        if let Some(request) = &self.request {
            if messages
                .iter()
                .any(|message| is_answer_of(message, request))
            {
                self.stage = Stage::Answered;
                self.streams.forget(request);
            } else if let (Some(id), Stage::Open) = (&id, self.stage) {
                self.resumable = true;
                self.streams.reached(request, id);
            }
        }
        let mut events: VecDeque<_> = in_order(messages, self.request.as_ref())
            .iter()
            .filter_map(event_of)
            .collect();
        if events.is_empty() {
            events.push_back(Sse::default());
        }
        if let Some(first) = events.front_mut() {
            first.retry = retry.map(bounded_retry_ms);
        }
        if let Some(last) = events.back_mut() {
            last.id = id;
        }
        self.ready.extend(events);
    }

    /// Whether the answer has come on no stream yet, and is still wanted.
    fn is_due(&self, request: &RequestId) -> bool {
        self.stage == Stage::Open && self.wire.open_requests().contains(request)
    }

    fn end(&mut self) {
        match &self.request {
            Some(request) if self.is_due(request) && !self.resumable => {
                let failure = self.wire.failure(
                    request,
                    "the server's stream of events ended before its answer",
                );
                self.push(vec![failure], None, None);
            }
            Some(_) => {}
            None => self
                .streams
                .standing_ended(self.opened.elapsed(), self.was_used),
        }
        self.stage = Stage::Ended;
    }
}

fn in_order(
    mut messages: Vec<ServerJsonRpcMessage>,
    request: Option<&RequestId>,
) -> Vec<ServerJsonRpcMessage> {
    if let Some(request) = request {
        messages.sort_by_key(|message| is_answer_of(message, request));
    }
    messages
}

fn event_of(message: &ServerJsonRpcMessage) -> Option<Sse> {
    // A message that was read from JSON can be written as JSON.
    let data = serde_json::to_string(message).ok()?;
    Some(Sse::default().data(data))
}

fn bounded_retry_ms(retry_ms: u64) -> u64 {
    let bounded = Duration::from_millis(retry_ms).clamp(RETRY_MIN, RETRY_MAX);
    u64::try_from(bounded.as_millis()).unwrap_or(retry_ms)
}
