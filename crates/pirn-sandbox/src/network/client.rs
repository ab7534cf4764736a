//! The child's side of a connection.

use std::io;
use std::time::Duration;

use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpStream;
use tokio::time::{Instant, timeout_at};

/// Bytes taken from a socket at once.
pub(crate) const PIECE_BYTES: usize = 16_384;
/// A client that was answered may be sending still: it reads the answer only if we take what it sends for a while, since a
/// socket that is closed with bytes unread resets the connection.
const LINGER_TIME: Duration = Duration::from_secs(1);
const LINGER_BYTES: usize = 1 << 20;

/// A connection with what has been read of it and not used yet.
#[derive(Debug)]
pub(crate) struct Client {
    pub(crate) stream: TcpStream,
    pub(crate) unused: Vec<u8>,
}

/// Why a message was not read.
#[derive(Debug)]
pub(crate) enum ReadFailure<E> {
    Bad(E),
    TooLong,
    TooSlow,
    /// The client is gone, there is nobody to tell.
    Gone,
}

impl Client {
    pub(crate) fn new(stream: TcpStream) -> Self {
        Self {
            stream,
            unused: Vec::new(),
        }
    }

    /// Reads until `parse` finds a whole message, and takes it out of the unused bytes.
    pub(crate) async fn read_message<T, E>(
        &mut self,
        bytes_max: usize,
        deadline: Instant,
        parse: impl Fn(&[u8]) -> Result<Option<(T, usize)>, E>,
    ) -> Result<T, ReadFailure<E>> {
        loop {
            if let Some((message, length)) = parse(&self.unused).map_err(ReadFailure::Bad)? {
                self.unused.drain(..length.min(self.unused.len()));
                return Ok(message);
            }
            if self.unused.len() >= bytes_max {
                return Err(ReadFailure::TooLong);
            }
            let room = bytes_max - self.unused.len();
            let mut piece = (&mut self.stream).take(room as u64);
            match timeout_at(deadline, piece.read_buf(&mut self.unused)).await {
                Err(_) => return Err(ReadFailure::TooSlow),
                Ok(Err(_) | Ok(0)) => return Err(ReadFailure::Gone),
                Ok(Ok(_)) => {}
            }
        }
    }

    /// Sends the last bytes of a connection and sees to it that they arrive.
    pub(crate) async fn close_with(mut self, bytes: &[u8]) -> io::Result<()> {
        let deadline = Instant::now() + LINGER_TIME;
        let send = async {
            self.stream.write_all(bytes).await?;
            self.stream.shutdown().await
        };
        timeout_at(deadline, send).await??;
        linger(&mut self.stream, deadline).await;
        Ok(())
    }
}

/// Takes what a client still sends, until it closes or it has been enough.
async fn linger(stream: &mut TcpStream, deadline: Instant) {
    let mut piece = vec![0; PIECE_BYTES];
    let mut left = LINGER_BYTES;
    while left > 0 {
        match timeout_at(deadline, stream.read(&mut piece)).await {
            Ok(Ok(length)) if length > 0 => left = left.saturating_sub(length),
            Ok(_) | Err(_) => return,
        }
    }
}

/// Ends a connection whose last bytes have been written.
pub(crate) async fn close(mut stream: TcpStream) {
    let deadline = Instant::now() + LINGER_TIME;
    if stream.shutdown().await.is_ok() {
        linger(&mut stream, deadline).await;
    }
}
