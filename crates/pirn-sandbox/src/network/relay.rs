//! Passing bytes on between a child and a server.

use std::io;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use tokio::io::{AsyncRead, AsyncReadExt as _, AsyncWrite, AsyncWriteExt as _};
use tokio::net::TcpStream;

use super::client::{Client, PIECE_BYTES, close};
use super::http::{BodyLength, BodyScanner};

/// Counts what moves, so that a connection on which nothing does can be ended.
#[derive(Debug, Default)]
struct TrafficCounter {
    pieces: AtomicU64,
}

impl TrafficCounter {
    fn note(&self) {
        self.pieces.fetch_add(1, Ordering::Relaxed);
    }

    /// Comes back once nothing has moved for this long at least, and twice as long at most.
    async fn stalled(&self, idle: Duration) {
        loop {
            let before = self.pieces.load(Ordering::Relaxed);
            tokio::time::sleep(idle).await;
            if self.pieces.load(Ordering::Relaxed) == before {
                return;
            }
        }
    }
}

/// Passes bytes on in both directions until both have ended. An end in one direction is passed on and leaves the other open.
pub(crate) async fn tunnel(client: Client, server: TcpStream, idle: Duration) -> io::Result<()> {
    let Client {
        stream: mut client,
        unused,
    } = client;
    let mut server = server;
    let traffic = TrafficCounter::default();
    let (mut client_read, mut client_write) = client.split();
    let (mut server_read, mut server_write) = server.split();
    let up = async {
        server_write.write_all(&unused).await?;
        pass_on(&mut client_read, &mut server_write, &traffic).await
    };
    let down = pass_on(&mut server_read, &mut client_write, &traffic);
    let both = async { tokio::try_join!(up, down).map(|_| ()) };
    tokio::select! {
        ended = both => ended,
        () = traffic.stalled(idle) => Ok(()),
    }
}

async fn pass_on(
    from: &mut (impl AsyncRead + Unpin),
    to: &mut (impl AsyncWrite + Unpin),
    traffic: &TrafficCounter,
) -> io::Result<()> {
    let mut piece = vec![0; PIECE_BYTES];
    loop {
        let length = from.read(&mut piece).await?;
        traffic.note();
        let Some(bytes) = piece.get(..length).filter(|bytes| !bytes.is_empty()) else {
            // The other side may have closed already, which is as good.
            let _closed = to.shutdown().await;
            return Ok(());
        };
        to.write_all(bytes).await?;
        traffic.note();
    }
}

/// Sends one request and its body, and passes on what the server answers until it closes. Bytes behind the body never reach
/// the server.
pub(crate) async fn exchange(
    client: Client,
    server: TcpStream,
    head: &[u8],
    body: BodyLength,
    idle: Duration,
) -> io::Result<()> {
    let Client {
        stream: mut client,
        unused,
    } = client;
    let mut server = server;
    let traffic = TrafficCounter::default();
    {
        let (mut client_read, mut client_write) = client.split();
        let (mut server_read, mut server_write) = server.split();
        let up = async {
            server_write.write_all(head).await?;
            pass_body(unused, &mut client_read, &mut server_write, body, &traffic).await
        };
        let down = async {
            let mut piece = vec![0; PIECE_BYTES];
            loop {
                let length = server_read.read(&mut piece).await?;
                traffic.note();
                let Some(bytes) = piece.get(..length).filter(|bytes| !bytes.is_empty()) else {
                    return Ok::<_, io::Error>(());
                };
                client_write.write_all(bytes).await?;
            }
        };
        tokio::pin!(up, down);
        tokio::select! {
            // The answer is the end, also if the server has not taken the whole body.
            ended = &mut down => ended?,
            sent = &mut up => {
                // Nobody can say where this request ends.
                if let Err(error) = sent && error.kind() == io::ErrorKind::InvalidData {
                    return Err(error);
                }
                // A server that closed its ear may still answer.
                tokio::select! {
                    ended = &mut down => ended?,
                    () = traffic.stalled(idle) => {}
                }
            }
            () = traffic.stalled(idle) => {}
        }
    }
    close(client).await;
    Ok(())
}

async fn pass_body(
    unused: Vec<u8>,
    from: &mut (impl AsyncRead + Unpin),
    to: &mut (impl AsyncWrite + Unpin),
    body: BodyLength,
    traffic: &TrafficCounter,
) -> io::Result<()> {
    let mut scanner = BodyScanner::new(body);
    let mut piece = unused;
    loop {
        let used = scanner
            .advance(&piece)
            .map_err(|_| io::Error::from(io::ErrorKind::InvalidData))?;
        to.write_all(piece.get(..used).unwrap_or_default()).await?;
        traffic.note();
        if scanner.is_ended() {
            return Ok(());
        }
        piece.resize(PIECE_BYTES, 0);
        let length = from.read(&mut piece).await?;
        if length == 0 {
            // The body is incomplete, and the server is to know.
            return to.shutdown().await;
        }
        piece.truncate(length);
    }
}
