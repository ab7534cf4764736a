//! The HTTP side of the proxy.

mod body;
mod head;
#[cfg(test)]
mod tests;

use std::io;

use tokio::io::AsyncWriteExt as _;
use tokio::time::Instant;

pub(crate) use body::BodyScanner;
pub(crate) use head::{BodyLength, HeadProblem, Purpose, RequestHead, parse_head};

use super::client::{Client, ReadFailure};
use super::connector::{ConnectError, Connector};
use super::decisions::refusal_sentence;
use super::relay;

/// What a client is told instead of an answer from the host.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Failure {
    status: &'static str,
    sentence: String,
}

impl Failure {
    fn new(status: &'static str, sentence: impl Into<String>) -> Self {
        Self {
            status,
            sentence: sentence.into(),
        }
    }

    fn message(&self, method: &str) -> Vec<u8> {
        let Self { status, sentence } = self;
        let length = sentence.len() + 1;
        let head = format!(
            "HTTP/1.1 {status}\r\nContent-Type: text/plain; charset=utf-8\r\n\
             Content-Length: {length}\r\nConnection: close\r\n\r\n"
        );
        if method == "HEAD" {
            head.into_bytes()
        } else {
            format!("{head}{sentence}\n").into_bytes()
        }
    }
}

/// Serves the one request of a connection.
pub(crate) async fn serve(
    mut client: Client,
    connector: &Connector,
    deadline: Instant,
) -> io::Result<()> {
    let head = client
        .read_message(connector.options.header_bytes_max, deadline, parse_head)
        .await;
    let head = match head {
        Ok(head) => head,
        Err(failure) => {
            return match unread(failure, connector) {
                Some(failure) => client.close_with(&failure.message("")).await,
                None => Ok(()),
            };
        }
    };
    let RequestHead {
        method,
        host,
        port,
        purpose,
    } = head;
    let server = match connector.connect(&host, port).await {
        Ok(server) => server,
        Err(error) => {
            let failure = unreached(&host.to_string(), port, &error);
            return client.close_with(&failure.message(&method)).await;
        }
    };
    let idle = connector.options.idle_time;
    match purpose {
        Purpose::Tunnel => {
            client
                .stream
                .write_all(b"HTTP/1.1 200 Connection established\r\n\r\n")
                .await?;
            relay::tunnel(client, server, idle).await
        }
        Purpose::Forward { head, body } => relay::exchange(client, server, &head, body, idle).await,
    }
}

/// What a client is told whose request could not be read; `None` where it is gone.
fn unread(failure: ReadFailure<HeadProblem>, connector: &Connector) -> Option<Failure> {
    Some(match failure {
        ReadFailure::Gone => return None,
        ReadFailure::TooSlow => Failure::new(
            "408 Request Timeout",
            "The head of the request did not arrive in time.",
        ),
        ReadFailure::TooLong => Failure::new(
            "431 Request Header Fields Too Large",
            "The head of the request is too long.",
        ),
        ReadFailure::Bad(HeadProblem::Malformed(sentence)) => {
            Failure::new("400 Bad Request", sentence)
        }
        ReadFailure::Bad(HeadProblem::Host { text, error }) => {
            let error = connector.refuse_bad_host(&text, 0, error);
            unreached(&text.escape_debug().to_string(), 0, &error)
        }
    })
}

/// What a client is told whose host was not reached.
fn unreached(host: &str, port: u16, error: &ConnectError) -> Failure {
    match error {
        ConnectError::Refused(reason) => Failure::new(
            "403 Forbidden",
            format!("Sandbox: {}", refusal_sentence(host, port, reason)),
        ),
        ConnectError::NotResolved(error) => Failure::new(
            "502 Bad Gateway",
            format!("Could not resolve host: {host} ({error})."),
        ),
        ConnectError::NotConnected(error) => Failure::new(
            "502 Bad Gateway",
            format!("Could not connect to {host}:{port} ({error})."),
        ),
        ConnectError::TimedOut => Failure::new(
            "504 Gateway Timeout",
            format!("Connecting to {host}:{port} took too long."),
        ),
    }
}
