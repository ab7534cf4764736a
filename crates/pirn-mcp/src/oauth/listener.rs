//! A tiny HTTP server that waits for the browser to come back.

use std::io;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::mpsc;
use tokio::task::JoinSet;

use super::callback::{Expected, Verdict};
use super::redirect::{Port, Redirect};

/// A request line with a code and some headers has a few kilobytes.
const REQUEST_BYTES_MAX: usize = 32 * 1024;
/// For one connection: a browser may open some and send nothing.
const CONNECTION_TIMEOUT: Duration = Duration::from_secs(10);
/// A browser opens a handful; others have to wait.
const CONNECTIONS_MAX: usize = 16;

/// A listener that is bound. Dropping it ends its connections.
#[derive(Debug)]
pub(super) struct Listener {
    socket: TcpListener,
    /// The URL the browser is sent to.
    pub(super) redirect_url: String,
}

impl Listener {
    /// Listens. Fails where a fixed port is taken.
    pub(super) async fn bind(plan: &Redirect) -> io::Result<Self> {
        let bind = |port| TcpListener::bind(SocketAddr::new(plan.address, port));
        let socket = match plan.port {
            Port::Any => bind(0).await?,
            Port::Fixed(port) => bind(port).await?,
            Port::Preferred(port) => match bind(port).await {
                Ok(socket) => socket,
                Err(_taken) => bind(0).await?,
            },
        };
        let redirect_url = plan.url(socket.local_addr()?);
        Ok(Self {
            socket,
            redirect_url,
        })
    }

    /// Waits for the answer to this sign-in; others get a page and change nothing.
    pub(super) async fn wait(&self, expected: &Expected) -> Verdict {
        let expected = Arc::new(expected.clone());
        let (tx, mut rx) = mpsc::channel(1);
        let mut connections = JoinSet::new();
        loop {
            tokio::select! {
                Some(verdict) = rx.recv() => return verdict,
                Some(_) = connections.join_next(), if !connections.is_empty() => {}
                accepted = self.socket.accept(), if connections.len() < CONNECTIONS_MAX => {
                    // A connection that is gone before it is accepted is nobody's business.
                    if let Ok((stream, _)) = accepted {
                        let (expected, tx) = (Arc::clone(&expected), tx.clone());
                        connections.spawn(async move {
                            let serving = serve(stream, &expected);
                            let served = tokio::time::timeout(CONNECTION_TIMEOUT, serving).await;
                            if let Ok(Some(verdict)) = served {
                                // Of two answers the first counts.
                                drop(tx.try_send(verdict));
                            }
                        });
                    }
                }
            }
        }
    }
}

/// Answers one request; what it says counts even where the answer does not arrive.
async fn serve(mut stream: TcpStream, expected: &Expected) -> Option<Verdict> {
    let head = read_head(&mut stream).await?;
    let mut words = head.lines().next()?.split(' ');
    let (method, target) = (words.next()?, words.next()?);
    let verdict = match method {
        "GET" => expected.judge_target(target),
        _ => None,
    };
    let page = match &verdict {
        None => page(
            "404 Not Found",
            "Nothing here",
            "This address only waits for a sign-in.",
        ),
        Some(Verdict::Foreign(why)) => page("400 Bad Request", "Not this sign-in", why),
        Some(Verdict::Failed(_)) => page(
            "400 Bad Request",
            "Not signed in",
            "The sign-in did not succeed. Pirn says why.",
        ),
        Some(Verdict::Code(_)) => page(
            "200 OK",
            "Almost done",
            "Pirn finishes the sign-in. You can close this page.",
        ),
    };
    let writing = async {
        stream.write_all(page.as_bytes()).await?;
        stream.shutdown().await
    };
    // A browser that does not take the page has still brought the answer.
    drop(tokio::time::timeout(CONNECTION_TIMEOUT / 2, writing).await);
    verdict.filter(|verdict| !matches!(verdict, Verdict::Foreign(_)))
}

/// The request up to its empty line; a body is not read.
async fn read_head(stream: &mut TcpStream) -> Option<String> {
    let mut head = Vec::new();
    let mut chunk = [0_u8; 4096];
    while !head.windows(4).any(|window| window == b"\r\n\r\n") {
        let count = stream.read(&mut chunk).await.ok()?;
        if count == 0 || head.len() + count > REQUEST_BYTES_MAX {
            return None;
        }
        head.extend_from_slice(chunk.get(..count)?);
    }
    String::from_utf8(head).ok()
}

fn page(status: &str, title: &str, text: &str) -> String {
    let text = text.replace('&', "&amp;").replace('<', "&lt;");
    let body = format!(
        "<!doctype html><html lang=\"en\"><meta charset=\"utf-8\"><title>{title}</title>\
         <style>body{{font:1.1em system-ui,sans-serif;max-width:30em;margin:20vh auto;padding:0 1em;\
         color-scheme:light dark}}</style><h1>{title}</h1><p>{text}</p></html>\n"
    );
    format!(
        "HTTP/1.1 {status}\r\nContent-Type: text/html; charset=utf-8\r\nContent-Length: {}\r\n\
         Connection: close\r\nCache-Control: no-store\r\nReferrer-Policy: no-referrer\r\n\
         Content-Security-Policy: default-src 'none'; style-src 'unsafe-inline'\r\n\
         X-Content-Type-Options: nosniff\r\n\r\n{body}",
        body.len()
    )
}

#[cfg(test)]
mod tests;
