//! Where the messages of a fake server go.

use std::io;
use std::sync::Arc;

use tokio::io::AsyncWriteExt as _;
use tokio::sync::Mutex;

use crate::http::{Events, Exchange};

/// Where the answer to one message goes.
#[derive(Debug)]
pub(crate) enum Channel {
    /// A process's standard output.
    Pipe(Arc<Mutex<tokio::io::Stdout>>),
    /// The response to one HTTP request.
    Exchange(Box<Exchange>),
    /// The one stream of the transport of 2024, once it is open.
    Shared(Arc<Mutex<Option<Events>>>),
}

impl Channel {
    /// Sends one message to the client.
    pub(crate) async fn message(&mut self, text: &[u8]) -> io::Result<()> {
        match self {
            Self::Pipe(pipe) => write(pipe, &[text, b"\n"]).await,
            Self::Exchange(exchange) => exchange.message(text).await,
            Self::Shared(stream) => match stream.lock().await.as_mut() {
                Some(events) => events.event(text).await,
                None => Ok(()),
            },
        }
    }

    /// Sends bytes as they are.
    pub(crate) async fn bytes(&mut self, bytes: &[u8]) -> io::Result<()> {
        match self {
            Self::Pipe(pipe) => write(pipe, &[bytes]).await,
            Self::Exchange(exchange) => exchange.bytes(bytes).await,
            Self::Shared(stream) => match stream.lock().await.as_mut() {
                Some(events) => events.chunk(bytes).await,
                None => Ok(()),
            },
        }
    }

    /// Says how many bytes will follow, where that has to be said.
    pub(crate) async fn announce(&mut self, length: usize) -> io::Result<()> {
        match self {
            Self::Exchange(exchange) => exchange.announce(length).await,
            Self::Pipe(_) | Self::Shared(_) => Ok(()),
        }
    }

    /// Begins a stream of events, where that is a choice.
    pub(crate) async fn stream(&mut self) -> io::Result<()> {
        match self {
            Self::Exchange(exchange) => exchange.stream().await,
            Self::Pipe(_) | Self::Shared(_) => Ok(()),
        }
    }

    /// Does nothing until the client has hung up.
    pub(crate) async fn never(&mut self) -> io::Result<()> {
        match self {
            Self::Exchange(exchange) => exchange.until_hang_up().await,
            Self::Pipe(_) | Self::Shared(_) => std::future::pending().await,
        }
    }

    /// Ends the process, or where there is none the connection.
    pub(crate) fn exit(&self, code: i32) -> io::Result<()> {
        match self {
            Self::Pipe(_) => std::process::exit(code),
            Self::Exchange(_) | Self::Shared(_) => Err(io::ErrorKind::ConnectionAborted.into()),
        }
    }

    pub(crate) fn set_status(&mut self, status: u16) {
        if let Self::Exchange(exchange) = self {
            exchange.status = status;
        }
    }

    pub(crate) fn set_header(&mut self, name: &'static str, value: String) {
        if let Self::Exchange(exchange) = self {
            exchange.headers.push((name, value));
        }
    }

    pub(crate) fn set_field(&mut self, name: &'static str, value: &'static str) {
        if let Self::Exchange(exchange) = self {
            exchange.events.fields.push((name, value));
        }
    }

    /// Ends the answer in order.
    pub(crate) async fn finish(&mut self) -> io::Result<()> {
        match self {
            Self::Exchange(exchange) => exchange.finish().await,
            Self::Pipe(_) | Self::Shared(_) => Ok(()),
        }
    }
}

async fn write(pipe: &Mutex<tokio::io::Stdout>, parts: &[&[u8]]) -> io::Result<()> {
    let mut pipe = pipe.lock().await;
    for part in parts {
        pipe.write_all(part).await?;
    }
    pipe.flush().await
}
