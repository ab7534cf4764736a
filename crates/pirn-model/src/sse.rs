//! Server-sent events out of bytes, however they are cut.

use memchr::memchr2;

/// An event's bytes at most: a reply's last event may repeat the whole reply, with pictures.
const EVENT_BYTES_MAX: usize = 64 << 20;
/// How much is kept of a body that is no event stream: enough for the error that a proxy or vendor writes there.
const FOREIGN_BYTES_MAX: usize = 64 << 10;

/// One event of a stream, as the server sent it.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Event<'a> {
    /// Its name; empty where it has none.
    pub(crate) name: &'a str,
    /// Its data, lines joined with newlines.
    pub(crate) data: &'a [u8],
}

/// Reads events. What does not look like an event is kept as the text of an error.
#[derive(Debug, Default)]
pub(crate) struct SseDecoder {
    /// The line that is not complete yet.
    line: Vec<u8>,
    /// The last line ended with CR: an LF that follows belongs to it.
    after_cr: bool,
    /// A line was read, so no byte-order mark may come any more.
    is_begun: bool,
    name: String,
    /// The data of the event that goes on; `None` where it has none yet.
    data: Option<Vec<u8>>,
    /// Memory for the data of the next event.
    spare: Vec<u8>,
    seen_event: bool,
    foreign: Vec<u8>,
}

/// An event is larger than anything a model says.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct TooLarge;

impl SseDecoder {
    /// Reads on. `sink` gets every event that is complete.
    pub(crate) fn push(
        &mut self,
        mut bytes: &[u8],
        sink: &mut impl FnMut(Event<'_>),
    ) -> Result<(), TooLarge> {
        while let Some((&first, rest)) = bytes.split_first() {
            if std::mem::take(&mut self.after_cr) && first == b'\n' {
                bytes = rest;
                continue;
            }
            let Some(end) = memchr2(b'\n', b'\r', bytes) else {
                self.line.extend_from_slice(bytes);
                return self.bounded();
            };
            let (head, tail) = bytes.split_at(end);
            self.after_cr = tail.first() == Some(&b'\r');
            bytes = tail.get(1..).unwrap_or_default();
            if self.line.is_empty() {
                self.end_line(head, sink);
            } else {
                self.line.extend_from_slice(head);
                let line = std::mem::take(&mut self.line);
                self.end_line(&line, sink);
                self.line = line;
                self.line.clear();
            }
            self.bounded()?;
        }
        Ok(())
    }

    /// The stream has ended: a last event without the empty line behind it counts, since some servers leave that out.
    pub(crate) fn finish(&mut self, sink: &mut impl FnMut(Event<'_>)) {
        let line = std::mem::take(&mut self.line);
        if !line.is_empty() {
            self.end_line(&line, sink);
        }
        self.end_event(sink);
    }

    /// What came instead of events. `None` where there was an event.
    pub(crate) fn foreign_text(&self) -> Option<String> {
        let text = String::from_utf8_lossy(&self.foreign);
        (!self.seen_event && !text.trim().is_empty()).then(|| text.trim().to_owned())
    }

    fn bounded(&self) -> Result<(), TooLarge> {
        if self.line.len() + self.data.as_ref().map_or(0, Vec::len) > EVENT_BYTES_MAX {
            return Err(TooLarge);
        }
        Ok(())
    }

    fn end_line(&mut self, mut line: &[u8], sink: &mut impl FnMut(Event<'_>)) {
        if !std::mem::replace(&mut self.is_begun, true) {
            line = line.strip_prefix("\u{feff}".as_bytes()).unwrap_or(line);
        }
        if line.is_empty() {
            self.end_event(sink);
            return;
        }
        let colon = memchr::memchr(b':', line);
        let (field, value) = match colon {
            Some(at) => line.split_at(at),
            None => (line, &b""[..]),
        };
        let value = value.strip_prefix(b":").unwrap_or(value);
        let value = value.strip_prefix(b" ").unwrap_or(value);
        match field {
            b"data" => {
                match &mut self.data {
                    Some(data) => data.push(b'\n'),
                    None => self.data = Some(std::mem::take(&mut self.spare)),
                }
                if let Some(data) = &mut self.data {
                    data.extend_from_slice(value);
                }
            }
            b"event" => {
                self.name.clear();
                self.name.push_str(&String::from_utf8_lossy(value));
            }
            // A comment, which keeps the connection alive and says nothing; and what only browsers need.
            b"" | b"id" | b"retry" => {}
            _ => self.keep_foreign(line),
        }
    }

    fn keep_foreign(&mut self, line: &[u8]) {
        let room = FOREIGN_BYTES_MAX.saturating_sub(self.foreign.len());
        self.foreign
            .extend_from_slice(line.get(..room).unwrap_or(line));
        self.foreign.push(b'\n');
    }

    fn end_event(&mut self, sink: &mut impl FnMut(Event<'_>)) {
        if let Some(data) = self.data.take() {
            self.seen_event = true;
            sink(Event {
                name: &self.name,
                data: &data,
            });
            self.spare = data;
            self.spare.clear();
        }
        self.name.clear();
    }
}

#[cfg(test)]
mod tests;
