//! A service that streams what happens in a conversation over HTTP: the body of a request is said to the model, and each event of
//! the run is one line of the response.
//!
//! `cargo run -p pirn-agent --example event_service`, then `curl -N -d 'hello there' http://127.0.0.1:4747`

#![expect(clippy::print_stdout, reason = "an example shows what it does")]

#[path = "own_provider.rs"]
pub(crate) mod own_provider;

use std::error::Error;

use pirn_agent::model::UserMessage;
use pirn_agent::session::now_ms;
use pirn_agent::{AgentEvent, WhileBusy};
use tokio::io::{AsyncBufReadExt as _, AsyncReadExt as _, AsyncWriteExt as _, BufReader};
use tokio::net::{TcpListener, TcpStream};

/// Bytes of a request's head, and of what is said.
const HEAD_BYTES_MAX: u64 = 16 << 10;
const BODY_BYTES_MAX: u64 = 1 << 20;

/// Answers requests one after the other.
pub(crate) async fn serve(listener: TcpListener) -> Result<(), Box<dyn Error>> {
    loop {
        let (stream, _) = listener.accept().await?;
        if let Err(error) = answer(stream).await {
            println!("a request was not answered: {error}");
        }
    }
}

async fn answer(mut stream: TcpStream) -> Result<(), Box<dyn Error>> {
    let (reading, mut writing) = stream.split();
    let text = said(reading).await?;
    let (agent, mut events) = own_provider::conversation()?;
    agent.prompt(UserMessage::text(text, now_ms()), WhileBusy::Refuse)?;
    let head = "HTTP/1.1 200 OK\r\nContent-Type: application/x-ndjson\r\nConnection: close\r\n\r\n";
    writing.write_all(head.as_bytes()).await?;
    while let Some(event) = events.next().await {
        let line = serde_json::to_string(&event)? + "\n";
        // Whoever went away does not need the rest.
        if writing.write_all(line.as_bytes()).await.is_err() {
            break;
        }
        if matches!(event, AgentEvent::AgentSettled { .. }) {
            break;
        }
    }
    agent.close().await;
    writing.shutdown().await?;
    Ok(())
}

/// The body of a request, whose length its head gives.
async fn said(reading: impl tokio::io::AsyncRead + Unpin) -> Result<String, Box<dyn Error>> {
    let mut reading = BufReader::new(reading.take(HEAD_BYTES_MAX + BODY_BYTES_MAX));
    let mut length = 0_u64;
    loop {
        let mut line = String::new();
        if reading.read_line(&mut line).await? == 0 {
            return Err("the request ended early".into());
        }
        let line = line.trim_end().to_ascii_lowercase();
        if line.is_empty() {
            break;
        }
        if let Some(value) = line.strip_prefix("content-length:") {
            length = value.trim().parse()?;
        }
    }
    if length > BODY_BYTES_MAX {
        return Err("the request is too large".into());
    }
    let mut text = String::new();
    reading.take(length).read_to_string(&mut text).await?;
    Ok(text)
}

#[allow(dead_code, reason = "a test uses the rest alone")]
#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), Box<dyn Error>> {
    let listener = TcpListener::bind(("127.0.0.1", 4747)).await?;
    println!("http://{}", listener.local_addr()?);
    serve(listener).await
}
