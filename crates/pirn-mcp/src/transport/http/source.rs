//! The events of a response's body.

use std::collections::VecDeque;

use serde::de::IgnoredAny;
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;

use super::events::{Decoded, EventDecoder};
use super::exchange::Reply;

/// The most one event may have: what rmcp and other clients allow.
pub(crate) const EVENT_BYTES_MAX: usize = 16 * 1024 * 1024;

/// Reads events from a body until it ends, breaks, or the connection is closed.
#[derive(Debug)]
pub(crate) struct EventSource {
    reply: Reply,
    decoder: EventDecoder,
    ready: VecDeque<Decoded>,
    cancel: CancellationToken,
    deadline: Option<Instant>,
    ended: bool,
}

impl EventSource {
    /// The events of a reply, until `cancel` fires or, where there is one, the deadline passes.
    pub(crate) fn new(reply: Reply, cancel: CancellationToken, deadline: Option<Instant>) -> Self {
        Self {
            reply,
            decoder: EventDecoder::new(EVENT_BYTES_MAX),
            ready: VecDeque::new(),
            cancel,
            deadline,
            ended: false,
        }
    }

    /// The next event; `None` when there are no more, for whatever reason: to the protocol an end and a break are the same.
    /// Nothing is lost when the future is dropped.
    pub(crate) async fn next(&mut self) -> Option<Decoded> {
        loop {
            if let Some(decoded) = self.ready.pop_front() {
                return Some(decoded);
            }
            if self.ended {
                return None;
            }
            let deadline = self.deadline;
            let late = async {
                match deadline {
                    Some(deadline) => tokio::time::sleep_until(deadline).await,
                    None => std::future::pending().await,
                }
            };
            let piece = tokio::select! {
                piece = self.reply.response.chunk() => piece,
                () = self.cancel.cancelled() => Ok(None),
                () = late => Ok(None),
            };
            if let Ok(Some(piece)) = piece {
                self.ready.extend(self.decoder.feed(&piece));
            } else {
                self.ended = true;
                let last = self.decoder.finish().filter(|event| {
                    event
                        .data
                        .as_deref()
                        .is_some_and(|data| serde_json::from_str::<IgnoredAny>(data).is_ok())
                });
                self.ready.extend(last.map(Decoded::Event));
            }
        }
    }

    /// Where the events come from after redirects.
    pub(crate) fn url(&self) -> &url::Url {
        &self.reply.url
    }
}
