//! Server-sent events from bytes that arrive in any pieces.
//!
//! Written after <https://html.spec.whatwg.org/multipage/server-sent-events.html>: lines end in LF, CR or CRLF, a blank line
//! ends an event, a line that begins with a colon is a comment. Unlike a browser it hands out events without data too, because
//! their id and retry time matter to whoever resumes a stream.

#[cfg(test)]
mod tests;

use sse_stream::Sse;

/// How much of a line is kept while an oversize event is skipped: enough for its id.
const SKIPPED_LINE_BYTES_MAX: usize = 1024;

/// Turns pieces of a stream into events. Its work is linear in the bytes, and it keeps at most one event and one line.
#[derive(Debug)]
pub(crate) struct EventDecoder {
    event_bytes_max: usize,
    /// The line that has not ended yet.
    line: Vec<u8>,
    /// Its length, also where not all of it is kept.
    line_bytes: usize,
    /// Whether the next byte belongs to the line end before it if it is LF.
    after_carriage_return: bool,
    first_line: bool,
    event: Pending,
}

/// What came out of the stream.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Decoded {
    /// An event; `data` is `None` where it had none.
    Event(Sse),
    /// An event beyond the limit, left out.
    TooLarge {
        /// Its id, where it was found.
        id: Option<String>,
    },
}

/// The event whose blank line has not come yet.
#[derive(Debug, Default)]
struct Pending {
    name: Option<Vec<u8>>,
    data: Option<Vec<u8>>,
    id: Option<String>,
    retry_ms: Option<u64>,
    bytes: usize,
    too_large: bool,
}

impl EventDecoder {
    /// A decoder for one stream. Events whose lines are longer than `event_bytes_max` in all are left out.
    pub(crate) fn new(event_bytes_max: usize) -> Self {
        Self {
            event_bytes_max,
            line: Vec::new(),
            line_bytes: 0,
            after_carriage_return: false,
            first_line: true,
            event: Pending::default(),
        }
    }

    /// Takes the next piece and returns the events it completes.
    pub(crate) fn feed(&mut self, piece: &[u8]) -> Vec<Decoded> {
        let mut decoded = Vec::new();
        let mut rest = piece;
        if self.after_carriage_return && !rest.is_empty() {
            self.after_carriage_return = false;
            rest = rest.strip_prefix(b"\n").unwrap_or(rest);
        }
        while let Some(end) = rest.iter().position(|&byte| byte == b'\n' || byte == b'\r') {
            let (text, tail) = rest.split_at(end);
            self.extend_line(text);
            rest = match tail {
                [b'\r', b'\n', after @ ..] | [_, after @ ..] => after,
                [] => tail,
            };
            // A CR at the very end may be half of a CRLF.
            self.after_carriage_return = rest.is_empty() && tail == b"\r";
            decoded.extend(self.end_line());
        }
        self.extend_line(rest);
        decoded
    }

    /// The event that the stream's end left without its blank line, if it has data: servers written by hand forget that line.
    /// Whether the data is whole is for the caller to judge.
    pub(crate) fn finish(&mut self) -> Option<Sse> {
        if self.line_bytes > 0 {
            drop(self.end_line());
        }
        match self.event.take() {
            Some(Decoded::Event(event)) if event.data.is_some() => Some(event),
            Some(Decoded::Event(_) | Decoded::TooLarge { .. }) | None => None,
        }
    }

    fn extend_line(&mut self, text: &[u8]) {
        self.line_bytes = self.line_bytes.saturating_add(text.len());
        if self.event.bytes.saturating_add(self.line_bytes) > self.event_bytes_max {
            self.event.give_up();
        }
        let room = if self.event.too_large {
            self.line.truncate(SKIPPED_LINE_BYTES_MAX);
            SKIPPED_LINE_BYTES_MAX - self.line.len()
        } else {
            text.len()
        };
        self.line.extend(text.iter().take(room));
    }

    fn end_line(&mut self) -> Option<Decoded> {
        let mut line = std::mem::take(&mut self.line);
        let line_bytes = std::mem::take(&mut self.line_bytes);
        if std::mem::take(&mut self.first_line) && line.starts_with("\u{feff}".as_bytes()) {
            line.drain(.."\u{feff}".len());
        }
        let decoded = if line.is_empty() {
            self.event.take()
        } else {
            if line_bytes == line.len() || !self.event.too_large {
                self.event.field(&line, line_bytes);
            }
            None
        };
        // The buffer serves the next line; one that grew for a large event goes back.
        line.clear();
        line.shrink_to(SKIPPED_LINE_BYTES_MAX);
        self.line = line;
        decoded
    }
}

impl Pending {
    fn field(&mut self, line: &[u8], line_bytes: usize) {
        let colon = line.iter().position(|&byte| byte == b':');
        let (name, value) = line.split_at(colon.unwrap_or(line.len()));
        let value = value.strip_prefix(b":").unwrap_or(value);
        let value = value.strip_prefix(b" ").unwrap_or(value);
        match name {
            b"id" if value.contains(&0) => {}
            b"id" => self.id = Some(String::from_utf8_lossy(value).into_owned()),
            _ if self.too_large => {}
            b"event" => self.name = Some(value.to_vec()),
            b"retry" => {
                if let Some(retry_ms) = whole_number(value) {
                    self.retry_ms = Some(retry_ms);
                }
            }
            b"data" => match &mut self.data {
                Some(data) => {
                    data.push(b'\n');
                    data.extend_from_slice(value);
                }
                None => self.data = Some(value.to_vec()),
            },
            // A comment keeps nothing, so it counts for nothing either.
            b"" => return,
            _ => {}
        }
        // The line's end counts, or a million empty data lines would be free.
        self.bytes = self.bytes.saturating_add(line_bytes).saturating_add(1);
    }

    fn give_up(&mut self) {
        self.too_large = true;
        self.name = None;
        self.data = None;
    }

    fn take(&mut self) -> Option<Decoded> {
        let event = std::mem::take(self);
        if event.too_large {
            return Some(Decoded::TooLarge { id: event.id });
        }
        let text = |bytes: Vec<u8>| String::from_utf8_lossy(&bytes).into_owned();
        let event = Sse {
            event: event.name.map(text),
            data: event.data.map(text),
            id: event.id,
            retry: event.retry_ms,
        };
        (event != Sse::default()).then_some(Decoded::Event(event))
    }
}

/// The number, if the value is digits only; a larger one than fits is as good as never.
fn whole_number(value: &[u8]) -> Option<u64> {
    if value.is_empty() || !value.iter().all(u8::is_ascii_digit) {
        return None;
    }
    let text = std::str::from_utf8(value).ok()?;
    Some(text.parse().unwrap_or(u64::MAX))
}
