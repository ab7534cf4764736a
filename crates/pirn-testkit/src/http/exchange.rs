//! Writing the response to one HTTP request, byte by byte.

use std::fmt::Write as _;
use std::io;
use std::sync::Arc;

use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _, BufReader};
use tokio::net::tcp::{OwnedReadHalf, OwnedWriteHalf};
use tokio::sync::Mutex;

use super::HttpStyle;
use crate::log::{Log, Seen};

/// Both directions of a connection.
pub(super) type Halves = (BufReader<OwnedReadHalf>, OwnedWriteHalf);

/// The response to one request.
#[derive(Debug)]
pub(crate) struct Exchange {
    reader: BufReader<OwnedReadHalf>,
    pub(crate) events: Events,
    style: HttpStyle,
    pub(crate) status: u16,
    pub(crate) headers: Vec<(&'static str, String)>,
    state: State,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum State {
    Empty,
    /// Events are being sent.
    Streaming,
    /// The whole response was sent; the connection can be used again.
    Complete,
    /// Something was sent after which the connection cannot be used again.
    Raw,
}

/// A response body of server-sent events, in chunks.
#[derive(Debug)]
pub(crate) struct Events {
    writer: OwnedWriteHalf,
    /// Fields of the next event.
    pub(crate) fields: Vec<(&'static str, &'static str)>,
}

impl Events {
    /// Sends one event with its fields; each line of the text is a line of its data.
    pub(crate) async fn event(&mut self, data: &[u8]) -> io::Result<()> {
        let mut event = Vec::with_capacity(data.len() + 64);
        for (name, value) in self.fields.drain(..) {
            event.extend_from_slice(format!("{name}: {value}\n").as_bytes());
        }
        for line in data.split(|byte| *byte == b'\n') {
            event.extend_from_slice(b"data: ");
            event.extend_from_slice(line);
            event.push(b'\n');
        }
        event.push(b'\n');
        self.chunk(&event).await
    }

    /// Sends bytes as one chunk of the body.
    pub(crate) async fn chunk(&mut self, bytes: &[u8]) -> io::Result<()> {
        self.writer
            .write_all(format!("{:x}\r\n", bytes.len()).as_bytes())
            .await?;
        self.writer.write_all(bytes).await?;
        self.writer.write_all(b"\r\n").await
    }
}

impl Exchange {
    pub(super) fn new((reader, writer): Halves, style: HttpStyle) -> Self {
        Self {
            reader,
            events: Events {
                writer,
                fields: Vec::new(),
            },
            style,
            status: 200,
            headers: Vec::new(),
            state: State::Empty,
        }
    }

    /// The connection, where another request may follow on it.
    pub(super) fn into_halves(self) -> Option<Halves> {
        (self.state == State::Complete).then_some((self.reader, self.events.writer))
    }

    /// Sends one message: the whole body, or an event.
    pub(crate) async fn message(&mut self, text: &[u8]) -> io::Result<()> {
        if self.style == HttpStyle::Events && self.status == 200 {
            self.stream().await?;
        }
        match self.state {
            State::Empty => {
                self.head(&[
                    ("content-type", "application/json"),
                    ("content-length", &text.len().to_string()),
                ])
                .await?;
                self.state = State::Complete;
                self.events.writer.write_all(text).await
            }
            State::Streaming => self.events.event(text).await,
            State::Complete | State::Raw => Ok(()),
        }
    }

    /// Sends bytes: a chunk of events, or instead of a response.
    pub(crate) async fn bytes(&mut self, bytes: &[u8]) -> io::Result<()> {
        match self.state {
            State::Streaming => self.events.chunk(bytes).await,
            State::Empty | State::Raw => {
                self.state = State::Raw;
                self.events.writer.write_all(bytes).await
            }
            State::Complete => Ok(()),
        }
    }

    /// Sends the head of a body of this length, unless events are being sent.
    pub(crate) async fn announce(&mut self, length: usize) -> io::Result<()> {
        if self.state == State::Empty {
            self.head(&[
                ("content-type", "application/json"),
                ("content-length", &length.to_string()),
                // What follows is not looked at, so the connection ends with it; without a word of that the client could
                // send its next request into the end.
                ("connection", "close"),
            ])
            .await?;
            self.state = State::Raw;
        }
        Ok(())
    }

    /// Begins a body of events.
    pub(crate) async fn stream(&mut self) -> io::Result<()> {
        if self.state == State::Empty {
            self.head(&[
                ("content-type", "text/event-stream"),
                ("transfer-encoding", "chunked"),
            ])
            .await?;
            self.state = State::Streaming;
        }
        Ok(())
    }

    /// Ends the response in order.
    pub(crate) async fn finish(&mut self) -> io::Result<()> {
        match self.state {
            State::Empty => {
                self.head(&[("content-length", "0")]).await?;
                self.state = State::Complete;
            }
            State::Streaming => {
                self.events.writer.write_all(b"0\r\n\r\n").await?;
                self.state = State::Complete;
            }
            State::Complete | State::Raw => {}
        }
        Ok(())
    }

    /// Waits until the client closes the connection, which is an error.
    pub(crate) async fn until_hang_up(&mut self) -> io::Result<()> {
        let mut ignored = [0; 1024];
        while self.reader.read(&mut ignored).await? > 0 {}
        Err(io::ErrorKind::BrokenPipe.into())
    }

    /// Turns the response into the stream of the transport of 2024, and keeps it open.
    pub(super) async fn become_stream(
        mut self,
        endpoint: &[u8],
        place: &Arc<Mutex<Option<Events>>>,
        log: &Log,
    ) -> io::Result<()> {
        self.stream().await?;
        self.events.fields.push(("event", "endpoint"));
        self.events.event(endpoint).await?;
        let Self {
            mut reader, events, ..
        } = self;
        *place.lock().await = Some(events);
        let mut ignored = [0; 1024];
        while reader.read(&mut ignored).await? > 0 {}
        log.push(Seen::hang_up());
        Ok(())
    }

    /// Sends the status and the headers, those of the script before these.
    async fn head(&mut self, headers: &[(&str, &str)]) -> io::Result<()> {
        let mut head = format!("HTTP/1.1 {} Status\r\n", self.status);
        let given = self
            .headers
            .iter()
            .map(|(name, value)| (*name, value.as_str()));
        let usual = headers
            .iter()
            .copied()
            .filter(|(name, _)| self.headers.iter().all(|(given, _)| given != name));
        for (name, value) in given.chain(usual) {
            let _infallible = write!(head, "{name}: {value}\r\n");
        }
        head.push_str("\r\n");
        self.events.writer.write_all(head.as_bytes()).await
    }
}
